// SPDX-License-Identifier: MIT OR Apache-2.0
//! The figures of a workload: what they are, how to read them, and their tables. Scripts draw
//! into the empty `plot` of each.

use std::collections::BTreeSet;

use super::cut::MOST_SLICES;
use super::groups::{Group, Groups};
use super::markup::Html;
use super::model::{Slices, Workload};
use super::numbers::{count, duration, time};
use super::tables;

/// Writes all figures that there is something for.
pub(crate) fn write(html: &mut Html, workload: &Workload, groups: &Groups, timelines: &[Slices]) {
    html.open("div", &[("class", "by-task")]);
    legend(html, groups);
    if timelines.iter().any(|slices| slices.cpus.iter().any(|cpu| !cpu.is_empty())) {
        timeline(html, workload, groups, timelines);
    }
    let figures = || workload.policies.iter().filter_map(|policy| policy.figures.as_ref());
    if figures().any(|f| f.shares.tasks.iter().any(|row| !row.is_empty())) {
        shares(html, workload, groups);
    }
    if figures().any(|f| f.lags.tasks.iter().flatten().any(Option::is_some)) {
        lags(html, workload, groups);
    }
    html.close("div");
    if !tables::names_of_latencies(workload).is_empty() {
        latencies(html, workload);
    }
}

/// Names and colours of the groups; a press brings one out in all figures.
fn legend(html: &mut Html, groups: &Groups) {
    html.open(
        "div",
        &[("class", "legend"), ("role", "group"), ("aria-label", "Tasks to bring out")],
    );
    for (index, Group { name, tasks, paint }) in groups.list.iter().enumerate() {
        let index = index.to_string();
        html.open(
            "button",
            &[("type", "button"), ("data-group", &index), ("aria-pressed", "false")],
        );
        let paint = paint.map_or("swatch rest".to_owned(), |paint| format!("swatch p{paint}"));
        html.open("span", &[("class", &paint)]);
        html.close("span");
        html.text(name);
        if *tasks > 1 {
            html.element("span", &[("class", "count")], &format!(" ×{}", count(*tasks)));
        }
        html.close("button");
    }
    html.close("div");
}

/// A figure's frame: heading, how to read it, room for the plot.
fn begin(html: &mut Html, kind: &str, heading: &str, reading: &str, label: &str) {
    html.open("figure", &[("class", "figure")]);
    html.open("figcaption", &[]);
    html.element("h3", &[], heading);
    html.element("p", &[], reading);
    html.close("figcaption");
    html.open("div", &[("class", "plot"), ("data-plot", kind), ("data-label", label)]);
    html.close("div");
}

/// Policies of the figures in words, for a text alternative.
fn names_of(workload: &Workload) -> String {
    let with = || workload.policies.iter().filter(|policy| policy.figures.is_some());
    let names: Vec<&str> = with().map(|policy| policy.name.as_str()).collect();
    names.join(", ")
}

fn timeline(html: &mut Html, workload: &Workload, groups: &Groups, timelines: &[Slices]) {
    let slices: usize = timelines.iter().flat_map(|slices| &slices.cpus).map(Vec::len).sum();
    let seeds: BTreeSet<u64> =
        workload.policies.iter().filter_map(|p| p.figures.as_ref()).map(|f| f.seed).collect();
    let seeds: Vec<String> = seeds.iter().map(u64::to_string).collect();
    let mut reading = format!(
        "Which task each CPU ran, with seed {}. Where it is empty, the CPU was idle. Where several \
         slices share a column of pixels, they divide it in proportion to their time.",
        seeds.join(", ")
    );
    let from_ns = timelines.iter().map(|slices| slices.from_ns).min().unwrap_or(0);
    let to_ns = timelines.iter().map(|slices| slices.to_ns).max().unwrap_or(0);
    if from_ns > 0 || to_ns < workload.duration_ns {
        let [from, to, whole] = [from_ns, to_ns, workload.duration_ns].map(|ns| time(ns as f64));
        let room = count(MOST_SLICES as u64);
        reading += &format!(
            " Here it is from {from} to {to} of {whole}: a report has room for {room} slices in all."
        );
    }
    let label = format!(
        "Timeline of {} CPUs from {} to {} under {}: {} slices. Its table follows.",
        workload.cpus,
        duration(from_ns),
        duration(to_ns),
        names_of(workload),
        count(slices as u64)
    );
    begin(html, "timeline", "Timeline", &reading, &label);
    tables::timeline(html, workload, groups, timelines);
    html.close("figure");
}

fn shares(html: &mut Html, workload: &Workload, groups: &Groups) {
    let reading = "CPU time of each task as part of the whole machine; what is left is idle.";
    let label =
        format!("CPU share of tasks over time under {}. Its table follows.", names_of(workload));
    begin(html, "shares", "Share over time", reading, &label);
    tables::shares(html, workload, groups);
    html.close("figure");
}

fn lags(html: &mut Html, workload: &Workload, groups: &Groups) {
    let reading =
        "How far each task is behind (above 0) or ahead of (below 0) the CPU time that an \
                   ideal, infinitely fine scheduler would have given it by then. A band reaches \
                   from the least to the greatest lag of its tasks. The scale is linear near 0, \
                   logarithmic beyond, and the same for all policies.";
    let label = format!("Lag of tasks over time under {}. Its table follows.", names_of(workload));
    begin(html, "lags", "Lag over time", reading, &label);
    tables::lags(html, workload, groups);
    html.close("figure");
}

fn latencies(html: &mut Html, workload: &Workload) {
    let reading =
        "The value at or below which this percentage of the times is: mean over the seeds, \
                   as in the table, with a band from the least to the greatest seed. Dots mark \
                   p50, p95, p99 and the longest time. Lower is better. Each mark to the right \
                   leaves a tenth of the times above it.";
    let names = tables::names_of_latencies(workload).join(", ");
    let label =
        format!("Distributions of {names} under {}. Their table follows.", names_of(workload));
    begin(html, "latencies", "Distributions of times", reading, &label);
    tables::latencies(html, workload);
    html.close("figure");
}
