// SPDX-License-Identifier: MIT OR Apache-2.0
//! The jobs of a run: a row for each task that has a timer or a reservation.

use super::table;
use super::units::{percent, time, time_or_dash};
use rota_measure::JobNumbers;
use std::io::{self, Write};

const HEADER: [&str; 8] =
    ["jobs of", "jobs", "misses", "miss rate", "tardiness p50", "p99", "max", "slack min"];

/// Prints the table and an empty line after it; nothing for a run without jobs.
pub(crate) fn print<'a>(
    out: &mut dyn Write,
    tasks: impl Iterator<Item = (&'a str, Option<&'a JobNumbers>)>,
) -> io::Result<()> {
    let row = |(name, jobs): (&str, Option<&JobNumbers>)| {
        let jobs = jobs.filter(|jobs| jobs.jobs > 0)?;
        let tardiness = &jobs.tardiness_ns;
        let mut row = vec![name.to_owned(), jobs.jobs.to_string(), jobs.misses.to_string()];
        row.push(jobs.miss_rate.map_or("-".into(), percent));
        row.extend([tardiness.p50, tardiness.p99, tardiness.max].map(time_or_dash));
        row.push(jobs.slack_ns.min.map_or("-".into(), signed));
        Some(row)
    };
    let rows: Vec<Vec<String>> = tasks.filter_map(row).collect();
    if rows.is_empty() {
        return Ok(());
    }
    table::lines(&HEADER, 1, rows).iter().try_for_each(|line| writeln!(out, "{line}"))?;
    writeln!(out)
}

fn signed(ns: i64) -> String {
    let sign = if ns < 0 { "-" } else { "" };
    format!("{sign}{}", time(ns.unsigned_abs()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rota_measure::{LatencyNumbers, SlackNumbers};

    #[test]
    fn tasks_without_jobs_have_no_row() {
        let jobs = JobNumbers {
            jobs: 4,
            met: 3,
            misses: 1,
            miss_rate: Some(0.25),
            tardiness_ns: LatencyNumbers { p50: Some(0), ..LatencyNumbers::default() },
            slack_ns: SlackNumbers { min: Some(-2_000_000), mean: None },
        };
        let mut out = Vec::new();
        print(&mut out, [("a", Some(&jobs)), ("b", None)].into_iter()).unwrap();
        let text = String::from_utf8(out).unwrap();
        let words: Vec<&str> = text.lines().nth(1).unwrap().split_whitespace().collect();
        assert_eq!(words, ["a", "4", "1", "25.0%", "0ns", "-", "-", "-2.00ms"]);
        assert!(!text.contains("b "), "{text}");
        let mut out = Vec::new();
        print(&mut out, [("b", None)].into_iter()).unwrap();
        assert_eq!(out, b"");
    }
}
