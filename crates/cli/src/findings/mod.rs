// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a comparison answers: which policy is best for each goal, what it costs, which policies
//! to avoid, and which to run. Every statement rests on a paired test over the seeds.
//! `docs/measures.md` ("Findings") says which test, and how large a difference has to be.

mod avoid;
mod goal;

pub(crate) use avoid::{Avoid, Loss};
pub(crate) use goal::{check, goal_words, parse, Goal};

use crate::comparison::{Column, Comparison, Stage};
use crate::metric::{self, Metric};
use rota_measure::baseline::{self, Relative};
use rota_measure::catalogue::{self, Measure};
use rota_measure::statistics::{self, Better, Estimate};

/// A difference below this part of the baseline's value is too small to be a reason for or
/// against a policy, however certain it is.
const MATERIAL: f64 = 0.01;

/// Everything that is found.
pub(crate) struct Findings<'a> {
    /// The goal that decides which policy to run: the first that can be judged.
    pub(crate) first: &'a str,
    pub(crate) stages: Vec<StageFindings<'a>>,
    pub(crate) advice: Option<Advice<'a>>,
}

/// What is found on one workload and machine.
pub(crate) struct StageFindings<'a> {
    pub(crate) stage: &'a Stage<'a>,
    /// One for each goal that can be judged here.
    pub(crate) answers: Vec<Answer<'a>>,
    pub(crate) avoid: Vec<Avoid<'a>>,
    /// Policies that differ from the baseline in no goal, by their places.
    pub(crate) noise: Vec<usize>,
}

/// The best policies for a goal, which are places among the stage's columns.
pub(crate) struct Answer<'a> {
    pub(crate) goal: &'a Goal,
    pub(crate) metric: &'a Metric,
    /// The best mean first, and those that are not significantly worse.
    pub(crate) leaders: Vec<usize>,
    /// The leader to choose: with a baseline the first that is better than it.
    pub(crate) winner: Option<usize>,
    /// Mean of each policy.
    pub(crate) means: Vec<Option<Estimate>>,
    /// Each policy compared with the baseline.
    pub(crate) relatives: Vec<Option<Relative>>,
    /// How many samples a run of each policy has, if one has few.
    pub(crate) few_samples: Vec<Option<u64>>,
    /// What is worse under the winner than under the baseline, the greatest ratio first.
    pub(crate) costs: Vec<Cost>,
}

/// A metric that is worse than under the baseline.
pub(crate) struct Cost {
    pub(crate) measure: &'static Measure,
    pub(crate) relative: Relative,
}

/// Which policy to run, by the first goal that can be judged.
pub(crate) enum Advice<'a> {
    /// The policy at this place, better than the baseline in so many of the stages. In other goals
    /// it may be worse: the greatest loss of each.
    Run { policy: usize, better_in: usize, stages: usize, losses: Vec<Loss<'a>> },
    /// No policy is better than the baseline in one stage and worse in none. `ruled_out` is better
    /// in one, but is worse in another, was ejected, or starves a task.
    Keep { baseline: usize, ruled_out: Option<usize> },
}

impl<'a> Findings<'a> {
    /// Of a comparison; goals in the order of their rank.
    pub(crate) fn new(comparison: &'a Comparison<'a>, goals: &'a [Goal]) -> Self {
        let at = comparison.baseline.map(|baseline| baseline.at);
        // One seed is one sample, from which nothing follows but that a policy was ejected.
        let goals = if comparison.seeds.len() > 1 { goals } else { &[] };
        let found = comparison.stages.iter().map(|stage| of_stage(stage, goals, at));
        let stages: Vec<StageFindings<'_>> = found.collect();
        let is_judged = |goal: &&Goal| {
            stages.iter().flat_map(|stage| &stage.answers).any(|of| of.goal.name == goal.name)
        };
        let first = goals.iter().find(is_judged);
        let advice = advice(&stages, first, at);
        let first = first.map_or("", |goal| goal.name.as_str());
        Findings { first, stages, advice }
    }
}

fn of_stage<'a>(
    stage: &'a Stage<'a>,
    goals: &'a [Goal],
    baseline: Option<usize>,
) -> StageFindings<'a> {
    let found = goals.iter().filter_map(|goal| answer(stage, goal, baseline));
    let answers: Vec<Answer<'a>> = found.collect();
    let avoid = avoid::of_stage(stage, &answers, baseline);
    let noise = baseline.map_or(Vec::new(), |at| noise(stage, &answers, at));
    StageFindings { stage, answers, avoid, noise }
}

fn answer<'a>(stage: &'a Stage<'a>, goal: &'a Goal, baseline: Option<usize>) -> Option<Answer<'a>> {
    let metric = goal.metric(stage)?;
    let values = metric::values(metric, stage);
    let ranking = statistics::ranking(&values, metric.better())?;
    let mean = |of: &Vec<Option<f64>>| {
        statistics::estimate(&of.iter().copied().flatten().collect::<Vec<f64>>())
    };
    let relatives = match baseline {
        Some(at) => baseline::against(&values, at),
        None => vec![None; values.len()],
    };
    let is_better = |at: &&usize| {
        relatives[**at].is_some_and(|of| sign(&of, metric.better()) == Some(Sign::Better))
    };
    let winner = match baseline {
        Some(_) => ranking.leaders.iter().find(is_better).copied(),
        None => (ranking.leaders.len() == 1 && ranking.order.len() > 1).then(|| ranking.leaders[0]),
    };
    let costs = winner.map_or(Vec::new(), |at| costs(&stage.columns[at], metric));
    let means = values.iter().map(mean).collect();
    let few = |column: &Column<'_>| match metric {
        Metric::Whole(measure) => column.few_samples(measure.key),
        Metric::Task { .. } => None,
    };
    let few_samples = stage.columns.iter().map(few).collect();
    let leaders = ranking.leaders;
    Some(Answer { goal, metric, leaders, winner, means, relatives, few_samples, costs })
}

/// Which way a difference goes that is significant and large enough to matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sign {
    Better,
    Worse,
}

/// `None`: the difference is within noise, or too small to matter.
pub(crate) fn sign(relative: &Relative, better: Better) -> Option<Sign> {
    let is_large = relative.ratio.is_none_or(|ratio| (ratio - 1.0).abs() >= MATERIAL);
    if relative.is_significant() != Some(true) || !is_large {
        return None;
    }
    let is_lower = relative.difference.mean < 0.0;
    match better {
        Better::Lower => Some(if is_lower { Sign::Better } else { Sign::Worse }),
        Better::Higher => Some(if is_lower { Sign::Worse } else { Sign::Better }),
        Better::Neither => None,
    }
}

/// What else is worse under a policy, among the metrics that are usually shown.
fn costs(column: &Column<'_>, goal: &Metric) -> Vec<Cost> {
    let is_goal = |key: &str| matches!(goal, Metric::Whole(measure) if measure.key == key);
    let cells = catalogue::measures().iter().zip(&column.cells);
    let found = cells.filter_map(|(measure, cell)| {
        let relative = (*cell)?.relative?;
        let is_cost = measure.shown && !is_goal(measure.key);
        (is_cost && sign(&relative, measure.better) == Some(Sign::Worse))
            .then_some(Cost { measure, relative })
    });
    let mut costs: Vec<Cost> = found.collect();
    costs.sort_by(|a, b| size(&b.relative).total_cmp(&size(&a.relative)));
    costs
}

/// How many times as large, or as small, a value is as the baseline's.
pub(crate) fn size(relative: &Relative) -> f64 {
    match relative.ratio {
        Some(ratio) if ratio > 0.0 => ratio.max(1.0 / ratio),
        _ => f64::INFINITY,
    }
}

/// Policies that differ from the baseline in no goal.
fn noise(stage: &Stage<'_>, answers: &[Answer<'_>], baseline: usize) -> Vec<usize> {
    let is_level = |at: &usize| {
        !answers.is_empty()
            && answers.iter().all(|answer| {
                answer.relatives[*at].is_some_and(|of| sign(&of, answer.metric.better()).is_none())
            })
    };
    (0..stage.columns.len()).filter(|at| *at != baseline).filter(is_level).collect()
}

/// By the first goal that can be judged.
fn advice<'a>(
    stages: &[StageFindings<'a>],
    first: Option<&Goal>,
    baseline: Option<usize>,
) -> Option<Advice<'a>> {
    let first = first?;
    let of_first = |stage: &'_ StageFindings<'_>, at: usize| {
        let answer = stage.answers.iter().find(|answer| answer.goal.name == first.name)?;
        Some((answer.winner == Some(at), answer.relatives[at], answer.metric.better()))
    };
    let policies = stages.first()?.stage.columns.len();
    let judged = stages.iter().filter(|stage| of_first(stage, 0).is_some()).count();
    let (mut best, mut ruled_out) = (None, None);
    for policy in 0..policies {
        let (mut won, mut better, mut is_out) = (0, 0, false);
        for stage in stages {
            is_out |= stage.stage.columns[policy].ejected().next().is_some();
            is_out |= stage.avoid.iter().any(|avoid| avoid.policy() == policy && avoid.is_grave());
            let Some((is_winner, relative, metric)) = of_first(stage, policy) else { continue };
            let sign = relative.and_then(|relative| sign(&relative, metric));
            won += usize::from(is_winner);
            better += usize::from(is_winner || sign == Some(Sign::Better));
            is_out |= sign == Some(Sign::Worse);
        }
        let place = if is_out { &mut ruled_out } else { &mut best };
        let is_best = place.is_none_or(|(_, most_won, most)| (won, better) > (most_won, most));
        if better > 0 && is_best {
            *place = Some((policy, won, better));
        }
    }
    match (best, baseline) {
        (Some((policy, _, better_in)), _) => {
            let losses = losses(stages, first, policy);
            Some(Advice::Run { policy, better_in, stages: judged, losses })
        }
        (None, Some(baseline)) => {
            let ruled_out = ruled_out.map(|(policy, ..)| policy);
            Some(Advice::Keep { baseline, ruled_out })
        }
        (None, None) => None,
    }
}

/// Goals but the first in which a policy is worse than the baseline, in their order: of all stages
/// the greatest loss of each.
fn losses<'a>(stages: &[StageFindings<'a>], first: &Goal, policy: usize) -> Vec<Loss<'a>> {
    let mut found: Vec<Loss<'a>> = Vec::new();
    for answer in stages.iter().flat_map(|stage| &stage.answers) {
        let Some(loss) = Loss::of(answer, policy) else { continue };
        match found.iter_mut().find(|known| known.goal.name == loss.goal.name) {
            _ if loss.goal.name == first.name => {}
            Some(known) if size(&known.relative) < size(&loss.relative) => *known = loss,
            Some(_) => {}
            None => found.push(loss),
        }
    }
    found
}
