// SPDX-License-Identifier: MIT OR Apache-2.0
//! A run's numbers, gathered while it happens.

use rota_trace::{Event, EventKind, Lock, LockStep, OffCpu, Sink};
use rustc_hash::FxHashMap;
use std::sync::Arc;

use crate::account::{Account, State};
use crate::figures::{FigureSink, Figures};
use crate::group::{Group, GroupNumbers};
use crate::locks::Locks;
use crate::numbers::{CpuNumbers, Numbers, TaskNumbers};
use crate::totals::{Counts, InstructionsPerDecision, Totals};
use crate::whole::Whole;

/// Reads the event stream of a run and gives its [`Numbers`] at the end.
#[derive(Clone, Debug)]
pub struct Summary {
    tasks: Vec<Account>,
    by_pid: FxHashMap<u32, usize>,
    cpus: Vec<Cpu>,
    counts: Counts,
    cost: InstructionsPerDecision,
    whole: Whole,
    /// Core scheduling kept a CPU from its tasks.
    has_forced_idle: bool,
    /// From the first wait for a lock on.
    locks: Option<Box<Locks>>,
    /// Up to when nothing is measured; 0 once it is over.
    warmup_ns: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Cpu {
    /// Index of the task that runs; `None`: idle.
    running: Option<usize>,
    /// Since when the CPU has been idle, while it is.
    idle_since_ns: u64,
    idle_ns: u64,
    forced: Forced,
}

/// Idle time of a CPU that core scheduling keeps from its tasks.
#[derive(Clone, Copy, Debug, Default)]
struct Forced {
    now: bool,
    since_ns: u64,
    idle_ns: u64,
}

impl Cpu {
    /// Whether it could run a task, as far as core scheduling is concerned.
    fn is_free(&self) -> bool {
        self.running.is_none() && !self.forced.now
    }

    /// What follows is counted as the CPU is then.
    fn settle_forced(&mut self, now_ns: u64) {
        if self.forced.now && self.running.is_none() {
            self.forced.idle_ns += now_ns.saturating_sub(self.forced.since_ns);
        }
        self.forced.since_ns = self.forced.since_ns.max(now_ns);
    }
}

/// All that a [`Summary`] gathered.
#[derive(Clone, Debug, PartialEq)]
pub struct Results {
    /// The numbers.
    pub numbers: Numbers,
    /// Those of groups of tasks.
    pub groups: Vec<GroupNumbers>,
    /// What figures are drawn from, if it was asked for.
    pub figures: Option<Figures>,
}

impl Summary {
    /// For a machine with this many CPUs, at the beginning of a run.
    pub fn new(cpus: u32) -> Self {
        Summary {
            tasks: Vec::new(),
            by_pid: FxHashMap::default(),
            cpus: vec![Cpu::default(); cpus as usize],
            counts: Counts::default(),
            cost: InstructionsPerDecision::default(),
            whole: Whole::new(cpus),
            has_forced_idle: false,
            locks: None,
            warmup_ns: 0,
        }
    }

    /// Leaves out of all numbers what happens before this time.
    #[must_use]
    pub fn with_warmup(mut self, warmup_ns: u64) -> Self {
        self.warmup_ns = warmup_ns;
        self
    }

    /// Also gathers what figures are drawn from.
    #[must_use]
    pub fn with_figures(mut self, figures: FigureSink) -> Self {
        self.whole.figures = Some(Box::new(figures));
        self
    }

    /// The cost of decisions, which the machine counts.
    pub fn set_instructions_per_decision(&mut self, cost: InstructionsPerDecision) {
        self.cost = cost;
    }

    /// The numbers of the run, which ended at `end_ns`.
    pub fn finish(self, end_ns: u64) -> Numbers {
        self.finish_all(end_ns).numbers
    }

    /// As [`Summary::finish`], and the numbers of the workload's tasks, each with all its instances
    /// and forks, in order of the first of them. A task of no workload is one of its own, together
    /// with others of its name. The policy's program is none of them.
    pub fn finish_all(mut self, end_ns: u64) -> Results {
        self.close(end_ns);
        let locks = self.locks.take();
        let blocked = locks.as_ref().map(|locks| locks.blocked_ns());
        let capacity_ns = self.capacity_ns(end_ns);
        let mut groups: Vec<Group> = Vec::new();
        let mut by_name: FxHashMap<String, usize> = FxHashMap::default();
        for (at, task) in self.tasks.iter().enumerate().filter(|(_, task)| !task.is_program) {
            let name = task.instance_of.as_deref().unwrap_or(&task.name);
            let index = by_name.get(name).copied().unwrap_or(groups.len());
            if index == groups.len() {
                by_name.insert(name.to_owned(), index);
                groups.push(Group::new(name, task.weight));
            }
            let blocked_ns = blocked.as_ref().and_then(|all| all.get(&at)).copied();
            groups[index].add(task, blocked_ns);
        }
        let groups = groups.into_iter().map(|g| g.numbers(capacity_ns)).collect();
        let figures = self.whole.figures.take();
        let figures = figures.map(|mut figures| {
            let rows =
                self.tasks.iter().filter_map(|task| Some((task.row?, task.claimed_weight())));
            rows.for_each(|(row, claim)| figures.claims(row, claim));
            figures.finish(&self.whole, end_ns)
        });
        let (wasted_ns, wasted_by_cpu) = self.whole.waste.finish(end_ns);
        let cpus: Vec<CpuNumbers> = (0..)
            .zip(self.cpus.iter().zip(wasted_by_cpu))
            .map(|(cpu, (slot, wasted_idle_ns))| CpuNumbers {
                cpu,
                idle_ns: slot.idle_ns,
                wasted_idle_ns,
                forced_idle_ns: self.has_forced_idle.then_some(slot.forced.idle_ns),
            })
            .collect();
        let mut totals = self.totals(wasted_ns, end_ns);
        totals.forced_idle_ns =
            cpus.iter().filter_map(|cpu| cpu.forced_idle_ns).reduce(|a, b| a + b);
        totals.locks = locks.as_ref().and_then(|locks| locks.totals());
        let tasks = self.tasks.into_iter().map(|t| t.numbers(capacity_ns));
        let mut tasks: Vec<TaskNumbers> = tasks.collect();
        for (at, ns) in blocked.into_iter().flatten() {
            tasks[at].lock_blocked_ns = Some(ns);
        }
        let named = |at: usize| (tasks[at].name.clone(), tasks[at].pid);
        let locks = locks.map_or(Vec::new(), |locks| locks.numbers(named));
        Results { numbers: Numbers { tasks, totals, cpus, locks }, groups, figures }
    }

    /// Ends everything that is still open.
    fn close(&mut self, end_ns: u64) {
        if self.warmup_ns > 0 {
            self.restart(end_ns.min(self.warmup_ns));
        }
        for cpu in 0..self.cpus.len() as u32 {
            self.leave(cpu, State::Preempted, end_ns);
            let slot = &mut self.cpus[cpu as usize];
            slot.idle_ns += end_ns.saturating_sub(slot.idle_since_ns);
            slot.idle_since_ns = end_ns;
            slot.settle_forced(end_ns);
        }
        if let Some(locks) = &mut self.locks {
            let (tasks, from_ns) = (&self.tasks, self.whole.from_ns);
            locks.close(end_ns, &|task| tasks[task].delay_ns(from_ns, end_ns));
        }
        self.tasks.iter_mut().for_each(|t| t.close(&mut self.whole, end_ns));
    }

    /// A task does something at a lock.
    #[cold]
    fn lock(&mut self, lock: &Lock, now_ns: u64) {
        let task = self.index(lock.pid, now_ns);
        let holder = match lock.step {
            LockStep::Wait { holder } | LockStep::Release { holder } if holder != 0 => {
                Some(self.index(holder, now_ns))
            }
            _ => None,
        };
        let (tasks, from_ns) = (&self.tasks, self.whole.from_ns);
        let delay = |task: usize| tasks[task].delay_ns(from_ns, now_ns);
        let locks = self.locks.get_or_insert_with(|| Box::new(Locks::new(from_ns)));
        locks.step((lock.kind, &lock.name), task, lock.step, holder, (now_ns, &delay));
    }

    /// What a task got done up to now, if that is measured.
    fn work(&mut self, pid: u32, done: u64, energy_nj: Option<u64>, now_ns: u64) {
        // the machine tells of the time before at the end of the warm-up
        if now_ns > self.whole.from_ns {
            let worked = &mut self.task(pid, now_ns).0.worked;
            worked.get_or_insert_default().add(done, energy_nj);
        }
    }

    fn exit(&mut self, pid: u32, now_ns: u64) {
        let at = self.index(pid, now_ns);
        self.tasks[at].exit(now_ns);
        if let Some(locks) = &mut self.locks {
            let (tasks, from_ns) = (&self.tasks, self.whole.from_ns);
            locks.exit(at, now_ns, &|task| tasks[task].delay_ns(from_ns, now_ns));
        }
    }

    /// Ends the warm-up: everything begins to count now.
    fn restart(&mut self, now_ns: u64) {
        self.warmup_ns = 0;
        self.whole.restart(now_ns);
        self.tasks.iter_mut().for_each(|t| t.restart(&mut self.whole, now_ns));
        self.locks.iter_mut().for_each(|locks| locks.restart(now_ns));
        for cpu in &mut self.cpus {
            cpu.idle_ns = 0;
            cpu.idle_since_ns = cpu.idle_since_ns.max(now_ns);
            cpu.forced = Forced { now: cpu.forced.now, since_ns: now_ns, idle_ns: 0 };
        }
        self.counts = Counts::default();
    }

    fn capacity_ns(&self, end_ns: u64) -> f64 {
        self.cpus.len() as f64 * end_ns.saturating_sub(self.whole.from_ns) as f64
    }

    fn totals(&self, wasted_ns: u64, end_ns: u64) -> Totals {
        let idle_ns = self.cpus.iter().map(|cpu| cpu.idle_ns).sum();
        Totals::of(&self.tasks, (idle_ns, wasted_ns), &self.counts, self.cost, &self.whole, end_ns)
    }

    fn index(&mut self, pid: u32, now_ns: u64) -> usize {
        *self.by_pid.entry(pid).or_insert_with(|| {
            self.tasks.push(Account::new(pid, now_ns));
            self.tasks.len() - 1
        })
    }

    /// A recorded machine gives the pid of a task that exited to another one: a row of its own, with
    /// the name and weight of the earlier one until another is told.
    fn begin_life(&mut self, pid: u32, now_ns: u64) {
        let Some(earlier) = self.by_pid.get(&pid).map(|index| &self.tasks[*index]) else { return };
        if earlier.finished_ns.is_none() || earlier.state != State::Gone {
            return;
        }
        self.tasks.push(earlier.successor(pid, now_ns));
        self.by_pid.insert(pid, self.tasks.len() - 1);
    }

    /// A task and what all have in common.
    fn task(&mut self, pid: u32, now_ns: u64) -> (&mut Account, &mut Whole) {
        let index = self.index(pid, now_ns);
        (&mut self.tasks[index], &mut self.whole)
    }

    /// Takes the running task, if any, off a CPU.
    fn leave(&mut self, cpu: u32, state: State, now_ns: u64) {
        let slot = &mut self.cpus[cpu as usize];
        slot.settle_forced(now_ns);
        if let Some(index) = slot.running.take() {
            slot.idle_since_ns = now_ns;
            self.whole.waste.set_idle(cpu, slot.is_free(), now_ns);
            self.tasks[index].enter(state, &mut self.whole, now_ns);
        }
    }

    /// There is a CPU that was not heard of.
    fn grow(&mut self, cpu: u32, now_ns: u64) {
        if cpu as usize >= self.cpus.len() {
            let since = Cpu { idle_since_ns: self.whole.from_ns, ..Cpu::default() };
            self.cpus.resize(cpu as usize + 1, since);
            self.whole.fluid.grow(cpu + 1, now_ns);
            self.whole.waste.grow(cpu + 1, now_ns);
        }
    }

    /// Core scheduling keeps a CPU from its tasks, or does so no more.
    #[cold]
    fn force_idle(&mut self, cpu: u32, forced: bool, now_ns: u64) {
        self.grow(cpu, now_ns);
        self.has_forced_idle = true;
        let slot = &mut self.cpus[cpu as usize];
        slot.settle_forced(now_ns);
        slot.forced.now = forced;
        self.whole.waste.set_idle(cpu, slot.is_free(), now_ns);
    }

    fn switch_in(&mut self, pid: u32, cpu: u32, now_ns: u64) {
        self.grow(cpu, now_ns);
        self.leave(cpu, State::Preempted, now_ns);
        let index = self.index(pid, now_ns);
        if let State::Running { cpu: other } = self.tasks[index].state {
            self.leave(other, State::Preempted, now_ns);
        }
        let task = &mut self.tasks[index];
        task.switches += 1;
        task.enter(State::Running { cpu }, &mut self.whole, now_ns);
        let slot = &mut self.cpus[cpu as usize];
        slot.idle_ns += now_ns.saturating_sub(slot.idle_since_ns);
        slot.running = Some(index);
        self.whole.waste.set_idle(cpu, false, now_ns);
    }

    fn switch_out(&mut self, pid: u32, why: OffCpu, now_ns: u64) {
        let state = match why {
            OffCpu::Runnable => State::Preempted,
            OffCpu::Sleep => State::Sleeping,
            OffCpu::Exit => State::Gone,
        };
        let (task, whole) = self.task(pid, now_ns);
        match task.state {
            State::Running { cpu } => self.leave(cpu, state, now_ns),
            _ => task.enter(state, whole, now_ns),
        }
    }

    /// A slice began: that of a task that is there already ends its last one.
    fn pick(&mut self, cpu: u32, now_ns: u64) {
        if let Some(index) = self.cpus.get(cpu as usize).and_then(|cpu| cpu.running) {
            self.tasks[index].goes_on(&mut self.whole, now_ns);
        }
    }

    fn introduce(
        &mut self,
        pid: u32,
        name: &str,
        instance_of: Option<&Arc<str>>,
        weight: u32,
        now_ns: u64,
    ) {
        let (task, whole) = self.task(pid, now_ns);
        task.change_claim(whole, now_ns, |task| task.weight = weight);
        if task.name != name {
            name.clone_into(&mut task.name);
            task.instance_of = instance_of.cloned();
            let row = |figures: &FigureSink| figures.row(name, instance_of.map(|of| &**of));
            task.row = whole.figures.as_deref().and_then(row);
        }
    }
}

impl Sink for Summary {
    fn event(&mut self, event: &Event) {
        let Event { time_ns, cpu, ref kind } = *event;
        if self.warmup_ns > 0 && time_ns >= self.warmup_ns {
            self.restart(self.warmup_ns);
        }
        self.counts.event(kind);
        match *kind {
            EventKind::Task { pid, ref name, weight, ref instance_of } => {
                self.begin_life(pid, time_ns);
                self.introduce(pid, name, instance_of.as_ref(), weight, time_ns);
            }
            EventKind::Program { pid } => self.task(pid, time_ns).0.make_program(),
            EventKind::SchedClass { pid, class } => {
                let (task, whole) = self.task(pid, time_ns);
                task.reclass(whole, time_ns, class);
            }
            EventKind::Lock(ref lock) => self.lock(lock, time_ns),
            EventKind::Job(ref job) => {
                let (task, whole) = self.task(job.pid, time_ns);
                task.job(job, whole, time_ns);
            }
            EventKind::Throttle { pid, throttled } => {
                let (task, whole) = self.task(pid, time_ns);
                task.throttle(whole, time_ns, throttled);
            }
            EventKind::Plug { online } => {
                self.whole.waste.set_online(cpu.unwrap_or(0), online, time_ns);
            }
            EventKind::ForcedIdle { forced } => {
                self.force_idle(cpu.unwrap_or(0), forced, time_ns);
            }
            EventKind::Share { pid, share } => {
                let (task, whole) = self.task(pid, time_ns);
                task.change_claim(whole, time_ns, |task| task.share = Some(share));
            }
            EventKind::Cgroup { pid, ref path } => {
                let (task, whole) = self.task(pid, time_ns);
                let group = whole.fluid.group(path);
                task.change_claim(whole, time_ns, |task| task.group = group);
            }
            EventKind::CgroupSet { ref path, weight, limit_ns, .. } => {
                let cpus = limit_ns.map(|(quota, period)| quota as f64 / period.max(1) as f64);
                self.whole.fluid.set_group(path, weight.into(), cpus, time_ns);
            }
            EventKind::Affinity { pid, ref cpus } => {
                let (task, whole) = self.task(pid, time_ns);
                let tie = whole.tie(cpus.iter());
                task.change_claim(whole, time_ns, |task| task.tie = tie);
            }
            EventKind::Fork { pid, .. } => {
                self.begin_life(pid, time_ns);
                let task = self.task(pid, time_ns).0;
                task.started_ns = time_ns;
                if task.state == State::Created {
                    task.since_ns = time_ns;
                }
            }
            EventKind::Exit { pid } => self.exit(pid, time_ns),
            EventKind::Wakeup { pid, .. } => {
                let (task, whole) = self.task(pid, time_ns);
                task.wake(whole, time_ns);
            }
            EventKind::Work { pid, done, energy_nj } => self.work(pid, done, energy_nj, time_ns),
            EventKind::Pick { .. } => self.pick(cpu.unwrap_or(0), time_ns),
            EventKind::SwitchIn { pid } => self.switch_in(pid, cpu.unwrap_or(0), time_ns),
            EventKind::SwitchOut { pid, why } => self.switch_out(pid, why, time_ns),
            EventKind::Migrate { pid, .. } => self.task(pid, time_ns).0.migrations += 1,
            _ => {}
        }
    }
}

#[cfg(test)]
#[path = "summary_tests.rs"]
mod tests;
