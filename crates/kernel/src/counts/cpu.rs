// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a CPU did, step by step: what was counted up to its last switch in each, and what follows from
//! that for the rest.

use super::clock::Clock;
use super::raw::{cpu, Words, STEPS};
use super::STEP_NS;

/// What runs that is no task which is counted.
const IDLE: u64 = 0;
const OTHER: u64 = 0xffff_ffff;

/// What a CPU did in a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// The task that ran longest; 0: none did.
    pub top: u32,
    /// How long that was.
    pub top_ns: u64,
    /// How long tasks ran.
    pub busy_ns: u64,
    /// How long the CPU was idle while a task waited that could have used it.
    pub wasted_ns: u64,
}

/// What a CPU does since its last switch.
#[derive(Clone, Copy, Debug)]
struct Since {
    ns: u64,
    runs: u64,
    /// How long that had run in the step.
    ran_ns: u64,
    /// Clocks of waits then.
    untied_ns: u64,
    tied_ns: u64,
}

/// A CPU, as far as it was read.
#[derive(Clone, Debug)]
pub(super) struct CpuReader {
    /// The step to be read next.
    next: u64,
    since: Since,
}

impl CpuReader {
    /// Reads from a time on, at which a task ran that is counted, or none.
    pub(super) fn new(begin_ns: u64, runs: Option<u32>) -> Self {
        let runs = runs.map_or(IDLE, u64::from);
        let since = Since { ns: begin_ns, runs, ran_ns: 0, untied_ns: 0, tied_ns: 0 };
        Self { next: begin_ns / STEP_NS, since }
    }

    /// Leaves out what was before a step.
    pub(super) fn skip_to(&mut self, step: u64) {
        self.next = self.next.max(step);
    }

    /// The step to be read next.
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// The task that runs, as far as was read.
    pub(super) fn runs(&self) -> Option<u32> {
        (self.since.runs != IDLE && self.since.runs != OTHER).then_some(self.since.runs as u32)
    }

    /// The steps before this one. Clocks must know their beginnings and ends.
    pub(super) fn read(
        &mut self,
        of: Words<'_>,
        end: u64,
        untied: &Clock,
        tied: &Clock,
    ) -> Vec<Step> {
        (self.next..end).map(|step| self.step(of, step, untied, tied)).collect()
    }

    fn step(&mut self, of: Words<'_>, step: u64, untied: &Clock, tied: &Clock) -> Step {
        self.next = step + 1;
        let cell = of.part(cpu::CELLS + cpu::CELL * (step as usize % STEPS), cpu::CELL);
        let mut result = Step::default();
        if cell.get(0) == step {
            result = Step {
                busy_ns: cell.get(1),
                wasted_ns: cell.get(2),
                top_ns: cell.get(3),
                top: cell.get(4) as u32,
            };
            self.since = Since {
                ns: cell.get(5),
                runs: cell.get(6),
                ran_ns: cell.get(7),
                untied_ns: cell.get(8),
                tied_ns: cell.get(9),
            };
        } else if cell.get(0) > step {
            // The reader was late, and it is overwritten: nothing is known.
            self.since = Since { runs: OTHER, ..self.since };
        } else if step * STEP_NS > self.since.ns {
            let (ns, ran_ns) = (step * STEP_NS, 0);
            let (untied_ns, tied_ns) = (untied.at(step), tied.at(step));
            self.since = Since { ns, ran_ns, untied_ns, tied_ns, ..self.since };
        }
        self.complete(&mut result, step, untied, tied);
        result
    }

    /// Adds what the CPU did from its last switch to the end of the step.
    fn complete(&self, of: &mut Step, step: u64, untied: &Clock, tied: &Clock) {
        let since = self.since;
        let ns = ((step + 1) * STEP_NS).saturating_sub(since.ns).min(STEP_NS);
        match since.runs {
            OTHER => {}
            IDLE => {
                let untied_ns = untied.at(step + 1).saturating_sub(since.untied_ns);
                let tied_ns = tied.at(step + 1).saturating_sub(since.tied_ns);
                of.wasted_ns += untied_ns.max(tied_ns).min(ns);
            }
            pid => {
                of.busy_ns += ns;
                let ran_ns = since.ran_ns + ns;
                // Of several that ran equally long the first one.
                let first = ran_ns == of.top_ns && (pid as u32) < of.top;
                if ran_ns > of.top_ns || first {
                    (of.top, of.top_ns) = (pid as u32, ran_ns);
                }
            }
        }
        // Clocks of CPUs differ by a little.
        of.busy_ns = of.busy_ns.min(STEP_NS);
        of.wasted_ns = of.wasted_ns.min(STEP_NS - of.busy_ns);
        of.top_ns = of.top_ns.min(of.busy_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::super::raw::testing::Entry;
    use super::super::raw::{waits, WAITING_BITS};
    use super::*;

    const MS: u64 = 1_000_000;

    /// Step, busy, wasted, top's time, top, when it switched and to what, how long that had run.
    fn cell(
        of: &Entry,
        step: u64,
        counted_ms: [u64; 3],
        top: u64,
        since_ms: u64,
        runs: u64,
        ran_ms: u64,
    ) {
        let [busy, wasted, top_ns] = counted_ms.map(|ms| ms * MS);
        let words = [step, busy, wasted, top_ns, top, since_ms * MS, runs, ran_ms * MS];
        for (at, value) in words.into_iter().enumerate() {
            of.words().set(cpu::CELLS + cpu::CELL * (step as usize % STEPS) + at, value);
        }
    }

    fn step(top: u32, top_ms: u64, busy_ms: u64, wasted_ms: u64) -> Step {
        let [top_ns, busy_ns, wasted_ns] = [top_ms, busy_ms, wasted_ms].map(|ms| ms * MS);
        Step { top, top_ns, busy_ns, wasted_ns }
    }

    /// A clock of a task that waits since 35 ms.
    fn waits_from_35() -> Clock {
        let of = Entry::new(waits::SIZE);
        of.words().set(waits::WORD, (35 * MS) << WAITING_BITS | 1);
        Clock::read(of.words(), 0..=6, 65 * MS)
    }

    #[test]
    fn a_task_that_runs_on_has_the_rest_of_the_step_and_those_without_a_switch() {
        let of = Entry::new(cpu::SIZE);
        // Task 7 ran for 3 ms, then 8 for 2 ms, then 7 again, from 6 ms on.
        cell(&of, 0, [5, 0, 3], 7, 6, 7, 3);
        let mut reader = CpuReader::new(0, None);
        let none = Clock::default();
        // 3 ms and the last 4 ms.
        let steps = reader.read(of.words(), 3, &none, &none);
        assert_eq!(steps, [step(7, 7, 9, 0), step(7, 10, 10, 0), step(7, 10, 10, 0)]);
        assert_eq!((reader.runs(), reader.next()), (Some(7), 3));
    }

    #[test]
    fn an_idle_cpu_is_wasted_from_the_time_on_when_a_task_waits() {
        let of = Entry::new(cpu::SIZE);
        cell(&of, 2, [4, 1, 4], 9, 28, IDLE, 0);
        let mut reader = CpuReader::new(10 * MS, Some(9));
        let (untied, tied) = (waits_from_35(), Clock::default());
        // Task 9 ran from the beginning; the CPU idles from 28 ms, a task waits from 35 ms.
        let steps = reader.read(of.words(), 5, &untied, &tied);
        let expected = [step(9, 10, 10, 0), step(9, 4, 4, 1), step(0, 0, 0, 5), step(0, 0, 0, 10)];
        assert_eq!(steps, expected);
        assert_eq!(reader.runs(), None);
    }

    #[test]
    fn who_waits_for_this_cpu_only_counts_too_but_no_time_counts_twice() {
        let of = Entry::new(cpu::SIZE);
        let mut reader = CpuReader::new(0, None);
        let steps = reader.read(of.words(), 5, &waits_from_35(), &waits_from_35());
        assert_eq!(steps[2..], [step(0, 0, 0, 0), step(0, 0, 0, 5), step(0, 0, 0, 10)]);
        let mut reader = CpuReader::new(0, None);
        let steps = reader.read(of.words(), 4, &Clock::default(), &waits_from_35());
        assert_eq!(steps[3], step(0, 0, 0, 5));
    }

    #[test]
    fn time_of_what_is_not_counted_is_neither_busy_nor_idle() {
        let of = Entry::new(cpu::SIZE);
        cell(&of, 2, [0, 0, 0], 0, 21, OTHER, 0);
        let mut reader = CpuReader::new(20 * MS, None);
        let steps = reader.read(of.words(), 4, &waits_from_35(), &Clock::default());
        assert_eq!(steps, [Step::default(), Step::default()]);
    }

    #[test]
    fn nothing_is_known_of_steps_that_were_overwritten() {
        let of = Entry::new(cpu::SIZE);
        let late = STEPS as u64;
        cell(&of, late, [10, 0, 10], 7, late * 10, 7, 0);
        let mut reader = CpuReader::new(0, Some(3));
        let none = Clock::default();
        assert_eq!(reader.read(of.words(), 2, &none, &none), [Step::default(), Step::default()]);
        assert_eq!(reader.runs(), None);
    }
}
