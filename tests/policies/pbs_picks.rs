// SPDX-License-Identifier: MIT OR Apache-2.0
//! Priority-based blind scheduling [PBS] against a model in doubles: the greatest priority at
//! every pick, the fluid completion times, and the policies at its corners [Fig. 1].

use crate::common::blind::{Played, Scenario, State};
use crate::common::plan::cases;
use proptest::prelude::*;

/// Sessions of whole lives, and no bounds for alpha.
fn settings<'a>(alpha: &'a str, quantum_ns: &'a str) -> Vec<(&'a str, &'a str)> {
    vec![("alpha", alpha), ("alpha_min", "0"), ("beta", "inf"), ("quantum_ns", quantum_ns)]
}

/// The scenario's completion times in seconds, of a run that is long enough.
fn ends(played: &Played) -> Vec<f64> {
    played.ends.iter().map(|end| end.expect("done") as f64 / 1e9).collect()
}

/// The fluid completion times of tasks that are all scheduled whenever one is done, in this
/// order: then S_k is in proportion to T_k^(1/alpha) [A.1, eq. 8], and all S add up to the time,
/// so that t - (demands done) = d_j sum over k of (T_k / T_j)^(1/alpha) when j is done.
fn fluid(tasks: &[(f64, f64)], order: &[usize], alpha: f64) -> Vec<f64> {
    let mut ends = vec![0.0; tasks.len()];
    let mut left: Vec<usize> = order.to_vec();
    let mut done = 0.0;
    for task in order {
        let (came, needs) = tasks[*task];
        let excess = |t: f64| {
            let part = |k: &usize| ((t - tasks[*k].0) / (t - came)).powf(1.0 / alpha);
            t - done - needs * left.iter().map(part).sum::<f64>()
        };
        let (mut low, mut high) = (came + needs, 1e3);
        for _ in 0..100 {
            let middle = (low + high) / 2.0;
            *(if excess(middle) < 0.0 { &mut low } else { &mut high }) = middle;
        }
        ends[*task] = high;
        left.retain(|k| k != task);
        done += needs;
    }
    ends
}

/// [PBS Fig. 2]: four tasks, and the fluid completion times in seconds. For alpha = 1 by hand:
/// task 2 is done when (t - 1) t / (4 t - 9) = 2.5, at (11 + sqrt(31)) / 2 = 8.284, task 4 when
/// (t - 5)(t - 2.5) / (3 t - 8) = 2, task 3 when (t - 3)(t - 4.5) / (2 t - 3) = 3.
fn four_tasks() -> Vec<(&'static str, Vec<f64>)> {
    let tasks = [(0.0, 4.5), (1.0, 2.5), (3.0, 3.0), (5.0, 2.0)];
    let at_1 = fluid(&tasks, &[1, 3, 2, 0], 1.0);
    let roots = [12.0, (11.0 + 31f64.sqrt()) / 2.0, (13.5 + 92.25f64.sqrt()) / 2.0];
    for (end, root) in at_1.iter().zip(roots) {
        assert!((end - root).abs() < 1e-9, "{at_1:?}");
    }
    let at_100 = fluid(&tasks, &[3, 1, 2, 0], 100.0);
    for (end, expected) in at_100.iter().zip([12.0, 9.50, 10.51, 8.05]) {
        assert!((end - expected).abs() < 0.005, "{at_100:?}");
    }
    let first_come = vec![4.5, 7.0, 10.0, 12.0];
    let at_2 = fluid(&tasks, &[1, 3, 2, 0], 2.0);
    vec![("0.01", first_come), ("1", at_1), ("2", at_2), ("100", at_100)]
}

#[test]
fn completion_times_come_closer_to_the_fluid_ones_as_the_quantum_shrinks() {
    for (alpha, fluid) in four_tasks() {
        let error_ms = |quantum: &str| {
            let ends = ends(&Scenario::four().play("pbs", &settings(alpha, quantum), 13_000));
            let off = ends.iter().zip(&fluid).map(|(end, due)| (end - due).abs() * 1e3);
            off.fold(0.0, f64::max)
        };
        let errors = ["64ms", "16ms", "4ms", "1ms", "250us"].map(error_ms);
        for pair in errors.windows(2) {
            assert!(pair[1] < pair[0], "alpha {alpha}: {errors:?} ms");
        }
        assert!(errors[3] < 3.0, "alpha {alpha}: {errors:?} ms");
        assert!(errors[4] < 0.8, "alpha {alpha}: {errors:?} ms");
    }
}

#[test]
fn the_oldest_is_interrupted_when_four_come_and_resumes_without_anybody_leaving() {
    // [PBS Fig. 3]: the four come at 2.5 s. For alpha = 0.4 the first is interrupted at 3.7 s, when
    // nobody comes (property 11), until 6.7 s. From 1 on at once, until they have caught up:
    // t / 2.5^alpha = x / (x / 4)^alpha with x = t - 2.5, so at 4 x 2.5 s for 1, at
    // (2.5 + sqrt(406.25)) / 2 for 2, and at 2.5 + 10 x 0.8^(1/100), nearly, for 100
    let tasks = [0, 2_500, 2_500, 2_500, 2_500].map(|at| (at, 90_000)).into();
    let scenario = Scenario { tasks };
    for (alpha, from, to) in
        [("0.4", 3.7, 6.7), ("1", 2.5, 10.0), ("2", 2.5, 11.328), ("100", 2.5, 12.477)]
    {
        let spans = scenario.play("pbs", &settings(alpha, "1ms"), 15_000).spans(0);
        let gaps = spans.windows(2).map(|pair| (pair[0].1 as f64 / 1e9, pair[1].0 as f64 / 1e9));
        let longest = gaps.max_by(|a, b| (a.1 - a.0).total_cmp(&(b.1 - b.0))).expect("a gap");
        // its share vanishes slowly, and a quantum of that is long
        let slack = if alpha == "0.4" { 0.1 } else { 0.008 };
        let as_due = (longest.0 - from).abs() < slack && (longest.1 - to).abs() < slack;
        assert!(as_due, "alpha {alpha}: {longest:?}");
    }
}

/// Of those who were there at a pick, is nobody's priority greater than that of who was picked?
fn is_greatest(states: &[State], picked: usize, alpha: f64) -> bool {
    let greatest = states.iter().filter(|s| s.active).map(|s| s.priority(alpha));
    let greatest = greatest.fold(f64::NEG_INFINITY, f64::max);
    let own = states[picked].priority(alpha);
    // the policy's logarithms are exact to 2^-32
    own == greatest || own > greatest - (1.0 + alpha) * 1e-9
}

fn scenario() -> impl Strategy<Value = Scenario> {
    let task = (0..1_000u64, 1..600u64);
    prop::collection::vec(task, 1..13).prop_map(|mut tasks| {
        tasks.sort();
        Scenario { tasks }
    })
}

/// Twelve tasks that come within a second and stay.
fn twelve() -> impl Strategy<Value = Scenario> {
    prop::collection::vec(0..1_000u64, 12).prop_map(|mut comes| {
        comes.sort();
        Scenario { tasks: comes.into_iter().map(|at| (at, 10_000)).collect() }
    })
}

const ALPHAS: [&str; 6] = ["0.1", "0.4", "1", "2", "7.5", "50"];

proptest! {
    #![proptest_config(cases(40))]

    #[test]
    fn every_pick_is_the_greatest_priority(
        scenario in scenario(),
        alpha in prop::sample::select(&ALPHAS[..]),
        quantum in prop::sample::select(&["500us", "4ms", "10ms"][..]),
    ) {
        let played = scenario.play("pbs", &settings(alpha, quantum), 4_000);
        let alpha: f64 = alpha.parse().unwrap();
        for (time_ns, picked, states) in played.states() {
            prop_assert!(is_greatest(&states, picked, alpha), "{time_ns}: {picked} {states:?}");
        }
    }

    #[test]
    fn alpha_0_is_fifo(scenario in scenario()) {
        let pbs = scenario.play("pbs", &settings("0", "4ms"), 8_000);
        let fifo = scenario.play("fifo", &[], 8_000);
        prop_assert_eq!(pbs.ends, fifo.ends);
    }

    #[test]
    fn alpha_100_is_nearly_las(scenario in scenario()) {
        // T^(1/100) is within 1.08 for T from 1 ms to 2 s: S is as much off, and so are times
        let pbs = scenario.play("pbs", &settings("100", "500us"), 8_000);
        let las = scenario.play("las", &[("quantum_ns", "500us")], 8_000);
        for (a, b) in ends(&pbs).iter().zip(ends(&las)) {
            prop_assert!((a - b).abs() < 0.01 + 0.08 * b, "{a} {b}: {:?}", scenario);
        }
    }

    #[test]
    fn alpha_1_is_processor_sharing_for_those_who_come_together(scenario in scenario()) {
        let tasks: Vec<(u64, u64)> = scenario.tasks.iter().map(|task| (0, task.1)).collect();
        let scenario = Scenario { tasks };
        let pbs = scenario.play("pbs", &settings("1", "100us"), 8_000);
        let ps = scenario.play("ps", &[], 8_000);
        for (a, b) in ends(&pbs).iter().zip(ends(&ps)) {
            prop_assert!((a - b).abs() <= 13.0 * 100e-6, "{a} {b}: {:?}", scenario);
        }
    }

    #[test]
    fn the_constant_mode_mostly_picks_the_same(
        scenario in twelve(),
        alpha in prop::sample::select(&ALPHAS[..]),
    ) {
        let mut set = settings(alpha, "4ms");
        set.extend([("mode", "constant"), ("leaders", "2"), ("looks", "4")]);
        let states = scenario.play("pbs", &set, 10_000).states();
        let alpha: f64 = alpha.parse().unwrap();
        let same = states.iter().filter(|(_, picked, all)| is_greatest(all, *picked, alpha));
        let part = same.count() as f64 / states.len() as f64;
        prop_assert!(part >= 0.9, "alpha {alpha}: {part} of {} picks", states.len());
    }
}
