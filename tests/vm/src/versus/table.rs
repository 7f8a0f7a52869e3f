// SPDX-License-Identifier: MIT OR Apache-2.0
//! The tables of `docs/simulator-vs-kernel.md` and `docs/eevdf-vs-kernel.md`, which are written
//! between two markers.

use super::compare::{Compared, Measure};
use crate::page;
use anyhow::Result;
use std::path::Path;

/// Puts the table where the old one was.
pub fn write(path: &Path, compared: &[Compared]) -> Result<()> {
    page::write(path, "rota-vm versus --write", &markdown(compared))
}

/// All cases: first those with numbers, then those with picks.
pub fn markdown(compared: &[Compared]) -> String {
    let (picks, numbers): (Vec<&Compared>, Vec<&Compared>) =
        compared.iter().partition(|c| c.same_picks.is_some());
    let mut text = String::new();
    let mut workload = "";
    for case in numbers {
        if case.workload != workload {
            workload = &case.workload;
            let seconds = case.duration_ns as f64 / 1e9;
            text += &format!(
                "\n**{workload}**, {seconds} s\n\n\
                 | CPUs | policy | share, worst task | switches | run delay | wakeup p50 | p95 | p99 |\n\
                 |---|---|---|---|---|---|---|---|\n"
            );
        }
        text += &row(case);
    }
    if !picks.is_empty() {
        text += "\n**Picks**, one CPU\n\n| workload | policy | tunables | the same picks |\n|---|---|---|---|\n";
        for case in picks {
            let count = case.same_picks.unwrap_or_default();
            let set = case.set.join(" ");
            text += &format!("| {} | {} | {set} | {count} |\n", case.workload, case.policy);
        }
    }
    text.trim_start().to_owned()
}

fn row(case: &Compared) -> String {
    let set = if case.own_set { format!(" {}", case.set.join(" ")) } else { String::new() };
    let mut row = format!("| {} | {}{set} |", case.cpus, case.policy);
    for measure in Measure::ALL {
        row += &format!(" {} |", cell(case, measure));
    }
    row + "\n"
}

/// `simulator / kernel (error)`, with the range of the simulator's values if there is one, and a
/// mark if it is known to be out of tolerance.
fn cell(case: &Compared, measure: Measure) -> String {
    let Some(pair) = case.pair(measure) else { return "–".into() };
    let show = |value: f64| match measure {
        Measure::Share => format!("{:.1} %", value * 100.0),
        Measure::Switches => format!("{value:.0}"),
        _ => time(value),
    };
    let (least, most) = (show(pair.least), show(pair.most));
    let range = match pair.interval {
        None if least != most => format!(" [{least} … {most}]"),
        _ => String::new(),
    };
    let mut error = match (measure, pair.relative()) {
        (Measure::Share, _) => format!("{:+.1}", (pair.simulator - pair.kernel) * 100.0),
        (_, Some(error)) => format!("{:+.1} %", error * 100.0),
        (_, None) => "–".into(),
    };
    if let Some(half) = pair.interval {
        error += &match measure {
            Measure::Share => format!(" ± {:.1}", half * 100.0),
            _ if pair.kernel != 0.0 => format!(" ± {:.1} %", half / pair.kernel * 100.0),
            _ => format!(" ± {}", show(half)),
        };
    }
    let mark = if case.known.contains(&measure) { " **†**" } else { "" };
    format!("{}{range} / {} ({error}){mark}", show(pair.simulator), show(pair.kernel))
}

fn time(ns: f64) -> String {
    match ns {
        ns if ns >= 1e9 => format!("{:.2} s", ns / 1e9),
        ns if ns >= 1e7 => format!("{:.1} ms", ns / 1e6),
        ns if ns >= 1e6 => format!("{:.2} ms", ns / 1e6),
        ns => format!("{:.0} us", ns / 1e3),
    }
}
