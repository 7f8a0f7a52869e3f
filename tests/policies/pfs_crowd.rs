// SPDX-License-Identifier: MIT OR Apache-2.0
//! `pfs` with a process of thousands of threads that want to run: what it has, and how long each
//! of them waits. Parts and times are calculated by hand.

use crate::common::hosted::Hosted;
use crate::common::{ideal, Tape};
use rota_machine::exit::ExitKind;
use rota_trace::EventKind;

const MS: u64 = 1_000_000;
const END_MS: u64 = 8_000;
const CROWD: u32 = 1_000;

/// Process a has a thousand threads that compute for ever, and a thousand that make new ones of
/// 0.1 ms each, one after the other; all are created at first, and begin together. Process b has
/// four that compute.
fn crowd(cpus: u32) -> Tape {
    let begin = r#""loop": 1, "run": 10, "barrier": "all""#;
    let ever = r#""loop": -1, "run": 100000"#;
    let maker = |n: u32| {
        format!(
            r#""a_maker{n}": {{"thread_of": "a", "loop": 1, "phases": {{"begin": {{{begin}}},
                "makes": {{"loop": 1000, "run": 50, "fork": "a_child{n}", "sem_wait": "s{n}"}}}}}},
            "a_child{n}": {{"instance": 0, "thread_of": "a", "loop": 1, "run": 100,
                "sem_post": "s{n}"}},"#
        )
    };
    let computes = format!(r#""loop": 1, "phases": {{"begin": {{{begin}}}, "ever": {{{ever}}}}}"#);
    let load = format!(
        r#"{{"tasks": {{"a": {{{computes}}},
            "a_busy": {{"instance": {}, "thread_of": "a", {computes}}}, {}
            "b": {{{ever}}}, "b_more": {{"instance": 3, "thread_of": "b", {ever}}}}}}}"#,
        CROWD - 1,
        (0..CROWD).map(maker).collect::<String>()
    );
    let (outcome, tape) = Hosted::new("pfs", &[], ideal(cpus, END_MS * MS), &load).run();
    assert_eq!(outcome.exit.kind, ExitKind::Unreg, "{}", outcome.exit);
    tape
}

/// CPU time of each task whose name begins so, from one time to another.
fn times(tape: &Tape, name: &str, from_ms: u64, to_ms: u64) -> Vec<u64> {
    let mut pids: Vec<u32> = Vec::new();
    for event in &tape.0 {
        match &event.kind {
            EventKind::Task { pid, name: task, .. } if task.starts_with(name) => pids.push(*pid),
            _ => {}
        }
    }
    pids.sort_unstable();
    pids.dedup();
    let until = |pid: u32, ms: u64| tape.cpu_ns(pid, ms * MS);
    pids.iter().map(|pid| until(*pid, to_ms) - until(*pid, from_ms)).collect()
}

/// In the first second all of the crowd comes, and has a slice.
#[test]
fn a_process_of_thousands_of_busy_threads_has_its_half_and_lets_none_of_them_starve() {
    for cpus in [2, 4] {
        let tape = crowd(cpus);
        let of_b = times(&tape, "b", 1_000, END_MS).iter().sum::<u64>() as f64;
        let due = f64::from(cpus) / 2.0 * ((END_MS - 1_000) * MS) as f64;
        assert!((of_b - due).abs() <= 0.03 * due, "{cpus} CPUs: {of_b}, due {due}");
        // Slices among many are a quarter of the granularity, 2 ms on two CPUs and 3 ms on four:
        // with half of the CPUs a round of two thousand is 4 s or 3 s at most.
        let of_busy = times(&tape, "a_busy", 0, END_MS);
        assert_eq!(of_busy.len(), CROWD as usize - 1);
        let starved = of_busy.iter().filter(|ns| **ns == 0).count();
        assert_eq!(starved, 0, "{cpus} CPUs: so many of {CROWD} never ran");
    }
}
