// SPDX-License-Identifier: MIT OR Apache-2.0
//! Policies to avoid, and why.

use super::{sign, size, Answer, Goal, Sign};
use crate::comparison::{Column, Stage};
use crate::metric::Metric;
use rota_measure::baseline::{self, Relative};
use rota_measure::statistics;

/// A task that waits so long for a CPU is starved: a user takes it for dead, not for
/// slow.
const STARVED_NS: f64 = 1e9;
/// And so many times as long as under the baseline: otherwise the load is the reason.
const STARVED_RATIO: f64 = 10.0;
/// Metric of a task by which that is seen.
const LONGEST_WAIT: &str = "wait_max";

/// A reason against a policy, which is a place among the stage's columns.
pub(crate) enum Avoid<'a> {
    /// The kernel would have removed it.
    Ejected { policy: usize, runs: usize, of: usize, reason: &'a str },
    /// It lets a task wait far longer than the baseline does.
    Starves { policy: usize, task: &'a str, longest_ns: f64, baseline_ns: f64 },
    /// It is worse than the baseline in some goals, and better in none.
    Worse { policy: usize, losses: Vec<Loss<'a>> },
}

/// A goal in which a policy is worse than the baseline.
pub(crate) struct Loss<'a> {
    pub(crate) goal: &'a Goal,
    pub(crate) metric: &'a Metric,
    pub(crate) relative: Relative,
}

impl<'a> Loss<'a> {
    /// `None`: the policy is not worse, or not by what is significant and large enough.
    pub(super) fn of(answer: &Answer<'a>, policy: usize) -> Option<Self> {
        let relative = answer.relatives[policy]?;
        let is_worse = sign(&relative, answer.metric.better()) == Some(Sign::Worse);
        is_worse.then_some(Loss { goal: answer.goal, metric: answer.metric, relative })
    }
}

impl Avoid<'_> {
    pub(crate) fn policy(&self) -> usize {
        match self {
            Avoid::Ejected { policy, .. }
            | Avoid::Starves { policy, .. }
            | Avoid::Worse { policy, .. } => *policy,
        }
    }

    /// Whether it speaks against the policy whatever the goal is.
    pub(crate) fn is_grave(&self) -> bool {
        !matches!(self, Avoid::Worse { .. })
    }
}

/// One reason for each policy, the gravest; the worst policies first.
pub(super) fn of_stage<'a>(
    stage: &'a Stage<'a>,
    answers: &[Answer<'a>],
    baseline: Option<usize>,
) -> Vec<Avoid<'a>> {
    let mut found: Vec<Avoid<'a>> = stage.columns.iter().enumerate().filter_map(ejected).collect();
    let Some(at) = baseline else { return found };
    let mut starving = starving(stage, at);
    starving.sort_by(|a, b| wait_of(b).total_cmp(&wait_of(a)));
    let mut worse: Vec<Avoid<'a>> =
        (0..stage.columns.len()).filter_map(|policy| worse(policy, answers)).collect();
    worse.sort_by(|a, b| largest_loss(b).total_cmp(&largest_loss(a)));
    for reason in starving.into_iter().chain(worse) {
        if reason.policy() != at && found.iter().all(|known| known.policy() != reason.policy()) {
            found.push(reason);
        }
    }
    found
}

fn ejected<'a>((policy, column): (usize, &'a Column<'a>)) -> Option<Avoid<'a>> {
    let first = column.ejected().next()?;
    let (runs, of) = (column.ejected().count(), column.runs.len());
    Some(Avoid::Ejected { policy, runs, of, reason: &first.exit.reason })
}

fn wait_of(reason: &Avoid<'_>) -> f64 {
    match reason {
        Avoid::Starves { longest_ns, .. } => *longest_ns,
        _ => 0.0,
    }
}

fn largest_loss(reason: &Avoid<'_>) -> f64 {
    match reason {
        Avoid::Worse { losses, .. } => losses.iter().map(|l| size(&l.relative)).fold(0.0, f64::max),
        _ => 0.0,
    }
}

/// Of each policy the task that waits longest, if that is starvation and significant: tests of
/// all tasks of all policies together, corrected by Holm.
fn starving<'a>(stage: &'a Stage<'a>, at: usize) -> Vec<Avoid<'a>> {
    let (mut found, mut probabilities) = (Vec::new(), Vec::new());
    for (policy, column) in stage.columns.iter().enumerate().filter(|(policy, _)| *policy != at) {
        for (task, _) in &column.tasks {
            let of = |column: &Column<'_>| column.task_values(task, LONGEST_WAIT);
            let compared = baseline::against(&[of(&stage.columns[at]), of(column)], 0);
            let Some(relative) = compared[1] else { continue };
            let mean = |column: &Column<'_>| {
                let values: Vec<f64> = of(column).into_iter().flatten().collect();
                statistics::estimate(&values).map_or(0.0, |of| of.mean)
            };
            let (longest_ns, baseline_ns) = (mean(column), mean(&stage.columns[at]));
            probabilities.push(relative.probability.unwrap_or(1.0));
            found.push((policy, *task, longest_ns, baseline_ns));
        }
    }
    let adjusted = statistics::holm(&probabilities);
    let mut worst: Vec<Avoid<'a>> = Vec::new();
    for ((policy, task, longest_ns, baseline_ns), p) in found.into_iter().zip(adjusted) {
        let is_starved = longest_ns >= STARVED_NS && longest_ns >= STARVED_RATIO * baseline_ns;
        if !is_starved || p >= statistics::SIGNIFICANCE {
            continue;
        }
        let reason = Avoid::Starves { policy, task, longest_ns, baseline_ns };
        match worst.iter_mut().find(|known| known.policy() == policy) {
            Some(known) if wait_of(known) < longest_ns => *known = reason,
            Some(_) => {}
            None => worst.push(reason),
        }
    }
    worst
}

/// `None`: it is better in a goal, or worse in none.
fn worse<'a>(policy: usize, answers: &[Answer<'a>]) -> Option<Avoid<'a>> {
    let mut losses = Vec::new();
    for answer in answers {
        let relative = answer.relatives[policy]?;
        if sign(&relative, answer.metric.better()) == Some(Sign::Better) {
            return None;
        }
        losses.extend(Loss::of(answer, policy));
    }
    (!losses.is_empty()).then_some(Avoid::Worse { policy, losses })
}
