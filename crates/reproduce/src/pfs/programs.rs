// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs of several threads that compute, side by side: when each is done, and how much of the
//! CPUs it had.

use super::Entry;
use crate::error::Error;
use crate::rig::{linked, Length, Rig};
use rota_trace::{Event, EventKind, Sink};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

/// The paper's computer has four [PFS §4.1].
pub(super) const CPUS: u32 = 4;
/// What a program takes alone, with a thread for each CPU. The paper says some seconds.
pub(super) const T_NS: u64 = 8_000_000_000;
/// A thread begins up to so much later than the first of its program, as they are created one
/// after the other.
const STARTS_US: u64 = 1_000;

/// What the threads of a program do.
#[derive(Clone, Copy)]
pub(super) enum Work {
    /// Outputs, one after the other: for each all threads together compute for `CPUS` × T.
    Outputs(u32),
    /// They compute for ever.
    Endless,
}

/// A process.
#[derive(Clone, Copy)]
pub(super) struct Program {
    /// That compute.
    pub(super) threads: u32,
    pub(super) work: Work,
    /// The next output begins when all threads are done with the one before; else each goes on.
    pub(super) waits: bool,
    /// Further threads, that compute for the first and then sleep for the second number of
    /// microseconds, again and again.
    pub(super) sleepers: Option<(u32, u64, u64)>,
}

impl Program {
    pub(super) fn of(threads: u32, outputs: u32) -> Self {
        Self { threads, work: Work::Outputs(outputs), waits: true, sleepers: None }
    }

    pub(super) fn endless(threads: u32) -> Self {
        Self { threads, work: Work::Endless, waits: false, sleepers: None }
    }

    /// As tasks of a workload file.
    fn told(&self, name: &str) -> String {
        let body = match self.work {
            Work::Outputs(outputs) => {
                let run_us = u64::from(CPUS) * T_NS / 1_000 / u64::from(self.threads);
                let barrier = match outputs > 1 && self.waits {
                    true => format!(", \"barrier\": \"{name}_done\""),
                    false => String::new(),
                };
                format!("\"loop\": {outputs}, \"run\": {run_us}{barrier}")
            }
            Work::Endless => "\"run\": 100000".into(),
        };
        let later = format!(
            "\"thread_of\": \"{name}\", \"delay\": {{\"dist\": \"uniform\", \"min\": 0, \"max\": \
             {STARTS_US}}}"
        );
        let mut tasks = format!("\"{name}\": {{{body}}}");
        if self.threads > 1 {
            let others = self.threads - 1;
            let _ = write!(tasks, ", \"{name}_more\": {{\"instance\": {others}, {later}, {body}}}");
        }
        if let Some((count, run_us, sleep_us)) = self.sleepers.filter(|(count, ..)| *count > 0) {
            let _ = write!(
                tasks,
                ", \"{name}_sleeper\": {{\"instance\": {count}, {later}, \"run\": {run_us}, \
                 \"sleep\": {sleep_us}}}"
            );
        }
        tasks
    }
}

/// What came of a program.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Outcome {
    /// When its last thread ended; 0: none did.
    pub(super) end_ns: u64,
    /// Threads that ended.
    ended: u32,
    /// CPU time of all threads.
    pub(super) cpu_ns: u64,
}

impl Outcome {
    /// Its end, in T.
    pub(super) fn end(&self) -> f64 {
        self.end_ns as f64 / T_NS as f64
    }
}

/// Runs programs side by side, each to its end.
pub(super) fn to_the_end(
    of: &Entry,
    programs: &[Program],
    seed: u64,
) -> Result<Vec<Outcome>, Error> {
    let output = |program: &Program| match program.work {
        Work::Outputs(outputs) => u64::from(outputs),
        Work::Endless => 0,
    };
    let outputs: u64 = programs.iter().map(output).sum();
    // With one thread a program takes CPUS × T alone, and all together no longer than in turns.
    let most_ns = (u64::from(CPUS) * outputs + 1) * T_NS;
    let found = run(of, CPUS, programs, most_ns, seed)?;
    for (outcome, program) in found.iter().zip(programs) {
        if outcome.ended < program.threads {
            let (ended, all) = (outcome.ended, program.threads);
            return Err(Error::Failure(format!("{}: only {ended} of {all} threads end", of.name)));
        }
    }
    Ok(found)
}

/// Runs programs side by side on so many CPUs for a time; seeds differ in when threads begin.
pub(super) fn run(
    of: &Entry,
    cpus: u32,
    programs: &[Program],
    duration_ns: u64,
    seed: u64,
) -> Result<Vec<Outcome>, Error> {
    let tasks = programs.iter().enumerate();
    let tasks: Vec<String> = tasks.map(|(at, program)| program.told(&name(at))).collect();
    let text = format!("{{\"tasks\": {{{}}}}}", tasks.join(", "));
    let workload = Arc::new(rota_workload::parse("programs", &text)?);
    let length = Length { seed, ..Length::of(duration_ns) };
    let mut sink = Threads { outcomes: vec![Outcome::default(); programs.len()], ..<_>::default() };
    Rig::ticking(&linked(of.policy, of.set)?).with_cpus(cpus).run(&workload, length, &mut sink)?;
    Ok(sink.finish(duration_ns))
}

fn name(program: usize) -> String {
    format!("p{program}")
}

/// Follows the threads of programs.
#[derive(Default)]
struct Threads {
    program_of: BTreeMap<u32, usize>,
    running: BTreeMap<u32, u64>,
    outcomes: Vec<Outcome>,
}

impl Threads {
    fn finish(mut self, end_ns: u64) -> Vec<Outcome> {
        for (pid, since_ns) in std::mem::take(&mut self.running) {
            self.served(pid, end_ns.saturating_sub(since_ns));
        }
        self.outcomes
    }

    fn outcome(&mut self, pid: u32) -> Option<&mut Outcome> {
        let program = *self.program_of.get(&pid)?;
        self.outcomes.get_mut(program)
    }

    fn served(&mut self, pid: u32, ns: u64) {
        if let Some(outcome) = self.outcome(pid) {
            outcome.cpu_ns += ns;
        }
    }
}

impl Sink for Threads {
    fn event(&mut self, event: &Event) {
        match &event.kind {
            EventKind::Task { pid, name: task, .. } => {
                let mine = |at: &usize| {
                    let rest = task.strip_prefix(&name(*at));
                    rest.is_some_and(|rest| rest.starts_with(['-', '_']))
                };
                if let Some(program) = (0..self.outcomes.len()).find(mine) {
                    self.program_of.insert(*pid, program);
                }
            }
            EventKind::SwitchIn { pid } => {
                self.running.insert(*pid, event.time_ns);
            }
            EventKind::SwitchOut { pid, .. } => {
                if let Some(since_ns) = self.running.remove(pid) {
                    self.served(*pid, event.time_ns - since_ns);
                }
            }
            EventKind::Exit { pid } => {
                if let Some(outcome) = self.outcome(*pid) {
                    outcome.ended += 1;
                    outcome.end_ns = event.time_ns;
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{CFS, PFS};
    use super::*;

    #[test]
    fn a_program_alone_takes_t_with_a_thread_for_each_cpu_and_four_with_one() {
        for (threads, end) in [(1, 4.0), (2, 2.0), (4, 1.0)] {
            let alone = to_the_end(&CFS, &[Program::of(threads, 1)], 1).expect("runs");
            assert!((alone[0].end() / end - 1.0).abs() < 0.002, "{threads}: {}", alone[0].end());
            assert_eq!(alone[0].ended, threads);
        }
    }

    #[test]
    fn cpu_time_is_that_of_all_threads_of_a_process() {
        // Two CPUs, all of the time, and shared alike between one thread and eight.
        let programs = [Program::endless(2), Program::endless(8)];
        let found = run(&PFS, 2, &programs, T_NS, 1).expect("runs");
        let sum: u64 = found.iter().map(|outcome| outcome.cpu_ns).sum();
        assert!((sum as f64 / (2 * T_NS) as f64 - 1.0).abs() < 0.002, "{sum}");
        let half = found[0].cpu_ns as f64 / T_NS as f64;
        assert!((half - 1.0).abs() < 0.02, "{half}");
    }

    #[test]
    fn threads_wait_for_each_other_after_each_output() {
        let program = Program { sleepers: Some((2, 100, 900)), ..Program::of(3, 2) };
        let told = program.told("p0");
        assert_eq!(told.matches("\"barrier\": \"p0_done\"").count(), 2, "{told}");
        assert!(told.contains("\"instance\": 2, \"thread_of\": \"p0\""), "{told}");
        assert!(told.contains("\"run\": 100, \"sleep\": 900"), "{told}");
        assert!(!Program { waits: false, ..program }.told("p0").contains("barrier"));
    }
}
