// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every event of a workload file against a calculation by hand, one file per group of events.
//! (Suspend, resume, semaphores and barriers are in `rules_meetings.rs`.)

mod conditions;
mod locks;
mod memory;
mod tasks;
mod time;

use crate::common::{ideal, run, shared_fifo, Tape};
use rota_machine::run::Outcome;
use rota_trace::EventKind;

const MS: u64 = 1_000_000;

/// Runs tasks on an ideal machine under first come, first served, with slices of 10 ms.
fn play(cpus: u32, tasks: &str) -> (Outcome, Tape) {
    play_file(cpus, &format!("{{\"tasks\": {{{tasks}}}}}"))
}

fn play_file(cpus: u32, text: &str) -> (Outcome, Tape) {
    let mut config = ideal(cpus, 1000 * MS);
    config.audit = true;
    run(config, text, &mut shared_fifo())
}

fn spans(tape: &Tape, name: &str) -> Vec<(u64, u64)> {
    tape.spans(name)
}

/// When others woke a task, in microseconds; its start is no wakeup.
fn wakeups(tape: &Tape, name: &str) -> Vec<u64> {
    let pid = tape.pid(name);
    let woken = |e: &rota_trace::Event| match e.kind {
        EventKind::Wakeup { pid: p, waker } if p == pid => Some((e.time_ns / 1000, waker)),
        _ => None,
    };
    let after_the_start = tape.0.iter().filter_map(woken).skip(1);
    after_the_start.filter(|(_, waker)| *waker != 0).map(|(at, _)| at).collect()
}

/// Who waited at the end, and what for.
fn blocked(outcome: &Outcome) -> Vec<String> {
    outcome.blocked.iter().map(|(task, awaits)| format!("{task}: {awaits}")).collect()
}

fn deadlocks(outcome: &Outcome) -> Vec<String> {
    outcome.deadlocks.iter().map(ToString::to_string).collect()
}
