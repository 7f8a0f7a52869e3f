// SPDX-License-Identifier: MIT OR Apache-2.0
//! Linux 2.2's goodness and counters [VTRR §4, §5.3], traced by hand.
//!
//! A tick is 10 ms. In the traces `c` is a counter, g a goodness: c + priority, 0 if c is 0.
//! A client's priority is 20 - nice, and its quantum, from full, priority + 1 ticks.

use crate::common::hosted::{letters, Hosted};
use crate::common::plan::cases;
use crate::common::replay::{check, Rules};
use crate::common::{ideal, Tape};
use proptest::prelude::*;
use rota_machine::config::Config;
use rota_machine::exit::ExitKind;
use rota_trace::EventKind;

const MS: u64 = 1_000_000;

fn run_on(config: Config, set: &[(&str, &str)], load: &str) -> (Hosted, Tape) {
    let mut hosted = Hosted::new("linux22", set, config, load);
    let (outcome, tape) = hosted.run();
    assert_eq!(outcome.exit.kind, ExitKind::Unreg, "{}", outcome.exit);
    (hosted, tape)
}

/// Picks as `(ms, client, ms of its slice)`.
fn picks(tape: &Tape) -> Vec<(u64, char, u64)> {
    let pick = |event: &rota_trace::Event| match event.kind {
        EventKind::Pick { pid, slice_ns } => {
            Some((event.time_ns / MS, char::from(b'A' + (pid - 1001) as u8), slice_ns / MS))
        }
        _ => None,
    };
    tape.0.iter().filter_map(pick).collect()
}

/// Endless tasks A, B, C … with these nice values.
fn nice(values: &[i32]) -> String {
    let task = |(at, nice): (usize, &i32)| {
        format!(r#""{}": {{"priority": {nice}, "run": 1000000}}"#, char::from(b'A' + at as u8))
    };
    let tasks: Vec<String> = values.iter().enumerate().map(task).collect();
    format!(r#"{{"tasks": {{{}}}}}"#, tasks.join(", "))
}

#[test]
fn user_priorities_19_to_11_are_quanta_of_20_to_100_ms() {
    // [VTRR §5.3]: internal priorities 1, 3, 5, 7, 9, so g is 2, 6, 10, 14, 18. E runs until its
    // c drops below zero, also while D has more goodness. All are at 0 after 300 ms
    let (hosted, tape) = run_on(ideal(1, 900 * MS), &[], &nice(&[19, 17, 15, 13, 11]));
    let round = |at| {
        [(at, 'E', 100), (at + 100, 'D', 80), (at + 180, 'C', 60), (at + 240, 'B', 40)]
            .into_iter()
            .chain([(at + 280, 'A', 20)])
    };
    let expected: Vec<_> = [0, 300, 600].into_iter().flat_map(round).collect();
    assert_eq!(picks(&tape), expected);
    assert_eq!(hosted.stat("resets"), 2);
}

#[test]
fn nice_values_that_shares_of_1_to_5_need_give_them() {
    // [VTRR §5.3], its 30 s: 2, 4, 6, 8 and 10 s
    let (_, tape) = run_on(ideal(1, 30_000 * MS), &[], &nice(&[19, 17, 15, 13, 11]));
    let used = [1001, 1002, 1003, 1004, 1005].map(|pid| tape.cpu_ns(pid, 30_000 * MS) / MS);
    assert_eq!(used, [2_000, 4_000, 6_000, 8_000, 10_000]);
}

#[test]
fn the_default_quantum_is_21_ticks_and_ties_go_to_the_first() {
    // Nice 0, g 40 each. First in the queue is who runs, then who came last
    //   0 B (came last). 210 A. All at 0: reset. 420 A (runs). 630 B. Reset. 840 B. 1050 A
    let (_, tape) = run_on(ideal(1, 1_260 * MS), &[], &nice(&[0, 0]));
    let expected = [(0, 'B'), (210, 'A'), (420, 'A'), (630, 'B'), (840, 'B'), (1050, 'A')];
    assert_eq!(picks(&tape), expected.map(|(at, client)| (at, client, 210)));
}

#[test]
fn nice_minus_20_to_19_are_priorities_40_to_1() {
    for (nice_value, quantum_ms) in [(-20, 410), (-10, 310), (0, 210), (10, 110), (19, 20)] {
        let (_, tape) = run_on(ideal(1, 500 * MS), &[], &nice(&[nice_value, nice_value]));
        assert_eq!(picks(&tape)[0], (0, 'B', quantum_ms), "nice {nice_value}");
    }
}

#[test]
fn tick_ns_is_one_count() {
    let (_, tape) = run_on(ideal(1, 18 * MS), &[("tick_ns", "1000000")], &nice(&[13, 11]));
    assert_eq!(picks(&tape), [(0, 'B', 10), (10, 'A', 8)]);
}

/// A with nice 0, and B that sleeps until 1100 ms.
const SLEEPER: &str = r#"{"tasks": {
    "A": {"run": 1000000}, "B": {"loop": 1, "sleep": 1100000, "run": 10000000}}}"#;

#[test]
fn who_sleeps_gains_counters_and_preempts() {
    // B's c at A's resets, c / 2 + 20: 20, 210 ms: 30, 420: 35, 630: 37, 840: 38, 1050: 39.
    // At 1100 its g is 59, A's c is 15 and g 35. B runs 40 ticks, then A its rest of 160 ms
    let (hosted, tape) = run_on(ideal(1, 1_660 * MS), &[], SLEEPER);
    let picks = picks(&tape);
    assert_eq!(picks[..3], [(0, 'B', 210), (0, 'A', 210), (210, 'A', 210)]);
    assert_eq!(picks[6..], [(1050, 'A', 210), (1100, 'B', 400), (1500, 'A', 160)]);
    assert_eq!(hosted.stat("preemptions"), 1);
}

#[test]
fn without_preemption_who_comes_waits_for_the_end_of_the_quantum() {
    let (hosted, tape) = run_on(ideal(1, 1_660 * MS), &[("no_preemption", "true")], SLEEPER);
    assert_eq!(picks(&tape)[6..], [(1050, 'A', 210), (1260, 'B', 400)]);
    assert_eq!(hosted.stat("preemptions"), 0);
}

/// A and B with nice 11 and 13; C, which takes every CPU that it wants, at `ms` for 1 ms.
fn interrupted_at(ms: u64) -> String {
    format!(
        r#"{{"tasks": {{
            "A": {{"priority": 11, "run": 1000000}},
            "B": {{"priority": 13, "run": 1000000}},
            "C": {{"priority": -20, "loop": 1, "sleep": {}, "run": 1000, "sleep": 10000000}}}}}}"#,
        ms * 1_000
    )
}

#[test]
fn goodness_counts_again_when_an_event_calls_the_scheduler() {
    // [VTRR §5.3]. 0 A. At 50 C takes the CPU: A's c is 4, g 13, but B's 14: B goes first then
    let (_, tape) = run_on(ideal(1, 180 * MS), &[], &interrupted_at(50));
    let expected = [(0, 'C', 410), (0, 'A', 100), (50, 'C', 410), (51, 'B', 80), (131, 'A', 50)];
    assert_eq!(picks(&tape), expected);
}

#[test]
fn a_client_at_0_loses_its_last_tick_when_an_event_calls_the_scheduler() {
    // At 95 A has 5 ms left before its c drops below zero, and c is 0, so g is 0. After B all
    // are at 0, and A has a full quantum
    let (_, tape) = run_on(ideal(1, 190 * MS), &[], &interrupted_at(95));
    let expected = [(0, 'C', 410), (0, 'A', 100), (95, 'C', 410), (96, 'B', 80), (176, 'A', 100)];
    assert_eq!(picks(&tape), expected);
}

#[test]
fn what_a_timer_tick_gave_is_taken_off_the_next_quantum() {
    // The kernel's ticks are 4 ms apart: 210 ms end after 212, and the next 208 just then
    let mut config = ideal(1, 1_100 * MS);
    config.exact_slices = false;
    let (_, tape) = run_on(config, &[], &nice(&[0, 0]));
    let expected = [
        (0, 'B', 210),
        (212, 'A', 210),
        (424, 'A', 208),
        (632, 'B', 208),
        (840, 'B', 210),
        (1052, 'A', 210),
    ];
    assert_eq!(picks(&tape), expected);
}

#[test]
fn a_yield_lets_the_others_go_first() {
    let load = r#"{"tasks": {"a": {"instance": 2, "run": 3000, "yield": ""}}}"#;
    let (_, tape) = run_on(ideal(1, 30 * MS), &[], load);
    assert_eq!(letters(&tape), "BABABABABA");
}

#[test]
fn who_comes_takes_the_cpu_of_the_least_goodness_that_it_may_use() {
    // Of three CPUs, A (nice 0, g 40), B (nice 10, g 20) and C (nice 15, g 10) have one each
    let load = |cpus: &str| {
        format!(
            r#"{{"tasks": {{
                "A": {{"cpus": [0], "run": 1000000}},
                "B": {{"cpus": [1], "priority": 10, "run": 1000000}},
                "C": {{"cpus": [2], "priority": 15, "run": 1000000}},
                "D": {{"cpus": {cpus}, "priority": -5,
                       "loop": 1, "sleep": 5000, "run": 10000000}}}}}}"#
        )
    };
    for (cpus, expected) in [("[0, 1, 2]", 2), ("[0, 1]", 1), ("[0]", 0)] {
        let (_, tape) = run_on(ideal(3, 20 * MS), &[], &load(cpus));
        assert_eq!(tape.starts(1004).last(), Some(&(5 * MS, expected)), "{cpus}");
    }
}

#[test]
fn ten_thousand_clients_are_looked_at_in_each_decision() {
    let load = r#"{"tasks": {"t": {"instance": 10000, "priority": 19, "run": 100000000}}}"#;
    let (hosted, tape) = run_on(ideal(1, 1_000 * MS), &[], load);
    // 20 ms each, from the one who came last on
    assert_eq!(tape.picks(0), (10_951..11_001).rev().collect::<Vec<_>>());
    assert_eq!(hosted.stat("looked_at"), 50 * 10_000);
}

proptest! {
    #![proptest_config(cases(40))]

    #[test]
    fn every_client_has_its_quantum_between_two_resets(
        nices in prop::collection::vec(5..20i32, 1..10),
        cpus in 1..4u32,
    ) {
        // Ticks of 1 ms. First in one period and last in the next, a client waits for less
        // than two quanta of all
        let mut config = ideal(cpus, 1_000 * MS);
        config.audit = true;
        let (_, tape) = run_on(config, &[("tick_ns", "1000000")], &nice(&nices));
        let all: u64 = nices.iter().map(|nice| (21 - nice) as u64 * MS).sum();
        let rules = Rules {
            cpus,
            end_ns: 1_000 * MS,
            may_use: &|_, _| true,
            always_may_use: &|_, _| true,
            longest_wait_ns: 2 * all,
            heard_after_ns: 0,
        };
        prop_assert_eq!(check(&tape.0, &rules), Ok(()));
        if cpus == 1 {
            for (pid, nice) in (1001..).zip(&nices) {
                let quantum = (21 - nice) as u64 * MS;
                let due = u128::from(1_000 * MS) * u128::from(quantum) / u128::from(all);
                let used = tape.cpu_ns(pid, 1_000 * MS);
                prop_assert!(used.abs_diff(due as u64) <= quantum, "{}: {} of {}", nice, used, due);
            }
        }
    }
}
