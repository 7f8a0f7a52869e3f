// SPDX-License-Identifier: MIT OR Apache-2.0
//! The basic multilevel feedback queue of [CAS §3.2], traced by hand. The quantum q is 10 ms,
//! so 10 in Q_0, 20 in Q_1, 40 in Q_2 …; all tasks start at 0 in the order A, B, C.

use crate::common::hosted::Hosted;
use crate::common::{ideal, Tape};
use rota_machine::exit::ExitKind;
use rota_trace::EventKind;

const MS: u64 = 1_000_000;

fn mlfq_on(cpus: u32, set: &[(&str, &str)], ms: u64, tasks: &[&str]) -> (Hosted, Tape) {
    let load = format!(r#"{{"tasks": {{{}}}}}"#, tasks.join(", "));
    let mut hosted = Hosted::new("mlfq", set, ideal(cpus, ms * MS), &load);
    let (outcome, tape) = hosted.run();
    assert_eq!(outcome.exit.kind, ExitKind::Unreg, "{}", outcome.exit);
    (hosted, tape)
}

fn mlfq(set: &[(&str, &str)], ms: u64, tasks: &[&str]) -> (Hosted, Vec<(u64, char, u64)>) {
    let (hosted, tape) = mlfq_on(1, set, ms, tasks);
    let picks = picks(&tape);
    (hosted, picks)
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

const A: &str = r#""A": {"run": 1000000}"#;
const B: &str = r#""B": {"run": 1000000}"#;

#[test]
fn who_computes_sinks_from_queue_to_queue_and_has_twice_the_quantum_in_each() {
    // Q_0: A 10, B 10. Q_1: A 20, B 20. Q_2: 40 each, Q_3: 80 each
    let (hosted, picks) = mlfq(&[], 300, &[A, B]);
    let both = |at: u64, quantum: u64| [(at, 'A', quantum), (at + quantum, 'B', quantum)];
    assert_eq!(picks, [both(0, 10), both(20, 20), both(60, 40), both(140, 80)].concat());
    assert_eq!(hosted.stat("demoted"), 7);
}

#[test]
fn the_last_queue_is_a_round_robin() {
    // Three queues: 40 ms each from 60 on
    let (_, picks) = mlfq(&[("levels", "3")], 240, &[A, B]);
    let turns = [60, 100, 140, 180].iter().zip("ABAB".chars()).map(|(at, who)| (*at, who, 40));
    assert_eq!(picks[4..], turns.chain([(220, 'A', 40)]).collect::<Vec<_>>());
}

#[test]
fn quantum_ns_is_the_time_in_the_first_queue() {
    let (_, picks) = mlfq(&[("quantum_ns", "5000000")], 14, &[A, B]);
    assert_eq!(picks, [(0, 'A', 5), (5, 'B', 5), (10, 'A', 10)]);
}

#[test]
fn a_request_of_z_quanta_waits_for_those_of_the_queues_that_it_goes_through() {
    // Z = 3: x = log2(Z + 1) - 1 = 1, so it ends in Q_1 [eq. 11]. E comes with C and D at 205,
    // behind them: a_0 = 3. All sink, so a_1 = 3, and A, which was in Q_3, waits. Waiting is
    // (a_0 - 1) q + 2 (a_1 - 1) q = 60 ms: 20 in Q_0, 40 in Q_1, and E is done after 90
    let late = |name: char, ms: u64| {
        // it comes to its sleep at 20, after A and B
        format!(r#""{name}": {{"loop": 1, "sleep": 185000, "run": {}}}"#, ms * 1000)
    };
    let [c, d, request] = [late('C', 100), late('D', 100), late('E', 30)];
    let (_, picks) = mlfq(&[], 300, &[A, B, &c, &d, &request]);
    let since_205: Vec<_> = picks.into_iter().filter(|pick| pick.0 >= 205).collect();
    let in_0 = [(205, 'C', 10), (215, 'D', 10), (225, 'E', 10)];
    let in_1 = [(235, 'C', 20), (255, 'D', 20), (275, 'E', 20)];
    assert_eq!(since_205, [&in_0[..], &in_1, &[(295, 'C', 40)]].concat());
}

/// Runs for 5 ms twice, each time after a sleep of which the first begins at 20.
const SHORT: &str = r#""C": {"loop": 1, "sleep": 25000, "run": 5000, "sleep": 45000, "run": 5000}"#;

#[test]
fn who_wakes_up_is_in_the_first_queue_again_and_preempts_those_after_it() {
    // 0 A, 10 B, 20 C sleeps. Q_1: A 20, 40 B; at 45 C goes first, at 50 B has 15 left.
    // Q_2: 65 A 40; at 95 C, at 100 A's other 10
    let (hosted, picks) = mlfq(&[], 105, &[A, B, SHORT]);
    let expected = [
        (20, 'A', 20),
        (40, 'B', 20),
        (45, 'C', 10),
        (50, 'B', 15),
        (65, 'A', 40),
        (95, 'C', 10),
        (100, 'A', 10),
    ];
    assert_eq!(picks[picks.len() - 7..], expected);
    assert_eq!(hosted.stat("preemptions"), 2);
}

#[test]
fn without_preemption_who_wakes_up_waits_for_the_end_of_a_quantum() {
    // C waits from 45 to 60. It sleeps from 65 to 110
    let (hosted, picks) = mlfq(&[("no_preemption", "true")], 100, &[A, B, SHORT]);
    let expected = [(20, 'A', 20), (40, 'B', 20), (60, 'C', 10), (65, 'A', 40)];
    assert_eq!(picks[picks.len() - 4..], expected);
    assert_eq!(hosted.stat("preemptions"), 0);
}

#[test]
fn nobody_in_a_queue_runs_while_one_before_it_has_tasks() {
    // B and C take turns of 5 ms, never sink, and leave nothing to A after its first 10 ms
    let turns = r#"{"run": 5000, "sleep": 5000}"#;
    let tasks = [A.into(), format!(r#""B": {turns}"#), format!(r#""C": {turns}"#)];
    let (_, tape) = mlfq_on(1, &[], 1_000, &tasks.each_ref().map(String::as_str));
    assert_eq!([1001, 1002, 1003].map(|pid| tape.cpu_ns(pid, 1_000 * MS) / MS), [10, 495, 495]);
}

#[test]
fn who_yields_lets_those_in_its_queue_go_first_and_does_not_sink() {
    // A yields each 5 ms: it has 5 of its 10 left then
    let yields = r#""A": {"run": 5000, "yield": ""}"#;
    let (_, picks) = mlfq(&[], 24, &[yields, B]);
    assert_eq!(picks, [(0, 'A', 10), (5, 'B', 10), (15, 'A', 5), (20, 'B', 20)]);
}

#[test]
fn what_a_timer_tick_gave_is_taken_off_the_next_quantum() {
    // Ticks are 4 ms apart. 10 ms end after 12: 20 - 2, which end at 32 with 2 too many: 38
    let mut config = ideal(1, 40 * MS);
    config.exact_slices = false;
    let mut hosted = Hosted::new("mlfq", &[], config, &format!(r#"{{"tasks": {{{A}}}}}"#));
    let (_, tape) = hosted.run();
    assert_eq!(picks(&tape), [(0, 'A', 10), (12, 'A', 18), (32, 'A', 38)]);
}

#[test]
fn who_comes_takes_the_cpu_of_the_last_queue_that_it_may_use() {
    // A computes since 0 on CPU 0, B since 35 on CPU 1: at 50 A is in Q_2 (from 30 on), B in
    // Q_1 (from 45 on)
    let hogs = [
        r#""A": {"cpus": [0], "run": 1000000}"#,
        r#""B": {"cpus": [1], "delay": 35000, "run": 1000000}"#,
    ];
    for (cpus, expected) in [("[0, 1]", 0), ("[1]", 1)] {
        let c = format!(r#""C": {{"cpus": {cpus}, "delay": 50000, "run": 1000000}}"#);
        let (_, tape) = mlfq_on(2, &[], 55, &[hogs[0], hogs[1], &c]);
        assert_eq!(tape.starts(1003), [(50 * MS, expected)], "{cpus}");
    }
}
