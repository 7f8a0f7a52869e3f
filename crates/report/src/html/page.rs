// SPDX-License-Identifier: MIT OR Apache-2.0
//! The document: head, what was compared, a section for each workload, data and scripts.

use super::assets;
use super::cut;
use super::data;
use super::figures;
use super::groups::Groups;
use super::markup::{json_in_script, Html};
use super::model::{Comparison, Slices, Workload};
use super::numbers::duration;
use super::summary;

/// Writes the whole document.
pub(crate) fn render(comparison: &Comparison) -> String {
    let (mut html, script) = (Html::default(), assets::script());
    let title = title(comparison);
    html.raw("<!DOCTYPE html>\n<!-- A report of rota compare. It needs no other file and no network. -->\n");
    html.open("html", &[("lang", "en")]);
    head(&mut html, &title, &script);
    html.open("body", &[]);
    introduction(&mut html, comparison, &title);
    html.open("main", &[]);
    let room = cut::room(comparison);
    for (index, workload) in comparison.workloads.iter().enumerate() {
        section(&mut html, comparison, workload, index, room);
    }
    html.close("main");
    html.open("footer", &[]);
    html.element("p", &[], &format!("Made by {}.", version(comparison)));
    html.close("footer");
    html.open("script", &[]);
    html.raw(&script);
    html.close("script");
    html.close("body");
    html.close("html");
    html.finish()
}

fn head(html: &mut Html, title: &str, script: &str) {
    html.open("head", &[]);
    html.open("meta", &[("charset", "utf-8")]);
    let style = assets::style();
    let policy = assets::security_policy(script, &style);
    html.open("meta", &[("http-equiv", "Content-Security-Policy"), ("content", &policy)]);
    html.open("meta", &[("name", "viewport"), ("content", "width=device-width, initial-scale=1")]);
    html.open("meta", &[("name", "color-scheme"), ("content", "light dark")]);
    // Else a browser asks for one.
    html.open("link", &[("rel", "icon"), ("href", "data:,")]);
    html.element("title", &[], title);
    html.open("style", &[]);
    html.raw(&style);
    html.close("style");
    html.close("head");
}

fn title(comparison: &Comparison) -> String {
    if !comparison.title.is_empty() {
        return comparison.title.clone();
    }
    let names: Vec<&str> = comparison.workloads.iter().map(|w| w.name.as_str()).collect();
    format!("Scheduling policies compared: {}", names.join(", "))
}

fn version(comparison: &Comparison) -> &str {
    if comparison.version.is_empty() {
        "rota"
    } else {
        &comparison.version
    }
}

fn introduction(html: &mut Html, comparison: &Comparison, title: &str) {
    html.open("header", &[]);
    html.element("h1", &[], title);
    html.open("dl", &[("class", "facts")]);
    if !comparison.command.is_empty() {
        html.element("dt", &[], "command");
        html.open("dd", &[]);
        html.element("code", &[], &comparison.command);
        html.close("dd");
    }
    for (name, value) in &comparison.machine {
        html.element("dt", &[], name);
        html.element("dd", &[], value);
    }
    html.element("dt", &[], "made by");
    html.element("dd", &[], version(comparison));
    html.close("dl");
    if comparison.workloads.len() > 1 {
        html.open("nav", &[("aria-label", "Workloads")]);
        for (index, workload) in comparison.workloads.iter().enumerate() {
            html.element("a", &[("href", &format!("#workload-{index}"))], &workload.name);
        }
        html.close("nav");
    }
    html.open("noscript", &[]);
    html.element("p", &[("class", "warning")], "The figures are drawn by a script, which is switched off here. The tables have their numbers.");
    html.close("noscript");
    html.close("header");
}

fn section(
    html: &mut Html,
    comparison: &Comparison,
    workload: &Workload,
    index: usize,
    room: usize,
) {
    let (id, data_id) = (format!("workload-{index}"), format!("data-{index}"));
    html.open("section", &[("id", &id), ("class", "workload"), ("data-figures", &data_id)]);
    html.element("h2", &[], &workload.name);
    for paragraph in workload.description.split("\n\n").filter(|text| !text.trim().is_empty()) {
        html.element("p", &[("class", "description")], paragraph);
    }
    html.element("p", &[("class", "conditions")], &conditions(workload));
    summary::write(html, comparison, workload);

    let end_ns = cut::end(workload, room);
    let figures = workload.policies.iter().filter_map(|policy| policy.figures.as_ref());
    let timelines: Vec<Slices> = figures.map(|f| cut::cut(&f.timeline, end_ns)).collect();
    if !timelines.is_empty() {
        let groups = Groups::of(workload);
        figures::write(html, workload, &groups, &timelines);
        html.open("script", &[("type", "application/json"), ("id", &data_id)]);
        html.raw(&json_in_script(&data::of(workload, &groups, &timelines)));
        html.close("script");
    }
    html.close("section");
}

/// What all runs had in common, in a line.
fn conditions(workload: &Workload) -> String {
    let plural = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    let seeds = match workload.seeds.as_slice() {
        [seed] => format!("seed {seed}"),
        // A range says all that a list would.
        [first, .., last]
            if workload.seeds.windows(2).all(|pair| pair[1].checked_sub(pair[0]) == Some(1)) =>
        {
            format!("seeds {first} to {last}")
        }
        seeds => plural(seeds.len(), "seed"),
    };
    let mut parts = vec![
        plural(workload.cpus as usize, "CPU"),
        plural(workload.tasks.len(), "task"),
        format!("runs of {}", duration(workload.duration_ns)),
        seeds,
    ];
    if workload.warmup_ns > 0 {
        parts.push(format!("measured from {} on", duration(workload.warmup_ns)));
    }
    parts.join(" · ")
}
