// SPDX-License-Identifier: MIT OR Apache-2.0
//! Signals that end, stop and continue processes (`complete_signal()`, `do_signal_stop()`). A task
//! heeds one when it next runs in user space; one that sleeps is woken for it, and goes on with its
//! sleep after a stop (`restart_syscall()`).

use crate::ops::Ops;
use crate::run::{Machine, RunError};
use crate::system::System;
use crate::task::{State, Tid, Work};
use rota_workload::events::{OutsideEvent, Signal, Tasks};

/// A task that is to stop, or has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Halt {
    /// What it did.
    work: Work,
    /// It slept, and what it slept for has not come.
    sleeps: bool,
    /// It has left its CPU.
    stopped: bool,
    /// It is to go on when it next runs.
    continued: bool,
}

impl Machine {
    /// Sends a signal to the processes of the tasks: to all their threads.
    pub(crate) fn signal(
        &mut self,
        o: &mut dyn Ops,
        event: &OutsideEvent,
        tasks: &Tasks,
        signal: Signal,
    ) -> Result<(), RunError> {
        let named = self.named_now(tasks);
        if named.is_empty() {
            self.happened(event, format!("no task {:?} lives then", &*tasks.name));
        }
        let tgids: Vec<u32> = named.iter().map(|t| self.system.task(*t).tgid).collect();
        let of_them = |t: &Tid| {
            let task = self.system.task(*t);
            tgids.contains(&task.tgid) && !matches!(task.state, State::Dead | State::Exiting)
        };
        let threads: Vec<Tid> = self.system.tasks.ids().filter(of_them).collect();
        for t in threads {
            let cpu = self.system.task(t).cpu;
            self.system.update_curr(cpu);
            if signal == Signal::Kill {
                self.runner_kills(t);
            }
            self.system.as_outsider(|system| match signal {
                Signal::Kill => system.kill(o, t),
                Signal::Stop => system.stop(o, t),
                Signal::Continue => system.cont(o, t),
            });
            self.system.drain_deferred(o);
            // kick_process(): one that runs heeds it now
            let cpu = self.system.task(t).cpu;
            if self.system.rq(cpu).curr == Some(t) {
                self.advance(o, cpu)?;
                self.system.drain_deferred(o);
            }
        }
        Ok(())
    }

    fn runner_kills(&mut self, t: Tid) {
        let task = self.system.task(t);
        if !task.ends {
            self.runner.kill(task.ix);
        }
    }
}

impl System {
    /// `SIGKILL`: it ends when it next runs, after a `fork()` that it is in.
    fn kill(&mut self, o: &mut dyn Ops, t: Tid) {
        if self.task(t).ends {
            return;
        }
        let halted = self.task_mut(t).halt.take().is_some();
        if self.task(t).makes.is_none() || halted {
            self.make_run(o, t, Work::Next);
        }
    }

    /// `signal_wake_up()`: the task is on its way back to user space, where it does this.
    fn make_run(&mut self, o: &mut dyn Ops, t: Tid, work: Work) {
        match self.task(t).state {
            State::Sleeping => {
                let here = self.first_online();
                self.wake_up_now(o, t, here, 0, 0);
            }
            State::Blocking => {
                self.set_state(t, State::Runnable);
                self.leave_forbidden_cpu(o, t);
            }
            State::Runnable => {}
            State::New | State::Exiting | State::Dead => return,
        }
        self.set_work(t, work);
    }

    /// `SIGSTOP`.
    fn stop(&mut self, o: &mut dyn Ops, t: Tid) {
        if let Some(halt) = &mut self.task_mut(t).halt {
            halt.continued = false;
            return;
        }
        let task = self.task(t);
        let sleeps = matches!(task.state, State::Sleeping | State::Blocking);
        // what ends or makes another is in the kernel, and stops after that
        let work = task.work;
        self.make_run(o, t, Work::Next);
        let halt = Halt { work, sleeps, stopped: false, continued: false };
        self.task_mut(t).halt = Some(Box::new(halt));
    }

    /// `SIGCONT`.
    fn cont(&mut self, o: &mut dyn Ops, t: Tid) {
        let Some(halt) = &mut self.task_mut(t).halt else { return };
        halt.continued = true;
        if std::mem::take(&mut halt.stopped) {
            self.make_run(o, t, Work::Next);
        }
    }

    /// A task that heeds a stop runs: true if it goes on with what it did.
    pub(crate) fn heed_halt(&mut self, cpu: u32, t: Tid) -> bool {
        let Some(halt) = &mut self.task_mut(t).halt else { return true };
        if !halt.continued {
            halt.stopped = true;
            self.block(cpu, t);
            return false;
        }
        let Halt { work, sleeps, .. } = **halt;
        let slept = matches!(work, Work::Block);
        self.task_mut(t).halt = None;
        if sleeps {
            self.block(cpu, t);
            return false;
        }
        self.set_work(t, if slept { Work::Next } else { work });
        true
    }
}

impl Halt {
    /// What the task slept for has come.
    pub(crate) fn note_wakeup(&mut self) {
        self.sleeps = false;
    }
}
