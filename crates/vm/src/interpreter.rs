// SPDX-License-Identifier: MIT OR Apache-2.0
//! The interpreter: one call's state, which can stop at any instruction and go on later.
//!
//! BPF-to-BPF calls and callbacks (`bpf_loop` and its like) live on an explicit frame
//! stack, never on the host's.

mod alu;
mod atomic;
mod callback;
pub(crate) mod decode;
mod fold;
mod frames;
pub(crate) mod op;
pub(crate) mod program;
mod run;

pub use callback::{Callback, Next};

use crate::error::{Fault, FaultKind};
use crate::host::Host;
use crate::runtime::{Ret, Runtime};
use frames::Frames;
use program::Program;
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
    program: Arc<Program<H>>,
    /// Boxed, since finished calls are kept in a list for the next.
    state: Box<State>,
}

/// What changes while a call runs.
#[derive(Default)]
struct State {
    /// r0..=r10; the rest only makes masked indexes valid.
    regs: [u64; 16],
    /// Next op.
    pc: usize,
    frames: Frames,
    /// Instructions counted so far.
    spent: u64,
}

impl<H: Host> Exec<H> {
    /// A call of nothing yet, for code of this runtime.
    pub fn new(rt: &Runtime<H>) -> Self {
        Self { program: Arc::clone(rt.program()), state: Box::default() }
    }

    /// Prepares a call, discarding one that may be in progress.
    pub fn start(&mut self, host: &mut H, func: FuncId, args: &[u64]) -> Result<(), Fault> {
        let Some(entry) = self.program.entry(func) else {
            return Err(Fault::new(FaultKind::Missing(format!("no function {}", func.0))));
        };
        let state = &mut self.state;
        state.regs = [0; 16];
        for (reg, arg) in state.regs[1..6].iter_mut().zip(args) {
            *reg = *arg;
        }
        state.regs[10] = state.frames.reset(host.memory());
        state.pc = entry;
        state.spent = 0;
        Ok(())
    }

    /// Runs until the call returns or `fuel` instructions have been counted.
    pub fn run(&mut self, rt: &mut Runtime<H>, host: &mut H, fuel: u64) -> Result<Step, Fault> {
        let budget = rt.budget();
        let allowed = fuel.min(budget.saturating_sub(self.state.spent)).min(i64::MAX as u64);
        let mut left = allowed as i64;
        let result = run::interpret(&self.program, &mut self.state, rt, host, &mut left);
        self.state.spent += allowed.saturating_add_signed(left.saturating_neg());
        match result {
            Ok(true) => {
                let State { regs, spent, .. } = &*self.state;
                Ok(Step::Done(Ret { r0: regs[0], instructions: *spent }))
            }
            Ok(false) if self.state.spent >= budget => {
                let fault = Fault::new(FaultKind::Budget(budget));
                Err(self.program.locate(fault, self.state.pc))
            }
            Ok(false) => Ok(Step::Paused),
            Err(fault) => Err(self.program.locate(*fault, self.state.pc)),
        }
    }

    /// Instructions counted so far.
    pub fn instructions(&self) -> u64 {
        self.state.spent
    }
}

impl<H: Host> Exec<H> {
    /// Makes the second argument point at a copy of `key`.
    pub(crate) fn pass_key(&mut self, host: &mut H, key: &[u8]) -> Result<(), Fault> {
        let room = Frames::key_room(self.state.regs[10]);
        host.memory().bytes_mut(room, key.len() as u32)?.copy_from_slice(key);
        self.state.regs[2] = room;
        Ok(())
    }
}
