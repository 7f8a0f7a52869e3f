// SPDX-License-Identifier: MIT OR Apache-2.0
//! What one task did from its birth to its end.

use crate::cause::Wait;
use crate::doubt::Spins;
use crate::flows::{Flow, Moved};
use crate::load::Told;
use crate::settings::Settings;
use rota_trace::WakeSource;
use std::num::NonZeroU32;
use std::sync::Arc;

/// A task's place in the list of all: a pid can be used again.
pub(crate) type LifeIx = usize;

/// A wait's place in the list of all.
pub(crate) type WaitIx = NonZeroU32;

/// What a task does next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Work, in nanoseconds.
    Run(u64),
    /// Sleeps so long, from when it begins to.
    Sleep(u64),
    /// Slept in this call until a timer ran out: for so long, or until then, which is decided once all
    /// such sleeps are known. Times are after its birth.
    Timed { call: Wait, from_ns: u64, to_ns: u64, absolute: bool },
    /// Sleeps until this time after its birth, the next one of a timer.
    Tick { timer: Wait, to_ns: u64 },
    /// Sleeps until this time after its birth, if that is still to come.
    Until(u64),
    /// Gives up its CPU.
    Yield,
    /// Is set to be scheduled like this from now on. Large, and rare among millions of steps.
    Set(Box<Settings>),
    /// Waits until someone has done [`Step::Post`] to it, in this call.
    Wait(Wait),
    /// Ends a wait of another task, or saves it the next one.
    Post { to: LifeIx, wait: Wait },
    /// Creates a task.
    Fork(LifeIx),
    /// The same, and waits in the same call, after some work at most.
    Vfork(LifeIx),
    /// Ends, which ends a wait of another task.
    Exit { to: LifeIx, wait: Wait },
    /// Works, and puts bytes into streams or takes some meanwhile.
    Flow(Flow),
}

/// A step, when it was done, and the wait that it belongs to. There are millions.
#[derive(Clone, Debug)]
pub(crate) struct Done {
    pub(crate) step: Step,
    pub(crate) from_ns: u64,
    pub(crate) to_ns: u64,
    pub(crate) wait: Option<WaitIx>,
    /// What the recorder had to tell of it meanwhile.
    pub(crate) told: Told,
}

/// How a task came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Birth {
    /// It was there, or something that is not recorded made it: it starts at this time.
    At(u64),
    /// The task that forks it.
    By(LifeIx),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Nothing was seen of it yet.
    Unborn,
    Waiting,
    Running {
        since_ns: u64,
    },
    Sleeping {
        since_ns: u64,
    },
    Ended,
}

/// One task.
#[derive(Clone, Debug)]
pub(crate) struct Life {
    pub(crate) pid: u32,
    pub(crate) name: String,
    /// The process that it is a thread of; 0: not known, or it is one itself.
    pub(crate) process: u32,
    /// The session that it shares with; 0: none.
    pub(crate) session: u32,
    /// What holds at its birth, and now.
    pub(crate) first: Settings,
    pub(crate) now: Settings,
    /// CPUs that it could use since it had its name; `None`: all.
    pub(crate) ties: Vec<Option<Arc<[u32]>>>,
    pub(crate) spins: Spins,
    pub(crate) birth: Birth,
    /// When it was first there to run.
    pub(crate) start_ns: Option<u64>,
    pub(crate) state: State,
    /// Its steps as they are seen …
    pub(crate) done: Vec<Done>,
    /// … with what it moved meanwhile …
    pub(crate) moved: Vec<Moved>,
    /// … and both together, once all is seen.
    pub(crate) steps: Vec<Step>,
    /// All work that it was seen to do, before anything was taken off.
    pub(crate) work_ns: u64,
    /// Work since the last step; below zero if more was taken off than there was.
    run_ns: i64,
    /// What the recorder had to tell of it since.
    pub(crate) told: Told,
    /// When that work began, and the time of what was seen last.
    run_from_ns: u64,
    clock_ns: u64,
    /// The call that it sleeps in, and whether uninterruptibly and until a time.
    pub(crate) call: Arc<str>,
    pub(crate) deep: bool,
    pub(crate) absolute: bool,
    /// Who woke it, on which CPU, until it runs.
    pub(crate) woken: Option<(LifeIx, u32)>,
    /// How many steps it had done when it was seen to end.
    pub(crate) ends_at: Option<usize>,
    /// What is about to wake it.
    pub(crate) source: Option<WakeSource>,
}

impl Life {
    pub(crate) fn new(pid: u32, birth: Birth) -> Self {
        Self {
            pid,
            name: String::new(),
            process: 0,
            session: 0,
            first: Settings::default(),
            now: Settings::default(),
            ties: vec![None],
            spins: Spins::default(),
            birth,
            start_ns: None,
            state: State::Unborn,
            done: Vec::new(),
            moved: Vec::new(),
            steps: Vec::new(),
            work_ns: 0,
            run_ns: 0,
            told: Told::default(),
            run_from_ns: 0,
            clock_ns: 0,
            call: "".into(),
            deep: false,
            absolute: false,
            woken: None,
            ends_at: None,
            source: None,
        }
    }

    /// It is there to run from now on, if it was not before.
    pub(crate) fn appear(&mut self, now_ns: u64) {
        self.start_ns.get_or_insert(now_ns);
    }

    /// It was there from the begin of the recording.
    pub(crate) fn begins_at_first(&mut self) {
        let later_ns = self.start_ns.replace(0).unwrap_or(0);
        self.birth = Birth::At(0);
        for done in &mut self.done {
            match &mut done.step {
                Step::Until(ns) => *ns += later_ns,
                Step::Timed { from_ns, to_ns, .. } => {
                    *from_ns += later_ns;
                    *to_ns += later_ns;
                }
                _ => {}
            }
        }
    }

    /// Its work up to now.
    pub(crate) fn work_until(&mut self, now_ns: u64) {
        self.clock_ns = self.clock_ns.max(now_ns);
        if let State::Running { since_ns } = &mut self.state {
            let ns = now_ns.saturating_sub(*since_ns);
            *since_ns = now_ns.max(*since_ns);
            self.work_ns += ns;
            self.run_ns += ns as i64;
        }
    }

    /// Part of its work was the kernel's, which the simulated machine charges by itself.
    pub(crate) fn take_off(&mut self, ns: u64) {
        self.run_ns -= ns as i64;
    }

    /// It comes onto a CPU.
    pub(crate) fn begin_to_run(&mut self, now_ns: u64) {
        self.state = State::Running { since_ns: now_ns };
        (self.run_from_ns, self.clock_ns) = (now_ns, self.clock_ns.max(now_ns));
    }

    /// Its next step, after the work that is done so far.
    pub(crate) fn push(&mut self, step: Step) {
        self.push_of(step, None);
    }

    /// The same; it belongs to this wait.
    pub(crate) fn push_of(&mut self, step: Step, wait: Option<WaitIx>) {
        self.flush();
        let now_ns = self.clock_ns;
        let told = Told::default();
        self.done.push(Done { step, from_ns: now_ns, to_ns: now_ns, wait, told });
    }

    /// It has begun to end: what it does from now on it does in the kernel.
    pub(crate) fn begins_to_end(&mut self) {
        self.flush();
        self.ends_at = Some(self.done.len());
    }

    /// Its last step but for work.
    fn last(&self) -> Option<usize> {
        self.done.iter().rposition(|done| !matches!(done.step, Step::Run(_)))
    }

    /// It has waited for the task, and no signal could end that: if it had done nothing else since it created
    /// the task, it was still in that call.
    pub(crate) fn waited_for(&mut self, child: LifeIx) {
        if let Some(at) = self.last().filter(|at| self.done[*at].step == Step::Fork(child)) {
            self.done[at].step = Step::Vfork(child);
        }
    }

    /// It is gone. What it did last was to wake up another task in the kernel, from where it did not come
    /// back: it was so long about to end, and nothing could preempt it.
    pub(crate) fn ends(&mut self) {
        let Some(at) = self.last() else { return };
        let Step::Post { to, wait } = &self.done[at].step else { return };
        if self.ends_at.is_some_and(|ends_at| ends_at <= at) || self.birth == Birth::By(*to) {
            let step = Step::Exit { to: *to, wait: wait.clone() };
            let number = self.done.remove(at).wait;
            self.push_of(step, number);
        }
    }

    /// It is called so from now on: what it is tied to as what it was before does not count, as for
    /// `taskset` before it becomes the program.
    pub(crate) fn rename(&mut self, name: &str) {
        if self.name != name {
            name.clone_into(&mut self.name);
            self.ties = vec![self.now.cpus.clone()];
        }
    }

    /// It is set to be scheduled differently from now on.
    pub(crate) fn set(&mut self, now_ns: u64, change: impl FnOnce(&mut Settings)) {
        let mut now = self.now.clone();
        change(&mut now);
        if now == self.now {
            return;
        }
        self.now = now;
        match self.start_ns {
            // Nothing was seen of it but this.
            None => {
                self.first = self.now.clone();
                self.ties = vec![self.now.cpus.clone()];
            }
            Some(_) => {
                self.work_until(now_ns);
                if self.ties.last() != Some(&self.now.cpus) {
                    self.ties.push(self.now.cpus.clone());
                }
                self.push(Step::Set(Box::new(self.now.clone())));
            }
        }
    }

    /// Makes a step of the work since the last one.
    pub(crate) fn flush(&mut self) {
        if self.run_ns > 0 {
            let step = Step::Run(self.run_ns as u64);
            let (from_ns, to_ns) = (self.run_from_ns, self.clock_ns);
            let told = std::mem::take(&mut self.told);
            self.done.push(Done { step, from_ns, to_ns, wait: None, told });
            self.run_ns = 0;
        }
        self.run_from_ns = self.clock_ns;
    }
}
