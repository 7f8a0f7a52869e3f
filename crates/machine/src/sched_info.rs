// SPDX-License-Identifier: MIT OR Apache-2.0
//! `task_struct.sched_info` (`kernel/sched/stats.h`): how often a task ran, and how long it waited
//! for that. It is kept only if a program of a loaded object reads it, and not of stoppers.

use crate::consts::{DEQ_SAVE, ENQ_RESTORE};
use crate::layout::ABSENT;
use crate::system::System;
use crate::task::{State, Tid};
use rota_object::image::Image;

impl System {
    /// Keeps what an object reads, and what is not kept otherwise.
    pub fn attend_to(&mut self, image: &Image) {
        let info = "task_struct.sched_info";
        if image.kernel_fields.iter().any(|field| field.starts_with(info)) {
            self.keep_sched_info();
        }
    }

    fn keep_sched_info(&mut self) {
        let l = &self.guest.layouts.sched_info;
        let fields = [
            l.pcount,
            l.run_delay,
            l.max_run_delay,
            l.min_run_delay,
            l.last_arrival,
            l.last_queued,
        ];
        for at in fields.into_iter().filter(|at| *at != ABSENT) {
            self.guest.mem.fill(self.guest.layouts.task_shape, at..at + 8);
        }
        self.always = self.always.with_sched_info();
        self.hosted.watched = self.hosted.watched.and(self.always);
        if let Some(other) = &mut self.other {
            other.hosted.watched = other.hosted.watched.and(self.always);
        }
    }

    /// `sched_info_enqueue()`, called by `enqueue_task()`.
    pub(crate) fn sched_info_enqueue(&mut self, t: Tid, flags: u64) {
        if self.hosted.watched.has_sched_info() && flags & ENQ_RESTORE == 0 {
            self.info_queued(t);
        }
    }

    /// `sched_info_dequeue()`, called by `dequeue_task()`: the wait goes on on another CPU, or ends.
    pub(crate) fn sched_info_dequeue(&mut self, t: Tid, flags: u64) {
        if self.hosted.watched.has_sched_info() && flags & DEQ_SAVE == 0 {
            self.info_waited(t);
        }
    }

    /// `sched_info_switch()`: of the tasks that a CPU switches from and to.
    pub(crate) fn sched_info_switch(&mut self, prev: Option<Tid>, next: Option<Tid>) {
        if !self.hosted.watched.has_sched_info() {
            return;
        }
        // sched_info_depart(), with task_is_running()
        if let Some(p) = prev.filter(|p| self.task(*p).state == State::Runnable) {
            self.info_queued(p);
        }
        // sched_info_arrive()
        if let Some(n) = next.filter(|n| self.info_waited(*n)) {
            let (pcount, last_arrival) = {
                let l = &self.guest.layouts.sched_info;
                (l.pcount, l.last_arrival)
            };
            let (count, now_ns) = (self.info(n, pcount) + 1, self.clock_ns());
            self.put_info(n, pcount, count);
            self.put_info(n, last_arrival, now_ns);
        }
    }

    fn info(&self, t: Tid, at: u32) -> u64 {
        match at {
            ABSENT => 0,
            at => self.guest.mem.get_u64(self.task(t).addr + u64::from(at)),
        }
    }

    fn put_info(&mut self, t: Tid, at: u32, value: u64) {
        let addr = self.task(t).addr;
        self.guest.put_u64(addr, at, value);
    }

    /// Waits from now on, unless it does.
    fn info_queued(&mut self, t: Tid) {
        let at = self.guest.layouts.sched_info.last_queued;
        if self.info(t, at) == 0 {
            let now_ns = self.clock_ns();
            self.put_info(t, at, now_ns);
        }
    }

    /// Waits no more; false if it did not.
    fn info_waited(&mut self, t: Tid) -> bool {
        let l = self.guest.layouts.sched_info.clone();
        let since = self.info(t, l.last_queued);
        if since == 0 {
            return false;
        }
        let delta = self.clock_ns() - since;
        self.put_info(t, l.last_queued, 0);
        let run_delay = self.info(t, l.run_delay) + delta;
        self.put_info(t, l.run_delay, run_delay);
        if delta > self.info(t, l.max_run_delay) {
            self.put_info(t, l.max_run_delay, delta);
        }
        let least = self.info(t, l.min_run_delay);
        if delta != 0 && (least == 0 || delta < least) {
            self.put_info(t, l.min_run_delay, delta);
        }
        true
    }
}
