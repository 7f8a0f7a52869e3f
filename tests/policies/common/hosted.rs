// SPDX-License-Identifier: MIT OR Apache-2.0
//! The shipped policies, compiled and hosted as users run them.

use super::Tape;
use rota_machine::config::Config;
use rota_machine::kernel::Kernel;
use rota_machine::ops::{Op, OpRet, Ops, OpsParams};
use rota_machine::policy::BpfOps;
use rota_machine::run::{Machine, Outcome, RunError};
use rota_machine::system::System;
use rota_machine::tracing::{Moment, Place, Places, Stopped};
use rota_object::image::Image;
use rota_sim::{Loaded, Policy, Simulation};
use rota_trace::Sink;
use rota_vm::error::Fault;
use rota_vm::host::Host;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock};

/// A machine with a shipped policy.
pub(crate) struct Hosted {
    pub(crate) machine: Machine,
    pub(crate) ops: BpfOps,
    image: Arc<Image>,
    noting: &'static str,
    noted: Vec<u8>,
    changes: Vec<(u64, &'static str, u64)>,
}

/// A hosted policy of which a global variable is noted after each decision: at the end of a run
/// the machine takes all tasks from the policy, and a policy counts that too. Its live
/// tunables are changed before the first callback at or after the time asked for.
struct Noting<'a> {
    ops: &'a mut BpfOps,
    variable: Option<(u64, u32)>,
    noted: &'a mut Vec<u8>,
    changes: &'a [(u64, &'static str, u64)],
}

impl Ops for Noting<'_> {
    fn params(&self) -> &OpsParams {
        self.ops.params()
    }

    fn has(&self, op: Op) -> bool {
        self.ops.has(op)
    }

    fn call(&mut self, system: &mut System, op: Op, args: &[u64]) -> Result<OpRet, Fault> {
        while let Some(((at_ns, name, value), later)) = self.changes.split_first() {
            if system.native_now() < *at_ns {
                break;
            }
            let addr = self.ops.runtime().global_addr(name).expect("a global variable");
            system.memory().write(addr, 8, *value)?;
            self.changes = later;
        }
        let result = self.ops.call(system, op, args);
        if let (Op::Dispatch, Some((addr, size))) = (op, self.variable) {
            self.noted.clear();
            self.noted.extend_from_slice(system.memory().bytes(addr, size)?);
        }
        result
    }

    fn run_timer(&mut self, system: &mut System, timer: u64) -> Result<OpRet, Fault> {
        self.ops.run_timer(system, timer)
    }

    fn watched(&self) -> Places {
        self.ops.watched()
    }

    fn pass(
        &mut self,
        system: &mut System,
        at: (Place, Moment),
        args: &[u64],
    ) -> Result<u64, Stopped> {
        self.ops.pass(system, at, args)
    }

    fn set_share(&mut self, system: &mut System, pid: u32, share: u64) -> Result<(), Fault> {
        self.ops.set_share(system, pid, share)
    }

    fn release_owner(&mut self, system: &mut System, addr: u64) {
        self.ops.release_owner(system, addr);
    }
}

/// The linked object of a shipped policy; linked once per process.
pub(crate) fn linked(name: &str) -> Policy {
    static LINKED: OnceLock<Mutex<BTreeMap<String, Policy>>> = OnceLock::new();
    let mut linked = LINKED.get_or_init(Mutex::default).lock().unwrap();
    let known = linked.entry(name.to_string()).or_insert_with(|| {
        let object = rota_catalog::find(name).unwrap().object;
        Policy::link(name, object, &Kernel::default()).unwrap()
    });
    known.clone()
}

impl Hosted {
    /// Loads a policy with these options into a machine with this workload.
    pub(crate) fn new(name: &str, set: &[(&str, &str)], config: Config, workload: &str) -> Self {
        let mut policy = linked(name);
        for (option, value) in set {
            policy.set(option, value).unwrap();
        }
        let image = Arc::clone(policy.image());
        let workload = Arc::new(rota_workload::parse("test.json", workload).unwrap());
        let Loaded { machine, ops, .. } =
            Simulation::new(&policy, &workload, config).load().unwrap();
        Self { machine, ops, image, noting: "stats", noted: Vec::new(), changes: Vec::new() }
    }

    /// Notes this global variable, not `stats`.
    pub(crate) fn noting(self, name: &'static str) -> Self {
        Self { noting: name, ..self }
    }

    /// Sets 64-bit variables to values at times, in this order.
    pub(crate) fn change(mut self, changes: &[(u64, &'static str, u64)]) -> Self {
        self.changes = changes.to_vec();
        self
    }

    /// Runs it.
    pub(crate) fn run(&mut self) -> (Outcome, Tape) {
        let mut tape = Tape::default();
        (self.run_into(&mut tape), tape)
    }

    /// Runs it, for a sink of one's own.
    pub(crate) fn run_into(&mut self, sink: &mut dyn Sink) -> Outcome {
        self.try_run_into(sink).unwrap()
    }

    /// The same of a workload that the machine may refuse.
    pub(crate) fn try_run_into(&mut self, sink: &mut dyn Sink) -> Result<Outcome, RunError> {
        let addr = self.ops.runtime().global_addr(self.noting);
        let size = self.image.variables.iter().find(|v| v.name == self.noting).map(|v| v.size);
        let variable = addr.zip(size);
        let (noted, changes) = (&mut self.noted, self.changes.as_slice());
        let mut noting = Noting { ops: &mut self.ops, variable, noted, changes };
        self.machine.run(&mut noting, sink)
    }

    /// A number of up to 64 bits in a global variable after a run, such as `.left_ns` of a
    /// struct or `[3].prio` of an array of them.
    pub(crate) fn global(&mut self, name: &str, path: &str) -> u64 {
        let variable = self.image.variables.iter().find(|v| v.name == name).unwrap();
        let field = self.image.btf.field_at(variable.ty, path).unwrap();
        let addr = self.ops.runtime().global_addr(name).unwrap() + u64::from(field.offset());
        number(self.machine.system.memory().bytes(addr, field.size).unwrap())
    }

    /// The same of the variable that is noted, as of the last decision.
    pub(crate) fn noted(&self, path: &str) -> u64 {
        let variable = self.image.variables.iter().find(|v| v.name == self.noting).unwrap();
        let field = self.image.btf.field_at(variable.ty, path).unwrap();
        number(&self.noted[field.offset() as usize..][..field.size as usize])
    }

    /// What the policy had counted by its last decision: member `field` of its `stats`.
    pub(crate) fn stat(&self, field: &str) -> u64 {
        self.noted(field)
    }
}

/// Endless tasks named A, B, C …, with these shares; pids 1001, 1002, 1003 …
pub(crate) fn hogs(shares: &[u64]) -> String {
    let task = |(at, share): (usize, &u64)| {
        let name = char::from(b'A' + at as u8);
        format!(r#""{name}": {{"share": {share}, "run": 1000000}}"#)
    };
    let tasks: Vec<String> = shares.iter().enumerate().map(task).collect();
    format!(r#"{{"tasks": {{{}}}}}"#, tasks.join(", "))
}

/// Picks on CPU 0 as letters: pid 1001 is A.
pub(crate) fn letters(tape: &Tape) -> String {
    tape.picks(0).iter().map(|pid| char::from(b'A' + (pid - 1001) as u8)).collect()
}

fn number(bytes: &[u8]) -> u64 {
    let mut number = [0; 8];
    number[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(number)
}
