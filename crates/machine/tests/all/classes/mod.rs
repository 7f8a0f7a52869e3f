// SPDX-License-Identifier: MIT OR Apache-2.0
//! The classes above sched_ext against calculations by hand: who runs when, and what the
//! scheduler is told of it.

mod deadline;
mod inherit;
mod realtime;
mod server;
mod server_settings;
mod stop;
mod told;

use crate::common::{ideal, run, shared_fifo, Tape};

const MS: u64 = 1_000_000;

/// Runs tasks for 1 s on an ideal machine; those of sched_ext first come, first served, with
/// slices of 10 ms.
fn play(cpus: u32, tasks: &str) -> Tape {
    play_for(1000 * MS, cpus, tasks)
}

fn play_for(duration_ns: u64, cpus: u32, tasks: &str) -> Tape {
    let mut config = ideal(cpus, duration_ns);
    config.audit = true;
    run(config, &format!("{{\"tasks\": {{{tasks}}}}}"), &mut shared_fifo()).1
}

/// As [`play`], with 250 ticks a second, at which slices and budgets are looked at.
fn play_in_ticks(cpus: u32, tasks: &str) -> Tape {
    let mut config = ideal(cpus, 1000 * MS);
    config.audit = true;
    config.exact_slices = false;
    run(config, &format!("{{\"tasks\": {{{tasks}}}}}"), &mut shared_fifo()).1
}

/// The CPUs that a task came onto, one after the other.
fn cpus(tape: &Tape, name: &str) -> Vec<u32> {
    tape.starts(tape.pid(name)).iter().map(|(_, cpu)| *cpu).collect()
}
