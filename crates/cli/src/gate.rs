// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether a condition holds for a policy, by which a run of continuous integration passes or fails.

use crate::comparison::{Column, Stage};
use crate::metric::{self, Metric};
use rota_gate::{Condition, Ending, Sign, Way, What};
use rota_measure::baseline::{self, Relative};
use rota_measure::statistics::{self, Better, Estimate};

/// A condition, judged for a policy of a stage, which are places in the comparison.
#[derive(Clone, Debug)]
pub(crate) struct Judged {
    pub(crate) stage: usize,
    pub(crate) policy: usize,
    pub(crate) condition: String,
    /// It was to hold and does not, or the other way round; or nothing tells.
    pub(crate) failed: bool,
    pub(crate) found: Judgement,
}

/// What was found of a condition.
#[derive(Clone, Debug)]
pub(crate) struct Judgement {
    pub(crate) verdict: Verdict,
    pub(crate) seen: Seen,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Holds,
    DoesNot,
    /// There is no number that would tell.
    Unknown,
}

/// What it was judged by.
#[derive(Clone, Debug)]
pub(crate) enum Seen {
    /// So many of the runs ended early, and why the first of them did.
    Exits {
        early: usize,
        of: usize,
        reason: Option<String>,
    },
    Mean {
        metric: Metric,
        mean: Estimate,
    },
    Pair {
        metric: Metric,
        own: f64,
        other: f64,
        relative: Relative,
        policy: usize,
    },
    /// No number, and why.
    Nothing(String),
}

/// Judges the policy at a place of a stage, compared with the one at another place.
pub(crate) fn judge(
    condition: &Condition,
    stage: &Stage<'_>,
    at: usize,
    other: Option<usize>,
) -> Judgement {
    let column = &stage.columns[at];
    match &condition.what {
        What::Exit { is, ending } => exit(column, *is, *ending),
        What::Limit { metric, sign, limit } => of_mean(stage, at, metric, |mean| match sign {
            Sign::Above => mean > *limit,
            Sign::AtLeast => mean >= *limit,
            Sign::Below => mean < *limit,
            Sign::AtMost => mean <= *limit,
            Sign::Is => mean == *limit,
            Sign::IsNot => mean != *limit,
        }),
        What::Within { metric, low, high } => {
            of_mean(stage, at, metric, |mean| (*low..=*high).contains(&mean))
        }
        What::Against { metric, is, way, by, .. } => match other {
            Some(other) => against(stage, metric, (at, other), (*is, *way, *by)),
            None => nothing("there is no policy to compare with".into()),
        },
    }
}

fn nothing(why: String) -> Judgement {
    Judgement { verdict: Verdict::Unknown, seen: Seen::Nothing(why) }
}

fn verdict(holds: bool) -> Verdict {
    if holds {
        Verdict::Holds
    } else {
        Verdict::DoesNot
    }
}

fn exit(column: &Column<'_>, is: bool, ending: Ending) -> Judgement {
    let early = column.runs.iter().filter(|run| match ending {
        Ending::Ok => !run.exit.is_whole(),
        Ending::Ejected => run.exit.ejected,
    });
    let reason = early.clone().next().map(|run| run.exit.reason.clone());
    let (early, of) = (early.count(), column.runs.len());
    let is_so = match ending {
        Ending::Ok => early == 0,
        Ending::Ejected => early > 0,
    };
    Judgement { verdict: verdict(is_so == is), seen: Seen::Exits { early, of, reason } }
}

fn of_mean(
    stage: &Stage<'_>,
    at: usize,
    metric: &Metric,
    holds: impl Fn(f64) -> bool,
) -> Judgement {
    match mean(stage, at, metric) {
        Ok(mean) => Judgement {
            verdict: verdict(holds(mean.mean)),
            seen: Seen::Mean { metric: metric.clone(), mean },
        },
        Err(why) => nothing(why),
    }
}

/// Over the seeds.
fn mean(stage: &Stage<'_>, at: usize, metric: &Metric) -> Result<Estimate, String> {
    let column = &stage.columns[at];
    let label = &column.policy.label;
    if column.ejected().next().is_some() {
        return Err(format!("{label} was ejected, so there is no {}", metric.label()));
    }
    let values: Vec<f64> = metric::values(metric, stage)[at].iter().copied().flatten().collect();
    statistics::estimate(&values).ok_or_else(|| format!("{label} has no {}", metric.label()))
}

fn against(
    stage: &Stage<'_>,
    metric: &Metric,
    (at, other): (usize, usize),
    (is, way, by): (bool, Way, f64),
) -> Judgement {
    let means = mean(stage, at, metric).and_then(|own| Ok((own, mean(stage, other, metric)?)));
    let (own, base) = match means {
        Ok(means) => means,
        Err(why) => return nothing(why),
    };
    let Some(relative) = baseline::against(&metric::values(metric, stage), other)[at] else {
        return nothing(format!("no seed has {} of both policies", metric.label()));
    };
    let is_passed = passes(&relative, base.mean, metric.better(), way, by);
    Judgement {
        verdict: verdict(is_passed == is),
        seen: Seen::Pair {
            metric: metric.clone(),
            own: own.mean,
            other: base.mean,
            relative,
            policy: other,
        },
    }
}

/// Whether a difference is no chance, goes this way, and is at least this part of the other's mean.
fn passes(relative: &Relative, base: f64, better: Better, way: Way, by: f64) -> bool {
    let difference = relative.difference.mean;
    let worse = match better {
        Better::Lower => difference,
        Better::Higher => -difference,
        Better::Neither => return false,
    };
    let so_much = match way {
        Way::Worse => worse,
        Way::Better => -worse,
    };
    relative.is_significant() == Some(true) && so_much > 0.0 && so_much >= by * base.abs()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of one candidate against a baseline.
    fn relative(own: &[f64], base: &[f64]) -> (Relative, f64) {
        let all = |of: &[f64]| of.iter().copied().map(Some).collect::<Vec<_>>();
        let relative = baseline::against(&[all(own), all(base)], 1)[0].expect("pairs");
        (relative, statistics::estimate(base).expect("values").mean)
    }

    fn is_worse(own: &[f64], base: &[f64], better: Better, by: f64) -> bool {
        let (relative, base) = relative(own, base);
        passes(&relative, base, better, Way::Worse, by)
    }

    #[test]
    fn worse_by_a_part_is_that_part_of_the_other_mean_at_least() {
        // The mean of 100 and 200 is 150, and 10 more is 6.67 % of that, the same for each seed.
        let (own, base) = ([110.0, 210.0], [100.0, 200.0]);
        assert!(is_worse(&own, &base, Better::Lower, 0.06));
        assert!(!is_worse(&own, &base, Better::Lower, 0.07));
        assert!(!is_worse(&own, &base, Better::Higher, 0.0));
        assert!(is_worse(&base, &own, Better::Higher, 0.06));
        // 10 of a mean of -150.
        assert!(is_worse(&[-110.0, -210.0], &[-100.0, -200.0], Better::Higher, 0.06));
    }

    #[test]
    fn a_difference_that_chance_can_make_is_none() {
        // Mean difference 5, standard deviation 12.9, so t = 5 / (12.9 / 2) = 0.77, far from the
        // 3.18 that 3 degrees of freedom ask for.
        let base = [100.0; 4];
        assert!(!is_worse(&[120.0, 95.0, 110.0, 95.0], &base, Better::Lower, 0.0));
        // Mean difference 5, standard deviation 1.15: t = 8.7.
        assert!(is_worse(&[106.0, 104.0, 106.0, 104.0], &base, Better::Lower, 0.05));
    }

    #[test]
    fn of_nothing_anything_more_is_worse() {
        assert!(is_worse(&[1.0, 1.0], &[0.0, 0.0], Better::Lower, 0.5));
        assert!(!is_worse(&[0.0, 0.0], &[0.0, 0.0], Better::Lower, 0.0));
    }
}
