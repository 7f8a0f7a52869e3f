// SPDX-License-Identifier: MIT OR Apache-2.0
//! The deadline servers of the hosted classes (`rq->ext_server`, Linux 7.0 and later, and
//! `rq->fair_server`): on each CPU, tasks of the class that classes above keep from running get
//! 50 ms of each second. Kernels before 7.0 have none for sched_ext, which starves there behind a
//! real-time task that never sleeps.
//!
//! A server is deferred: its time counts down also while its class runs by itself, and it steps in
//! only when the rest of its second is no longer than what it still owes (`dl_server_timer()`).

use super::{Class, Rank, Takes};
use crate::event_queue::Due;
use crate::rq::Cpus;
use crate::system::System;
use crate::task::Tid;

/// What it guarantees, of each second (`sched_init_dl_servers()`).
const RUNTIME_NS: u64 = 50_000_000;
const PERIOD_NS: u64 = 1_000_000_000;
/// `dl_server_min_res`: the timer is not put off by less.
const MIN_RES_NS: u64 = 1_000_000;
/// `BW_SHIFT` and `DL_SCALE`: how finely the kernel calculates.
const BW_SHIFT: u32 = 20;
const DL_SCALE: u32 = 10;

/// `struct sched_dl_entity` of a server; the states that its flags make are drawn above
/// `dl_server_start()`.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    /// `dl_runtime`: what it guarantees of each period.
    pub(super) dl_runtime_ns: u64,
    /// `dl_period`, and `dl_deadline`.
    pub(super) dl_period_ns: u64,
    /// `dl_server_active`: from the first task of its class on, until the server finds none.
    active: bool,
    /// `dl_throttled`: its CPU does not serve it.
    throttled: bool,
    /// `dl_defer_armed`: waits for the last moment at which it can still give what it owes.
    armed: bool,
    /// `dl_defer_running`: it had to step in, and does so at the start of each period until
    /// the class gets its time by itself.
    running: bool,
    /// `dl_defer_idle`: the CPU's idle time has used up what it owed.
    idle: bool,
    runtime_ns: i64,
    deadline_ns: u64,
    /// Number of the armed timer; older ones are stale.
    timer: u64,
}

impl Default for Server {
    fn default() -> Self {
        Self {
            dl_runtime_ns: RUNTIME_NS,
            dl_period_ns: PERIOD_NS,
            active: false,
            throttled: false,
            armed: false,
            running: false,
            idle: false,
            runtime_ns: 0,
            deadline_ns: 0,
            timer: 0,
        }
    }
}

impl Server {
    /// The end of `dl_server_apply_params()`: it stands still meanwhile.
    pub(super) fn set(&mut self, runtime_ns: u64, period_ns: u64) {
        (self.dl_runtime_ns, self.dl_period_ns) = (runtime_ns, period_ns);
        (self.runtime_ns, self.deadline_ns) = (0, 0);
    }

    /// It is on its runqueue, as a deadline task would be.
    fn is_queued(&self) -> bool {
        self.active && !self.throttled
    }

    /// The last moment at which it can still give what it owes.
    fn zero_laxity_ns(&self) -> u64 {
        self.deadline_ns.saturating_sub(self.runtime_ns.max(0) as u64)
    }

    /// `dl_entity_overflow()`: the rest of its runtime until its deadline is more than 5 %.
    fn overflows(&self, now_ns: u64) -> bool {
        let scaled = |ns: u64| u128::from(ns >> DL_SCALE);
        let left = scaled(self.dl_period_ns) * scaled(self.runtime_ns.max(0) as u64);
        scaled(self.deadline_ns.saturating_sub(now_ns)) * scaled(self.dl_runtime_ns) < left
    }

    /// `replenish_dl_new_period()`.
    fn begin_period(&mut self, now_ns: u64) {
        (self.deadline_ns, self.runtime_ns) =
            (now_ns + self.dl_period_ns, self.dl_runtime_ns as i64);
        if !self.running {
            (self.throttled, self.armed) = (true, true);
        }
    }

    /// `update_dl_entity()`.
    fn start(&mut self, now_ns: u64) {
        // 0: the first, long after whose making a kernel starts it
        let is_over = self.deadline_ns < now_ns || self.deadline_ns == 0;
        if is_over || self.overflows(now_ns) {
            if self.running && !is_over {
                // update_dl_revised_wakeup()
                let density =
                    (u128::from(self.dl_runtime_ns) << BW_SHIFT) / u128::from(self.dl_period_ns);
                let laxity_ns = u128::from(self.deadline_ns - now_ns);
                self.runtime_ns = ((density * laxity_ns) >> BW_SHIFT) as i64;
                return;
            }
            self.running = false;
            self.begin_period(now_ns);
        } else if !self.running {
            (self.throttled, self.armed) = (true, true);
        }
    }

    /// `replenish_dl_entity()`.
    fn replenish(&mut self, now_ns: u64) {
        if self.armed && self.overflows(now_ns) {
            (self.deadline_ns, self.runtime_ns) =
                (now_ns + self.dl_period_ns, self.dl_runtime_ns as i64);
        }
        while self.runtime_ns <= 0 {
            self.deadline_ns += self.dl_period_ns;
            self.runtime_ns += self.dl_runtime_ns as i64;
        }
        if self.deadline_ns < now_ns {
            self.begin_period(now_ns);
        }
        self.throttled = false;
        if std::mem::take(&mut self.armed) {
            return;
        }
        let defers = !self.running && now_ns < self.zero_laxity_ns();
        (self.throttled, self.armed) = (defers, defers);
    }
}

/// The servers of a CPU.
#[derive(Clone, Debug, Default)]
pub(crate) struct Servers {
    ext: Server,
    fair: Server,
}

impl Servers {
    pub(super) fn of(&self, class: Class) -> &Server {
        match class {
            Class::Fair => &self.fair,
            _ => &self.ext,
        }
    }

    pub(super) fn of_mut(&mut self, class: Class) -> &mut Server {
        match class {
            Class::Fair => &mut self.fair,
            _ => &mut self.ext,
        }
    }
}

impl System {
    /// A task of the class that the machine acts for has come to a CPU (`enqueue_task_scx()`,
    /// `enqueue_task_fair()`). Needless where nothing is above the class, and where the kernel has
    /// no such server.
    #[inline]
    pub(crate) fn follow_server(&mut self, cpu: u32) {
        if self.ext_is_alone() {
            return;
        }
        let class = self.class_of_side();
        if self.needs_server(class) && self.rq(cpu).nr_running == 1 {
            self.start_server(cpu, class);
        }
    }

    /// Whether the kernel has such a server, and anything is above the class.
    pub(super) fn needs_server(&self, class: Class) -> bool {
        let below_fair = class.is_ext() && self.tasks.takes == Takes::Marked;
        let exists = !class.is_ext() || self.config.rules.ext_server;
        (self.above.exist || below_fair) && exists
    }

    #[inline]
    fn server(&self, cpu: u32, class: Class) -> &Server {
        self.rq(cpu).servers.of(class)
    }

    #[inline]
    fn server_mut(&mut self, cpu: u32, class: Class) -> &mut Server {
        self.rq_mut(cpu).servers.of_mut(class)
    }

    /// `dl_server_start()`.
    pub(super) fn start_server(&mut self, cpu: u32, class: Class) {
        let server = self.server_mut(cpu, class);
        server.idle = false;
        if server.active || server.dl_runtime_ns == 0 {
            return;
        }
        self.update_curr(cpu);
        let now_ns = self.now_ns;
        let server = self.server_mut(cpu, class);
        server.active = true;
        server.start(now_ns);
        self.enqueue_server(cpu, class);
        self.preempt_for_server(cpu, class);
    }

    /// The end of `enqueue_dl_entity()`.
    fn enqueue_server(&mut self, cpu: u32, class: Class) {
        if self.server(cpu, class).throttled && !self.start_dl_timer(cpu, class) {
            let server = self.server_mut(cpu, class);
            (server.armed, server.throttled) = (false, false);
            server.timer += 1;
        }
    }

    /// Reschedules a CPU, unless its task is one of an earlier deadline.
    fn preempt_for_server(&mut self, cpu: u32, class: Class) {
        let rank = self.rank_of_curr(cpu);
        let deadline_ns = self.server(cpu, class).deadline_ns;
        let precedes = !rank.is_deadline() || Rank::deadline(deadline_ns) > rank;
        if precedes && !self.rq(cpu).need_resched {
            self.resched_cpu(cpu);
        }
    }

    /// `start_dl_timer()`: whether the time to wait for is to come.
    fn start_dl_timer(&mut self, cpu: u32, class: Class) -> bool {
        let now_ns = self.now_ns;
        let server = self.server_mut(cpu, class);
        let at_ns = if server.armed { server.zero_laxity_ns() } else { server.deadline_ns };
        if at_ns < now_ns {
            return false;
        }
        server.timer += 1;
        let due = match class {
            Class::Fair => Due::FairServer(cpu, server.timer),
            _ => Due::Server(cpu, server.timer),
        };
        self.queue.push(at_ns, due);
        true
    }

    /// `dl_server_update()`, `dl_server_update_idle()`: the class ran, by itself or because of
    /// its server, or the CPU idled.
    pub(crate) fn charge_server(&mut self, cpu: u32, class: Class, delta_ns: u64) {
        let now_ns = self.now_ns;
        let idles = self.rq(cpu).curr.is_none();
        let server = self.server_mut(cpu, class);
        if !server.active {
            return;
        }
        // update_curr_dl_se()
        server.runtime_ns -= delta_ns as i64;
        server.idle &= idles;
        if server.runtime_ns > 0 {
            return;
        }
        if server.throttled {
            if server.idle {
                server.runtime_ns = 0;
                return;
            }
            server.running = false;
            server.begin_period(now_ns);
            server.idle = idles;
            self.start_dl_timer(cpu, class);
            return;
        }
        server.throttled = true;
        if !self.start_dl_timer(cpu, class) {
            self.server_mut(cpu, class).begin_period(now_ns);
            self.start_dl_timer(cpu, class);
        }
        self.cpus.resched_curr(cpu);
    }

    /// `update_curr_idle()`.
    #[inline]
    pub(crate) fn charge_idle(&mut self, cpu: u32, delta_ns: u64) {
        if !self.ext_is_alone() {
            self.charge_server(cpu, Class::Fair, delta_ns);
            self.charge_server(cpu, Class::Ext, delta_ns);
        }
    }

    /// `dl_server_timer()`.
    pub(crate) fn server_due(&mut self, cpu: u32, class: Class, timer: u64) {
        if self.server(cpu, class).timer != timer {
            return;
        }
        self.running.this_cpu = cpu;
        self.update_curr(cpu);
        let now_ns = self.now_ns;
        let server = self.server_mut(cpu, class);
        if server.timer != timer || !server.throttled {
            return;
        }
        if server.idle {
            return self.cpus.stop_server(cpu, class);
        }
        if server.armed {
            if now_ns + MIN_RES_NS < server.zero_laxity_ns() {
                self.start_dl_timer(cpu, class);
                return;
            }
            server.running = true;
        }
        server.replenish(now_ns);
        self.enqueue_server(cpu, class);
        self.preempt_for_server(cpu, class);
    }

    /// The class that a CPU serves before this task: of two the one with the earlier deadline.
    pub(crate) fn serves(&self, cpu: u32, higher: Option<Tid>) -> Option<Class> {
        let rank = higher.map_or(Rank::EXT, |t| self.tasks.rank(t));
        let server = |class: Class| self.server(cpu, class);
        let precedes = |class: &Class| {
            let server = server(*class);
            server.is_queued() && Rank::deadline(server.deadline_ns) > rank
        };
        let serving = [Class::Fair, Class::Ext].into_iter().filter(precedes);
        serving.min_by_key(|class| server(*class).deadline_ns)
    }
}

impl Cpus {
    /// `dl_server_stop()`.
    pub(crate) fn stop_server(&mut self, cpu: u32, class: Class) {
        let server = self.rq_mut(cpu).servers.of_mut(class);
        (server.active, server.throttled) = (false, false);
        (server.armed, server.idle) = (false, false);
        server.timer += 1;
    }

    /// Until when its class's server lets the running task go on; `None`: it does not ask for it.
    pub(crate) fn server_left_ns(&self, cpu: u32, class: Class) -> Option<u64> {
        let server = self.rq(cpu).servers.of(class);
        // what is revised to nothing ends with the first time that is charged
        server.is_queued().then_some(server.runtime_ns.max(1) as u64)
    }
}
