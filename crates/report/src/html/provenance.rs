// SPDX-License-Identifier: MIT OR Apache-2.0
//! The head of a report: how it was made, when, where, and of which files.

use super::markup::Html;
use super::model::{Comparison, Workload};
use crate::machine::{drawing, Machine};

/// Command, simulated machine, and what made it.
pub(crate) fn facts(html: &mut Html, comparison: &Comparison) {
    html.open("dl", &[("class", "facts")]);
    if !comparison.command.is_empty() {
        html.element("dt", &[], "command");
        html.open("dd", &[]);
        html.element("code", &[], &comparison.command);
        html.close("dd");
    }
    let mut fact = |name: &str, value: &str| {
        if !value.is_empty() {
            html.element("dt", &[], name);
            html.element("dd", &[], value);
        }
    };
    for (name, value) in &comparison.machine {
        fact(name, value);
    }
    let of = &comparison.provenance;
    let made = [version(comparison), &of.date].map(str::to_owned);
    fact(
        "made by",
        &made.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", "),
    );
    fact("on", &of.host);
    html.close("dl");
    if let Some(machine) = &comparison.hardware {
        hardware(html, machine);
    }
    inputs(html, comparison);
}

/// A picture of the machine, folded up.
fn hardware(html: &mut Html, machine: &Machine) {
    html.open("details", &[("class", "provenance")]);
    html.element("summary", &[], &format!("The simulated machine: {}", machine.about));
    html.open(
        "div",
        &[("class", "scroll"), ("tabindex", "0"), ("role", "region"), ("aria-label", "Machine")],
    );
    html.raw(&drawing(machine));
    html.close("div");
    html.close("details");
}

/// Program and version.
pub(crate) fn version(comparison: &Comparison) -> &str {
    if comparison.version.is_empty() {
        "rota"
    } else {
        &comparison.version
    }
}

/// Hashes of all files, folded up.
fn inputs(html: &mut Html, comparison: &Comparison) {
    let inputs = &comparison.provenance.inputs;
    if inputs.is_empty() {
        return;
    }
    html.open("details", &[("class", "provenance")]);
    html.element("summary", &[], "Workloads, policies and seeds of this report");
    for (workload, seeds) in seeds_of(comparison) {
        html.element("p", &[], &format!("{workload}: {seeds}"));
    }
    html.open(
        "div",
        &[("class", "scroll"), ("tabindex", "0"), ("role", "region"), ("aria-label", "Files")],
    );
    html.open("table", &[("class", "data")]);
    html.open("thead", &[]);
    html.open("tr", &[]);
    for column in ["file", "name", "SHA-256"] {
        html.element("th", &[("scope", "col"), ("class", "word")], column);
    }
    html.close("tr");
    html.close("thead");
    html.open("tbody", &[]);
    for input in inputs {
        html.open("tr", &[]);
        html.element("th", &[("scope", "row")], &input.kind);
        html.element("td", &[("class", "word")], &input.name);
        html.open("td", &[("class", "word")]);
        html.element("code", &[], &input.sha256);
        html.close("td");
        html.close("tr");
    }
    html.close("tbody");
    html.close("table");
    html.close("div");
    html.close("details");
}

/// All seeds, once if they are those of every workload.
fn seeds_of(comparison: &Comparison) -> Vec<(String, String)> {
    let list = |workload: &Workload| {
        workload.seeds.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")
    };
    match comparison.workloads.as_slice() {
        [first, rest @ ..] if rest.iter().all(|workload| workload.seeds == first.seeds) => {
            vec![("Seeds".to_owned(), list(first))]
        }
        all => all.iter().map(|w| (format!("Seeds of {}", w.name), list(w))).collect(),
    }
}
