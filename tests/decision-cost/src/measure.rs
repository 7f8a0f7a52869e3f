// SPDX-License-Identifier: MIT OR Apache-2.0
//! Timing policies against a baseline, turn by turn, so that both meet the same machine.

use crate::failure::Failure;
use crate::host::{Hosted, TaskSpec};
use crate::link::Bench;
use crate::simulate::simulate;
use crate::subject::Subject;
use crate::tasks::SleepingTasks;
use serde::Serialize;

/// How much to measure.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Times that a policy and the baseline take turns.
    pub repetitions: usize,
    /// Decisions of one turn; at least one per task are taken.
    pub decisions: u64,
}

/// Order statistics of the turns, in nanoseconds per decision.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// Half of the turns were faster.
    pub median: f64,
    /// The fastest.
    pub min: f64,
    /// 95 % were faster.
    pub p95: f64,
}

impl Spread {
    /// Nearest-rank statistics; `None` without values.
    pub fn of(values: &[f64]) -> Option<Self> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let rank = |percent: usize| {
            let rank = (sorted.len() * percent).div_ceil(100).max(1);
            sorted.get(rank - 1).copied()
        };
        Some(Self { median: rank(50)?, min: *sorted.first()?, p95: rank(95)? })
    }
}

/// One row of the result.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The policy.
    pub policy: String,
    /// Runnable tasks.
    pub tasks: usize,
    /// Time per decision, by the kernel's clock around the loop.
    pub ns: Spread,
    /// Time by this process's clock, around the system call, over that inside: of the turn
    /// in which least else happened. Whoever else runs on the CPU counts outside.
    pub outside_over_inside: f64,
    /// Median over the turns of its time over the baseline's in the same turn.
    pub ratio: Option<f64>,
    /// Instructions per decision that the simulator counts on the same load.
    pub instructions: Option<f64>,
}

/// Enough for each task to have its turn.
pub(crate) fn simulated_decisions(specs: &[TaskSpec]) -> u64 {
    2 * specs.len().max(500) as u64
}

/// Weights that tasks have in turn: those of nice -5, 0 and 5.
const WEIGHTS: [u32; 3] = [305, 100, 33];

/// The load: tasks of three nice values.
pub fn load(tasks: usize) -> Vec<TaskSpec> {
    (0..tasks).map(|i| TaskSpec { weight: WEIGHTS[i % WEIGHTS.len()], share: None }).collect()
}

/// Loads a policy with tasks and lets each of them run once or more.
pub fn prepare(
    bench: &Bench,
    subject: &Subject,
    tasks: &SleepingTasks,
    specs: &[TaskSpec],
) -> Result<Hosted, Failure> {
    let linked = bench.link(&subject.name, &subject.object, false)?;
    let mut hosted = Hosted::load(&subject.name, &linked, specs.len())?;
    hosted.populate(tasks, specs)?;
    hosted.decide(2 * specs.len().max(1000) as u64)?;
    Ok(hosted)
}

/// Nanoseconds per decision of one turn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turn {
    pub(crate) inside: f64,
    pub(crate) outside: f64,
}

pub(crate) fn turn(hosted: &mut Hosted, decisions: u64) -> Result<Turn, Failure> {
    let run = hosted.decide(decisions)?;
    let each = |time: std::time::Duration| time.as_nanos() as f64 / decisions as f64;
    Ok(Turn { inside: each(run.inside), outside: each(run.outside) })
}

/// Times a policy with a number of tasks; `baseline` takes a turn before each of its own.
pub fn measure(
    subject: &Subject,
    hosted: &mut Hosted,
    baseline: Option<&mut Hosted>,
    specs: &[TaskSpec],
    plan: Plan,
) -> Result<Row, Failure> {
    let decisions = plan.decisions.max(specs.len() as u64);
    let (mut inside, mut outside, mut ratios) = (Vec::new(), f64::INFINITY, Vec::new());
    let mut baseline = baseline;
    for _ in 0..plan.repetitions {
        let other = baseline.as_deref_mut().map(|b| turn(b, decisions)).transpose()?;
        let own = turn(hosted, decisions)?;
        ratios.extend(other.map(|other| own.inside / other.inside));
        outside = outside.min(own.outside / own.inside);
        inside.push(own.inside);
    }
    let ns = Spread::of(&inside)
        .ok_or_else(|| Failure::run(&subject.name, "no repetitions, so no result"))?;
    let simulated = simulate(&subject.name, &subject.object, specs, simulated_decisions(specs));
    Ok(Row {
        policy: subject.name.clone(),
        tasks: specs.len(),
        ns,
        outside_over_inside: outside,
        ratio: Spread::of(&ratios).map(|s| s.median),
        instructions: simulated.ok().map(|s| s.instructions),
    })
}

#[cfg(test)]
mod tests {
    use super::Spread;

    #[test]
    fn spread_is_by_nearest_rank() {
        let values: Vec<f64> = (1..=20).rev().map(f64::from).collect();
        assert_eq!(Spread::of(&values), Some(Spread { median: 10.0, min: 1.0, p95: 19.0 }));
        assert_eq!(Spread::of(&[7.5]), Some(Spread { median: 7.5, min: 7.5, p95: 7.5 }));
        assert_eq!(Spread::of(&[]), None);
    }
}
