// SPDX-License-Identifier: MIT OR Apache-2.0
//! Requests in the machine: arrivals from outside wake tasks, and the event stream is told.

use crate::event_queue::Due;
use crate::ops::Ops;
use crate::run::Machine;
use rota_trace::{EventKind, Request};
use rota_workload::{RequestEvent, RequestStep, TaskIx};

impl Machine {
    /// Names the classes of requests, and waits for the first customers.
    pub(crate) fn open_for_customers(&mut self) {
        let workload = self.runner.workload().clone();
        for (number, class) in (0u32..).zip(workload.request_classes()) {
            let socket = workload.sockets()[class.socket as usize].name.clone();
            let (class, name) = (number, class.name.clone());
            self.core.emit(None, EventKind::Request(Request::Class { class, name, socket }));
        }
        self.arm_customers();
    }

    /// Requests of customers arrive, each as a network's interrupt would deliver it: on the CPU
    /// where the task slept that it wakes.
    pub(crate) fn customers_due(&mut self, o: &mut dyn Ops) {
        if self.customers_at_ns != self.core.now_ns {
            // somebody came sooner since, so another event stands for what is due next
            return;
        }
        self.customers_at_ns = u64::MAX;
        let woken = self.runner.arrive(self.core.now_ns);
        self.tell_requests(None);
        self.arm_customers();
        for task in woken.iter().filter_map(|ix| self.tid_of_ix.get(ix)).copied() {
            let here = self.core.task(task).cpu;
            self.core.wake_up(o, task, here, 0);
            self.core.drain_deferred(o);
        }
    }

    /// Reports what happened to requests since the last call: on a CPU, by its current task, or
    /// outside of all.
    pub(crate) fn tell_requests(&mut self, cpu: Option<u32>) {
        let mut any = false;
        for event in self.runner.take_request_events() {
            any = true;
            let pid = |ix: TaskIx| {
                self.tid_of_ix.get(&ix).map_or(0, |tid| self.core.tasks[tid.0 as usize].pid)
            };
            if let Some(kind) = kind(event, pid) {
                self.core.emit(cpu, EventKind::Request(kind));
            }
        }
        if any {
            // an answer can make its customer come sooner than any other
            self.arm_customers();
        }
    }

    /// Waits for the next arrival.
    fn arm_customers(&mut self) {
        match self.runner.next_arrival() {
            Some(at_ns) if at_ns < self.customers_at_ns => {
                self.customers_at_ns = at_ns;
                self.core.queue.push(at_ns, Due::Customers);
            }
            _ => {}
        }
    }
}

/// The event that the stream holds; `None`: it leaves this out.
fn kind(event: RequestEvent, pid: impl Fn(TaskIx) -> u32) -> Option<Request> {
    let request = event.request;
    Some(match event.step {
        RequestStep::Arrived { class, by, demand_ns, think_ns } => {
            Request::Begin { request, class, sender: by.map_or(0, pid), demand_ns, think_ns }
        }
        RequestStep::Dropped { class } => Request::Drop { class },
        RequestStep::Taken { by } => Request::Serve { request, pid: pid(by) },
        RequestStep::Answered { by } | RequestStep::Done { by } => {
            Request::End { request, pid: pid(by) }
        }
        RequestStep::Forwarded { .. } | RequestStep::Received { .. } => return None,
    })
}
