// SPDX-License-Identifier: MIT OR Apache-2.0
//! Each event of rt-app 1.0, in a file that both run. All tasks have one phase and `loop` 1, as
//! rt-app 1.0 counts the loops of a task without phases twice; its newer events (`fork`,
//! `memrun`, `sem_post`, `sem_wait`) are in tests of `crates/machine`.

use super::agrees::{compare, Task};
use anyhow::Result;

#[test]
fn sleep_and_yield() -> Result<()> {
    // Nobody wants the CPU that a yield gives up: 4 + 3 busy, and 5 asleep.
    compare(
        r#""nap": {"loop": 1, "phases": {"p": {"loop": 60, "runtime": 4000, "yield": "",
            "runtime1": 3000, "sleep": 5000}}}"#,
        &[Task::new("nap-0", 60, 7000, 12_000)],
    )
}

#[test]
fn run_and_a_timer() -> Result<()> {
    compare(
        r#""beat": {"loop": 1, "phases": {"p": {"loop": 50, "run": 3000,
            "timer": {"ref": "unique", "period": 14000}}}}"#,
        &[Task { work: true, ..Task::new("beat-0", 50, 3000, 14_000) }],
    )
}

#[test]
fn instances_delays_phases_and_cpus() -> Result<()> {
    // Rounds of 4 + 6 and 5 + 5.
    compare(
        r#""two": {"instance": 2, "cpus": [0, 1], "loop": 1, "phases": {"p": {"loop": 60,
                "runtime": 3000, "sleep": 9000}}},
            "late": {"delay": 300000, "priority": 3, "loop": 20, "phases": {
                "p": {"runtime": 4000, "sleep": 6000}, "q": {"runtime": 5000, "sleep": 5000}}}"#,
        &[
            Task::new("two-0", 60, 3000, 12_000),
            Task::new("two-1", 60, 3000, 12_000),
            Task { phases: 2, delay_us: 300_000, ..Task::new("late-2", 20, 9000, 20_000) },
        ],
    )
}

#[test]
fn a_late_relative_timer_begins_anew() -> Result<()> {
    // Late at 15, so no wait; the next expiry is 10 later, at 25. 3 more, and it waits for that.
    compare(
        r#""late": {"loop": 1, "phases": {"p": {"loop": 30,
            "runtime1": 15000, "timer1": {"ref": "unique", "period": 10000},
            "runtime2": 3000, "timer2": {"ref": "unique", "period": 10000}}}}"#,
        &[Task::new("late-0", 30, 18_000, 25_000)],
    )
}

#[test]
fn a_late_absolute_timer_stays_on_its_grid() -> Result<()> {
    // Late at 15, so no wait; the next expiry is at 20. 3 more, and it waits for that.
    compare(
        r#""late": {"loop": 1, "phases": {"p": {"loop": 30,
            "runtime1": 15000, "timer1": {"ref": "unique", "period": 10000, "mode": "absolute"},
            "runtime2": 3000, "timer2": {"ref": "unique", "period": 10000, "mode": "absolute"}}}}"#,
        &[Task::new("late-0", 30, 18_000, 20_000)],
    )
}

#[test]
fn a_timer_of_two_tasks_takes_turns() -> Result<()> {
    // Each wait moves the one timer on by 8, so either waits for every second expiry.
    compare(
        r#""odd": {"loop": 1, "phases": {"p": {"loop": 40, "runtime": 3000,
                "timer": {"ref": "tick", "period": 8000}}}},
            "even": {"delay": 2000, "loop": 1, "phases": {"p": {"loop": 40, "runtime": 2000,
                "timer": {"ref": "tick", "period": 8000}}}}"#,
        &[Task::new("odd-0", 40, 3000, 16_000), Task::new("even-1", 40, 2000, 16_000)],
    )
}

#[test]
fn a_mutex_has_one_holder() -> Result<()> {
    // Each alone would need 10. But both hold the mutex for 6, and neither finds it free: 12.
    compare(
        r#""a": {"loop": 1, "phases": {"p": {"loop": 60, "runtime1": 2000, "lock": "m",
                "runtime2": 6000, "unlock": "m", "sleep": 2000}}},
            "b": {"delay": 1000, "loop": 1, "phases": {"p": {"loop": 60, "runtime1": 2000,
                "lock": "m", "runtime2": 6000, "unlock": "m", "sleep": 2000}}}"#,
        &[Task::new("a-0", 60, 8000, 12_000), Task::new("b-1", 60, 8000, 12_000)],
    )
}

#[test]
fn a_signal_wakes_who_waits() -> Result<()> {
    compare(
        r#""consumer": {"loop": 1, "phases": {"p": {"loop": 60, "lock": "m",
                "wait": {"ref": "c", "mutex": "m"}, "unlock": "m", "runtime": 3000}}},
            "producer": {"loop": 1, "phases": {"p": {"loop": 60, "runtime": 5000, "sleep": 6000,
                "lock": "m", "signal": "c", "unlock": "m"}}}"#,
        &[Task::new("consumer-0", 60, 3000, 11_000), Task::new("producer-1", 60, 5000, 11_000)],
    )
}

#[test]
fn a_broadcast_wakes_all() -> Result<()> {
    let waits = r#""loop": 1, "phases": {"p": {"loop": 60, "lock": "m",
        "wait": {"ref": "c", "mutex": "m"}, "unlock": "m", "runtime": 2000}}"#;
    compare(
        &format!(
            r#""one": {{{waits}}}, "two": {{{waits}}},
            "caller": {{"loop": 1, "phases": {{"p": {{"loop": 60, "runtime": 3000, "sleep": 9000,
                "lock": "m", "broad": "c", "unlock": "m"}}}}}}"#
        ),
        &[
            Task::new("one-0", 60, 2000, 12_000),
            Task::new("two-1", 60, 2000, 12_000),
            Task::new("caller-2", 60, 3000, 12_000),
        ],
    )
}

#[test]
fn sync_takes_turns() -> Result<()> {
    // One works while the other waits: 5 + 7. Who is done lets the other go on.
    let turns = |runtime_us: u64| {
        format!(
            r#"{{"loop": 1, "phases": {{"p": {{"loop": 60, "runtime": {runtime_us}, "lock": "m",
                "sync": {{"ref": "c", "mutex": "m"}}, "unlock": "m"}}, "last": {{"signal": "c"}}}}}}"#
        )
    };
    compare(
        &format!(r#""ping": {}, "pong": {}"#, turns(5000), turns(7000)),
        &[Task::new("ping-0", 60, 5000, 12_000), Task::new("pong-1", 60, 7000, 12_000)],
    )
}

#[test]
fn a_resume_wakes_who_is_suspended() -> Result<()> {
    compare(
        r#""waker": {"loop": 1, "phases": {"p": {"loop": 60, "runtime": 2000, "sleep": 10000,
                "resume": "sleeper"}}},
            "sleeper": {"loop": 1, "phases": {"p": {"loop": 60, "suspend": "sleeper",
                "runtime": 4000}}}"#,
        &[Task::new("waker-0", 60, 2000, 12_000), Task::new("sleeper-1", 60, 4000, 12_000)],
    )
}

#[test]
fn a_resume_of_a_busy_task_is_forgotten() -> Result<()> {
    // Resumed at 10, busy until 24: the resume at 20 is lost, the next is at 30.
    compare(
        r#""waker": {"loop": 1, "phases": {"p": {"loop": 82, "runtime": 3000, "sleep": 7000,
                "resume": "sleeper"}}},
            "sleeper": {"loop": 1, "phases": {"p": {"loop": 40, "suspend": "sleeper",
                "runtime": 14000}}}"#,
        &[Task::new("waker-0", 82, 3000, 10_000), Task::new("sleeper-1", 40, 14_000, 20_000)],
    )
}

#[test]
fn a_barrier_waits_for_the_slowest() -> Result<()> {
    // 7 until the slower one is there, and 4 asleep.
    compare(
        r#""short": {"loop": 1, "phases": {"p": {"loop": 60, "runtime": 2000, "barrier": "b",
                "sleep": 4000}}},
            "long": {"loop": 1, "phases": {"p": {"loop": 60, "runtime": 7000, "barrier": "b",
                "sleep": 4000}}}"#,
        &[Task::new("short-0", 60, 2000, 11_000), Task::new("long-1", 60, 7000, 11_000)],
    )
}
