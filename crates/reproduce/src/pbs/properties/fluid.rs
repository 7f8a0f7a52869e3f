// SPDX-License-Identifier: MIT OR Apache-2.0
//! In the fluid model: at arrivals and ends, and at a hundred times.

use super::{solved, Broken, Task, END, SCALE};
use crate::error::Error;
use rota_fluid::{ChangeKind, Solution};

/// A moment after an arrival.
const MOMENT: f64 = 1e-6;
/// What rounding takes.
const ROUNDING: f64 = 1e-6;
/// For which priorities are watched.
const WHILE: f64 = 1e-3;

/// Of one scenario.
pub(super) fn broken(tasks: &[Task], alpha: f64) -> Result<Broken, Error> {
    let with = solved(tasks, alpha, 1.0)?;
    let mut at_arrivals = [0_u64; 4];
    for (at, (arrival, _)) in tasks.iter().enumerate().skip(1) {
        let (now, moment) = (*arrival, arrival + MOMENT);
        at_arrivals[0] += u64::from(!with.is_scheduled(at, moment));
        at_arrivals[1] += contributors(tasks, &with, at, alpha)?;
        // Nobody to take the processor from.
        if (0..at).all(|older| ended(&with, older, now)) {
            continue;
        }
        let share = with.share(at, moment);
        at_arrivals[2] += u64::from(alpha > 1.0 && share < 1.0 - ROUNDING);
        at_arrivals[3] += u64::from(alpha < 1.0 && share > 1.0 - ROUNDING);
    }
    let [p4, p5, p6, p7] = at_arrivals.map(|count| count as f64);
    let (waiting, served) = slopes(tasks, &with, alpha);
    let (eq3, eq4) = speeds(tasks, &with, alpha);
    let scaled = solved(tasks, alpha, SCALE)?;
    let ends = with.completions.iter().zip(&scaled.completions);
    let same = |(one, other): (&Option<f64>, &Option<f64>)| {
        one.zip(*other).is_some_and(|(one, other)| (other / one / SCALE - 1.0).abs() < 1e-6)
    };
    let unscaled = ends.filter(|ends| !same(*ends)).count();
    let alone = if alpha >= 1.0 { interruptions(tasks, &with) } else { 0 };
    Ok(vec![
        ("p2_waiting", waiting as f64),
        ("p2_served", served as f64),
        ("p3", seniors(tasks, &with) as f64),
        ("p4", p4),
        ("p5", p5),
        ("p6", p6),
        ("p7", p7),
        ("p8", beneficiaries(tasks, &with, alpha)? as f64),
        ("p9", newcomers(tasks, &with) as f64),
        ("p10", alone as f64),
        ("scale", unscaled as f64),
        ("eq3", 1e6 * eq3),
        ("eq4", eq4 as f64),
    ])
}

fn ended(solution: &Solution, task: usize, at: f64) -> bool {
    solution.completions[task].is_some_and(|end| end <= at + MOMENT)
}

fn times() -> impl Iterator<Item = f64> {
    (1..100).map(|part| END * f64::from(part) / 100.0)
}

/// Pairs of tasks, both there, at a hundred times: the older, then the younger.
fn pairs<'a>(
    tasks: &'a [Task],
    solution: &'a Solution,
) -> impl Iterator<Item = (usize, usize, f64)> + 'a {
    times().flat_map(move |at| {
        let there =
            (0..tasks.len()).filter(move |task| tasks[*task].0 < at && !ended(solution, *task, at));
        let there: Vec<usize> = there.collect();
        let pair = |old: usize, there: &[usize]| {
            let younger = there.iter().copied().filter(|young| *young > old);
            younger.map(|young| (old, young, at)).collect::<Vec<_>>()
        };
        there.iter().flat_map(|old| pair(*old, &there)).collect::<Vec<_>>()
    })
}

/// Property 3: an older task has received no less.
fn seniors(tasks: &[Task], solution: &Solution) -> u64 {
    let less = |(old, young, at): &(usize, usize, f64)| {
        solution.received(*old, *at) < solution.received(*young, *at) - ROUNDING
    };
    pairs(tasks, solution).filter(less).count() as u64
}

/// Property 9: who is younger than a scheduled task is scheduled.
fn newcomers(tasks: &[Task], solution: &Solution) -> u64 {
    let left_out = |(old, young, at): &(usize, usize, f64)| {
        solution.is_scheduled(*old, *at) && !solution.is_scheduled(*young, *at)
    };
    pairs(tasks, solution).filter(left_out).count() as u64
}

/// Property 5: who was scheduled has less than without the newcomer.
fn contributors(tasks: &[Task], with: &Solution, at: usize, alpha: f64) -> Result<u64, Error> {
    let moment = tasks[at].0 + MOMENT;
    let without = solved(&tasks[..at], alpha, 1.0)?;
    let more = (0..at).filter(|old| {
        let before = without.share(*old, moment);
        let after = with.share(*old, moment);
        // With alpha below 1 what the newcomer takes at first is less than rounding does.
        let less = if alpha < 1.0 { after <= before + ROUNDING } else { after < before };
        before > ROUNDING && !less
    });
    Ok(more.count() as u64)
}

/// Property 10, 11: interruptions at which nobody arrives.
pub(super) fn interruptions(tasks: &[Task], solution: &Solution) -> u64 {
    let alone = |at: f64| tasks.iter().all(|(arrival, _)| (arrival - at).abs() > MOMENT);
    let of = solution.changes.iter();
    of.filter(|change| change.kind == ChangeKind::Interrupted && alone(change.at)).count() as u64
}

/// Property 8: who was scheduled has more than if the task that leaves had stayed.
fn beneficiaries(tasks: &[Task], with: &Solution, alpha: f64) -> Result<u64, Error> {
    let mut no_more = 0;
    for (gone, end) in with.completions.iter().enumerate() {
        let Some(end) = end else { continue };
        let moment = end + MOMENT;
        let mut longer = tasks.to_vec();
        longer[gone].1 += END;
        let without = solved(&longer, alpha, 1.0)?;
        let others =
            (0..tasks.len()).filter(|other| *other != gone && !ended(with, *other, moment));
        let left_out = others.filter(|other| {
            let (before, after) = (without.share(*other, moment), with.share(*other, moment));
            before > ROUNDING && after <= before
        });
        no_more += left_out.count() as u64;
    }
    Ok(no_more)
}

/// Property 2: how often the priority of a task that is not scheduled did not rise by time over
/// S^alpha, and that of one that is rose as fast.
fn slopes(tasks: &[Task], solution: &Solution, alpha: f64) -> (u64, u64) {
    let (mut waiting, mut served) = (0, 0);
    for at in times() {
        let until = at + WHILE;
        if solution.changes.iter().any(|change| (at..=until).contains(&change.at)) {
            continue;
        }
        for (task, (arrival, _)) in tasks.iter().enumerate() {
            let [before, after] = [at, until].map(|at| solution.received(task, at));
            if *arrival >= at || ended(solution, task, until) || before <= 0.0 {
                continue;
            }
            let [old, new] =
                [(at, before), (until, after)].map(|(t, s)| (t - arrival) / s.powf(alpha));
            let straight = WHILE / before.powf(alpha);
            let off = (new - old - straight) / old;
            match solution.is_scheduled(task, at) {
                false => waiting += u64::from(off.abs() > 1e-9),
                // Less than that cannot be told from none.
                true => served += u64::from(solution.share(task, at) > ROUNDING && off >= 0.0),
            }
        }
    }
    (waiting, served)
}

/// Eq. 3, the largest difference of its sides as a part of the larger speed; and how often the
/// older of two tasks gains more, in terms of what it has [eq. 4].
fn speeds(tasks: &[Task], solution: &Solution, alpha: f64) -> (f64, u64) {
    let (mut furthest, mut faster) = (0.0f64, 0);
    for (old, young, at) in pairs(tasks, solution) {
        if !solution.is_scheduled(old, at) || !solution.is_scheduled(young, at) {
            continue;
        }
        let speed = |task| solution.share(task, at) / solution.received(task, at);
        let [one, other] = [old, young].map(|task| 1.0 / (at - tasks[task].0));
        let difference = speed(old) - speed(young);
        let off = (difference - (one - other) / alpha).abs();
        furthest = furthest.max(off / speed(old).max(speed(young)));
        faster += u64::from(difference >= 0.0);
    }
    (furthest, faster)
}

#[cfg(test)]
mod tests {
    use super::super::NEWCOMERS;
    use super::*;

    #[test]
    fn a_schedule_of_another_alpha_breaks_what_holds_for_its_own_only() {
        // Figure 3: with alpha 0.4 the oldest is interrupted although nobody arrives, with 2 not.
        let interrupted =
            |alpha| interruptions(&NEWCOMERS, &solved(&NEWCOMERS, alpha, 1.0).unwrap());
        assert_eq!((interrupted(0.4), interrupted(2.0)), (1, 0));
        // Who is first come is never behind, unless it is taken for the last.
        let two = [(0.0, 4.0), (1.0, 4.0)];
        let solution = solved(&two, 2.0, 1.0).unwrap();
        assert_eq!(seniors(&two, &solution), 0);
        let other = solved(&[(1.0, 4.0), (0.0, 4.0)], 2.0, 1.0).unwrap();
        assert!(seniors(&two, &other) > 0);
    }
}
