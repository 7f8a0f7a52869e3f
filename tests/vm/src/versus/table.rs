// SPDX-License-Identifier: MIT OR Apache-2.0
//! The tables of `docs/simulator-vs-kernel.md`, `docs/eevdf-vs-kernel.md` and
//! `docs/programs-vs-kernel.md`, which are written between two markers.

use super::case::Case;
use super::compare::{Compared, Measure};
use crate::page;
use anyhow::Result;
use std::path::Path;

const COMMAND: &str = "rota-vm versus --write";

/// Puts the table of `cases` where the old one was. Of those that were not compared now the old
/// rows stay.
pub fn write(path: &Path, cases: &[&Case], compared: &[Compared]) -> Result<()> {
    let old = page::written(path, COMMAND)?;
    page::write(path, COMMAND, &markdown(cases, compared, &old))
}

/// Whether the page has just that table.
pub fn is_current(path: &Path, cases: &[&Case], compared: &[Compared]) -> Result<bool> {
    Ok(page::written(path, COMMAND)?.trim() == markdown(cases, compared, "").trim())
}

/// First the cases with numbers, then those with picks; those that were not compared as in `old`,
/// or left out.
pub fn markdown(cases: &[&Case], compared: &[Compared], old: &str) -> String {
    let (picks, numbers): (Vec<&Case>, Vec<&Case>) =
        cases.iter().copied().partition(|case| case.picks.is_some());
    let row = |case: &Case| {
        let now = compared.iter().find(|compared| compared.case == case.name());
        now.map(|now| row(case, now)).or_else(|| kept(case, old))
    };
    let mut text = String::new();
    let mut section = String::new();
    for case in numbers {
        let Some(row) = row(case) else { continue };
        if section != title(case) {
            section = title(case);
            let seconds = case.duration_ns as f64 / 1e9;
            text += &format!(
                "\n{section}, {seconds} s\n\n\
                 | CPUs | policy | share, worst task | switches | run delay | wakeup p50 | p95 | p99 |"
            );
            text += if case.topology.is_empty() { "" } else { " cores doubled |" };
            text += &format!("\n|{}\n", "---|".repeat(2 + measures(case).len()));
        }
        text += &row;
    }
    let rows: String = picks.into_iter().filter_map(row).collect();
    if !rows.is_empty() {
        text += "\n**Picks**, one CPU\n\n| workload | policy | tunables | the same picks |\n|---|---|---|---|\n";
        text += &rows;
    }
    text.trim_start().to_owned()
}

/// With what the section of the case begins.
fn title(case: &Case) -> String {
    match (case.picks, &*case.topology) {
        (Some(_), _) => "**Picks**".into(),
        (None, "") => format!("**{}**", case.workload),
        (None, _) => format!("**{}, several domains**", case.workload),
    }
}

/// With what its row begins, which no other in its section does.
fn head(case: &Case) -> String {
    let set = case.set.join(" ");
    match case.picks {
        Some(_) => format!("| {} | {} | {set} |", case.workload, case.policy),
        None if case.own_set => format!("| {} | {} {set} |", case.machine(), case.policy),
        None => format!("| {} | {} |", case.machine(), case.policy),
    }
}

fn kept(case: &Case, old: &str) -> Option<String> {
    let (title, head) = (title(case), head(case));
    old.lines()
        .skip_while(|line| !line.starts_with(&title))
        .skip(1)
        .take_while(|line| !line.starts_with("**"))
        .find(|line| line.starts_with(&head))
        .map(|line| format!("{line}\n"))
}

fn row(case: &Case, compared: &Compared) -> String {
    let mut row = head(case);
    if case.picks.is_some() {
        row += &format!(" {} |", compared.same_picks.unwrap_or_default());
        return row + "\n";
    }
    for measure in measures(case) {
        row += &format!(" {} |", cell(compared, measure));
    }
    row + "\n"
}

/// What the columns of its section show.
fn measures(case: &Case) -> Vec<Measure> {
    let has = |measure: &Measure| *measure != Measure::Doubled || !case.topology.is_empty();
    Measure::ALL.into_iter().filter(has).collect()
}

/// `simulator / kernel (error)`, with the range of the simulator's values if there is one, and a
/// mark if it is known to be out of tolerance.
fn cell(case: &Compared, measure: Measure) -> String {
    let Some(pair) = case.pair(measure) else { return "–".into() };
    let show = |value: f64| match measure {
        Measure::Share | Measure::Doubled => format!("{:.1} %", value * 100.0),
        Measure::Switches => format!("{value:.0}"),
        _ => time(value),
    };
    let (least, most) = (show(pair.least), show(pair.most));
    let range = match pair.interval {
        None if least != most => format!(" [{least} … {most}]"),
        _ => String::new(),
    };
    let mut error = match (measure, pair.relative()) {
        (Measure::Share | Measure::Doubled, _) => {
            format!("{:+.1}", (pair.simulator - pair.kernel) * 100.0)
        }
        (_, Some(error)) => format!("{:+.1} %", error * 100.0),
        (_, None) => "–".into(),
    };
    if let Some(half) = pair.interval {
        error += &match measure {
            Measure::Share | Measure::Doubled => format!(" ± {:.1}", half * 100.0),
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

#[cfg(test)]
mod tests {
    use super::super::kept::Kept;
    use super::*;
    use crate::versus::{case, programs};

    const OLD: &str = "**hogs**, 2 s\n\n\
        | CPUs | policy |\n|---|---|\n| 1 | rr | one |\n| 1 | wfq | two |\n| 1 | gone | x |\n\n\
        **mix**, 2 s\n\n| 1 | rr | three |\n\n\
        **Picks**, one CPU\n\n| hogs | rr | quantum_ns=3ms | 7 |\n";

    #[test]
    fn rows_of_cases_that_were_not_compared_stay_and_those_of_none_go() {
        let file = r#"
            matrix = [
                { workload = "hogs", cpus = [1], for = "2s", policies = ["wfq", "rr"] },
                { workload = "mix", cpus = [1, 2], for = "2s", policies = ["rr"] },
            ]
            sequence = [
                { workload = "hogs", policies = ["rr"], for = "2s", picks = 5,
                  set = ["quantum_ns=3ms"] },
            ]
        "#;
        let cases = case::parse(file, &["rr", "wfq"]).unwrap();
        let cases: Vec<&Case> = cases.iter().collect();

        let text = markdown(&cases, &[], OLD);

        let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("| ")).collect();
        assert_eq!(rows.iter().filter(|row| row.starts_with("| CPUs")).count(), 2, "{text}");
        let kept: Vec<&str> = rows.into_iter().filter(|row| !row.contains("polic")).collect();
        assert_eq!(
            kept,
            [
                "| 1 | wfq | two |",
                "| 1 | rr | one |",
                "| 1 | rr | three |",
                "| hogs | rr | quantum_ns=3ms | 7 |"
            ]
        );
    }

    #[test]
    fn each_case_has_a_row_in_its_page() {
        let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let all: Vec<&str> = rota_catalog::policies().iter().map(|p| p.name).collect();
        let recordings = repository.join("tests/vm/versus/recordings.jsonl");
        let policies = Kept::read(&recordings).unwrap().policies(&all);
        let pages = [
            ("cases.toml", "simulator-vs-kernel.md", &policies[..]),
            ("fair-cases.toml", "eevdf-vs-kernel.md", &policies),
            ("program-cases.toml", "programs-vs-kernel.md", &programs::NAMES),
        ];
        for (file, page, names) in pages {
            let file = repository.join("tests/vm/versus").join(file);
            let old = page::written(&repository.join("docs").join(page), COMMAND).unwrap();

            for case in case::read(&file, names).unwrap() {
                assert!(kept(&case, &old).is_some(), "{page}: no row of {}", case.name());
            }
        }
    }
}
