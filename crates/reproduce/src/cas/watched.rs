// SPDX-License-Identifier: MIT OR Apache-2.0
//! `appease`, with a look at its memory after each of its callbacks: what is handed on to a service,
//! and what comes back.

use crate::error::Error;
use rota_machine::config::Config;
use rota_machine::ops::{Op, OpRet, Ops, OpsParams};
use rota_machine::policy::BpfOps;
use rota_machine::system::System;
use rota_machine::topology::Topology;
use rota_machine::tracing::{Moment, Place, Places, Stopped};
use rota_sim::{Loaded, Policy, Simulation};
use rota_trace::Recorder;
use rota_vm::error::Fault;
use rota_vm::host::Host;
use std::sync::Arc;

/// Requests of the policy that are looked at: there are no more at once.
const REQUESTS: u64 = 8;

/// Unhappiness of a request whose holder blocked for a service.
#[derive(Clone, Copy, Debug)]
pub(super) struct HandedOn {
    /// What stayed, and what went, as it blocked.
    pub(super) kept_ns: u64,
    pub(super) passed_ns: u64,
    /// What had stayed when the answer came.
    pub(super) still_ns: u64,
    /// What it had then with what came back.
    pub(super) regained_ns: Option<u64>,
    request: u64,
}

/// What was seen.
#[derive(Debug, Default)]
pub(super) struct Watched {
    pub(super) handed_on: Vec<HandedOn>,
    /// What all customers had waited as they got their answers, since the time asked for.
    pub(super) waited_ns: u64,
}

/// Where the policy has its numbers.
struct Fields {
    size: u64,
    carried: u64,
    child: u64,
    handed_on: u64,
    waited: u64,
}

struct Watching<'a> {
    ops: &'a mut BpfOps,
    fields: Fields,
    since_ns: u64,
    before_ns: u64,
    seen: &'a mut Watched,
}

impl Watched {
    /// Runs a workload on one ideal CPU.
    pub(super) fn run(
        policy: &Policy,
        workload: &str,
        duration_ns: u64,
        since_ns: u64,
    ) -> Result<Self, Error> {
        let workload = Arc::new(rota_workload::parse("watched", workload)?);
        let config = Config::new(Topology::flat(1)?, duration_ns).ideal();
        let Loaded { mut machine, mut ops, .. } =
            Simulation::new(policy, &workload, config).load()?;
        let fields = Fields::of(policy, &mut ops)?;
        let mut seen = Self::default();
        let mut watching =
            Watching { ops: &mut ops, fields, since_ns, before_ns: 0, seen: &mut seen };
        machine.run(&mut watching, &mut Recorder::default()).map_err(rota_sim::SimError::from)?;
        Ok(seen)
    }
}

impl Fields {
    fn of(policy: &Policy, ops: &mut BpfOps) -> Result<Self, Error> {
        let image = policy.image();
        let mut at = |name: &str, path: &str| {
            let missing = || Error::Failure(format!("appease has no {name}{path}"));
            let variable = image.variables.iter().find(|v| v.name == name).ok_or_else(missing)?;
            let field = image.btf.field_at(variable.ty, path).map_err(|_| missing())?;
            let addr = ops.runtime().global_addr(name).ok_or_else(missing)?;
            Ok::<u64, Error>(addr + u64::from(field.offset()))
        };
        let requests = at("requests", "[0].carried")?;
        Ok(Self {
            size: at("requests", "[1].carried")? - requests,
            carried: requests,
            child: at("requests", "[0].child")?,
            handed_on: at("requests", "[0].handed_on")?,
            waited: at("stats", "waited_ns")?,
        })
    }
}

impl Watching<'_> {
    fn look(&mut self, system: &mut System) -> Result<(), Fault> {
        let Fields { size, carried, child, handed_on, waited } = self.fields;
        let now_ns = system.native_now();
        let mut read = |addr: u64, bytes: u32| {
            let bytes = system.memory().bytes(addr, bytes)?;
            let number = bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte));
            Ok::<u64, Fault>(number)
        };
        let waited_ns = read(waited, 8)?;
        if now_ns < self.since_ns {
            self.before_ns = waited_ns;
        }
        // At the end of a run all tasks leave the policy, which ends what is open.
        self.seen.waited_ns = waited_ns - self.before_ns;
        for request in 1..REQUESTS {
            let is = read(handed_on + request * size, 1)? != 0;
            let own_ns = read(carried + request * size, 8)?;
            let last = self.seen.handed_on.last_mut();
            let open = last.filter(|of| of.request == request && of.regained_ns.is_none());
            match (open, is) {
                (None, true) => {
                    let child = read(child + request * size, 4)?;
                    let passed_ns = read(carried + child * size, 8)?;
                    let (kept_ns, still_ns, regained_ns) = (own_ns, own_ns, None);
                    let of = HandedOn { kept_ns, passed_ns, still_ns, regained_ns, request };
                    self.seen.handed_on.push(of);
                }
                (Some(of), true) => of.still_ns = own_ns,
                (Some(of), false) => of.regained_ns = Some(own_ns),
                (None, false) => {}
            }
        }
        Ok(())
    }
}

impl Ops for Watching<'_> {
    fn params(&self) -> &OpsParams {
        self.ops.params()
    }

    fn has(&self, op: Op) -> bool {
        self.ops.has(op)
    }

    fn call(&mut self, system: &mut System, op: Op, args: &[u64]) -> Result<OpRet, Fault> {
        let result = self.ops.call(system, op, args)?;
        self.look(system)?;
        Ok(result)
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
        let result = self.ops.pass(system, at, args)?;
        let section = || at.0.name().to_owned();
        self.look(system).map_err(|fault| Stopped { section: section(), fault })?;
        Ok(result)
    }

    fn release_owner(&mut self, system: &mut System, addr: u64) {
        self.ops.release_owner(system, addr);
    }
}
