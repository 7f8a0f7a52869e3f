// SPDX-License-Identifier: MIT OR Apache-2.0
//! The deadline server of sched_ext (`rq->ext_server`, Linux 7.0 and later): on each CPU, tasks of
//! sched_ext that classes above keep from running get 50 ms of each second. Kernels before have
//! none, and their sched_ext starves behind a real-time task that never sleeps.
//!
//! It is deferred: its time counts down also while sched_ext runs by itself, and it steps in only
//! when the rest of its second is no longer than what it still owes (`dl_server_timer()`).

use super::Rank;
use crate::event_queue::Due;
use crate::rq::Cpus;
use crate::system::System;
use crate::task::Tid;

/// What it guarantees, of each second.
const RUNTIME_NS: i64 = 50_000_000;
const PERIOD_NS: u64 = 1_000_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// No task of sched_ext wants to run.
    Off,
    /// Waits for the last moment at which it can still give what it owes.
    Armed,
    /// Its CPU serves sched_ext as a deadline task.
    Ready,
    /// Has given everything, and waits for its next period.
    Throttled,
}

#[derive(Clone, Debug)]
pub(crate) struct Server {
    state: State,
    /// It had to step in, and does so at the start of each period until sched_ext gets its time
    /// by itself (`dl_defer_running`).
    steps_in: bool,
    budget_ns: i64,
    deadline_ns: u64,
    /// Number of the armed timer; older ones are stale.
    timer: u64,
}

impl Default for Server {
    fn default() -> Self {
        Self { state: State::Off, steps_in: false, budget_ns: 0, deadline_ns: 0, timer: 0 }
    }
}

impl System {
    /// Tasks of sched_ext have come to a CPU that had none, or the last one left:
    /// `dl_server_start()`, `dl_server_stop()`. Needless where nobody is above sched_ext, and where
    /// the kernel has no such server.
    pub(crate) fn follow_server(&mut self, cpu: u32) {
        if !self.above.exist || !self.config.rules.ext_server {
            return;
        }
        let wanted = self.rq(cpu).nr_running > 0;
        let off = self.rq(cpu).server.state == State::Off;
        if !wanted && !off {
            self.cpus.stop_server(cpu);
        } else if wanted && off && self.rq(cpu).nr_running == 1 {
            self.start_server(cpu);
        }
    }

    fn start_server(&mut self, cpu: u32) {
        let now_ns = self.now_ns;
        let idle = self.rq(cpu).curr.is_none();
        let server = &mut self.rq_mut(cpu).server;
        server.steps_in &= !idle;
        let left_ns = server.deadline_ns.saturating_sub(now_ns);
        // dl_entity_overflow()
        let overflows = i128::from(server.budget_ns) * i128::from(PERIOD_NS)
            > i128::from(left_ns) * i128::from(RUNTIME_NS);
        if left_ns == 0 || overflows || server.budget_ns <= 0 && !server.steps_in {
            (server.deadline_ns, server.budget_ns) = (now_ns + PERIOD_NS, RUNTIME_NS);
        }
        if server.budget_ns <= 0 {
            self.wait_for_period(cpu);
        } else if server.steps_in {
            server.state = State::Ready;
        } else {
            self.defer(cpu);
        }
    }

    fn defer(&mut self, cpu: u32) {
        let server = &mut self.rq_mut(cpu).server;
        server.state = State::Armed;
        let last_ns = server.deadline_ns.saturating_sub(server.budget_ns.max(0) as u64);
        self.arm_server(cpu, last_ns);
    }

    fn wait_for_period(&mut self, cpu: u32) {
        let server = &mut self.rq_mut(cpu).server;
        server.state = State::Throttled;
        let deadline_ns = server.deadline_ns;
        self.arm_server(cpu, deadline_ns);
    }

    fn arm_server(&mut self, cpu: u32, at_ns: u64) {
        let at_ns = at_ns.max(self.now_ns);
        let server = &mut self.rq_mut(cpu).server;
        server.timer += 1;
        let due = Due::Server(cpu, server.timer);
        self.queue.push(at_ns, due);
    }

    /// `update_curr_dl_se()`: sched_ext ran, by itself or because of the server.
    pub(crate) fn charge_server(&mut self, cpu: u32, delta_ns: u64) {
        let now_ns = self.now_ns;
        let server = &mut self.rq_mut(cpu).server;
        if server.state == State::Off {
            return;
        }
        server.budget_ns -= delta_ns as i64;
        if server.budget_ns > 0 {
            return;
        }
        if server.state == State::Ready {
            self.wait_for_period(cpu);
            self.cpus.resched_curr(cpu);
        } else {
            server.steps_in = false;
            (server.deadline_ns, server.budget_ns) = (now_ns + PERIOD_NS, RUNTIME_NS);
            self.defer(cpu);
        }
    }

    /// `dl_server_timer()`.
    pub(crate) fn server_due(&mut self, cpu: u32, timer: u64) {
        self.running.this_cpu = cpu;
        self.update_curr(cpu);
        let now_ns = self.now_ns;
        let server = &mut self.rq_mut(cpu).server;
        if server.timer != timer {
            return;
        }
        if server.state == State::Armed {
            if now_ns < server.deadline_ns.saturating_sub(server.budget_ns.max(0) as u64) {
                return self.defer(cpu);
            }
            server.steps_in = true;
        }
        while server.budget_ns <= 0 {
            server.deadline_ns += PERIOD_NS;
            server.budget_ns += RUNTIME_NS;
        }
        if server.deadline_ns < now_ns {
            (server.deadline_ns, server.budget_ns) = (now_ns + PERIOD_NS, RUNTIME_NS);
        }
        server.state = State::Ready;
        if self.server_precedes(cpu, self.rq(cpu).curr) {
            self.cpus.resched_curr(cpu);
        }
    }

    /// Whether a CPU serves sched_ext before this task.
    pub(crate) fn server_precedes(&self, cpu: u32, higher: Option<Tid>) -> bool {
        let server = &self.rq(cpu).server;
        let rank = higher.map_or(Rank::EXT, |t| self.tasks.rank(t));
        server.state == State::Ready
            && rank > Rank::EXT
            && Rank::deadline(server.deadline_ns) > rank
    }
}

impl Cpus {
    pub(crate) fn stop_server(&mut self, cpu: u32) {
        let server = &mut self.rq_mut(cpu).server;
        server.state = State::Off;
        server.timer += 1;
    }

    /// Until when the server lets the running task go on; `None`: it does not ask for it.
    pub(crate) fn server_left_ns(&self, cpu: u32) -> Option<u64> {
        let server = &self.rq(cpu).server;
        (server.state == State::Ready).then_some(server.budget_ns.max(0) as u64)
    }
}
