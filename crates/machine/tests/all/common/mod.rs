// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the machine's tests have in common.
#![allow(dead_code)] // the tests of policies have some of it, too, and use other parts

pub(crate) mod hardware;
mod native;
pub(crate) mod plan;
pub(crate) mod replay;
pub(crate) mod script;
mod tape;
pub(crate) mod wild;

pub(crate) use native::{shared_fifo, Handler, Native};
pub(crate) use plan::ideal;
pub(crate) use tape::Tape;

use rota_machine::config::Config;
use rota_machine::ops::Ops;
use rota_machine::run::{Machine, Outcome};
use std::sync::Arc;

/// Runs a workload text under a scheduler.
pub(crate) fn run(config: Config, workload: &str, ops: &mut dyn Ops) -> (Outcome, Tape) {
    let workload = Arc::new(rota_workload::parse("test.json", workload).unwrap());
    let btf = rota_object::btf::reference();
    let mut machine = Machine::new(config, workload, &btf).unwrap();
    let mut tape = Tape::default();
    let outcome = machine.run(ops, &mut tape).unwrap();
    (outcome, tape)
}
