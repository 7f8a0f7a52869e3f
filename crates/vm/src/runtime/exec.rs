// SPDX-License-Identifier: MIT OR Apache-2.0
//! One call in progress, which can stop at any instruction and go on later.
//!
//! BPF-to-BPF calls and callbacks (`bpf_loop` and its like) live on an explicit frame
//! stack, never on the host's.

use super::{Ret, Runtime};
use crate::code::{Call, State};
use crate::error::{Fault, FaultKind};
use crate::frames::key_room;
use crate::host::Host;
use rota_object::image::FuncId;
use std::sync::Arc;

/// Where a run stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The function returned.
    Done(Ret),
    /// The fuel is used up; `run` goes on from here.
    Paused,
}

/// One call in progress.
pub struct Exec<H> {
    /// Boxed, since those that are over are kept in a list for the next.
    call: Box<Call<Runtime<H>, H>>,
}

impl<H: Host> Exec<H> {
    /// A call of nothing yet, for code of this runtime.
    pub fn new(rt: &Runtime<H>) -> Self {
        Self { call: Box::new(Call { code: Arc::clone(rt.code()), state: State::default() }) }
    }

    /// Prepares a call, discarding one that may be in progress.
    pub fn start(&mut self, host: &mut H, func: FuncId, args: &[u64]) -> Result<(), Fault> {
        let Some(entry) = self.call.code.entry(func) else {
            return Err(Fault::new(FaultKind::Missing(format!("no function {}", func.0))));
        };
        let state = &mut self.call.state;
        state.regs = [0; 16];
        for (reg, arg) in state.regs[1..6].iter_mut().zip(args) {
            *reg = *arg;
        }
        state.regs[10] = state.frames.reset(host.memory());
        state.pc = entry;
        state.spent = 0;
        state.begins = Some(func);
        Ok(())
    }

    /// Runs until the call returns or `fuel` instructions have been counted.
    pub fn run(&mut self, rt: &mut Runtime<H>, host: &mut H, fuel: u64) -> Result<Step, Fault> {
        rt.count_run();
        let budget = rt.budget();
        let allowed = fuel.min(budget.saturating_sub(self.call.state.spent)).min(i64::MAX as u64);
        let mut left = allowed as i64;
        let result = {
            let Call { code, state } = &mut *self.call;
            code.run(state, rt, host, &mut left)
        };
        self.call.state.spent += allowed.saturating_add_signed(left.saturating_neg());
        match result {
            Ok(true) => {
                let State { regs, spent, .. } = &self.call.state;
                Ok(Step::Done(Ret { r0: regs[0], instructions: *spent }))
            }
            Ok(false) if self.call.state.spent >= budget => {
                let fault = Fault::new(FaultKind::Budget(budget));
                Err(self.call.code.locate(fault, self.call.state.pc))
            }
            Ok(false) => Ok(Step::Paused),
            Err(fault) => Err(self.call.code.locate(*fault, self.call.state.pc)),
        }
    }

    /// Instructions counted so far.
    pub fn instructions(&self) -> u64 {
        self.call.state.spent
    }
}

impl<H: Host> Exec<H> {
    /// A call that is over, for the next.
    pub(super) fn of(call: Box<Call<Runtime<H>, H>>) -> Self {
        Self { call }
    }

    /// What is kept of it once it is over.
    pub(super) fn into_call(self) -> Box<Call<Runtime<H>, H>> {
        self.call
    }

    /// Makes the second argument point at a copy of `key`.
    pub(super) fn pass_key(&mut self, host: &mut H, key: &[u8]) -> Result<(), Fault> {
        let room = key_room(self.call.state.regs[10]);
        host.memory().bytes_mut(room, key.len() as u32)?.copy_from_slice(key);
        self.call.state.regs[2] = room;
        Ok(())
    }
}
