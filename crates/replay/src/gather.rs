// SPDX-License-Identifier: MIT OR Apache-2.0
//! Takes the events of a recording, and makes a life of each task.

use crate::cause::{self, Outside, Sleep};
use crate::doubt::{self, NAP_NS};
use crate::flows::{Ended, Moved, Plan};
use crate::groups::{Groups, Values};
use crate::life::{Birth, Life, LifeIx, State, Step, WaitIx};
use crate::load::{Charges, Facts, Replay, Taken, Waits};
use crate::select::{self, Chosen};
use crate::{text, timing};
use rota_trace::{Cause, Event, EventKind, OffCpu, Setting, Sink};
use std::collections::HashMap;
use std::sync::Arc;

/// Gathers what each task did.
#[derive(Debug)]
pub struct Gatherer {
    charges: Charges,
    lives: Vec<Life>,
    /// Who has a pid now.
    by_pid: HashMap<u32, LifeIx>,
    /// Since when a CPU runs nothing.
    free_since_ns: HashMap<u32, u64>,
    waits: Waits,
    /// Tasks that ran before anything had woken or made them.
    unheralded: Vec<LifeIx>,
    /// Wakeups are recorded.
    wakes: bool,
    groups: Groups,
    /// Waits that others ended, or something from outside.
    ended: Vec<Ended>,
}

impl Gatherer {
    /// For a machine that charges this by itself: it is taken off the work that was recorded.
    pub fn new(charges: Charges) -> Self {
        Self {
            charges,
            lives: Vec::new(),
            by_pid: HashMap::new(),
            free_since_ns: HashMap::new(),
            waits: Waits::default(),
            unheralded: Vec::new(),
            wakes: false,
            groups: Groups::default(),
            ended: Vec::new(),
        }
    }

    /// The CPUs that any of the tasks could use, once it was what it was at last, if that is not all
    /// of them: those of a command under `taskset`. They are its machine.
    pub fn common_cpus(&self, facts: &Facts) -> Option<Vec<u32>> {
        let mut all = Vec::new();
        let worked = |life: &&Life| !facts.kernel_threads.contains(&life.pid) && life.work_ns > 0;
        for tie in self.lives.iter().filter(worked).flat_map(|life| &life.ties) {
            all.extend(tie.as_deref()?);
        }
        all.sort_unstable();
        all.dedup();
        (!all.is_empty() && all.len() < facts.nr_cpus as usize).then_some(all)
    }

    /// The workload of a recording that ended at `end_ns`; `None` if no task worked.
    pub fn finish(mut self, end_ns: u64, facts: &Facts) -> Option<Replay> {
        for life in &mut self.lives {
            life.work_until(end_ns);
            life.flush();
        }
        // Nothing woke them, so they waited for a CPU since before the recording.
        if self.wakes && !facts.joined {
            self.unheralded.iter().for_each(|at| self.lives[*at].begins_at_first());
        }
        let plan = Plan::new(&mut self.lives, &self.ended, &facts.kernel_threads);
        let taken = facts.taken.of_calls(calls(&self.lives));
        let again = taken != Taken::default();
        let streams = plan.lay_out(&mut self.lives, Taken::default(), again);
        self.waits.streams = plan.waits();
        self.waits.ticks = self.lives.iter_mut().map(timing::settle).sum();
        let kept = select::kept(&self.lives, facts, end_ns);
        if !self.lives.iter().zip(&kept).any(|(life, kept)| *kept && life.work_ns > 0) {
            return None;
        }
        let left_out =
            self.lives.iter().zip(&kept).filter(|(life, kept)| !**kept && life.work_ns > 0);
        let left_out = left_out.count() as u64;
        let chosen = Chosen::new(&self.lives, kept, facts);
        let doubts = doubt::all(&self.lives, &chosen.kept, &self.groups, chosen.alone);
        let about = (&self.groups, &streams);
        let (names, mut text) = text::file(&self.lives, &chosen, about, facts, end_ns);
        let mut with_recorder = None;
        if again {
            plan.lay_out(&mut self.lives, taken, false);
            self.lives.iter_mut().for_each(|life| _ = timing::settle(life));
            let (_, without) = text::file(&self.lives, &chosen, about, facts, end_ns);
            with_recorder = Some(std::mem::replace(&mut text, without));
        }
        Some(Replay { text, with_recorder, names, waits: self.waits, left_out, doubts })
    }

    fn life(&mut self, pid: u32, now_ns: u64) -> LifeIx {
        match self.by_pid.get(&pid) {
            Some(at) if self.lives[*at].state != State::Ended => *at,
            _ => self.begin(pid, Birth::At(now_ns)),
        }
    }

    /// A new task. Until something else is told it has the name of who had the pid before.
    fn begin(&mut self, pid: u32, birth: Birth) -> LifeIx {
        let mut life = Life::new(pid, birth);
        if let Some(before) = self.by_pid.get(&pid).map(|at| &self.lives[*at]) {
            life.name.clone_from(&before.name);
            // Its end was lost, or it is the same task.
            if before.state != State::Ended {
                (life.process, life.session) = (before.process, before.session);
                (life.first, life.now) = (before.now.clone(), before.now.clone());
                life.ties = vec![before.now.cpus.clone()];
            } else {
                (life.first.weight, life.now.weight) = (before.now.weight, before.now.weight);
            }
        }
        self.lives.push(life);
        self.by_pid.insert(pid, self.lives.len() - 1);
        self.lives.len() - 1
    }

    /// The task that runs and has this pid.
    fn running(&mut self, pid: u32, now_ns: u64) -> Option<LifeIx> {
        let at = *self.by_pid.get(&pid)?;
        let life = &mut self.lives[at];
        life.work_until(now_ns);
        matches!(life.state, State::Running { .. }).then_some(at)
    }

    fn fork(&mut self, pid: u32, parent: u32, now_ns: u64) {
        // It was named just before, by its pid only.
        let named = self.by_pid.get(&pid).copied();
        let fresh = named.filter(|at| self.lives[*at].state == State::Unborn);
        let child = match fresh {
            Some(child) => child,
            None => self.begin(pid, Birth::At(now_ns)),
        };
        if let Some(parent) = self.running(parent, now_ns).filter(|parent| *parent != child) {
            self.lives[parent].take_off(self.charges.fork_ns);
            self.lives[parent].push(Step::Fork(child));
            self.lives[child].birth = Birth::By(parent);
        }
    }

    fn wake(&mut self, pid: u32, waker: u32, cpu: Option<u32>, now_ns: u64) {
        self.wakes = true;
        let at = self.life(pid, now_ns);
        let waker = match waker {
            0 => None,
            waker => self.running(waker, now_ns).filter(|waker| *waker != at),
        };
        if let Some(waker) = waker {
            let told = &mut self.lives[waker].told;
            told.wakeups = told.wakeups.saturating_add(1);
        }
        let life = &mut self.lives[at];
        life.work_until(now_ns);
        life.woken = waker.zip(cpu);
        let first = life.start_ns.is_none();
        let born_by = matches!(life.birth, Birth::By(_));
        life.appear(now_ns);
        let state = std::mem::replace(&mut life.state, State::Waiting);
        let source = life.source.take();
        let (call, deep) = (std::mem::take(&mut life.call), std::mem::take(&mut life.deep));
        let absolute = std::mem::take(&mut life.absolute);
        let begin_ns = life.start_ns.unwrap_or(now_ns);
        match (state, waker) {
            // A fork is its own cause.
            (State::Unborn, _) if born_by => {}
            // It slept since before the recording: the first thing that it does is to wait.
            (State::Unborn, Some(waker)) if first => {
                life.birth = Birth::At(0);
                life.start_ns = Some(0);
                self.edge(waker, at, call, now_ns);
            }
            (State::Unborn, None) => life.birth = Birth::At(now_ns),
            (State::Sleeping { since_ns }, Some(waker))
                if deep && self.is_contention(&call, waker, at) =>
            {
                self.waits.locks += 1;
                self.lives[at].push(Step::Sleep(now_ns.saturating_sub(since_ns)));
            }
            (State::Sleeping { .. }, Some(waker)) => {
                self.waits.full += u64::from(!deep && cause::gives(&call));
                if deep {
                    self.lives[at].waited_for(waker);
                }
                self.edge(waker, at, call, now_ns);
            }
            (State::Sleeping { since_ns }, None) => {
                let (from_ns, to_ns) =
                    (since_ns.saturating_sub(begin_ns), now_ns.saturating_sub(begin_ns));
                let sleep = Sleep { call: &call, deep, absolute, source, from_ns, to_ns };
                let count = match sleep.outside() {
                    Outside::Timer => {
                        let spins = &mut self.lives[at].spins;
                        spins.timers += 1;
                        spins.naps += u64::from(to_ns - from_ns.min(to_ns) <= NAP_NS);
                        &mut self.waits.timers
                    }
                    Outside::Service => &mut self.waits.services,
                    Outside::Arrival => &mut self.waits.arrivals,
                    Outside::Unknown => &mut self.waits.unknown,
                };
                *count += 1;
                let is_arrival = sleep.outside() == Outside::Arrival;
                let step = sleep.step();
                let ended = Ended { waker: None, woken: at, call, time_ns: now_ns };
                let wait = if is_arrival { self.ended(ended) } else { None };
                self.lives[at].push_of(step, wait);
            }
            // It did not sleep: there was nothing to wait for.
            _ => self.lives[at].state = state,
        }
    }

    /// Whether one task kept the other from a lock.
    fn is_contention(&self, call: &str, waker: LifeIx, woken: LifeIx) -> bool {
        let Life { name, birth, .. } = &self.lives[waker];
        cause::is_contention(call, name, matches!(birth, Birth::By(parent) if *parent == woken))
    }

    /// Keeps that a wait ended, if it may have been for bytes or for room.
    fn ended(&mut self, wait: Ended) -> Option<WaitIx> {
        if !cause::takes(&wait.call) && !cause::gives(&wait.call) {
            return None;
        }
        self.ended.push(wait);
        u32::try_from(self.ended.len()).ok().and_then(WaitIx::new)
    }

    /// One task ends another's wait.
    fn edge(&mut self, waker: LifeIx, woken: LifeIx, wait: Arc<str>, time_ns: u64) {
        self.waits.tasks += 1;
        let call = wait.clone();
        let number = self.ended(Ended { waker: Some(waker), woken, call, time_ns });
        self.lives[woken].push_of(Step::Wait(wait.clone()), number);
        self.lives[waker].take_off(self.charges.wakeup_ns);
        self.lives[waker].push_of(Step::Post { to: woken, wait }, number);
    }

    fn setting(&mut self, setting: &Setting, now_ns: u64) {
        let at = self.life(setting.pid(), now_ns);
        let life = &mut self.lives[at];
        match *setting {
            Setting::Process { process, .. } => life.process = process,
            Setting::Session { session, .. } => life.session = session,
            Setting::Policy { policy, .. } => {
                life.set(now_ns, |settings| settings.policy = Some(policy));
            }
        }
    }

    /// A running task asks, or lets others run, and does not wait.
    fn spin(&mut self, pid: u32, call: &str, now_ns: u64) {
        let Some(at) = self.running(pid, now_ns) else { return };
        let life = &mut self.lives[at];
        life.spins.spins += 1;
        if call == "sched_yield" {
            life.push(Step::Yield);
        }
    }

    fn switch_in(&mut self, pid: u32, cpu: u32, now_ns: u64) {
        let at = self.life(pid, now_ns);
        let idle = self.free_since_ns.remove(&cpu).is_some_and(|since_ns| since_ns < now_ns);
        let life = &mut self.lives[at];
        if life.state == State::Unborn && matches!(life.birth, Birth::At(_)) {
            self.unheralded.push(at);
        }
        life.appear(now_ns);
        life.begin_to_run(now_ns);
        life.told.comes = life.told.comes.saturating_add(1);
        life.take_off(self.charges.switch_ns);
        if idle {
            life.take_off(self.charges.idle_exit_ns);
        }
        if let Some((waker, _)) = life.woken.take().filter(|(_, from)| *from != cpu) {
            life.take_off(self.charges.ipi_receive_ns);
            self.lives[waker].take_off(self.charges.ipi_send_ns);
        }
    }

    fn switch_out(&mut self, pid: u32, cpu: Option<u32>, why: OffCpu, now_ns: u64) {
        let at = self.life(pid, now_ns);
        if let Some(cpu) = cpu {
            self.free_since_ns.insert(cpu, now_ns);
        }
        let life = &mut self.lives[at];
        life.work_until(now_ns);
        life.told.leaves = life.told.leaves.saturating_add(1);
        life.flush();
        life.state = match why {
            OffCpu::Runnable => {
                life.appear(now_ns);
                life.spins.leaves += 1;
                State::Waiting
            }
            OffCpu::Sleep => State::Sleeping { since_ns: now_ns },
            OffCpu::Exit => {
                life.ends();
                State::Ended
            }
        };
    }
}

/// That moved bytes which are in the workload.
fn calls(lives: &[Life]) -> u64 {
    lives.iter().flat_map(|life| &life.moved).map(|moved| u64::from(moved.calls)).sum()
}

impl Sink for Gatherer {
    fn event(&mut self, event: &Event) {
        let now_ns = event.time_ns;
        match event.kind {
            EventKind::Task { pid, ref name, weight, .. } => {
                let at = self.life(pid, now_ns);
                self.lives[at].rename(name);
                self.lives[at].set(now_ns, |settings| settings.weight = weight);
            }
            EventKind::Setting(ref setting) => self.setting(setting, now_ns),
            EventKind::Affinity { pid, ref cpus } => {
                let at = self.life(pid, now_ns);
                let cpus = cpus.iter().collect();
                self.lives[at].set(now_ns, |settings| settings.cpus = Some(cpus));
            }
            EventKind::Cgroup { pid, ref path } => {
                let at = self.life(pid, now_ns);
                let group = (&**path != "/").then(|| Arc::clone(path));
                self.lives[at].set(now_ns, |settings| settings.group = group);
            }
            EventKind::CgroupSet { ref path, weight, limit_ns, idle } => {
                self.groups.set(path, Values { weight, limit_ns, idle });
            }
            EventKind::Fork { pid, parent } => self.fork(pid, parent, now_ns),
            EventKind::Cause(Cause::Block { pid, ref call, uninterruptible, absolute }) => {
                let at = self.life(pid, now_ns);
                self.lives[at].call = call.clone();
                (self.lives[at].deep, self.lives[at].absolute) = (uninterruptible, absolute);
            }
            EventKind::Transfer(ref transfer) => {
                if let Some(at) = self.running(transfer.pid, now_ns) {
                    self.lives[at].moved.extend(Moved::of(transfer, now_ns));
                }
            }
            EventKind::Cause(Cause::Spin { pid, ref call }) => self.spin(pid, call, now_ns),
            EventKind::Cause(Cause::Source { pid, source }) => {
                let at = self.life(pid, now_ns);
                self.lives[at].source = Some(source);
            }
            EventKind::Exit { pid } => {
                if let Some(at) = self.running(pid, now_ns) {
                    self.lives[at].begins_to_end();
                }
            }
            EventKind::Wakeup { pid, waker } => self.wake(pid, waker, event.cpu, now_ns),
            EventKind::Migrate { pid, .. } => {
                let at = self.life(pid, now_ns);
                self.lives[at].take_off(self.charges.migration_ns);
            }
            EventKind::SwitchIn { pid } => self.switch_in(pid, event.cpu.unwrap_or(0), now_ns),
            EventKind::SwitchOut { pid, why } => self.switch_out(pid, event.cpu, why, now_ns),
            _ => {}
        }
    }
}
