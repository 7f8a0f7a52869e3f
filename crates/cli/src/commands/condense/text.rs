// SPDX-License-Identifier: MIT OR Apache-2.0
//! The table of both workloads.

use super::Report;
use crate::output::table;
use crate::output::units::{duration, time, time_or_dash};
use std::io::{self, Write};

/// Kinds of tasks that have a row.
const MOST_KINDS: usize = 20;

pub(super) fn print(out: &mut dyn Write, report: &Report) -> io::Result<()> {
    let whole = |ns: u64| duration(ns / 1_000_000 * 1_000_000);
    let (long, small) = report.length_ns;
    writeln!(
        out,
        "{}: {} condensed to {}, {} bytes, in the order of {} to {}",
        report.file,
        whole(long),
        whole(small),
        report.bytes,
        whole(report.part_ns.0),
        whole(report.part_ns.1)
    )?;
    writeln!(out, "long / condensed, both by {}, of each second:\n", report.policy)?;
    let rows = report.fits.kinds.iter().take(MOST_KINDS).map(|row| {
        let off = match row.cpu.0 > 0.0 {
            true => format!("{:+.1}%", 100.0 * (row.cpu.1 / row.cpu.0 - 1.0)),
            false => "-".to_owned(),
        };
        vec![
            row.name.clone(),
            format!("{:.1} / {:.1}", row.alive.0, row.alive.1),
            format!("{:.2}% / {:.2}%", 100.0 * row.cpu.0, 100.0 * row.cpu.1),
            off,
            format!("{:.1} / {:.1}", row.wakeups_per_s.0, row.wakeups_per_s.1),
            format!("{} / {}", time(row.run_delay_ns_per_s.0), time(row.run_delay_ns_per_s.1)),
            format!("{} / {}", time_or_dash(row.p50_ns.0), time_or_dash(row.p50_ns.1)),
            format!("{} / {}", time_or_dash(row.p99_ns.0), time_or_dash(row.p99_ns.1)),
        ]
    });
    let header = [
        "tasks of",
        "alive",
        "CPU time",
        "off",
        "wakeups",
        "run delay",
        "p50 wakeup",
        "p99 wakeup",
    ];
    for line in table::lines(&header, 1, rows.collect()) {
        writeln!(out, "{line}")?;
    }
    if let Some(left) = report.fits.kinds.len().checked_sub(MOST_KINDS).filter(|left| *left > 0) {
        writeln!(out, "{left} more kinds of tasks have less CPU time")?;
    }
    let grade = &report.fits.grade;
    match grade.reasons.is_empty() {
        true => writeln!(out, "grade: {}", grade.grade),
        false => writeln!(out, "grade: {}: {}", grade.grade, grade.reasons.join("; ")),
    }
}
