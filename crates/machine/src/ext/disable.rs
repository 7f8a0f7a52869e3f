// SPDX-License-Identifier: MIT OR Apache-2.0
//! The end of a scheduler: watchdog, bypass, `scx_root_disable()`.

use crate::class::Takes;
use crate::consts::*;
use crate::current::Thread;
use crate::exit::{ExitInfo, ExitKind};
use crate::ops::{Op, Ops};
use crate::running::{Site, Subject};
use crate::system::System;
use crate::task::Tid;

impl System {
    /// `scx_watchdog_workfn()`: looks every half timeout.
    pub(crate) fn watchdog(&mut self) {
        if self.now_ns != self.hosted.watchdog_at_ns {
            return; // of a scheduler that is gone
        }
        for cpu in 0..self.nr_cpus() {
            if self.check_rq_for_timeouts(cpu) {
                break;
            }
        }
        self.expect_watchdog();
    }

    /// `check_rq_for_timeouts()`.
    fn check_rq_for_timeouts(&mut self, cpu: u32) -> bool {
        let jiffies = self.jiffies();
        let tick_ns = self.config.tick_ns();
        let timeout_of =
            |t: Tid| self.hosted_of(self.task(t).sched).watchdog_timeout_ns.div_ceil(tick_ns);
        let late = self
            .cpus
            .links
            .iter(&self.rq(cpu).runnable)
            .map(Tid)
            .find(|t| jiffies > self.task(*t).runnable_at_jiffies + timeout_of(*t));
        let Some(t) = late else { return false };
        let waited_ms = (jiffies - self.task(t).runnable_at_jiffies) * tick_ns / 1_000_000;
        let label = self.task(t).label();
        let text =
            format!("{label} failed to run for {}.{:03}s", waited_ms / 1000, waited_ms % 1000);
        let here = std::mem::replace(&mut self.running.this_cpu, cpu);
        // what it waits for: what inserted it, or the callback that was to do so
        let queued = self.task(t).dsq.map(|dsq| self.dsq(dsq).id);
        let never = Site { op: Some(Op::Enqueue), at: None };
        let site = match queued {
            Some(_) => self.task(t).inserted_from,
            None => Some(never),
        };
        let waits = queued.map_or_else(
            || "in no DSQ: ops.enqueue() was called, and nothing dispatched it".to_owned(),
            |id| format!("on {}", dsq_name(id)),
        );
        self.on_sched(self.task(t).sched, |system| {
            system.about(Subject { task: Some(t), site }, |system| {
                system.error(ExitKind::ErrorStall, text);
            });
            let exit = system.hosted.exit.as_mut();
            if let Some(task) = exit.and_then(|exit| exit.origin.task.as_mut()) {
                task.waits = Some(waits);
            }
        });
        self.running.this_cpu = here;
        true
    }

    /// `scx_bypass()`: every queued task moves to its CPU's bypass queue, or back to the
    /// scheduler, and every CPU goes through its scheduler once.
    pub(crate) fn bypass(&mut self, o: &mut dyn Ops, bypass: bool) {
        self.hosted.bypassing = bypass;
        for cpu in 0..self.nr_cpus() {
            self.running.this_cpu = cpu;
            let queued: Vec<u32> = self.cpus.links.iter(&self.rq(cpu).runnable).collect();
            for t in queued.into_iter().rev().map(Tid) {
                self.change_task(o, t, DEQ_SAVE | DEQ_MOVE | DEQ_NOCLOCK, |_, _| {});
            }
            self.cpus.resched_curr(cpu);
        }
    }

    /// `scx_root_disable()`: takes the scheduler away and returns how it left. The dump
    /// is taken first, as `scx_disable_irq_workfn()` does for errors.
    pub(crate) fn disable_scheduler(&mut self, o: &mut dyn Ops) -> ExitInfo {
        if self.hosted.exit.is_none() {
            self.exit_with(ExitKind::Unreg, 0, String::new());
            if let Some(exit) = &mut self.hosted.exit {
                exit.cpu = None;
            }
        }
        if !self.hosted.is_fair {
            self.end_subs(o);
        }
        self.spend_anew();
        if self.hosted.exit.as_ref().is_some_and(|e| e.kind.is_error()) {
            self.take_dump(o);
        }
        self.as_thread(Thread::Helper, |system| system.take_away(o))
    }

    fn take_away(&mut self, o: &mut dyn Ops) -> ExitInfo {
        self.bypass(o, true);
        self.cgroup_exit(o);
        self.hosted.enabled = false;
        if self.other.is_some() {
            self.tasks.takes = Takes::Nothing;
        }
        for t in self.live_tasks() {
            let cpu = self.task(t).cpu;
            self.running.this_cpu = cpu;
            let flags = DEQ_SAVE | DEQ_MOVE | DEQ_NOCLOCK;
            if self.other.is_some() {
                self.switch_task(o, t, flags, |_, _| {});
            } else if self.has_flag(t, TASK_QUEUED) {
                self.dequeue_task(o, cpu, t, flags | DEQ_CLASS);
            }
            self.disable_and_exit_task(o, t);
        }
        if !self.hosted.is_fair {
            self.detach_servers();
        }
        self.hosted.has_op = 0;
        self.idle.enabled = false;
        if o.has(Op::Exit) {
            let info = self.publish_exit_info();
            self.call(o, Op::Exit, None, None, &[info]);
        }
        if let (false, Some(exit)) = (self.may_execute(0), &mut self.hosted.exit) {
            exit.dump.push_str("not all callbacks were made: leaving took too many instructions\n");
        }
        if let (Some(exit), Some(site)) = (&mut self.hosted.exit, self.hosted.exit_site) {
            exit.origin.place = exit.origin.place.take().or_else(|| o.place(site.op, site.at));
        }
        self.hosted.exit.clone().unwrap_or_else(ExitInfo::none)
    }
}

/// A queue as a scheduler's author calls it.
fn dsq_name(id: u64) -> String {
    match id {
        DSQ_GLOBAL => "SCX_DSQ_GLOBAL".into(),
        DSQ_LOCAL => "the CPU's SCX_DSQ_LOCAL".into(),
        id => format!("DSQ {id:#x}"),
    }
}
