// SPDX-License-Identifier: MIT OR Apache-2.0
//! For people: a line for each expectation, and what shows a failure.

use crate::suite::Checked;
use std::io::{self, Write};

/// What was expected in a test on one machine.
pub(crate) fn test(out: &mut dyn Write, all: &[Checked]) -> io::Result<()> {
    let mut place = None;
    let width = all.iter().map(|checked| checked.policy.chars().count()).max().unwrap_or(0);
    for checked in all {
        if place.as_ref() != Some(&checked.place()) {
            writeln!(out, "{}: {}", checked.test, checked.place())?;
            place = Some(checked.place());
        }
        let Checked { policy, condition, seen, command, .. } = checked;
        let verdict = if checked.failed { "FAILED" } else { "ok    " };
        writeln!(out, "  {verdict}  {policy:width$}  {condition}: {seen}")?;
        if checked.failed {
            writeln!(out, "          {command}")?;
        }
    }
    if let Some(kept) = all.iter().find(|checked| !checked.kept.is_empty()) {
        writeln!(out, "  report  {}", kept.kept[0])?;
        let mut told: Vec<&String> = Vec::new();
        for trace in all.iter().filter_map(|checked| checked.kept.get(1)) {
            if !told.contains(&trace) {
                writeln!(out, "  trace   {trace}")?;
                told.push(trace);
            }
        }
    }
    writeln!(out)
}

/// The last line.
pub(crate) fn sum(out: &mut dyn Write, all: &[Checked]) -> io::Result<()> {
    let failed = all.iter().filter(|checked| checked.failed).count();
    match failed {
        0 => writeln!(out, "all {} expectations hold", all.len()),
        _ => writeln!(out, "{failed} of {} expectations do not hold", all.len()),
    }
}
