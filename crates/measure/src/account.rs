// SPDX-License-Identifier: MIT OR Apache-2.0
//! The books of one task: what it did, since when, and what that adds up to.

use crate::fluid::{Claim, TaskGroup, Tie};
use crate::jobs::Jobs;
use crate::lag::Lag;
use crate::latency::Latencies;
use crate::numbers::TaskNumbers;
use crate::spans::Spans;
use crate::whole::Whole;
use crate::work::Worked;
use rota_trace::SchedClass;
use std::sync::Arc;

mod jobs;
mod waits;

/// CPU time of a turnaround from which on it has a slowdown: what a switch or two and a wakeup take is
/// less. A task that wakes up and goes from one wait to the next has no work that could be slowed.
const LEAST_CPU_NS: u64 = 5_000;

/// What a task does, and since when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
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

impl State {
    /// Whether the task wants to run.
    fn is_runnable(self) -> bool {
        matches!(self, State::Woken | State::Preempted | State::Running { .. })
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Account {
    pub(crate) name: String,
    /// The workload's task that it was made from.
    pub(crate) instance_of: Option<Arc<str>>,
    pid: u32,
    pub(crate) weight: u32,
    /// Counts instead of the weight, if there is one.
    pub(crate) share: Option<u64>,
    /// CPUs that it may use.
    pub(crate) tie: Tie,
    /// The group that it is in.
    pub(crate) group: TaskGroup,
    /// While it is above the policy, it takes capacity and has no part in what is shared.
    pub(crate) class: SchedClass,
    /// It never was above.
    always_ext: bool,
    /// The program that brought the policy: it takes capacity, too, and is no part of the load.
    pub(crate) is_program: bool,
    pub(crate) state: State,
    pub(crate) since_ns: u64,
    pub(crate) cpu_ns: u64,
    pub(crate) run_delay_ns: u64,
    /// Of the run delay, while a CPU was idle that it may use.
    pub(crate) wasted_wait_ns: u64,
    /// Reading of [`Waste`](crate::waste::Waste) when it began to wait, while it does.
    wasted_from: Option<u64>,
    /// The longest that it waited at a stretch.
    pub(crate) wait_max_ns: u64,
    /// Held back by its reservation: no CPU may run it.
    throttled: bool,
    /// Service divided by the share or weight it was received under.
    service: f64,
    pub(crate) latencies: Latencies,
    /// Wakeups that had no answer when the run ended: none or one.
    pub(crate) waiting: u64,
    pub(crate) switches: u64,
    pub(crate) migrations: u64,
    pub(crate) started_ns: u64,
    /// First time runnable: from then on a task that never slept wanted the CPU.
    wanted_ns: Option<u64>,
    pub(crate) finished_ns: Option<u64>,
    slept: bool,
    pub(crate) lag: Lag,
    /// Since it woke: when that was, and its CPU time since then.
    burst: Burst,
    pub(crate) turnaround: Spans,
    pub(crate) slowdown: Spans,
    /// Of a periodic task.
    pub(crate) jobs: Option<Box<Jobs>>,
    /// On a machine that is not flat.
    pub(crate) worked: Option<Worked>,
    /// Its row in the figures.
    pub(crate) row: Option<usize>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Burst {
    from_ns: u64,
    cpu_ns: u64,
}

impl Account {
    pub(crate) fn new(pid: u32, now_ns: u64) -> Self {
        Account {
            name: format!("pid {pid}"),
            instance_of: None,
            pid,
            weight: 100,
            share: None,
            tie: Tie::default(),
            group: TaskGroup::default(),
            class: SchedClass::Ext,
            always_ext: true,
            is_program: false,
            state: State::Created,
            since_ns: now_ns,
            cpu_ns: 0,
            run_delay_ns: 0,
            wasted_wait_ns: 0,
            wasted_from: None,
            wait_max_ns: 0,
            throttled: false,
            service: 0.0,
            latencies: Latencies::small(),
            waiting: 0,
            switches: 0,
            migrations: 0,
            started_ns: now_ns,
            wanted_ns: None,
            finished_ns: None,
            slept: false,
            lag: Lag::default(),
            burst: Burst::default(),
            turnaround: Spans::default(),
            slowdown: Spans::default(),
            jobs: None,
            worked: None,
            row: None,
        }
    }

    /// The books of another task that got its pid, of which nothing else is known yet.
    pub(crate) fn successor(&self, pid: u32, now_ns: u64) -> Self {
        let (name, instance_of) = (self.name.clone(), self.instance_of.clone());
        let (weight, row) = (self.weight, self.row);
        Account { name, instance_of, weight, row, ..Self::new(pid, now_ns) }
    }

    /// What counts in comparison with other tasks: its share, or its weight.
    pub(crate) fn claimed_weight(&self) -> u64 {
        self.share.unwrap_or(self.weight.into()).max(1)
    }

    fn claim(&self) -> Claim {
        Claim { weight: self.claimed_weight(), tie: self.tie, group: self.group }
    }

    /// Whether it has a part in what is shared.
    fn is_ext(&self) -> bool {
        self.class == SchedClass::Ext && !self.is_program
    }

    /// It is the program that brought the policy, and has not run yet.
    pub(crate) fn make_program(&mut self) {
        (self.is_program, self.always_ext, self.row) = (true, false, None);
    }

    /// Whether it takes a CPU from those that the policy schedules.
    fn takes_cpu(&self) -> bool {
        !self.is_ext() && matches!(self.state, State::Running { .. })
    }

    /// Goes over to another class.
    pub(crate) fn reclass(&mut self, whole: &mut Whole, now_ns: u64, class: SchedClass) {
        self.settle(whole, now_ns);
        let (was_ext, took) = (self.is_ext(), self.takes_cpu());
        let runnable = self.state.is_runnable();
        if runnable && was_ext && class != SchedClass::Ext {
            self.look(whole, now_ns);
            self.lag.leave(&mut whole.fluid, now_ns);
        }
        self.class = class;
        if let Some(jobs) = self.jobs.as_mut().filter(|_| class != SchedClass::Deadline) {
            jobs.forget(true);
        }
        self.always_ext &= self.is_ext();
        whole.capacity_moves(took, self.takes_cpu(), now_ns);
        if runnable && !was_ext && self.is_ext() {
            self.lag.join(&mut whole.fluid, self.claim(), now_ns);
        }
    }

    /// Counts CPU time up to now, under the share or weight so far.
    fn settle(&mut self, whole: &mut Whole, now_ns: u64) {
        if let State::Running { .. } = self.state {
            let ns = now_ns.saturating_sub(self.since_ns);
            self.cpu_ns += ns;
            self.service += ns as f64 / self.claimed_weight() as f64;
            self.burst.cpu_ns += ns;
            if self.is_ext() {
                self.lag.receive(ns);
            }
            whole.ran(self.row, self.since_ns, now_ns);
            self.since_ns = now_ns;
        }
    }

    /// Changes its weight, its share or its CPUs; what was received before counts under the old.
    pub(crate) fn change_claim(
        &mut self,
        whole: &mut Whole,
        now_ns: u64,
        change: impl FnOnce(&mut Self),
    ) {
        self.settle(whole, now_ns);
        let before = self.claim();
        self.end_waste(whole, now_ns);
        change(self);
        self.begin_waste(whole, now_ns);
        let claim = self.claim();
        if claim != before && self.is_ext() && self.state.is_runnable() {
            self.lag.change_claim(&mut whole.fluid, claim, now_ns);
        }
    }

    pub(crate) fn wake(&mut self, whole: &mut Whole, now_ns: u64) {
        if matches!(self.state, State::Created | State::Sleeping | State::Gone) {
            self.enter(State::Woken, whole, now_ns);
        }
    }

    /// A slice ended and the next one of the same task begins.
    pub(crate) fn goes_on(&mut self, whole: &mut Whole, now_ns: u64) {
        if self.since_ns < now_ns {
            self.settle(whole, now_ns);
            self.look(whole, now_ns);
        }
    }

    pub(crate) fn enter(&mut self, next: State, whole: &mut Whole, now_ns: u64) {
        self.settle(whole, now_ns);
        let runs = matches!(next, State::Running { .. });
        let answers = runs && matches!(self.state, State::Woken | State::Created);
        match self.state {
            State::Woken | State::Preempted => self.wait(whole, now_ns),
            // No wakeup was seen: it was runnable from its creation.
            State::Created if runs => {
                self.wait(whole, now_ns);
                self.wanted_ns = Some(self.since_ns);
            }
            _ => {}
        }
        if answers {
            let waited_ns = now_ns.saturating_sub(self.since_ns);
            self.latencies.record(waited_ns);
            if !self.is_program {
                whole.wakeups.record(waited_ns);
            }
        }
        match (self.state.is_runnable(), next.is_runnable()) {
            (true, true) => self.look(whole, now_ns),
            (false, true) => self.begin_burst(whole, now_ns),
            (true, false) => self.end_burst(whole, now_ns),
            (false, false) => {}
        }
        if next == State::Sleeping {
            self.slept = true;
        }
        let took = self.takes_cpu();
        self.end_waste(whole, now_ns);
        (self.state, self.since_ns) = (next, now_ns);
        self.begin_waste(whole, now_ns);
        whole.capacity_moves(took, self.takes_cpu(), now_ns);
    }

    fn wait(&mut self, whole: &Whole, now_ns: u64) {
        self.run_delay_ns += now_ns.saturating_sub(self.since_ns.max(whole.from_ns));
        self.wait_max_ns = self.wait_max_ns.max(now_ns.saturating_sub(self.since_ns));
    }

    fn look(&mut self, whole: &mut Whole, now_ns: u64) {
        if !self.is_ext() {
            return;
        }
        let (from, to) = self.lag.look(&whole.fluid, now_ns);
        whole.lagged(self.row, from, to);
    }

    fn begin_burst(&mut self, whole: &mut Whole, now_ns: u64) {
        self.wanted_ns.get_or_insert(now_ns);
        if self.is_ext() {
            self.lag.join(&mut whole.fluid, self.claim(), now_ns);
        }
        let from_ns = if self.state == State::Created { self.since_ns } else { now_ns };
        self.burst = Burst { from_ns, cpu_ns: 0 };
    }

    fn end_burst(&mut self, whole: &mut Whole, now_ns: u64) {
        self.look(whole, now_ns);
        if self.is_ext() {
            self.lag.leave(&mut whole.fluid, now_ns);
        }
        self.turn(whole, now_ns);
    }

    /// It is done with what it woke for.
    fn turn(&mut self, whole: &mut Whole, now_ns: u64) {
        let Burst { from_ns, cpu_ns } = self.burst;
        let turnaround_ns = now_ns.saturating_sub(from_ns);
        self.turnaround.add(turnaround_ns as f64);
        if !self.is_program {
            whole.turnarounds.record(turnaround_ns);
        }
        if cpu_ns >= LEAST_CPU_NS {
            if !self.is_program {
                whole.slowdowns.record(turnaround_ns, cpu_ns);
            }
            self.slowdown.add(turnaround_ns as f64 / cpu_ns as f64);
        }
    }

    /// What comes before now is no part of the measures.
    pub(crate) fn restart(&mut self, whole: &mut Whole, now_ns: u64) {
        self.settle(whole, now_ns);
        self.cpu_ns = 0;
        self.run_delay_ns = 0;
        self.wasted_wait_ns = 0;
        self.wasted_from = self.wasted_from.map(|_| whole.waste.reading(self.tie, now_ns));
        self.wait_max_ns = 0;
        self.service = 0.0;
        self.latencies = Latencies::small();
        (self.switches, self.migrations) = (0, 0);
        self.turnaround = Spans::default();
        self.slowdown = Spans::default();
        self.jobs.iter_mut().for_each(|jobs| jobs.restart());
        self.worked = None;
        self.slept = self.state == State::Sleeping;
        self.wanted_ns = self.wanted_ns.map(|wanted_ns| wanted_ns.max(now_ns));
        if self.is_ext() && self.state.is_runnable() {
            self.lag.restart(&whole.fluid, now_ns);
        } else {
            self.lag.forget();
        }
    }

    /// Normalized service per time alive; where there are groups, the part of its ideal service.
    /// `None` for a task that slept, never was runnable, or was above the policy.
    pub(crate) fn service_rate(&self, has_groups: bool, end_ns: u64) -> Option<f64> {
        if has_groups {
            let ideal_ns = self.cpu_ns as f64 + self.lag.last_ns();
            let counts = !self.slept && self.always_ext && self.wanted_ns.is_some();
            return (counts && ideal_ns > 0.0).then(|| self.cpu_ns as f64 / ideal_ns);
        }
        let end_ns = self.finished_ns.unwrap_or(end_ns);
        let alive_ns = end_ns.saturating_sub(self.wanted_ns?);
        (!self.slept && self.always_ext && alive_ns > 0).then(|| self.service / alive_ns as f64)
    }

    /// Counts what is still open at the end.
    pub(crate) fn close(&mut self, whole: &mut Whole, end_ns: u64) {
        if self.state == State::Woken {
            let open_ns = end_ns.saturating_sub(self.since_ns);
            self.latencies.record(open_ns);
            self.waiting = 1;
            if !self.is_program {
                whole.unanswered(open_ns);
            }
        }
        if matches!(self.state, State::Woken | State::Preempted) {
            self.wait(whole, end_ns);
        }
        self.end_waste(whole, end_ns);
        self.jobs.iter_mut().for_each(|jobs| jobs.close(end_ns));
        if self.state.is_runnable() {
            self.look(whole, end_ns);
            // One that never slept may never want to: that is no turnaround, unless it has jobs.
            if (self.slept || self.jobs.is_some()) && !self.is_program {
                whole.unfinished(end_ns.saturating_sub(self.burst.from_ns));
            }
        }
    }

    pub(crate) fn numbers(self, capacity_ns: f64) -> TaskNumbers {
        TaskNumbers {
            name: self.name,
            pid: self.pid,
            weight: self.weight,
            cpu_ns: self.cpu_ns,
            share: part_of(self.cpu_ns, capacity_ns),
            run_delay_ns: self.run_delay_ns,
            wakeup_latency_ns: self.latencies.numbers(self.waiting),
            switches: self.switches,
            migrations: self.migrations,
            started_ns: self.started_ns,
            finished_ns: self.finished_ns,
            lag_ns: self.lag.measured().numbers(),
            turnaround_ns: self.turnaround.times(),
            slowdown: self.slowdown.ratios(),
            class: self.class.name(),
            is_program: self.is_program,
            wasted_wait_ns: self.wasted_wait_ns,
            wait_max_ns: self.wait_max_ns,
            jobs: self.jobs.map(|jobs| jobs.numbers()),
            lock_blocked_ns: None,
            work: self.worked.map(|worked| worked.numbers(self.cpu_ns)),
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
