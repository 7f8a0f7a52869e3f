// SPDX-License-Identifier: MIT OR Apache-2.0
//! The search: a coarse grid of which the worse part is left out again and again, as more seeds are
//! run (successive halving: K. Jamieson, A. Talwalkar, *Non-stochastic Best Arm Identification*,
//! AISTATS 2016), then a golden section of alpha between the neighbours of the best.

use crate::error::Error;
use crate::tuned::Point;

/// What is left of the grid each time: one in so many.
const KEPT: usize = 3;
/// Alphas that the golden section tries.
const STEPS: usize = 6;

/// Runs settings with seeds `from..to`, by their places: a value for each seed.
pub(crate) type Evaluate<'a> =
    &'a dyn Fn(&[(f64, usize)], std::ops::Range<usize>) -> Result<Vec<Vec<Option<f64>>>, Error>;

/// Minimises over alpha and beta with so many seeds. The best is the first, `None` if values were
/// missing, as the search was stopped; the others follow with all that is known of them, by beta
/// and alpha.
pub(crate) fn minimise(
    alphas: &[f64],
    betas: usize,
    seeds: usize,
    evaluate: Evaluate<'_>,
) -> Result<(Option<Point>, Vec<Point>), Error> {
    let mut points: Vec<Point> = (0..betas)
        .flat_map(|beta| alphas.iter().map(move |alpha| (*alpha, beta)))
        .map(|(alpha, beta)| Point { alpha, beta, values: Vec::new() })
        .collect();
    let mut left: Vec<usize> = (0..points.len()).collect();
    let mut rung = seeds.min(2);
    let is_whole = loop {
        if !run(&mut points, &left, rung, evaluate)? {
            break false;
        }
        left.sort_by(|a, b| points[*a].mean().total_cmp(&points[*b].mean()));
        if rung == seeds {
            break true;
        }
        left.truncate(left.len().div_ceil(KEPT));
        rung = (rung * 2).min(seeds);
    };
    let first = left[0];
    let is_whole = is_whole && golden_section(&mut points, first, alphas, seeds, evaluate)?;
    let whole = points.iter().filter(|point| is_whole && point.values.len() == seeds);
    let best = whole.min_by(|a, b| a.mean().total_cmp(&b.mean())).cloned();
    points.retain(|point| !point.values.is_empty());
    points.sort_by(|a, b| a.beta.cmp(&b.beta).then(a.alpha.total_cmp(&b.alpha)));
    Ok((best, points))
}

/// Runs what is missing of these points up to so many seeds; whether all of it was run.
fn run(
    points: &mut [Point],
    which: &[usize],
    seeds: usize,
    evaluate: Evaluate<'_>,
) -> Result<bool, Error> {
    // All of a rung have had the same seeds.
    let had = which.first().map_or(0, |at| points[*at].values.len());
    let settings: Vec<_> = which.iter().map(|at| (points[*at].alpha, points[*at].beta)).collect();
    for (at, values) in which.iter().zip(evaluate(&settings, had..seeds)?) {
        points[*at].values.extend(values);
    }
    Ok(which.iter().all(|at| points[*at].values.len() == seeds))
}

/// Looks between the neighbours of the best, in equal factors. J. Kiefer, *Sequential Minimax
/// Search for a Maximum*, Proceedings of the AMS 4, 1953.
fn golden_section(
    points: &mut Vec<Point>,
    best: usize,
    alphas: &[f64],
    seeds: usize,
    evaluate: Evaluate<'_>,
) -> Result<bool, Error> {
    let (alpha, beta) = (points[best].alpha, points[best].beta);
    let at = alphas.iter().position(|of| *of == alpha).unwrap_or(0);
    let ends = [at.saturating_sub(1), (at + 1).min(alphas.len() - 1)];
    let [mut low, mut high] = ends.map(|end| alphas[end].ln());
    if low == high {
        return Ok(true);
    }
    let ratio = (5f64.sqrt() - 1.0) / 2.0;
    let mut tried: Vec<(f64, f64)> = Vec::new();
    for _ in 0..STEPS {
        let pair = [high - ratio * (high - low), low + ratio * (high - low)];
        // One of the two was tried the step before.
        let mut means = [0.0; 2];
        for (mean, place) in means.iter_mut().zip(pair) {
            let known = tried.iter().find(|(at, _)| (at - place).abs() < 1e-9);
            *mean = match known {
                Some((_, mean)) => *mean,
                None => {
                    // Four digits are what an alpha is typed with.
                    let alpha = (place.exp() * 1e4).round() / 1e4;
                    points.push(Point { alpha, beta, values: Vec::new() });
                    let last = points.len() - 1;
                    if !run(points, &[last], seeds, evaluate)? {
                        return Ok(false);
                    }
                    let mean = points[last].mean();
                    tried.push((place, mean));
                    mean
                }
            };
        }
        if means[0] <= means[1] {
            high = pair[1];
        } else {
            low = pair[0];
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    const ALPHAS: [f64; 9] = [0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0];

    /// The least at alpha 3 and beta 1, with noise that is the same for all settings.
    fn bowl(alpha: f64, beta: usize, seed: usize) -> f64 {
        let noise = [0.3, -0.2, 0.5, 0.0][seed % 4];
        (alpha / 3.0).ln().powi(2) + (beta as f64 - 1.0).abs() + noise
    }

    #[test]
    fn the_least_is_found_with_fewer_runs_than_a_grid_has() {
        let runs = Cell::new(0);
        let evaluate = |settings: &[(f64, usize)], seeds: std::ops::Range<usize>| {
            runs.set(runs.get() + settings.len() * seeds.len());
            let of = |(alpha, beta): &(f64, usize)| {
                seeds.clone().map(|seed| Some(bowl(*alpha, *beta, seed))).collect()
            };
            Ok(settings.iter().map(of).collect())
        };
        let (best, points) = minimise(&ALPHAS, 3, 8, &evaluate).expect("nothing fails");
        let best = best.expect("all was run");
        assert!((best.alpha / 3.0).ln().abs() < 0.1 && best.beta == 1, "{best:?}");
        assert_eq!(best.values.len(), 8);
        assert!(runs.get() < 27 * 8, "{}", runs.get());
        // The whole grid is in the curve.
        assert!(points.len() >= 27 && points.iter().all(|point| point.values.len() >= 2));
    }

    #[test]
    fn an_ejected_setting_is_never_the_best() {
        let evaluate = |settings: &[(f64, usize)], seeds: std::ops::Range<usize>| {
            let of = |(alpha, _): &(f64, usize)| {
                seeds.clone().map(|_| (*alpha < 5.0).then_some(-*alpha)).collect()
            };
            Ok(settings.iter().map(of).collect())
        };
        let (best, _) = minimise(&ALPHAS, 1, 4, &evaluate).expect("nothing fails");
        let best = best.expect("all was run");
        assert!(best.alpha < 5.0 && best.alpha > 2.0, "{best:?}");
    }

    #[test]
    fn one_alpha_is_no_search() {
        let evaluate = |settings: &[(f64, usize)], seeds: std::ops::Range<usize>| {
            Ok(settings.iter().map(|_| seeds.clone().map(|_| Some(1.0)).collect()).collect())
        };
        let (best, points) = minimise(&[2.0], 1, 2, &evaluate).expect("nothing fails");
        assert_eq!((best.expect("all was run").alpha, points.len()), (2.0, 1));
    }

    #[test]
    fn a_search_that_is_stopped_has_no_best_and_keeps_what_it_has() {
        let left = Cell::new(10);
        let evaluate = |settings: &[(f64, usize)], seeds: std::ops::Range<usize>| {
            let one = |_| (left.replace(left.get() - 1) > 0).then_some(Some(1.0));
            let of = |_: &(f64, usize)| seeds.clone().map_while(one).collect();
            Ok(settings.iter().map(of).collect())
        };
        let (best, points) = minimise(&ALPHAS, 1, 4, &evaluate).expect("nothing fails");
        assert_eq!(best, None);
        // Two seeds of five settings each.
        assert_eq!(points.iter().map(|point| point.values.len()).collect::<Vec<_>>(), [2; 5]);
    }
}
