// SPDX-License-Identifier: MIT OR Apache-2.0
//! How far what is predicted is from what was: medians of the runs, and their difference.

use super::args::CalibratedLoad;
use super::simulated::Predicted;
use crate::commands::bench::median::median;
use crate::error::Error;
use crate::output::{table, units};
use rota_calibrate::loads::Live;
use serde::Serialize;
use std::io::Write;

/// A load.
#[derive(Debug, Serialize)]
pub(super) struct Compared {
    pub(super) load: &'static str,
    /// What it does itself, timed alone: the median of each part.
    pub(super) own_ns: Vec<f64>,
    pub(super) metrics: Vec<Metric>,
}

/// A number of a load.
#[derive(Debug, Serialize)]
pub(super) struct Metric {
    pub(super) metric: &'static str,
    /// Of each run.
    pub(super) live: Vec<f64>,
    pub(super) simulated: Vec<f64>,
    pub(super) live_median: f64,
    pub(super) simulated_median: f64,
    /// Predicted ÷ live - 1.
    pub(super) error: f64,
    /// Whether the error is as small as the goal asks.
    pub(super) within: bool,
}

const THROUGHPUT: &str = "per second";
const WAKEUP: &str = "wakeup p50";

/// Largest errors that are goals.
const THROUGHPUT_GOAL: f64 = 0.10;
const WAKEUP_GOAL: f64 = 0.20;

/// Of the parts of a load's own work, the medians of its runs.
pub(super) fn own_ns(runs: &[Live]) -> Vec<f64> {
    let parts = runs.first().map_or(0, |run| run.own_ns.len());
    let part = |at: usize| runs.iter().map(|run| run.own_ns[at]).collect::<Vec<_>>();
    (0..parts).map(|at| median(&part(at))).collect()
}

fn metric(metric: &'static str, goal: f64, live: Vec<f64>, simulated: Vec<f64>) -> Metric {
    let [live_median, simulated_median] = [&live, &simulated].map(|all| median(all));
    let error = simulated_median / live_median.max(f64::MIN_POSITIVE) - 1.0;
    let within = error.abs() <= goal;
    Metric { metric, live, simulated, live_median, simulated_median, error, within }
}

pub(super) fn compare(
    load: CalibratedLoad,
    own_ns: Vec<f64>,
    live: &[Live],
    simulated: &[Predicted],
) -> Compared {
    let done = live.iter().map(|run| run.per_second).collect();
    let predicted = simulated.iter().map(|run| run.per_second).collect();
    let mut metrics = vec![metric(THROUGHPUT, THROUGHPUT_GOAL, done, predicted)];
    let woken: Vec<f64> = live.iter().filter_map(|run| run.wakeup_p50_ns).collect();
    let predicted: Vec<f64> = simulated.iter().filter_map(|run| run.wakeup_p50_ns).collect();
    if !woken.is_empty() {
        metrics.push(metric(WAKEUP, WAKEUP_GOAL, woken, predicted));
    }
    Compared { load: load.name(), own_ns, metrics }
}

/// For people.
pub(super) fn print(out: &mut dyn Write, all: &[Compared]) -> Result<(), Error> {
    let header = ["load", "metric", "live", "of runs", "predicted", "error", ""];
    let row = |load: &Compared, metric: &Metric| {
        let text = |value: f64| match metric.metric {
            WAKEUP => units::time(value.round() as u64),
            _ => format!("{value:.0}"),
        };
        let least = metric.live.iter().copied().fold(f64::INFINITY, f64::min);
        let most = metric.live.iter().copied().fold(0.0, f64::max);
        vec![
            load.load.to_owned(),
            metric.metric.to_owned(),
            text(metric.live_median),
            format!("{}-{}", text(least), text(most)),
            text(metric.simulated_median),
            format!("{:+.1}%", metric.error * 100.0),
            if metric.within { "" } else { "outside" }.to_owned(),
        ]
    };
    let rows = all.iter().flat_map(|load| load.metrics.iter().map(move |metric| row(load, metric)));
    for line in table::lines(&header, 2, rows.collect()) {
        writeln!(out, "{line}")?;
    }
    let metrics: Vec<&Metric> = all.iter().flat_map(|load| &load.metrics).collect();
    let within = metrics.iter().filter(|metric| metric.within).count();
    writeln!(
        out,
        "\n{within} of {} are within the goals: throughput {:.0} %, wakeup p50 {:.0} %",
        metrics.len(),
        THROUGHPUT_GOAL * 100.0,
        WAKEUP_GOAL * 100.0
    )?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn live(per_second: f64, p50: f64) -> Live {
        Live { per_second, wakeup_p50_ns: Some(p50), own_ns: vec![p50 / 10.0] }
    }

    #[test]
    fn medians_are_compared_with_the_goal_of_their_metric() {
        let runs = [live(100.0, 20.0), live(1.0, 900.0), live(104.0, 10.0)];
        let predicted = [Predicted { per_second: 109.0, wakeup_p50_ns: Some(25.0) }];

        let found = compare(CalibratedLoad::Wakeups, own_ns(&runs), &runs, &predicted);

        // 109 of 100, and 25 of 20
        let [done, woken] = &found.metrics[..] else { panic!("{found:?}") };
        assert!((done.error - 0.09).abs() < 1e-9 && done.within, "{done:?}");
        assert!((woken.error - 0.25).abs() < 1e-9 && !woken.within, "{woken:?}");
        assert_eq!(found.own_ns, [2.0]);
    }
}
