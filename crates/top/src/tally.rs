// SPDX-License-Identifier: MIT OR Apache-2.0
//! What counts say of now and the last seconds: those of each task and CPU, which come a few times a
//! second, in place of each event.

use crate::groups::Groups;
use crate::letters::Letters;
use crate::numbers::{Counts, Recent, HALF_NS};
use crate::snapshot::{CpuLine, Left, Snapshot};
use crate::tasks::{self, Known};
use crate::timeline::{Cell, SHOWN_NS, STEPS, STEP_NS};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::sync::Arc;

/// All that is known now.
#[derive(Debug)]
pub struct Tally {
    now_ns: u64,
    /// When the first counts of the present half began, and those of the one before.
    half_ns: u64,
    half_before_ns: u64,
    cpus: Vec<Cpu>,
    /// Steps so far.
    steps: u64,
    letters: Letters,
    /// By the number that whoever counts has of them.
    tasks: FxHashMap<u32, Task>,
    by_pid: FxHashMap<u32, u32>,
    groups: Groups,
    all: Recent,
    left: Option<Left>,
}

#[derive(Debug, Default)]
struct Cpu {
    runs: Option<u32>,
    offline: bool,
    cells: VecDeque<Cell>,
}

#[derive(Debug)]
struct Task {
    pid: u32,
    known: Known,
    waits_since_ns: Option<u64>,
}

/// What a CPU did in a step of [`STEP_NS`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// The task that ran longest, and how long that was.
    pub top: u32,
    /// How long that was.
    pub top_ns: u64,
    /// How long tasks ran.
    pub busy_ns: u64,
    /// How long the CPU was idle while a task waited that could have used it.
    pub wasted_ns: u64,
}

/// How a task is called, and where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct About<'a> {
    /// Its number.
    pub pid: u32,
    /// Its name.
    pub name: &'a str,
    /// Path of its cgroup.
    pub group: &'a str,
}

/// What is new of a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TaskNews<'a> {
    /// If that is news; so it is the first time.
    pub about: Option<About<'a>>,
    /// What was counted since the last time.
    pub counts: Counts<'a>,
    /// Since when it has been waiting, if it does.
    pub waits_since_ns: Option<u64>,
    /// It has ended.
    pub ended: bool,
}

impl Tally {
    /// Nothing is known yet but the number of CPUs, and from when on it is counted.
    pub fn new(cpus: usize, begin_ns: u64) -> Self {
        let mut tally = Self {
            now_ns: begin_ns,
            half_ns: begin_ns,
            half_before_ns: begin_ns,
            cpus: Vec::new(),
            steps: 0,
            letters: Letters::default(),
            tasks: FxHashMap::default(),
            by_pid: FxHashMap::default(),
            groups: Groups::default(),
            all: Recent::default(),
            left: None,
        };
        tally.grow(cpus);
        tally
    }

    /// Takes what is new of a task, by its number.
    pub fn task(&mut self, number: u32, news: &TaskNews<'_>) {
        // What it did before it went to another group, it did there.
        if !self.tasks.contains_key(&number) {
            self.describe(number, news.about);
        }
        let since_ns = self.now_ns;
        let Self { tasks, groups, all, .. } = self;
        if let Some(task) = tasks.get_mut(&number) {
            let Known { group, recent, .. } = &mut task.known;
            for recent in [recent, groups.recent(*group), all] {
                recent.counted(&news.counts, since_ns);
            }
            task.waits_since_ns = news.waits_since_ns;
        }
        self.describe(number, news.about);
        if news.ended {
            self.forget(number);
        }
    }

    /// Takes the next steps of all CPUs. Of one with fewer the first ones are not known.
    pub fn steps(&mut self, of: &[Vec<Step>]) {
        self.grow(of.len());
        let count = of.iter().map(Vec::len).max().unwrap_or(0);
        for at in 0..count {
            self.steps += 1;
            let end_ns = self.steps * STEP_NS;
            let since_ns = end_ns.saturating_sub(STEPS as u64 * STEP_NS);
            for (cpu, line) in self.cpus.iter_mut().enumerate() {
                let steps = of.get(cpu).map_or(&[][..], Vec::as_slice);
                let step = (at + steps.len()).checked_sub(count).map(|at| steps[at]);
                let cell = cell(step.unwrap_or_default(), end_ns, since_ns, &mut self.letters);
                if line.cells.len() == STEPS {
                    line.cells.pop_front();
                }
                line.cells.push_back(cell);
            }
        }
    }

    /// What a CPU does now.
    pub fn cpu(&mut self, cpu: usize, runs: Option<u32>, online: bool) {
        self.grow(cpu + 1);
        (self.cpus[cpu].runs, self.cpus[cpu].offline) = (runs, !online);
    }

    /// All that was told since the last time was of the time up to this one.
    pub fn pass(&mut self, now_ns: u64) {
        let (before, now) = (self.now_ns / HALF_NS, now_ns / HALF_NS);
        if now > before {
            // What is over was counted up to now.
            self.half_before_ns = if now == before + 1 { self.half_ns } else { now_ns };
            self.half_ns = now_ns;
            self.groups.forget_empty(now_ns);
        }
        self.now_ns = self.now_ns.max(now_ns);
    }

    /// A scheduler was loaded: how an earlier one left is past.
    pub fn loaded(&mut self) {
        self.left = None;
    }

    /// A scheduler has left.
    pub fn left(&mut self, kind: u32, reason: String) {
        self.left = Some(Left { at_ns: self.now_ns, kind, reason });
    }

    /// All that a screen may show, now.
    pub fn snapshot(&mut self) -> Snapshot {
        let now_ns = self.now_ns;
        let Self { tasks, groups, letters, .. } = self;
        let each = tasks.values_mut().map(|task| {
            let waits_ns = task.waits_since_ns.map(|since_ns| now_ns.saturating_sub(since_ns));
            (task.pid, &mut task.known, waits_ns)
        });
        let (tasks, groups, waiting) = tasks::rows(each, groups, letters, now_ns);
        let cpus = self.cpus.iter().map(|cpu| CpuLine {
            runs: cpu.runs.map(|pid| self.name(pid)),
            offline: cpu.offline,
            cells: cpu.cells.iter().copied().collect(),
        });
        Snapshot {
            now_ns,
            window_ns: now_ns - self.half_before_ns,
            cpus: cpus.collect(),
            sums: self.sums(),
            waiting,
            all: self.all.numbers(now_ns),
            tasks,
            groups,
            left: self.left.clone(),
        }
    }

    fn sums(&self) -> (u64, u64, u64) {
        let cells = self.cpus.iter().filter(|cpu| !cpu.offline).flat_map(|cpu| &cpu.cells);
        cells.fold((0, 0, 0), |(busy, wasted, all), cell| {
            (busy + u64::from(cell.busy_ns), wasted + u64::from(cell.wasted_ns), all + STEP_NS)
        })
    }

    fn name(&self, pid: u32) -> Arc<str> {
        let task = self.by_pid.get(&pid).and_then(|number| self.tasks.get(number));
        task.map_or_else(|| pid.to_string().into(), |task| Arc::clone(&task.known.name))
    }

    fn describe(&mut self, number: u32, about: Option<About<'_>>) {
        let Some(About { pid, name, group }) = about else { return };
        let Self { tasks, groups, by_pid, .. } = self;
        let task = tasks.entry(number).or_insert_with(|| {
            let group = groups.root();
            Task {
                pid,
                known: Known { name: name.into(), group, recent: Recent::default() },
                waits_since_ns: None,
            }
        });
        if *task.known.name != *name {
            task.known.name = name.into();
        }
        if *groups.path(task.known.group) != *group {
            task.known.group = groups.change(task.known.group, group);
        }
        task.pid = pid;
        by_pid.insert(pid, number);
    }

    fn forget(&mut self, number: u32) {
        let Some(task) = self.tasks.remove(&number) else { return };
        self.groups.leave(task.known.group);
        if self.by_pid.get(&task.pid) == Some(&number) {
            self.by_pid.remove(&task.pid);
        }
    }

    /// CPUs that come later were not there before.
    fn grow(&mut self, cpus: usize) {
        let known = self.cpus.first().map_or(0, |first| first.cells.len());
        while self.cpus.len() < cpus {
            let cells = std::iter::repeat_n(Cell::default(), known).collect();
            self.cpus.push(Cpu { cells, ..Cpu::default() });
        }
    }
}

fn cell(of: Step, end_ns: u64, since_ns: u64, letters: &mut Letters) -> Cell {
    let shown = of.top != 0 && of.top_ns >= SHOWN_NS;
    let letter = if shown { letters.show(of.top, end_ns, since_ns) } else { 0 };
    // No more than a step: it fits.
    let [top_ns, busy_ns, wasted_ns] =
        [if shown { of.top_ns } else { 0 }, of.busy_ns, of.wasted_ns]
            .map(|ns| ns.min(STEP_NS) as u32);
    Cell { letter, top_ns, busy_ns, wasted_ns }
}

#[cfg(test)]
#[path = "tally_tests.rs"]
mod tests;
