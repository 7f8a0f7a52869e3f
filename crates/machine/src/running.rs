// SPDX-License-Identifier: MIT OR Apache-2.0
//! The one call into the scheduler that is being made: on which CPU, what it may do, and what it
//! holds. Nothing else in the machine is of a single call, so that each CPU can have one.

use crate::kfuncs::iter::Iters;
use crate::ops::Op;
use crate::task::Tid;
use crate::tracing::Contexts;
use rota_vm::memory::{Memory, Perm};
use rustc_hash::FxHashMap;

/// Most arguments a callback has.
const MAX_ARGS: u32 = 5;

/// What the running callback may do, `scx_kf_allow_flags` and the locked rq.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Context {
    pub(crate) op: Option<Op>,
    /// `scx_locked_rq()`.
    pub(crate) locked_rq: Option<u32>,
    /// `current->scx.kf_tasks[0]`: the task that the callback is about.
    pub(crate) task: Option<Tid>,
    /// It is a tracing program.
    pub(crate) tracing: bool,
}

/// From where hosted code called a kernel function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Site {
    /// In which callback; `None`: in another program.
    pub(crate) op: Option<Op>,
    /// The call's place, `None`: the beginning of the callback.
    pub(crate) at: Option<u32>,
}

/// What the machine works on for the scheduler, for the message of an error.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Subject {
    pub(crate) task: Option<Tid>,
    pub(crate) site: Option<Site>,
}

/// State of the running call, and of those that it interrupts.
#[derive(Debug, Default)]
pub(crate) struct Running {
    /// `smp_processor_id()`.
    pub(crate) this_cpu: u32,
    pub(crate) ctx: Context,
    /// The last call of a kernel function by hosted code, if it runs.
    pub(crate) site: u32,
    /// Work that hosted code asked for, and that is done after it returned.
    pub(crate) subject: Subject,
    /// The task that `current` is, where that is not `rq->curr`; 0: it is.
    pub(crate) current: u64,
    /// What tracing programs get, and a cgroup's path for them.
    pub(crate) contexts: Contexts,
    pub(crate) path: u64,
    /// DSQ iterators in use: guest address of the iterator to its state.
    pub(crate) iters: Iters,
    /// css iterators in use: what is left of each walk.
    pub(crate) css_iters: FxHashMap<u64, Vec<u64>>,
    /// Argument arrays of the callbacks in progress, and how many these are.
    args: Vec<u64>,
    args_depth: usize,
}

impl Running {
    /// Writes a callback's arguments where its program finds them: a struct_ops program
    /// gets one pointer, to an array of 64-bit words. Calls nest.
    pub(crate) fn push_args(&mut self, mem: &mut Memory, args: &[u64]) -> u64 {
        let depth = self.args_depth;
        self.args_depth += 1;
        if self.args.len() == depth {
            let ctx = mem.alloc("struct_ops arguments", 8 * MAX_ARGS, Perm::ReadOnly);
            self.args.push(ctx);
        }
        let ctx = self.args[depth];
        mem.set_all_u64(ctx, args);
        ctx
    }

    pub(crate) fn pop_args(&mut self) {
        self.args_depth -= 1;
    }
}
