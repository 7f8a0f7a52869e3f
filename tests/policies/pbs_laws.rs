// SPDX-License-Identifier: MIT OR Apache-2.0
//! The properties of priority-based blind scheduling [PBS §3.2], as far as quanta allow, that
//! nobody starves [§3.3], and that time can be stretched [§2], with random tasks on one CPU.

use crate::common::blind::{Played, Scenario, State};
use crate::common::hosted::Hosted;
use crate::common::ideal;
use crate::common::plan::cases;
use proptest::prelude::*;

const MS: u64 = 1_000_000;
const QUANTUM: u64 = MS;
const END: u64 = 3_000 * MS;

fn play(scenario: &Scenario, alpha: f64) -> Played {
    let alpha = alpha.to_string();
    let set = [("alpha", alpha.as_str()), ("beta", "inf"), ("quantum_ns", "1ms")];
    scenario.play("pbs", &set, END / MS)
}

/// Tasks that come within two seconds, mostly endless.
fn scenario() -> impl Strategy<Value = Scenario> {
    let needs = prop_oneof![3 => Just(10_000u64), 1 => 20..400u64];
    prop::collection::vec((0..2_000u64, needs), 2..9).prop_map(|mut tasks| {
        tasks.sort();
        tasks.dedup_by_key(|task| task.0);
        Scenario { tasks }
    })
}

fn alpha() -> impl Strategy<Value = f64> {
    prop::sample::select(&[0.2, 0.4, 0.7, 1.0, 1.5, 2.0, 5.0, 20.0][..])
}

/// `(older, younger)` of those who are there.
fn pairs(states: &[State]) -> impl Iterator<Item = (State, State)> + '_ {
    let there = move |from: usize| states[from..].iter().filter(|s| s.active);
    (0..states.len())
        .filter(move |at| states[*at].active)
        .flat_map(move |at| there(at + 1).map(move |younger| (states[at], *younger)))
}

proptest! {
    #![proptest_config(cases(40))]

    #[test]
    fn p1_who_was_served_has_a_finite_priority(scenario in scenario(), alpha in alpha()) {
        // so one that was not goes before all who were
        for (time_ns, picked, states) in play(&scenario, alpha).states() {
            let new = states.iter().any(|s| s.active && s.served_ns == 0);
            prop_assert!(!new || states[picked].served_ns == 0, "{time_ns}: {states:?}");
        }
    }

    #[test]
    fn p2_who_waits_gains_most(scenario in scenario(), alpha in alpha()) {
        // T / S^alpha grows linearly with S as it was; whoever has the CPU stays below that
        let states = play(&scenario, alpha).states();
        for pair in states.windows(2) {
            for (before, after) in pair[0].2.iter().zip(&pair[1].2) {
                if before.served_ns == 0 || !after.active || before.sojourn_ns == after.sojourn_ns {
                    continue;
                }
                let unserved = after.priority_at(alpha, before.served_ns);
                let slope = (after.sojourn_ns as f64 / before.sojourn_ns as f64).log2();
                prop_assert!((unserved - before.priority(alpha) - slope).abs() < 1e-9);
                let served = after.served_ns > before.served_ns;
                prop_assert_eq!(served, after.priority(alpha) < unserved);
            }
        }
    }

    #[test]
    fn p3_the_older_have_had_more(scenario in scenario(), alpha in alpha()) {
        for (time_ns, _, states) in play(&scenario, alpha).states() {
            for (older, younger) in pairs(&states) {
                let enough = older.served_ns + QUANTUM >= younger.served_ns;
                prop_assert!(enough, "{time_ns}: {older:?} {younger:?}");
            }
        }
    }

    #[test]
    fn p4_who_comes_is_served_at_once(scenario in scenario(), alpha in alpha()) {
        let played = play(&scenario, alpha);
        for (task, (comes, _)) in scenario.tasks.iter().enumerate() {
            prop_assert_eq!(played.spans(task)[0].0, comes * MS, "task {}", task);
        }
    }

    #[test]
    fn p5_and_8_everybody_pays_for_who_comes_and_gains_by_who_leaves(
        scenario in scenario(),
        alpha in alpha(),
        extra in 20..300u64,
    ) {
        // One more comes and leaves again: until then nobody has more than without it; once it
        // is gone, nobody has less than in a world where it stays
        let comes = scenario.tasks.last().unwrap().0 + 10;
        let with = |needs| {
            let mut tasks = scenario.tasks.clone();
            tasks.push((comes, needs));
            play(&Scenario { tasks }, alpha)
        };
        let (without, leaves, stays) = (play(&scenario, alpha), with(extra), with(10_000));
        let gone = leaves.ends.last().unwrap().unwrap_or(END).min(END);
        let slack = 3 * QUANTUM;
        for task in 0..scenario.tasks.len() {
            for part in 1..=4 {
                let until = comes * MS + (gone - comes * MS) * part / 4;
                let [a, b] = [&leaves, &without].map(|p| p.served_ns(task, comes * MS, until));
                prop_assert!(a <= b + slack, "task {task} has {a} of {b} until {until}");
                let until = gone + (END - gone) * part / 4;
                let [a, b] = [&leaves, &stays].map(|p| p.served_ns(task, gone, until));
                prop_assert!(a + slack >= b, "task {task} has {a} of {b} from {gone} to {until}");
            }
        }
    }

    #[test]
    fn p6_a_large_alpha_gives_a_newcomer_the_whole_cpu(
        scenario in scenario(),
        alpha in prop::sample::select(&[1.5, 2.0, 5.0, 20.0][..]),
    ) {
        // alone it has T = S, so it runs until T^(1 - alpha) is below the others' T / S^alpha,
        // or somebody else comes, or it is done
        let played = play(&scenario, alpha);
        for (time_ns, picked, states) in played.states() {
            let one = states[picked];
            if one.sojourn_ns == 0 || one.sojourn_ns > one.served_ns {
                continue; // it just comes, or was interrupted
            }
            let own = states[picked].priority(alpha);
            for (task, other) in states.iter().enumerate().filter(|(_, s)| s.active) {
                prop_assert!(task == picked || other.priority(alpha) <= own + 1e-7, "{time_ns}");
            }
        }
        for (task, (comes, _)) in scenario.tasks.iter().enumerate() {
            let (from, to) = played.spans(task)[0];
            prop_assert_eq!(from, comes * MS);
            let alone = |(at, picked, states): &(u64, usize, Vec<State>)| {
                let interrupts = *at == to && *picked != task;
                let there = interrupts && states[task].active;
                there.then(|| (states[*picked].served_ns > 0, states.clone(), *picked))
            };
            // who takes over was there before and has caught up
            if let Some((true, states, picked)) = played.states().iter().find_map(alone) {
                prop_assert!(states[picked].priority(alpha) >= states[task].priority(alpha) - 1e-7);
            }
        }
    }

    #[test]
    fn p7_a_small_alpha_gives_a_newcomer_one_quantum_at_first(
        comes in 100..1_000u64,
        alpha in prop::sample::select(&[0.2, 0.4, 0.7][..]),
    ) {
        // The oldest is alone before. With S = T the newcomer has T^(1 - alpha), which is less
        // than the other's. After 30 ms it has had what [A.1, eq. 8] says: less than half
        let played = play(&Scenario { tasks: vec![(0, 10_000), (comes, 10_000)] }, alpha);
        let first = played.spans(1)[0];
        prop_assert_eq!(first, (comes * MS, comes * MS + QUANTUM));
        let [old, new] = [comes + 30, 30].map(|ms| (ms as f64).powf(1.0 / alpha));
        let due_ms = (comes + 30) as f64 * new / (old + new);
        let had_ms = played.served_ns(1, comes * MS, (comes + 30) * MS) as f64 / MS as f64;
        prop_assert!(due_ms < 15.0 && (had_ms - due_ms).abs() <= 2.0, "{had_ms} of {due_ms}");
    }

    #[test]
    fn p9_the_younger_are_never_further_behind_than_by_their_last_slice(
        scenario in scenario(),
        alpha in alpha(),
    ) {
        // Without that slice the younger one's priority would be no less than the older one's:
        // so while the older one is served, the younger one is, too
        for (time_ns, _, states) in play(&scenario, alpha).states() {
            for (older, younger) in pairs(&states) {
                if older.served_ns == 0 || younger.served_ns == 0 {
                    continue;
                }
                let due = younger.priority_at(alpha, younger.served_ns - younger.last_ns);
                let fine = due >= older.priority(alpha) - 1e-7;
                prop_assert!(fine, "{time_ns}: {older:?} {younger:?}");
            }
        }
    }

    #[test]
    fn p10_with_alpha_from_1_on_nobody_drops_out_until_somebody_comes(
        comes in prop::collection::vec(0..400u64, 2..6),
        alpha in prop::sample::select(&[1.0, 1.5, 2.0, 5.0, 20.0][..]),
    ) {
        // All stay. Once all have run since the last one came, nobody waits for long: its share
        // grows from 0 with alpha = 1, so its second quantum takes some sqrt(quantum x T)
        let mut tasks: Vec<(u64, u64)> = comes.iter().map(|at| (*at, 10_000)).collect();
        tasks.sort();
        let played = play(&Scenario { tasks: tasks.clone() }, alpha);
        let last = tasks.last().unwrap().0 * MS;
        for task in 0..tasks.len() {
            let ran: Vec<(u64, u64)> =
                played.spans(task).into_iter().filter(|span| span.0 > last).collect();
            let gap = ran.windows(2).map(|pair| pair[1].0 - pair[0].1).max().unwrap_or(0);
            prop_assert!(gap < 100 * MS, "task {task} waited for {gap}: {tasks:?}");
            prop_assert!(END - ran.last().unwrap().1 < 100 * MS, "{task} of {tasks:?}");
        }
    }

    #[test]
    fn all_have_the_same_share_in_the_end(comes in prop::collection::vec(0..200u64, 2..6)) {
        // [§3.2, persistent tasks] shares tend to (T_1 / T_2)^(1/alpha)
        let mut tasks: Vec<(u64, u64)> = comes.iter().map(|at| (*at, 10_000)).collect();
        tasks.sort();
        for alpha in [0.7, 1.0, 5.0] {
            let played = play(&Scenario { tasks: tasks.clone() }, alpha);
            let even = 1_000.0 * MS as f64 / tasks.len() as f64;
            for task in 0..tasks.len() {
                let had = played.served_ns(task, END - 1_000 * MS, END) as f64;
                prop_assert!((had / even - 1.0).abs() < 0.2, "alpha {alpha}: {had} of {even}");
            }
        }
    }

    #[test]
    fn time_can_be_stretched(scenario in scenario(), alpha in alpha(), bits in 1..4u32) {
        // K times as long: all priorities change by (1 - alpha) log K, exactly for a power of two
        let stretched = |k: u64| {
            let tasks = scenario.tasks.iter().map(|(a, b)| (a * k, b * k)).collect();
            let (alpha, quantum) = (alpha.to_string(), format!("{k}ms"));
            let set = [("alpha", &*alpha), ("beta", "inf"), ("quantum_ns", &*quantum)];
            Scenario { tasks }.play("pbs", &set, 2_500 * k).picks
        };
        let k = 1 << bits;
        let longer: Vec<(u64, usize)> = stretched(k);
        let expected: Vec<(u64, usize)> =
            stretched(1).into_iter().map(|(at, task)| (at * k, task)).collect();
        prop_assert_eq!(longer, expected);
    }
}

/// How much CPU time the tasks of a run had in the second half of a minute, in ms.
fn second_half(policy: &str, set: &[(&str, &str)], load: &str) -> Vec<u64> {
    let mut config = ideal(1, 60_000 * MS);
    config.audit = true;
    let (_, tape) = Hosted::new(policy, set, config, load).run();
    let pid = |at: u32| 1001 + at;
    let had = |at| tape.cpu_ns(pid(at), 60_000 * MS) - tape.cpu_ns(pid(at), 30_000 * MS);
    (0..3).map(|at| had(at) / MS).collect()
}

/// One that does not end; others come after it.
const ENDLESS_FIRST: &str = r#"{"tasks": {"long": {"run": 90000000},
    "b": {"delay": 100000, "run": 90000000}, "c": {"delay": 200000, "run": 90000000}}}"#;

/// A long task, and two users who each submit 20 ms of work and think for 10 ms, on average.
const AGGRESSIVE: &str = r#"{"tasks": {"long": {"run": 90000000},
    "b": {"run": 20000, "sleep": {"dist": "exp", "mean": 10000}},
    "c": {"run": 20000, "sleep": {"dist": "exp", "mean": 10000}}}}"#;

#[test]
fn an_endless_task_starves_those_after_it_only_at_alpha_0() {
    for alpha in ["0.2", "0.4", "1", "2", "20"] {
        let had = second_half("pbs", &[("alpha", alpha), ("beta", "0")], ENDLESS_FIRST);
        assert!(had.iter().all(|ms| *ms > 9_000), "alpha {alpha}: {had:?}");
    }
    let zero = [("alpha", "0"), ("alpha_min", "0"), ("beta", "0")];
    assert_eq!(second_half("pbs", &zero, ENDLESS_FIRST), [30_000, 0, 0]);
    assert_eq!(second_half("fifo", &[], ENDLESS_FIRST), [30_000, 0, 0]);
    let bound = [("alpha", "0"), ("beta", "0")];
    let had = second_half("pbs", &bound, ENDLESS_FIRST);
    assert!(had[1] > 0 && had[2] > 0, "the lower bound of alpha: {had:?}");
}

#[test]
fn those_who_submit_small_tasks_starve_a_long_one_only_at_infinity() {
    // each submission is a session: sojourn and service begin at 0
    for alpha in ["0.2", "1", "2"] {
        let had = second_half("pbs", &[("alpha", alpha), ("beta", "0")], AGGRESSIVE);
        assert!(had[0] > 300, "alpha {alpha}: {had:?}");
    }
    let las = second_half("las", &[("since", "wakeup")], AGGRESSIVE);
    let idle = 30_000 - las.iter().sum::<u64>();
    assert!(idle < 10, "{las:?}");
    let large = second_half("pbs", &[("alpha", "100"), ("beta", "0")], AGGRESSIVE);
    assert!(large[0] < las[0] + 300, "{large:?} {las:?}");
}
