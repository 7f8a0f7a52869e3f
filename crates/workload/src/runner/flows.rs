// SPDX-License-Identifier: MIT OR Apache-2.0
//! What `flow` does: work with calls in between that put bytes into streams or take some.

use super::step::Step;
use super::Runner;
use crate::model::TaskIx;
use crate::stream::{part, Call};
use crate::sync::Moved;

/// A flow under way.
#[derive(Clone, Debug)]
pub(super) struct Underway {
    calls: Box<[Call]>,
    run_ns: u64,
    /// The call that is next or under way, what of it is still to be moved …
    at: usize,
    left: u64,
    /// … and whether the work that belongs to it is done.
    worked: bool,
}

impl Underway {
    fn begin_call(&mut self, at: usize) {
        self.at = at;
        self.left = self.calls.get(at).map_or(0, |call| call.bytes);
        self.worked = false;
    }

    /// The part of the work that belongs to this call.
    fn work_ns(&self) -> u64 {
        let of = self.calls.len() as u64;
        let until = |number: usize| part(self.run_ns, number as u64, of);
        until(self.at + 1) - until(self.at)
    }
}

impl Runner {
    /// A task begins a flow, by its index.
    pub(super) fn flow_event(&mut self, task: TaskIx, flow: u32) -> Option<Step> {
        let flow = &self.workload.flows[flow as usize];
        let mut underway = Underway {
            calls: flow.calls().into(),
            run_ns: flow.run_ns,
            at: 0,
            left: 0,
            worked: false,
        };
        if underway.calls.is_empty() {
            let work_ns = underway.run_ns;
            return (work_ns > 0).then_some(Step::Run { work_ns });
        }
        underway.begin_call(0);
        self.tasks[task.0 as usize].flow = Some(Box::new(underway));
        None
    }

    /// One step of the flow that a task is in. A call that takes comes before its part of the work,
    /// one that puts after it.
    pub(super) fn flow_step(&mut self, task: TaskIx) -> Option<Step> {
        let waiter = self.waiter(task);
        let state = &mut self.tasks[task.0 as usize];
        let flow = state.flow.as_mut()?;
        let call = flow.calls[flow.at];
        if !flow.worked && (call.puts || flow.left == 0) {
            flow.worked = true;
            let work_ns = flow.work_ns();
            if work_ns > 0 {
                return Some(Step::Run { work_ns });
            }
        }
        if flow.left == 0 {
            let next = flow.at + 1;
            if next == flow.calls.len() {
                state.flow = None;
            } else {
                flow.begin_call(next);
            }
            return None;
        }
        let streams = &mut self.sync.streams;
        let moved = match call.puts {
            true => streams.put(waiter, call.stream, flow.left),
            false => streams.take(waiter, call.stream, flow.left),
        };
        match moved {
            Moved::Bytes(bytes, woken) => {
                flow.left -= bytes;
                (!woken.is_empty()).then_some(Step::Wake { tasks: woken, sync: true })
            }
            Moved::Waits => Some(Step::Block),
        }
    }
}
