// SPDX-License-Identifier: MIT OR Apache-2.0
//! The schedulers of a machine with a fair class: sched_ext's, which comes and goes, and the one
//! that is the fair class.

use crate::ops::{Lifecycle, Op, OpRet, Ops, OpsParams};
use crate::outside::object::Done;
use crate::run::RunError;
use crate::system::System;
use crate::tracing::{Moment, Place, Places, Stopped};
use crate::user_half::Step;
use rota_vm::error::Fault;
use rota_vm::runtime::CodePlace;
use rota_workload::events::ObjectAction;

/// Loads a scheduler anew.
pub type Load<'a, E> = &'a mut dyn FnMut(&mut System) -> Result<E, RunError>;

/// Both schedulers. As [`Ops`] it is the one of sched_ext.
pub struct Stage<'a, E, F> {
    /// Of sched_ext. At first it is loaded, and not attached.
    ext: &'a mut E,
    fair: &'a mut F,
    /// It was attached once.
    is_used: bool,
    load: Load<'a, E>,
}

impl<'a, E: Ops, F: Ops> Stage<'a, E, F> {
    /// A scheduler that is attached first, the fair class, and what loads the scheduler anew.
    pub fn new(ext: &'a mut E, fair: &'a mut F, load: Load<'a, E>) -> Self {
        Self { ext, fair, is_used: false, load }
    }
}

impl<E: Ops, F: Ops> Lifecycle for Stage<'_, E, F> {
    fn fair(&mut self) -> &mut dyn Ops {
        self.fair
    }

    fn load(&mut self, system: &mut System) -> Result<(), RunError> {
        if std::mem::replace(&mut self.is_used, true) {
            *self.ext = (self.load)(system)?;
        }
        Ok(())
    }
}

impl<E: Ops, F: Ops> Ops for Stage<'_, E, F> {
    fn params(&self) -> &OpsParams {
        self.ext.params()
    }

    fn cid_form(&self) -> bool {
        self.ext.cid_form()
    }

    fn has(&self, op: Op) -> bool {
        self.ext.has(op)
    }

    fn call(&mut self, system: &mut System, op: Op, args: &[u64]) -> Result<OpRet, Fault> {
        self.ext.call(system, op, args)
    }

    fn run_timer(&mut self, system: &mut System, timer: u64) -> Result<OpRet, Fault> {
        self.ext.run_timer(system, timer)
    }

    fn watched(&self) -> Places {
        self.ext.watched()
    }

    fn pass(
        &mut self,
        system: &mut System,
        at: (Place, Moment),
        args: &[u64],
    ) -> Result<u64, Stopped> {
        self.ext.pass(system, at, args)
    }

    fn set_share(&mut self, system: &mut System, pid: u32, share: u64) -> Result<(), Fault> {
        self.ext.set_share(system, pid, share)
    }

    fn place(&self, op: Option<Op>, call: Option<u32>) -> Option<CodePlace> {
        self.ext.place(op, call)
    }

    fn fits(&self, action: &ObjectAction) -> Result<(), String> {
        self.ext.fits(action)
    }

    fn act(&mut self, system: &mut System, action: &ObjectAction) -> Done {
        self.ext.act(system, action)
    }

    fn go_on(&mut self, system: &mut System) -> Result<Option<Step>, RunError> {
        self.ext.go_on(system)
    }

    fn release_owner(&mut self, system: &mut System, addr: u64) {
        self.ext.release_owner(system, addr);
    }

    fn lifecycle(&mut self) -> Option<&mut dyn Lifecycle> {
        Some(self)
    }
}
