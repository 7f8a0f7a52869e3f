// SPDX-License-Identifier: MIT OR Apache-2.0
//! How evenly a client has the CPU: how far the times between its quanta are spread.

use crate::runs::Run;

/// When a client finished each part of its work, one after the other: it does nothing else.
pub(crate) fn parts(runs: &[Run], client: usize, part_ns: u64) -> Vec<u64> {
    let (mut ends, mut received_ns) = (Vec::new(), 0);
    for run in runs.iter().filter(|run| run.client == client) {
        let before_ns = received_ns;
        received_ns += run.to_ns - run.from_ns;
        for part in before_ns / part_ns + 1..=received_ns / part_ns {
            ends.push(run.from_ns + part * part_ns - before_ns);
        }
    }
    ends
}

/// Times between parts: their mean, their standard deviation, the longest; in milliseconds.
pub(crate) struct Intervals {
    pub(crate) mean: f64,
    pub(crate) deviation: f64,
    pub(crate) longest: f64,
}

impl Intervals {
    pub(crate) fn of(ends: &[u64]) -> Self {
        let intervals: Vec<f64> =
            ends.windows(2).map(|two| (two[1] - two[0]) as f64 / 1e6).collect();
        let count = intervals.len().max(1) as f64;
        let mean = intervals.iter().sum::<f64>() / count;
        let squares: f64 = intervals.iter().map(|interval| (interval - mean).powi(2)).sum();
        let longest = intervals.iter().copied().fold(0.0, f64::max);
        Self { mean, deviation: (squares / count).sqrt(), longest }
    }
}

/// The spread of one client: the standard deviation of the times between its quanta over their
/// mean. 0: it has a quantum at even intervals.
pub(crate) fn spread_of(runs: &[Run], client: usize, quantum_ns: u64) -> f64 {
    let intervals = Intervals::of(&parts(runs, client, quantum_ns));
    intervals.deviation / intervals.mean
}

/// The mean of all clients' spreads.
pub(crate) fn spread(runs: &[Run], clients: usize, quantum_ns: u64) -> f64 {
    (0..clients).map(|client| spread_of(runs, client, quantum_ns)).sum::<f64>() / clients as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn run(client: usize, from: u64, to: u64) -> Run {
        Run { client, from_ns: from * MS, to_ns: to * MS }
    }

    #[test]
    fn a_part_is_done_when_its_cpu_time_is_used_up() {
        // 15 ms, then, 100 ms later, 15 more: parts after 10, and 5 and 15 of the second time.
        let runs = [run(0, 0, 15), run(1, 15, 115), run(0, 115, 130)];
        let ends = parts(&runs, 0, 10 * MS);
        assert_eq!(ends, [10 * MS, 120 * MS, 130 * MS]);
        let intervals = Intervals::of(&ends);
        assert_eq!((intervals.mean, intervals.longest), (60.0, 110.0));
        assert_eq!(intervals.deviation, 50.0);
    }

    #[test]
    fn five_quanta_at_once_are_less_even_than_one_in_three() {
        // Shares 5 and 10, quanta of 20 ms, cycles of 300. All five at once: intervals of 20, 20,
        // 20, 20 and 220 ms, whose mean is 60 and whose deviation is sqrt((4 x 40^2 + 160^2) / 5)
        // = 80. In turn with two of the other: 60 each.
        let at_once: Vec<Run> = (0..40)
            .flat_map(|n| [run(0, 300 * n, 300 * n + 100), run(1, 300 * n + 100, 300 * n + 300)])
            .collect();
        // The first quantum has none before it, so that one short interval is missing.
        assert!((spread_of(&at_once, 0, 20 * MS) - 80.0 / 60.0).abs() < 0.01);
        let in_turn: Vec<Run> = (0..200)
            .flat_map(|n| [run(0, 60 * n, 60 * n + 20), run(1, 60 * n + 20, 60 * n + 60)])
            .collect();
        assert_eq!(spread_of(&in_turn, 0, 20 * MS), 0.0);
        // The other's intervals are 20 and 40: 10 over 30.
        let both = spread(&in_turn, 2, 20 * MS);
        assert!((both - (0.0 + 1.0 / 3.0) / 2.0).abs() < 0.01, "{both}");
    }
}
