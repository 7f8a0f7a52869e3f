// SPDX-License-Identifier: MIT OR Apache-2.0
//! The core-wide selection: `pick_next_task()` with core scheduling.

use super::CorePick;
use crate::cpuset::CpuSet;
use crate::ops::Ops;
use crate::system::System;
use crate::task::Tid;

/// The CPUs of a set from one on, around (`for_each_cpu_wrap()`).
pub(super) fn wrapped(set: &CpuSet, from: u32) -> Vec<u32> {
    let (before, after): (Vec<u32>, Vec<u32>) = set.iter().partition(|cpu| *cpu < from);
    after.into_iter().chain(before).collect()
}

impl System {
    /// `pick_next_task()` of a CPU whose core may run tasks of one cookie only.
    #[cold]
    pub(crate) fn pick_core_wide(&mut self, o: &mut dyn Ops, cpu: u32) -> CorePick {
        if self.is_offline(cpu) {
            self.core_sched.rq_mut(cpu).pick = None;
            return self.pick_any(o, cpu);
        }
        if let Some(picked) = self.take_core_pick(cpu) {
            return picked;
        }
        let own = self.own_rank(cpu);
        self.pull_waiting(o, cpu, own);
        let smt = self.config.topology.siblings(cpu).and(&self.online_cpus());
        self.select_core_wide(o, cpu, &smt)
    }

    /// What a sibling has picked for this CPU, if nothing has changed since then.
    fn take_core_pick(&mut self, cpu: u32) -> Option<CorePick> {
        let (task_seq, pick_seq) = (self.core_of(cpu).task_seq, self.core_of(cpu).pick_seq);
        let rq = self.core_sched.rq_mut(cpu);
        if pick_seq != task_seq || pick_seq == rq.sched_seq {
            return None;
        }
        let picked = rq.pick.take()?;
        rq.sched_seq = pick_seq;
        self.rq_mut(cpu).goes_on = None;
        Some(picked)
    }

    fn select_core_wide(&mut self, o: &mut dyn Ops, cpu: u32, smt: &CpuSet) -> CorePick {
        let (mut need_sync, mut rounds) = (false, 0);
        let order = wrapped(smt, cpu);
        let max = 'restart: loop {
            let core = self.core_of_mut(cpu);
            need_sync |= core.cookie != 0 || core.forceidle_count > 0;
            (core.cookie, core.forceidle_count) = (0, 0);
            core.task_seq += 1;
            let seq = core.task_seq;
            if !need_sync {
                let next = self.pick_classes(o, cpu);
                if self.has_core_changed(cpu, seq, &mut rounds) {
                    continue;
                }
                if next.is_none_or(|(t, _)| self.task(t).core_cookie == 0) {
                    self.core_sched.rq_mut(cpu).pick = None;
                    self.set_forced_idle(cpu, false);
                    return next;
                }
            }
            let mut max = None;
            for &sibling in &order {
                let picked = self.pick_for_core(o, sibling);
                if self.has_core_changed(cpu, seq, &mut rounds) {
                    continue 'restart;
                }
                self.core_sched.rq_mut(sibling).pick = Some(picked);
                let p = picked.map(|(t, _)| t);
                if self.prio_less(o, max, p) {
                    max = p;
                }
            }
            break max;
        };
        let cookie = max.map_or(0, |t| self.task(t).core_cookie);
        self.core_of_mut(cpu).cookie = cookie;
        self.match_core_picks(o, cpu, smt, cookie);
        self.hand_out_core_picks(cpu, smt)
    }

    /// Whether the selection has to begin anew, as dispatching has moved tasks (`RETRY_TASK`).
    fn has_core_changed(&mut self, cpu: u32, seq: u64, rounds: &mut u32) -> bool {
        self.core_of(cpu).task_seq != seq && !self.goes_in_circles(rounds)
    }

    /// `pick_task()` of a CPU by one of its core.
    fn pick_for_core(&mut self, o: &mut dyn Ops, cpu: u32) -> CorePick {
        self.update_curr(cpu);
        // the CPU itself may still come to it
        let goes_on = self.rq(cpu).goes_on;
        let picked = self.pick_classes(o, cpu);
        if cpu != self.running.this_cpu {
            self.rq_mut(cpu).goes_on = goes_on;
        }
        if picked.is_none() {
            self.pick_task_idle(o, cpu);
        }
        picked
    }

    /// Each CPU runs a task with the cookie, or idles.
    fn match_core_picks(&mut self, o: &mut dyn Ops, cpu: u32, smt: &CpuSet, cookie: u64) {
        let mut occupation = 0;
        for sibling in smt.iter() {
            let mut picked = self.core_sched.rq(sibling).pick.flatten();
            if picked.is_some_and(|(t, _)| self.task(t).core_cookie != cookie) {
                picked = self.core_find(sibling, cookie);
                if picked.is_none() {
                    self.pick_task_idle(o, sibling);
                }
            }
            self.core_sched.rq_mut(sibling).pick = Some(picked);
            let forced = picked.is_none() && self.nr_running(sibling) > 0;
            self.core_of_mut(cpu).forceidle_count += u32::from(forced);
            occupation += u32::from(picked.is_some());
            self.set_forced_idle(sibling, forced);
        }
        for sibling in smt.iter() {
            match self.core_sched.rq(sibling).pick.flatten() {
                Some((t, _)) => {
                    self.task_mut(t).core_occupation = occupation;
                    let addr = self.task(t).addr;
                    let at = self.guest.layouts.task.core_occupation;
                    self.guest.put_u32(addr, at, occupation);
                }
                None => self.core_sched.rq_mut(sibling).idle_occupation = occupation,
            }
        }
        let leader = self.config.topology.siblings(cpu).first().unwrap_or(cpu);
        let (addr, forced) = (self.rq(leader).addr, self.core_of(cpu).forceidle_count);
        self.guest.put_u64(addr, self.guest.layouts.rq.core_cookie, cookie);
        self.guest.put_u32(addr, self.guest.layouts.rq.core_forceidle_count, forced);
    }

    /// `sched_core_find()`: the first task of a CPU with a cookie, wherever it waits.
    fn core_find(&mut self, cpu: u32, cookie: u64) -> CorePick {
        if cookie == 0 {
            return None;
        }
        let tasks = self.core_sched.rq(cpu).tree.with_cookie(cookie).iter().copied();
        let t = tasks.into_iter().find(|t| !self.is_core_throttled(*t))?;
        let goes_on = self.rq(cpu).curr == Some(t);
        // one that has used up its slice runs until the next tick
        let used_up = self.task(t).class.is_hosted() && self.slice(t) == 0;
        if used_up && self.config.exact_slices {
            self.set_slice(t, self.config.tick_ns());
        }
        Some((t, used_up || !goes_on))
    }

    /// `task_is_throttled_dl()`.
    pub(super) fn is_core_throttled(&self, t: Tid) -> bool {
        self.task(t).entity.throttled
    }

    /// Has the siblings run what was picked for them.
    fn hand_out_core_picks(&mut self, cpu: u32, smt: &CpuSet) -> CorePick {
        let core = self.core_of_mut(cpu);
        core.pick_seq = core.task_seq;
        let pick_seq = core.pick_seq;
        let rq = self.core_sched.rq_mut(cpu);
        rq.sched_seq = pick_seq;
        let next = rq.pick.take().flatten();
        for sibling in smt.iter().filter(|sibling| *sibling != cpu) {
            let picked = self.core_sched.rq(sibling).pick.flatten();
            let task: Option<Tid> = picked.map(|(t, _)| t);
            if self.rq(sibling).curr != task {
                self.resched_cpu(sibling);
                continue;
            }
            self.core_sched.rq_mut(sibling).pick = None;
            if let Some((t, true)) = picked {
                self.start_slice(sibling, t);
            }
        }
        next
    }
}
