// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a wakeup takes: the interrupt, the way out of an idle state, and how late timers are.

use super::{cores, on, MS};
use crate::common::{run, shared_fifo, Tape};
use rota_machine::hardware::parts::{ByDistance, Cache, IdleState, Ipi};
use rota_machine::hardware::Hardware;
use rota_trace::EventKind;

/// C1E 2/4 us and C6 190/600 us.
fn with_idle(cpus: usize, flush: bool) -> Hardware {
    let mut hardware = cores(&vec![1024; cpus]);
    let state = |name: &str, exit_us: u64, residency_us: u64, flush| IdleState {
        name: name.into(),
        exit_ns: exit_us * 1000,
        residency_ns: residency_us * 1000,
        flush,
    };
    hardware.type_of_cpu = vec![0; cpus];
    for kind in &mut hardware.core_types {
        kind.idle = vec![state("C1E", 2, 4, false), state("C6", 190, 600, flush)];
    }
    hardware
}

/// From each wakeup of a task to its run, in nanoseconds.
fn delays_ns(tape: &Tape, pid: u32) -> Vec<u64> {
    let (mut woken, mut delays) = (None, Vec::new());
    for event in &tape.0 {
        match event.kind {
            EventKind::Wakeup { pid: p, .. } if p == pid => woken = Some(event.time_ns),
            EventKind::SwitchIn { pid: p } if p == pid => {
                delays.extend(woken.take().map(|at_ns| event.time_ns - at_ns));
            }
            _ => {}
        }
    }
    delays
}

const SLEEPER: &str = r#"{"tasks": {"a": {"loop": 9, "run": 100, "sleep": 1000}}}"#;

#[test]
fn after_a_long_sleep_a_task_waits_for_the_deepest_state() {
    // 1 ms to the next timer, of which C6 needs 600 us
    let (_, tape) = run(on(with_idle(1, false), "", 50 * MS), SLEEPER, &mut shared_fifo());
    assert_eq!(delays_ns(&tape, 1001), [190_000; 10]);
}

#[test]
fn without_the_deep_state_wakeups_are_sooner_by_its_exit() {
    let mut hardware = with_idle(1, false);
    hardware.core_types[0].idle.truncate(1);
    let (_, tape) = run(on(hardware, "", 50 * MS), SLEEPER, &mut shared_fifo());
    // the first one, and the one to end, too
    assert_eq!(delays_ns(&tape, 1001), [2_000; 10]);
}

#[test]
fn nobody_is_charged_for_waking_a_cpu() {
    let (_, tape) = run(on(with_idle(1, false), "", 50 * MS), SLEEPER, &mut shared_fifo());
    assert_eq!(tape.cpu_ns(1001, 50 * MS), 9 * 100_000);
}

#[test]
fn short_sleeps_keep_a_cpu_from_sleeping_deep() {
    let load = SLEEPER.replace("1000", "300");
    let (_, tape) = run(on(with_idle(1, false), "", 50 * MS), &load, &mut shared_fifo());
    // at first nothing is known, and no timer is set
    assert_eq!(delays_ns(&tape, 1001)[..3], [190_000, 2_000, 2_000]);
}

#[test]
fn a_core_with_a_busy_thread_does_not_sleep_deep() {
    let load = r#"{"tasks": {
        "busy": {"cpus": [0], "runtime": 40000},
        "a": {"loop": 9, "cpus": [1], "delay": 5000, "run": 100, "sleep": 1000}}}"#;
    let (_, tape) = run(on(with_idle(2, false), "smt=2", 50 * MS), load, &mut shared_fifo());
    assert_eq!(delays_ns(&tape, 1002), [2_000; 10]);
}

#[test]
fn a_state_that_flushes_makes_caches_cold() {
    // 64 KiB: 1024 lines of 12 ns, 12.3 us in theory, after each sleep but not before the first
    let ns = |ns| ByDistance { sibling: ns, llc: ns, other_llc: ns, node: ns };
    let cache = Cache {
        llc_kib: 32768,
        mlp: 1,
        line_bytes: 64,
        refill_ns: ns(12),
        c2c_ns: ns(0),
        reuse_ns: 1,
        handoff_lines: 0,
        working_set_kib: 64,
    };
    let cpu_ns = |flush| {
        let hardware = Hardware { cache: Some(cache.clone()), ..with_idle(1, flush) };
        let (_, tape) = run(on(hardware, "", 50 * MS), SLEEPER, &mut shared_fifo());
        tape.cpu_ns(1001, 50 * MS)
    };
    assert_eq!(cpu_ns(false), 9 * 100_000);
    let more_ns = cpu_ns(true) - 9 * 100_000;
    assert!((8 * 12_000..=8 * 12_600).contains(&more_ns), "{more_ns}");
}

#[test]
fn an_interrupt_takes_longer_to_another_cache() {
    // the waker is on CPU 0, of the wakee's cache or not
    let load = r#"{"tasks": {
        "wakee": {"cpus": [1], "suspend": "", "run": 100},
        "waker": {"cpus": [0], "delay": 1000, "run": 1000, "resume": "wakee"}}}"#;
    for (topology, delay_ns) in [("llc=2", 600), ("llc=1", 900)] {
        let hardware = Hardware {
            ipi: Some(Ipi { llc_ns: 600, other_llc_ns: 900, ..Ipi::default() }),
            ..cores(&[1024; 2])
        };
        let (_, tape) = run(on(hardware, topology, 10 * MS), load, &mut shared_fifo());
        let last = delays_ns(&tape, 1001).last().copied();
        assert_eq!(last, Some(delay_ns), "{topology}");
    }
}

/// CPU 0 wakes a task of CPU 1 after a millisecond, and goes on for another one.
const WAKER: &str = r#"{"tasks": {
    "wakee": {"loop": 1, "cpus": [1], "suspend": "", "run": 100},
    "waker": {"loop": 1, "cpus": [0], "delay": 1000, "phases": {
        "before": {"run": 1000, "resume": "wakee"}, "after": {"run": 1000}}}}}"#;

#[test]
fn the_sender_of_an_interrupt_pays_for_it() {
    for send_ns in [0, 5_000] {
        let ipi = Some(Ipi { llc_ns: 600, send_ns, ..Ipi::default() });
        let hardware = Hardware { ipi, ..cores(&[1024; 2]) };
        let (_, tape) = run(on(hardware, "", 10 * MS), WAKER, &mut shared_fifo());
        assert_eq!(tape.cpu_ns(1002, 10 * MS), 2 * MS + send_ns);
    }
}

#[test]
fn an_interrupt_takes_time_of_the_task_that_runs_there() {
    let load = r#"{"tasks": {
        "hog": {"loop": 1, "cpus": [1], "run": 5000},
        "first": {"loop": 1, "policy": "SCHED_FIFO", "cpus": [1], "suspend": "", "run": 100},
        "waker": {"loop": 1, "cpus": [0], "delay": 1000, "run": 1000, "resume": "first"}}}"#;
    for receive_ns in [0, 7_000] {
        let ipi = Some(Ipi { llc_ns: 600, receive_ns, ..Ipi::default() });
        let hardware = Hardware { ipi, ..cores(&[1024; 2]) };
        let (_, tape) = run(on(hardware, "", 10 * MS), load, &mut shared_fifo());
        // as the other task comes, and as it is woken
        assert_eq!(tape.cpu_ns(1001, 10 * MS), 5 * MS + 2 * receive_ns);
    }
}

#[test]
fn a_cpu_that_still_watches_for_work_needs_no_interrupt() {
    // woken 2 ms after it became idle: 600 ns, and 190 us out of C6; or nothing
    for (poll_ns, delay_ns, sent_ns) in [(MS, 190_600, 5_000), (3 * MS, 0, 0)] {
        let ipi = Some(Ipi { llc_ns: 600, other_llc_ns: 600, send_ns: 5_000, receive_ns: 0 });
        let mut hardware = Hardware { ipi, ..with_idle(2, false) };
        hardware.core_types.iter_mut().for_each(|kind| kind.poll_ns = poll_ns);
        let (_, tape) = run(on(hardware, "", 10 * MS), WAKER, &mut shared_fifo());
        assert_eq!(delays_ns(&tape, 1001).last().copied(), Some(delay_ns));
        assert_eq!(tape.cpu_ns(1002, 10 * MS), 2 * MS + sent_ns);
    }
}

#[test]
fn timers_of_normal_tasks_are_late_and_those_of_real_time_tasks_are_not() {
    let hardware = || Hardware { timer_slack_ns: 50_000, ..cores(&[1024]) };
    for (policy, round_us) in [("SCHED_OTHER", 1150), ("SCHED_FIFO", 1100)] {
        let load = SLEEPER.replace("\"run\"", &format!("\"policy\": \"{policy}\", \"run\""));
        let (_, tape) = run(on(hardware(), "", 50 * MS), &load, &mut shared_fifo());
        let starts: Vec<u64> = tape.starts(1001).iter().map(|(at_ns, _)| at_ns / 1000).collect();
        let rounds: Vec<u64> = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert_eq!(rounds, [round_us; 9], "{policy}");
    }
}
