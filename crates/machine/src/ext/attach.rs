// SPDX-License-Identifier: MIT OR Apache-2.0
//! Schedulers that come and go while the machine runs: `bpf_scx_reg()`, `bpf_scx_unreg()`, and
//! what is left of one that is gone.

use crate::class::Class;
use crate::event_queue::Due;
use crate::exit::{ExitInfo, ExitKind};
use crate::hosted::Hosted;
use crate::ops::Ops;
use crate::run::{RunError, SchedulerExit};
use crate::system::System;
use rota_trace::EventKind;

impl System {
    /// The machine begins with its fair class.
    pub(crate) fn begin_fair(&mut self, o: &mut dyn Ops) -> Result<(), RunError> {
        self.hosting(o, Class::Fair, |system, o| system.enable_scheduler(o));
        self.check_fair()
    }

    /// The fair class's scheduler has no right to fail.
    pub(crate) fn check_fair(&self) -> Result<(), RunError> {
        let failed = self.other.as_ref().and_then(|side| side.hosted.exit.as_ref());
        match failed {
            Some(exit) => Err(RunError::Kernel(format!("the fair class failed: {exit}"))),
            None => Ok(()),
        }
    }

    /// `scx_enable_seq`: how many schedulers have been attached.
    pub fn enable_seq(&self) -> u64 {
        self.told.exits.len() as u64 + u64::from(self.hosted.enabled)
    }

    /// A scheduler is loaded and attached, unless one is already (`-EBUSY`).
    pub(crate) fn attach(&mut self, o: &mut dyn Ops) -> Result<(), RunError> {
        if self.hosted.enabled {
            return Ok(());
        }
        // a program loads its scheduler itself
        if let Some(lifecycle) = o.lifecycle().filter(|_| self.program.is_none()) {
            lifecycle.load(self)?;
        }
        self.running.this_cpu = 0;
        if self.enable_scheduler(o) {
            self.expect_watchdog();
        }
        self.resume_program(o);
        Ok(())
    }

    /// User space takes the scheduler away, if there is one.
    pub(crate) fn detach(&mut self) {
        if self.hosted.enabled {
            self.exit_with(ExitKind::Unreg, 0, String::new());
            if let Some(exit) = &mut self.hosted.exit {
                exit.cpu = None;
            }
        }
    }

    /// A scheduler that has to go, goes: the fair class has its tasks from here on.
    pub(crate) fn retire(&mut self, o: &mut dyn Ops) {
        let cpu = self.hosted.exit.as_ref().and_then(|exit| exit.cpu);
        let exit = self.disable_scheduler(o);
        self.drop_scheduler();
        let kind = EventKind::PolicyExit {
            kind: exit.kind as u32,
            code: exit.code,
            reason: exit.to_string(),
        };
        self.emit(cpu, kind);
        self.note_exit(exit);
        self.resume_program(o);
    }

    pub(crate) fn note_exit(&mut self, exit: ExitInfo) {
        let at_ns = self.now_ns;
        self.told.exits.push(SchedulerExit { at_ns, exit });
    }

    /// What the kernel keeps of a scheduler ends with it: its queues, timers, requests.
    fn drop_scheduler(&mut self) {
        self.hosted = Hosted { watched: self.always, ..Hosted::default() };
        self.queues.user.clear();
        self.timers.cancel_all_of_ext();
        self.running.iters.clear();
        for cpu in 0..self.nr_cpus() {
            let rq = self.rq_mut(cpu);
            rq.released = false;
            rq.cpuperf_target = crate::consts::CPUPERF_ONE;
            rq.reenq_local = None;
            rq.reenq_user.clear();
            (rq.kick, rq.kick_if_idle) = Default::default();
            (rq.preempt, rq.wait) = Default::default();
            rq.dsp_buf.clear();
            rq.goes_on = None;
        }
        self.cpus.deferred = Default::default();
        (0..self.nr_cpus()).for_each(|cpu| self.want_performance(cpu));
    }

    /// The watchdog of the scheduler that was just attached begins.
    pub(crate) fn expect_watchdog(&mut self) {
        if self.config.watchdog {
            let at_ns = self.now_ns + self.hosted.watchdog_timeout_ns / 2;
            self.hosted.watchdog_at_ns = at_ns;
            self.queue.push(at_ns, Due::Watchdog);
        }
    }
}
