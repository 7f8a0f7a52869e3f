// SPDX-License-Identifier: MIT OR Apache-2.0
//! A run's numbers, gathered while it happens.

use rota_trace::{Event, EventKind, OffCpu, Sink};
use rustc_hash::FxHashMap;

use crate::fairness::jain;
use crate::group::{Group, GroupReport};
use crate::latency::Latencies;
use crate::report::{InstructionsPerDecision, Report, TaskReport, Totals};

/// Reads the event stream of a run and gives its [`Report`] at the end.
#[derive(Clone, Debug)]
pub struct Summary {
    tasks: Vec<Account>,
    by_pid: FxHashMap<u32, usize>,
    cpus: Vec<Cpu>,
    decisions: u64,
    context_switches: u64,
    cost: InstructionsPerDecision,
}

#[derive(Clone, Copy, Debug, Default)]
struct Cpu {
    /// Index of the task that runs; `None`: idle.
    running: Option<usize>,
    /// Since when the CPU has been idle, while it is.
    idle_since_ns: u64,
    idle_ns: u64,
}

/// What a task does, and since when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Created, no wakeup yet.
    Created,
    /// Runnable since its wakeup, which still waits for an answer.
    Woken,
    /// Runnable after it lost its CPU.
    Preempted,
    Running {
        cpu: u32,
    },
    Sleeping,
    Gone,
}

#[derive(Clone, Debug)]
pub(crate) struct Account {
    name: String,
    pid: u32,
    pub(crate) weight: u32,
    /// Counts instead of the weight, if there is one.
    share: Option<u64>,
    state: State,
    since_ns: u64,
    pub(crate) cpu_ns: u64,
    pub(crate) run_delay_ns: u64,
    /// Service divided by the share or weight it was received under.
    service: f64,
    pub(crate) latencies: Latencies,
    /// Wakeups that had no answer when the run ended: none or one.
    pub(crate) waiting: u64,
    pub(crate) switches: u64,
    pub(crate) migrations: u64,
    started_ns: u64,
    /// First time runnable: from then on a task that never slept wanted the CPU.
    wanted_ns: Option<u64>,
    finished_ns: Option<u64>,
    slept: bool,
}

impl Summary {
    /// For a machine with this many CPUs, at the beginning of a run.
    pub fn new(cpus: u32) -> Self {
        Summary {
            tasks: Vec::new(),
            by_pid: FxHashMap::default(),
            cpus: vec![Cpu::default(); cpus as usize],
            decisions: 0,
            context_switches: 0,
            cost: InstructionsPerDecision::default(),
        }
    }

    /// The cost of decisions, which the machine counts.
    pub fn set_instructions_per_decision(&mut self, cost: InstructionsPerDecision) {
        self.cost = cost;
    }

    /// The numbers of the run, which ended at `end_ns`.
    pub fn finish(mut self, end_ns: u64) -> Report {
        self.close(end_ns);
        self.report(end_ns)
    }

    /// As [`Summary::finish`], and the numbers of groups of tasks: those with the same
    /// `group_of(name)`, in order of their first task.
    pub fn finish_grouped(
        mut self,
        end_ns: u64,
        group_of: impl Fn(&str) -> &str,
    ) -> (Report, Vec<GroupReport>) {
        self.close(end_ns);
        let capacity_ns = self.capacity_ns(end_ns);
        let mut groups: Vec<Group> = Vec::new();
        let mut by_name: FxHashMap<String, usize> = FxHashMap::default();
        for task in &self.tasks {
            let name = group_of(&task.name);
            let index = by_name.get(name).copied().unwrap_or(groups.len());
            if index == groups.len() {
                by_name.insert(name.to_owned(), index);
                groups.push(Group::new(name, task.weight));
            }
            groups[index].add(task);
        }
        let groups = groups.into_iter().map(|g| g.report(capacity_ns)).collect();
        (self.report(end_ns), groups)
    }

    /// Ends everything that is still open.
    fn close(&mut self, end_ns: u64) {
        for cpu in 0..self.cpus.len() as u32 {
            self.leave(cpu, State::Preempted, end_ns);
            let slot = &mut self.cpus[cpu as usize];
            slot.idle_ns += end_ns.saturating_sub(slot.idle_since_ns);
            slot.idle_since_ns = end_ns;
        }
        self.tasks.iter_mut().for_each(|t| t.close(end_ns));
    }

    fn capacity_ns(&self, end_ns: u64) -> f64 {
        self.cpus.len() as f64 * end_ns as f64
    }

    fn report(self, end_ns: u64) -> Report {
        let rates: Vec<f64> = self.tasks.iter().filter_map(|t| t.service_rate(end_ns)).collect();
        let capacity_ns = self.capacity_ns(end_ns);
        let mut all = Group::new("", 0);
        self.tasks.iter().for_each(|t| all.add(t));
        let totals = Totals {
            decisions: self.decisions,
            context_switches: self.context_switches,
            idle_ns: self.cpus.iter().map(|cpu| cpu.idle_ns).sum(),
            jain: jain(&rates),
            instructions_per_decision: self.cost,
            wakeup_latency_ns: all.report(capacity_ns).wakeup_latency_ns,
        };
        let tasks = self.tasks.into_iter().map(|t| t.report(capacity_ns)).collect();
        Report { tasks, totals }
    }

    fn index(&mut self, pid: u32, now_ns: u64) -> usize {
        *self.by_pid.entry(pid).or_insert_with(|| {
            self.tasks.push(Account::new(pid, now_ns));
            self.tasks.len() - 1
        })
    }

    fn task(&mut self, pid: u32, now_ns: u64) -> &mut Account {
        let index = self.index(pid, now_ns);
        &mut self.tasks[index]
    }

    /// Takes the running task, if any, off a CPU.
    fn leave(&mut self, cpu: u32, state: State, now_ns: u64) {
        let slot = &mut self.cpus[cpu as usize];
        if let Some(index) = slot.running.take() {
            slot.idle_since_ns = now_ns;
            self.tasks[index].enter(state, now_ns);
        }
    }

    fn switch_in(&mut self, pid: u32, cpu: u32, now_ns: u64) {
        if cpu as usize >= self.cpus.len() {
            self.cpus.resize(cpu as usize + 1, Cpu::default());
        }
        self.leave(cpu, State::Preempted, now_ns);
        let index = self.index(pid, now_ns);
        if let State::Running { cpu: other } = self.tasks[index].state {
            self.leave(other, State::Preempted, now_ns);
        }
        let task = &mut self.tasks[index];
        task.switches += 1;
        task.enter(State::Running { cpu }, now_ns);
        self.context_switches += 1;
        let slot = &mut self.cpus[cpu as usize];
        slot.idle_ns += now_ns.saturating_sub(slot.idle_since_ns);
        slot.running = Some(index);
    }

    fn switch_out(&mut self, pid: u32, why: OffCpu, now_ns: u64) {
        let state = match why {
            OffCpu::Runnable => State::Preempted,
            OffCpu::Sleep => State::Sleeping,
            OffCpu::Exit => State::Gone,
        };
        match self.task(pid, now_ns).state {
            State::Running { cpu } => self.leave(cpu, state, now_ns),
            _ => self.task(pid, now_ns).enter(state, now_ns),
        }
    }
}

impl Sink for Summary {
    fn event(&mut self, event: &Event) {
        let Event { time_ns, cpu, ref kind } = *event;
        match *kind {
            EventKind::Task { pid, ref name, weight } => {
                let task = self.task(pid, time_ns);
                task.settle(time_ns);
                task.weight = weight;
                task.name.clone_from(name);
            }
            EventKind::Share { pid, share } => {
                let task = self.task(pid, time_ns);
                task.settle(time_ns);
                task.share = Some(share);
            }
            EventKind::Fork { pid, .. } => {
                let task = self.task(pid, time_ns);
                task.started_ns = time_ns;
                if task.state == State::Created {
                    task.since_ns = time_ns;
                }
            }
            EventKind::Exit { pid } => self.task(pid, time_ns).finished_ns = Some(time_ns),
            EventKind::Wakeup { pid, .. } => self.task(pid, time_ns).wake(time_ns),
            EventKind::Pick { .. } => self.decisions += 1,
            EventKind::SwitchIn { pid } => self.switch_in(pid, cpu.unwrap_or(0), time_ns),
            EventKind::SwitchOut { pid, why } => self.switch_out(pid, why, time_ns),
            EventKind::Migrate { pid, .. } => self.task(pid, time_ns).migrations += 1,
            EventKind::Enqueue { .. }
            | EventKind::Dispatch { .. }
            | EventKind::OpCall { .. }
            | EventKind::PolicyExit { .. } => {}
        }
    }
}

impl Account {
    fn new(pid: u32, now_ns: u64) -> Self {
        Account {
            name: format!("pid {pid}"),
            pid,
            weight: 100,
            share: None,
            state: State::Created,
            since_ns: now_ns,
            cpu_ns: 0,
            run_delay_ns: 0,
            service: 0.0,
            latencies: Latencies::default(),
            waiting: 0,
            switches: 0,
            migrations: 0,
            started_ns: now_ns,
            wanted_ns: None,
            finished_ns: None,
            slept: false,
        }
    }

    /// Counts CPU time up to now, under the share or weight so far.
    fn settle(&mut self, now_ns: u64) {
        if let State::Running { .. } = self.state {
            let ns = now_ns.saturating_sub(self.since_ns);
            self.cpu_ns += ns;
            self.service += ns as f64 / self.share.unwrap_or(self.weight.into()).max(1) as f64;
            self.since_ns = now_ns;
        }
    }

    fn wake(&mut self, now_ns: u64) {
        if matches!(self.state, State::Created | State::Sleeping | State::Gone) {
            self.enter(State::Woken, now_ns);
        }
    }

    fn enter(&mut self, next: State, now_ns: u64) {
        self.settle(now_ns);
        let waited_ns = now_ns.saturating_sub(self.since_ns);
        let runs = matches!(next, State::Running { .. });
        match self.state {
            State::Woken | State::Preempted => self.run_delay_ns += waited_ns,
            // No wakeup was seen: it was runnable from its creation.
            State::Created if runs => {
                self.run_delay_ns += waited_ns;
                self.wanted_ns = Some(self.since_ns);
            }
            _ => {}
        }
        if runs && matches!(self.state, State::Woken | State::Created) {
            self.latencies.record(waited_ns);
        }
        match next {
            State::Woken | State::Running { .. } => {
                self.wanted_ns.get_or_insert(now_ns);
            }
            State::Sleeping => self.slept = true,
            _ => {}
        }
        (self.state, self.since_ns) = (next, now_ns);
    }

    /// Normalized service per time alive; `None` for a task that slept or never was runnable.
    fn service_rate(&self, end_ns: u64) -> Option<f64> {
        let end_ns = self.finished_ns.unwrap_or(end_ns);
        let alive_ns = end_ns.saturating_sub(self.wanted_ns?);
        (!self.slept && alive_ns > 0).then(|| self.service / alive_ns as f64)
    }

    /// Counts what is still open at the end.
    fn close(&mut self, end_ns: u64) {
        let open_ns = end_ns.saturating_sub(self.since_ns);
        if self.state == State::Woken {
            self.latencies.record(open_ns);
            self.waiting = 1;
        }
        if matches!(self.state, State::Woken | State::Preempted) {
            self.run_delay_ns += open_ns;
        }
    }

    fn report(self, capacity_ns: f64) -> TaskReport {
        TaskReport {
            name: self.name,
            pid: self.pid,
            weight: self.weight,
            cpu_ns: self.cpu_ns,
            share: part_of(self.cpu_ns, capacity_ns),
            run_delay_ns: self.run_delay_ns,
            wakeup_latency_ns: self.latencies.report(self.waiting),
            switches: self.switches,
            migrations: self.migrations,
            started_ns: self.started_ns,
            finished_ns: self.finished_ns,
        }
    }
}

/// `cpu_ns` as a part of the machine; 0 for a run that never began.
pub(crate) fn part_of(cpu_ns: u64, capacity_ns: f64) -> f64 {
    if capacity_ns > 0.0 {
        cpu_ns as f64 / capacity_ns
    } else {
        0.0
    }
}

#[cfg(test)]
#[path = "summary_tests.rs"]
mod tests;
