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

    /// Prepares a call, discarding one that may be in progress. If there is no such function it is a fault
    /// as it runs.
    pub fn start(&mut self, host: &mut H, func: FuncId, args: &[u64]) {
        let state = &mut self.call.state;
        state.regs = [0; 16];
        match *args {
            // all that most programs get
            [context] => state.regs[1] = context,
            _ => {
                for (reg, arg) in state.regs[1..6].iter_mut().zip(args) {
                    *reg = *arg;
                }
            }
        }
        state.regs[10] = state.frames.reset(host.memory());
        state.spent = 0;
        state.begins = Some(func);
    }

    /// Runs until the call returns or `fuel` instructions have been counted.
    pub fn run(&mut self, rt: &mut Runtime<H>, host: &mut H, fuel: u64) -> Result<Step, Fault> {
        let budget = rt.budget();
        let allowed = fuel.min(budget.saturating_sub(self.call.state.spent)).min(i64::MAX as u64);
        match self.go_on(rt, host, allowed as i64) {
            Ok(true) => {
                let State { regs, spent, .. } = &self.call.state;
                Ok(Step::Done(Ret { r0: regs[0], instructions: *spent }))
            }
            Ok(false) if self.call.state.spent >= budget => Err(self.over(budget)),
            Ok(false) => Ok(Step::Paused),
            Err(fault) => Err(self.located(*fault)),
        }
    }

    /// Runs a call that was just started until it returns.
    #[inline]
    pub(super) fn run_whole(&mut self, rt: &mut Runtime<H>, host: &mut H) -> Result<Ret, Fault> {
        let budget = rt.budget();
        match self.go_on(rt, host, budget.min(i64::MAX as u64) as i64) {
            Ok(true) => {
                let State { regs, spent, .. } = &self.call.state;
                Ok(Ret { r0: regs[0], instructions: *spent })
            }
            Ok(false) => Err(self.over(budget)),
            Err(fault) => Err(self.located(*fault)),
        }
    }

    /// Runs until the call returns, which it says, or so many instructions have been counted.
    #[inline]
    fn go_on(
        &mut self,
        rt: &mut Runtime<H>,
        host: &mut H,
        allowed: i64,
    ) -> Result<bool, Box<Fault>> {
        rt.count_run();
        let mut left = allowed;
        let Call { code, state } = &mut *self.call;
        let result = code.run(state, rt, host, &mut left);
        // the last call may have taken more than was left
        self.call.state.spent += allowed.saturating_sub(left) as u64;
        result
    }

    #[cold]
    fn over(&self, budget: u64) -> Fault {
        self.located(Fault::new(FaultKind::Budget(budget)))
    }

    #[cold]
    fn located(&self, fault: Fault) -> Fault {
        self.call.code.locate(fault, self.call.state.pc)
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
