// SPDX-License-Identifier: MIT OR Apache-2.0
//! The document: head, what was compared, a section for each workload, data and scripts.

use super::assets;
use super::cut;
use super::data;
use super::figures;
use super::groups::Groups;
use super::markup::{json_in_script, Html};
use super::model::{Comparison, Finding, Slices, Workload};
use super::numbers::{count, duration};
use super::provenance::{self, version};
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
    let mut names: Vec<&str> = Vec::new();
    for workload in &comparison.workloads {
        if !names.contains(&workload.name.as_str()) {
            names.push(&workload.name);
        }
    }
    format!("Scheduling policies compared: {}", names.join(", "))
}

/// What tells a workload's section from all others: its name; its CPUs too, if several have that.
fn heading(comparison: &Comparison, workload: &Workload) -> String {
    let alike = comparison.workloads.iter().filter(|other| other.name == workload.name);
    match alike.count() {
        0 | 1 => workload.name.clone(),
        _ => format!("{}, {}", workload.name, plural(u64::from(workload.cpus), "CPU")),
    }
}

fn plural(n: u64, what: &str) -> String {
    format!("{} {what}{}", count(n), if n == 1 { "" } else { "s" })
}

fn introduction(html: &mut Html, comparison: &Comparison, title: &str) {
    html.open("header", &[]);
    html.element("h1", &[], title);
    findings(html, comparison);
    provenance::facts(html, comparison);
    if comparison.workloads.len() > 1 {
        html.open("nav", &[("aria-label", "Workloads")]);
        for (index, workload) in comparison.workloads.iter().enumerate() {
            let heading = heading(comparison, workload);
            html.element("a", &[("href", &format!("#workload-{index}"))], &heading);
        }
        html.close("nav");
    }
    html.open("noscript", &[]);
    html.element("p", &[("class", "warning")], "The figures are drawn by a script, which is switched off here. The tables have their numbers.");
    html.close("noscript");
    html.close("header");
}

/// What was found on all workloads; nothing if nothing was.
fn findings(html: &mut Html, comparison: &Comparison) {
    let found = comparison.workloads.iter().filter(|workload| !workload.findings.is_empty());
    let found: Vec<&Workload> = found.collect();
    if found.is_empty() && comparison.advice.is_none() {
        return;
    }
    html.open("section", &[("class", "findings"), ("aria-label", "Findings")]);
    for workload in found {
        if comparison.workloads.len() > 1 {
            html.element("h2", &[], &heading(comparison, workload));
        }
        list(html, &workload.findings);
    }
    list(html, comparison.advice.as_slice());
    html.close("section");
}

fn list(html: &mut Html, findings: &[Finding]) {
    if findings.is_empty() {
        return;
    }
    html.open("dl", &[]);
    for Finding { about, text } in findings {
        html.element("dt", &[], about);
        html.element("dd", &[], text);
    }
    html.close("dl");
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
    html.element("h2", &[], &heading(comparison, workload));
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
        html.raw(&json_in_script(&data::of(workload, &comparison.baseline, &groups, &timelines)));
        html.close("script");
    }
    html.close("section");
}

/// What all runs had in common, in a line.
fn conditions(workload: &Workload) -> String {
    let seeds = match workload.seeds.as_slice() {
        [seed] => format!("seed {seed}"),
        // A range says all that a list would.
        [first, .., last]
            if workload.seeds.windows(2).all(|pair| pair[1].checked_sub(pair[0]) == Some(1)) =>
        {
            format!("seeds {first} to {last}")
        }
        seeds => plural(seeds.len() as u64, "seed"),
    };
    let mut parts = vec![
        plural(workload.cpus.into(), "CPU"),
        plural(workload.tasks.iter().map(|task| task.instances).sum(), "task"),
        format!("runs of {}", duration(workload.duration_ns)),
        seeds,
    ];
    if workload.warmup_ns > 0 {
        parts.push(format!("measured from {} on", duration(workload.warmup_ns)));
    }
    parts.join(" · ")
}
