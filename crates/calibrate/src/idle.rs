// SPDX-License-Identifier: MIT OR Apache-2.0
//! Idle states from what a wakeup takes after longer and longer idleness.

use crate::estimate::{difference, Estimate};
use rota_machine::hardware::parts::IdleState;

/// A step of a staircase: how long a wakeup takes, and from which idle time on, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Stair {
    /// The shortest idle time that was tried.
    pub(crate) from_us: u64,
    /// Where it is taken to begin.
    pub(crate) begin_us: u64,
    pub(crate) wakeup: Estimate,
}

/// Steps that differ by less than this part are one: states of one kind.
const NEAR: f64 = 0.2;

/// The staircase of a ladder of measurements: a deeper sleep never takes less to leave than a
/// shallower one, so neighbours that say so are pooled, weighted by their samples (pool adjacent
/// violators, Ayer et al. 1955). A step begins somewhere between its first time and the one that was
/// tried before: halfway, by their ratio.
pub(crate) fn stairs(ladder: &[(u64, Estimate)]) -> Vec<Stair> {
    let mut stairs: Vec<Stair> = Vec::new();
    let mut before_us = None;
    for (from_us, wakeup) in ladder {
        let begin_us = before_us.map_or(0, |before_us| between(before_us, *from_us));
        before_us = Some(*from_us);
        stairs.push(Stair { from_us: *from_us, begin_us, wakeup: *wakeup });
        while let [.., before, last] = stairs.as_slice() {
            if last.wakeup.median > before.wakeup.median * (1.0 + NEAR) {
                break;
            }
            let pooled = pool(before, last);
            stairs.truncate(stairs.len() - 2);
            stairs.push(pooled);
        }
    }
    stairs
}

/// The geometric mean.
fn between(a_us: u64, b_us: u64) -> u64 {
    ((a_us as f64) * (b_us as f64)).sqrt().round() as u64
}

/// Both as one. Ladders have fewer samples of longer times, which are not worth less: each step
/// counts by the square root.
fn pool(a: &Stair, b: &Stair) -> Stair {
    let [wa, wb] = [a, b].map(|stair| (stair.wakeup.samples as f64).sqrt());
    let mean = |a: f64, b: f64| (a * wa + b * wb) / (wa + wb);
    let (x, y) = (a.wakeup, b.wakeup);
    let wakeup = Estimate {
        median: mean(x.median, y.median),
        low: mean(x.low, y.low),
        high: mean(x.high, y.high),
        samples: x.samples + y.samples,
    };
    Stair { wakeup, ..*a }
}

/// The states of a staircase, where a wakeup without idleness takes `busy`: exits that cannot be
/// told from none are 0.
pub(crate) fn states(stairs: &[Stair], busy: &Estimate, known: &[IdleState]) -> Vec<IdleState> {
    let state = |(at, stair): (usize, &Stair)| {
        let exit = difference(&stair.wakeup, busy).map_or(0.0, |exit| exit.median);
        // Whole microseconds, as in a file.
        let exit_ns = (exit / 1_000.0).round() as u64 * 1_000;
        // The deepest one that such an idle time is worth gives its name.
        let named = known.iter().rev().find(|state| state.residency_ns <= stair.from_us * 1_000);
        IdleState {
            name: match named.filter(|_| known.len() > 1) {
                Some(state) => state.name.clone(),
                None => format!("idle{at}"),
            },
            exit_ns,
            residency_ns: (stair.begin_us * 1_000).max(exit_ns),
            flush: named.is_some_and(|state| state.flush),
        }
    };
    let mut states: Vec<IdleState> = stairs.iter().enumerate().map(state).collect();
    // Exits of a state that is deeper by name are no reason to enter it earlier.
    for at in 1..states.len() {
        states[at].residency_ns = states[at].residency_ns.max(states[at - 1].residency_ns);
    }
    states
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(median: f64) -> Estimate {
        Estimate { median, low: median, high: median, samples: 100 }
    }

    #[test]
    fn a_staircase_pools_what_falls_and_what_is_near() {
        // 20 and 60 us: 24 and 26 us are near; 150 us: 23 us falls. All three are (24+26+23)/3 or
        // nearly: ((24+26)/2 * sqrt(200) + 23 * sqrt(100)) / (sqrt(200) + sqrt(100)) = 24.17.
        let ladder = [(20, of(24.0)), (60, of(26.0)), (150, of(23.0)), (500, of(48.0))];
        let stairs = stairs(&ladder);
        assert_eq!(stairs.len(), 2, "{stairs:?}");
        assert!((stairs[0].wakeup.median - 24.17).abs() < 0.01, "{stairs:?}");
        assert_eq!((stairs[0].from_us, stairs[1].from_us), (20, 500));
        // the second one somewhere above 150: the root of 150 x 500
        assert_eq!((stairs[0].begin_us, stairs[1].begin_us), (0, 274));
        assert_eq!(stairs[1].wakeup.median, 48.0);
    }

    #[test]
    fn an_exit_is_what_a_wakeup_takes_more_than_of_a_busy_cpu() {
        let stairs = [
            Stair { from_us: 20, begin_us: 0, wakeup: of(24_000.0) },
            Stair { from_us: 500, begin_us: 274, wakeup: of(48_400.0) },
        ];
        let states = states(&stairs, &of(14_000.0), &[]);
        let plain: Vec<_> =
            states.iter().map(|s| (s.name.as_str(), s.exit_ns, s.residency_ns)).collect();
        // The first is for any idle time, but for none shorter than its exit.
        assert_eq!(plain, [("idle0", 10_000, 10_000), ("idle1", 34_000, 274_000)]);
    }

    #[test]
    fn a_wakeup_as_fast_as_of_a_busy_cpu_has_no_exit() {
        let stairs = [Stair { from_us: 20, begin_us: 0, wakeup: of(13_000.0) }];
        let states = states(&stairs, &of(14_000.0), &[]);
        assert_eq!((states[0].exit_ns, states[0].residency_ns), (0, 0));
    }

    #[test]
    fn states_that_the_kernel_names_keep_their_names() {
        let known = |name: &str, residency_us: u64, flush| IdleState {
            name: name.into(),
            exit_ns: 0,
            residency_ns: residency_us * 1_000,
            flush,
        };
        let known = [known("C1", 1, false), known("C6", 600, true)];
        let stairs = [
            Stair { from_us: 20, begin_us: 0, wakeup: of(3_000.0) },
            Stair { from_us: 1_500, begin_us: 866, wakeup: of(130_000.0) },
        ];
        let states = states(&stairs, &of(2_000.0), &known);
        assert_eq!((states[0].name.as_str(), states[0].flush), ("C1", false));
        assert_eq!((states[1].name.as_str(), states[1].flush), ("C6", true));
        assert_eq!((states[1].exit_ns, states[1].residency_ns), (128_000, 866_000));
    }
}
