// SPDX-License-Identifier: MIT OR Apache-2.0
//! Schedulers that come to tasks that exist, leave them to the fair class, and come again.

mod attach;
mod groups;
mod leave;
mod partial;
mod random;

use crate::common::{ideal, shared_fifo, Native, Tape};
use rota_machine::config::Config;
use rota_machine::ops::Ops;
use rota_machine::run::{Machine, Outcome};
use rota_machine::stage::Stage;
use std::sync::Arc;

const MS: u64 = 1_000_000;

/// Runs a workload in a machine with a fair class, under schedulers that `load` makes.
fn play<E: Ops>(
    config: Config,
    tasks: &str,
    mut load: impl FnMut() -> E,
    fair: &mut impl Ops,
) -> (Outcome, Tape, E) {
    play_file(config, &format!(r#"{{"tasks": {{{tasks}}}}}"#), &mut load, fair)
}

/// The same with a whole file.
fn play_file<E: Ops>(
    config: Config,
    text: &str,
    load: &mut impl FnMut() -> E,
    fair: &mut impl Ops,
) -> (Outcome, Tape, E) {
    let workload = Arc::new(rota_workload::parse("test.json", text).unwrap());
    let mut machine = Machine::new(config, workload, &rota_object::btf::reference()).unwrap();
    machine.with_fair(|_| ());
    let (mut ext, mut tape) = (load(), Tape::default());
    let outcome = {
        let mut anew = |_: &mut _| Ok(load());
        machine.run(&mut Stage::new(&mut ext, fair, &mut anew), &mut tape).unwrap()
    };
    (outcome, tape, ext)
}

/// A machine without overheads that audits its books, with loads (true) and unloads at times.
fn machine(cpus: u32, ms: u64, lifecycle: &[(u64, bool)]) -> Config {
    let lifecycle = lifecycle.iter().map(|(at_ms, loads)| (at_ms * MS, *loads)).collect();
    Config { lifecycle, audit: true, ..ideal(cpus, ms * MS) }
}

/// A fair class with one queue of slices of 10 ms.
fn fair() -> Native {
    shared_fifo()
}
