// SPDX-License-Identifier: MIT OR Apache-2.0
//! Requests in the machine: arrivals from outside wake tasks, and the event stream is told.

use crate::consts::WAKE_SYNC;
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
            self.system.emit(None, EventKind::Request(Request::Class { class, name, socket }));
        }
        self.arm_customers();
    }

    /// Requests of customers arrive, each as a network's interrupt would deliver it: on the CPU
    /// where the task slept that it wakes, or on the first one.
    pub(crate) fn customers_due(&mut self, o: &mut dyn Ops) {
        if self.customers_at_ns != self.system.now_ns {
            // somebody came sooner since, so another event stands for what is due next
            return;
        }
        self.customers_at_ns = u64::MAX;
        self.runner.arrive(self.system.now_ns, &mut self.system.choices);
        for event in self.runner.take_request_events() {
            let woken = event.wakes().and_then(|ix| self.tid_of_ix.get(&ix)).copied();
            let here = woken.map_or(0, |t| self.system.task(t).cpu);
            self.system.running.this_cpu = here;
            self.tell_request(o, None, &event);
            if let Some(t) = woken {
                self.system.wake_up(o, t, here, 0, WAKE_SYNC);
            }
            self.system.drain_deferred(o);
        }
        self.arm_customers();
    }

    /// Reports what happened to requests as the current task of a CPU decided on its next step.
    pub(crate) fn tell_requests(&mut self, o: &mut dyn Ops, cpu: u32) {
        let events = self.runner.take_request_events();
        for event in &events {
            self.system.running.this_cpu = cpu;
            let curr = self.system.rq(cpu).curr;
            self.system.pass_message(cpu, event, curr);
            self.tell_request(o, Some(cpu), event);
        }
        if !events.is_empty() {
            // an answer can make its customer come sooner than any other
            self.arm_customers();
        }
    }

    /// Reports an event to the stream, and to a scheduler that watches sockets.
    fn tell_request(&mut self, o: &mut dyn Ops, cpu: Option<u32>, event: &RequestEvent) {
        let pid = |ix: TaskIx| {
            self.tid_of_ix.get(&ix).map_or(0, |tid| self.system.tasks.all[tid.0 as usize].pid)
        };
        if let Some(kind) = kind(event, pid) {
            self.system.emit(cpu, EventKind::Request(kind));
        }
        let RequestEvent { request, socket, step } = *event;
        let (system, sockets) = (&mut self.system, &mut self.sockets);
        match step {
            RequestStep::Arrived { by, .. } => {
                let kind = self.runner.workload().sockets()[socket as usize].kind;
                sockets.arrived(system, o, (request, socket, kind), by.is_some());
            }
            RequestStep::Forwarded { .. } => {
                let kind = self.runner.workload().sockets()[socket as usize].kind;
                sockets.arrived(system, o, (request, socket, kind), true);
            }
            RequestStep::Taken { .. } => sockets.taken(system, o, request),
            RequestStep::Answered { to, .. } => sockets.answered(system, o, request, to.is_some()),
            RequestStep::Received { .. } => sockets.received(system, o, request),
            RequestStep::Done { .. } => sockets.over(request),
            RequestStep::Dropped { .. } => {}
        }
    }

    /// Waits for the next arrival.
    fn arm_customers(&mut self) {
        match self.runner.next_arrival() {
            Some(at_ns) if at_ns < self.customers_at_ns => {
                self.customers_at_ns = at_ns;
                self.system.queue.push(at_ns, Due::Customers);
            }
            _ => {}
        }
    }
}

/// The event that the stream holds; `None`: it leaves this out.
fn kind(event: &RequestEvent, pid: impl Fn(TaskIx) -> u32) -> Option<Request> {
    let request = event.request;
    Some(match event.step {
        RequestStep::Arrived { class, by, demand_ns, think_ns, .. } => {
            Request::Begin { request, class, sender: by.map_or(0, pid), demand_ns, think_ns }
        }
        RequestStep::Dropped { class } => Request::Drop { class },
        RequestStep::Taken { by } => Request::Serve { request, pid: pid(by) },
        RequestStep::Answered { by, .. } | RequestStep::Done { by } => {
            Request::End { request, pid: pid(by) }
        }
        RequestStep::Forwarded { .. } | RequestStep::Received { .. } => return None,
    })
}
