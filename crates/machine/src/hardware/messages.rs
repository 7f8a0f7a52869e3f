// SPDX-License-Identifier: MIT OR Apache-2.0
//! Messages between CPUs: the lines of a message, of its queue and of the lock of that come from the
//! CPU where a task put it, also if nobody had to be woken for it.

use crate::system::System;
use crate::task::Tid;
use rota_workload::{RequestEvent, RequestStep};
use rustc_hash::FxHashMap;

/// By number of a request: the CPU of the task that put it, or its answer, where it is.
pub(crate) type Messages = FxHashMap<u64, u32>;

impl System {
    /// A task on a CPU did something to a request; `taker` is the one that takes it.
    pub(crate) fn pass_message(&mut self, cpu: u32, event: &RequestEvent, taker: Option<Tid>) {
        let Some(models) = self.models.as_deref_mut() else { return };
        match event.step {
            RequestStep::Arrived { by: Some(_), .. }
            | RequestStep::Forwarded { .. }
            | RequestStep::Answered { .. } => {
                models.messages.insert(event.request, cpu);
            }
            RequestStep::Taken { .. } | RequestStep::Received { .. } => {
                let put_on = models.messages.remove(&event.request).filter(|put| *put != cpu);
                if let (Some(put_on), Some(t)) = (put_on, taker) {
                    self.fetch_message(cpu, t, put_on);
                }
            }
            RequestStep::Done { .. } | RequestStep::Dropped { .. } => {
                models.messages.remove(&event.request);
            }
            RequestStep::Arrived { .. } => {}
        }
    }

    /// A task takes a message of another CPU. One that it was just woken for came along with that.
    fn fetch_message(&mut self, cpu: u32, t: Tid, put_on: u32) {
        let footprint = self.task_mut(t).footprint.get_or_insert_default();
        if footprint.handed_from.take() == Some(put_on) {
            return;
        }
        let ns = self.handoff_ns(put_on, cpu);
        self.rq_mut(cpu).owe(ns);
    }
}
