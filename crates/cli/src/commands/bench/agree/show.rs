// SPDX-License-Identifier: MIT OR Apache-2.0
//! The comparison for people.

use super::compare::{Compared, Metric, Value};
use crate::error::Error;
use crate::output::{table, units};
use std::io::Write;

/// With more than this, others had so much of the computer that its numbers are not the load's.
const NOISE: f64 = 0.02;

pub(super) fn print(out: &mut dyn Write, compared: &Compared) -> Result<(), Error> {
    let Compared { load, duration_ns, warmup_ns, others, values } = compared;
    let most = others.iter().copied().fold(0.0, f64::max);
    let (runs, length) = (others.len(), units::duration(duration_ns - warmup_ns));
    writeln!(
        out,
        "\n{load}: medians of {runs} live runs of {length} and of as many simulations; other tasks \
         had up to {} of the computer{}",
        units::percent(most),
        if most > NOISE { ", too much for these numbers to be trusted" } else { "" }
    )?;
    let rows = values.iter().map(row).collect();
    let header = ["task", "metric", "live", "simulated", "error", ""];
    for line in table::lines(&header, 2, rows) {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

fn row(value: &Value) -> Vec<String> {
    let (live, simulated) = (value.live_median, value.simulated_median);
    let text = |number: u64| match value.metric {
        Metric::Switches => number.to_string(),
        _ => units::time(number),
    };
    let error = match value.metric {
        Metric::WakeupP50Ns => {
            let sign = if simulated < live { "-" } else { "+" };
            format!("{sign}{}", units::time(live.abs_diff(simulated)))
        }
        _ if live == 0 && simulated == 0 => "0.0%".into(),
        _ if live == 0 => "-".into(),
        _ => format!("{:+.1}%", (simulated as f64 / live as f64 - 1.0) * 100.0),
    };
    let mark = if value.within == Some(false) { "outside" } else { "" };
    let name = value.metric.name().to_owned();
    vec![value.task.clone(), name, text(live), text(simulated), error, mark.into()]
}

/// What it comes to.
pub(super) fn verdict(all: &[Compared]) -> String {
    let judged: Vec<bool> =
        all.iter().flat_map(|load| &load.values).filter_map(|value| value.within).collect();
    let outside = judged.iter().filter(|within| !**within).count();
    let goals = "CPU time 5 %, run delay 10 %, p50 50 us, p99 15 % or 50 us";
    match outside {
        0 => format!("all {} values are within the goals: {goals}", judged.len()),
        _ => format!("{outside} of {} values are outside the goals: {goals}", judged.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compared(within: &[Option<bool>]) -> Compared {
        let value = |within: &Option<bool>| Value {
            task: "a".into(),
            metric: Metric::RunDelayNs,
            live: vec![2_000],
            simulated: vec![1_000],
            live_median: 2_000,
            simulated_median: 1_000,
            within: *within,
        };
        Compared {
            load: "hogs".into(),
            duration_ns: 1_000_000_000,
            warmup_ns: 0,
            others: vec![0.001, 0.03],
            values: within.iter().map(value).collect(),
        }
    }

    #[test]
    fn the_verdict_counts_what_is_outside_and_no_value_without_a_goal() {
        let [some, none] = [&[Some(true), Some(false), None][..], &[Some(true), None]]
            .map(|within| verdict(&[compared(within)]));

        assert!(some.starts_with("1 of 2 values are outside"), "{some}");
        assert!(none.starts_with("all 1 values are within"), "{none}");
    }

    #[test]
    fn a_table_says_what_is_outside_and_that_the_computer_was_busy() {
        let mut out = Vec::new();

        print(&mut out, &compared(&[Some(false)])).unwrap();

        let text = String::from_utf8(out).unwrap();
        assert!(text.contains("up to 3.0% of the computer, too much"), "{text}");
        assert!(text.contains("2.00us") && text.contains("-50.0%  outside"), "{text}");
    }
}
