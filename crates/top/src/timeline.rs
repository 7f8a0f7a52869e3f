// SPDX-License-Identifier: MIT OR Apache-2.0
//! What each CPU did lately, in steps of equal length.

use crate::letters::Letters;
use rota_trace::CpuList;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// A step of the timeline.
pub const STEP_NS: u64 = 10_000_000;
/// Steps that are kept: 12 s.
pub const STEPS: usize = 1200;
/// A task that had less of a step gets no letter for it.
pub(crate) const SHOWN_NS: u64 = STEP_NS / 8;

/// What a CPU did in a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cell {
    /// The letter of the task that ran longest; 0: none did, or none for long.
    pub letter: u8,
    /// How long that one ran.
    pub top_ns: u32,
    /// How long tasks ran.
    pub busy_ns: u32,
    /// How long the CPU was idle while a task waited that could have used it.
    pub wasted_ns: u32,
}

#[derive(Debug, Default)]
struct Cpu {
    runs: Option<u32>,
    offline: bool,
    /// Waiting tasks that are tied to some CPUs, this one among them.
    tied: u32,
    /// All is counted up to here, of the time and of the clock of waits.
    settled_ns: u64,
    settled_clock_ns: u64,
    /// In the present step.
    ran_ns: FxHashMap<u32, u64>,
    wasted_ns: u64,
    cells: VecDeque<Cell>,
}

/// What all CPUs did lately.
#[derive(Debug, Default)]
pub(crate) struct Timeline {
    now_ns: u64,
    cpus: Vec<Cpu>,
    /// Waiting tasks that may use every CPU, and for how long there was one.
    untied: u32,
    clock_ns: u64,
    pub(crate) letters: Letters,
}

impl Timeline {
    pub(crate) fn new(cpus: u32) -> Self {
        let mut timeline = Self::default();
        timeline.grow(cpus as usize);
        timeline
    }

    /// CPUs that were heard of.
    pub(crate) fn cpus(&self) -> usize {
        self.cpus.len()
    }

    /// Who runs on a CPU, and what it did in the last steps, the latest last.
    pub(crate) fn of_cpu(&self, cpu: usize) -> (Option<u32>, bool, Vec<Cell>) {
        let of = &self.cpus[cpu];
        (of.runs, of.offline, of.cells.iter().copied().collect())
    }

    /// Times of all steps that are kept, added up: busy, wasted, all.
    pub(crate) fn sums(&self) -> (u64, u64, u64) {
        let cells = self.cpus.iter().filter(|cpu| !cpu.offline).flat_map(|cpu| &cpu.cells);
        cells.fold((0, 0, 0), |(busy, wasted, all), cell| {
            (busy + u64::from(cell.busy_ns), wasted + u64::from(cell.wasted_ns), all + STEP_NS)
        })
    }

    /// As much time has passed.
    #[inline]
    pub(crate) fn advance(&mut self, now_ns: u64) {
        if now_ns <= self.now_ns {
            return;
        }
        if now_ns / STEP_NS > self.now_ns / STEP_NS {
            self.end_steps(now_ns);
        }
        if self.untied > 0 {
            self.clock_ns += now_ns - self.now_ns;
        }
        self.now_ns = now_ns;
    }

    /// There is a CPU of this number.
    #[inline]
    pub(crate) fn know(&mut self, cpu: u32) {
        if cpu as usize >= self.cpus.len() {
            self.grow(cpu as usize + 1);
        }
    }

    /// A CPU runs a task from now on, or none.
    pub(crate) fn run(&mut self, cpu: u32, task: Option<u32>) {
        self.know(cpu);
        let (now_ns, clock_ns) = (self.now_ns, self.clock_ns);
        let of = &mut self.cpus[cpu as usize];
        of.settle(now_ns, clock_ns);
        of.runs = task;
    }

    /// A CPU goes offline or comes back.
    pub(crate) fn plug(&mut self, cpu: u32, online: bool) {
        self.run(cpu, None);
        self.cpus[cpu as usize].offline = !online;
    }

    /// A task begins to wait, or ends, that may use these CPUs; `None`: all.
    pub(crate) fn wait(&mut self, tie: Option<&CpuList>, begins: bool) {
        let more = |count: u32| if begins { count + 1 } else { count.saturating_sub(1) };
        let Some(tie) = tie else {
            self.untied = more(self.untied);
            return;
        };
        let (now_ns, clock_ns) = (self.now_ns, self.clock_ns);
        for cpu in tie.iter() {
            let Some(of) = self.cpus.get_mut(cpu as usize) else { break };
            of.settle(now_ns, clock_ns);
            of.tied = more(of.tied);
        }
    }

    /// Ends the steps that are over at a time.
    fn end_steps(&mut self, now_ns: u64) {
        let last = now_ns / STEP_NS;
        // What is longer ago than all that is kept need not be gone through.
        let skipped = last.saturating_sub(STEPS as u64 + 1);
        if self.now_ns / STEP_NS < skipped {
            for cpu in &mut self.cpus {
                cpu.cells.clear();
                cpu.ran_ns.clear();
                (cpu.wasted_ns, cpu.settled_ns) = (0, skipped * STEP_NS);
                cpu.settled_clock_ns = self.clock_ns;
            }
            self.now_ns = skipped * STEP_NS;
        }
        while self.now_ns / STEP_NS < last {
            let end_ns = (self.now_ns / STEP_NS + 1) * STEP_NS;
            if self.untied > 0 {
                self.clock_ns += end_ns - self.now_ns;
            }
            self.now_ns = end_ns;
            let since_ns = end_ns.saturating_sub(STEPS as u64 * STEP_NS);
            for cpu in &mut self.cpus {
                cpu.settle(end_ns, self.clock_ns);
                cpu.end_step(end_ns, since_ns, &mut self.letters);
            }
        }
    }

    fn grow(&mut self, cpus: usize) {
        while self.cpus.len() < cpus {
            // It was idle before, and nobody knew whether for want of tasks.
            let of = Cpu {
                settled_ns: self.now_ns,
                settled_clock_ns: self.clock_ns,
                cells: self.cpus.first().map_or_else(VecDeque::new, |first| {
                    first.cells.iter().map(|_| Cell::default()).collect()
                }),
                ..Cpu::default()
            };
            self.cpus.push(of);
        }
    }
}

impl Cpu {
    fn settle(&mut self, now_ns: u64, clock_ns: u64) {
        let passed_ns = now_ns - self.settled_ns;
        match self.runs {
            Some(_) if passed_ns == 0 => {}
            Some(pid) => *self.ran_ns.entry(pid).or_default() += passed_ns,
            None if self.offline => {}
            None if self.tied > 0 => self.wasted_ns += passed_ns,
            None => self.wasted_ns += clock_ns - self.settled_clock_ns,
        }
        (self.settled_ns, self.settled_clock_ns) = (now_ns, clock_ns);
    }

    fn end_step(&mut self, at_ns: u64, since_ns: u64, letters: &mut Letters) {
        let busy_ns: u64 = self.ran_ns.values().sum();
        // Of several that ran equally long the first one, so that the same events give the same.
        let top = self.ran_ns.iter().max_by_key(|(pid, ns)| (**ns, std::cmp::Reverse(**pid)));
        let top = top.filter(|(_, ns)| **ns >= SHOWN_NS);
        let (letter, top_ns) =
            top.map_or((0, 0), |(pid, ns)| (letters.show(*pid, at_ns, since_ns), *ns));
        let wasted_ns = std::mem::take(&mut self.wasted_ns);
        // No more than a step: it fits.
        let [top_ns, busy_ns, wasted_ns] = [top_ns, busy_ns, wasted_ns].map(|ns| ns as u32);
        self.ran_ns.clear();
        if self.cells.len() == STEPS {
            self.cells.pop_front();
        }
        self.cells.push_back(Cell { letter, top_ns, busy_ns, wasted_ns });
    }
}

#[cfg(test)]
#[path = "timeline_tests.rs"]
mod tests;
