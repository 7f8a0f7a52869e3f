// SPDX-License-Identifier: MIT OR Apache-2.0
//! Properties 3 to 7 and 9 to 11, and that the policy scales [PBS §2, §3.2]: in the fluid model, of
//! which they are, over random tasks. A number is how often a property did not hold.

use crate::error::Error;
use crate::figure::{plain, Found};
use crate::Job;
use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rota_fluid::{solve, Beta, ChangeKind, Pbs, Script, Solution};

const ALPHAS: [f64; 5] = [0.2, 0.5, 1.0, 2.0, 5.0];
const SCENARIOS: u64 = 60;
const TASKS: usize = 6;
const END: f64 = 40.0;
/// A moment after an arrival.
const MOMENT: f64 = 1e-6;
/// What rounding takes.
const ROUNDING: f64 = 1e-6;
/// Scaled by so much, time is another one and decisions are the same.
const SCALE: f64 = 7.0;

/// Figure 3's.
const NEWCOMERS: [Task; 5] = [(0.0, 1e4), (2.5, 1e4), (2.5, 1e4), (2.5, 1e4), (2.5, 1e4)];

/// Arrival and demand.
type Task = (f64, f64);

pub(crate) fn run(job: &Job<'_>) -> Result<Vec<Found>, Error> {
    job.progress.announce(SCENARIOS);
    let mut broken = [0_u64; 8];
    for seed in 1..=SCENARIOS {
        let tasks = draw(seed);
        for alpha in ALPHAS {
            let with = solved(&tasks, alpha, 1.0)?;
            broken[0] += seniors(&tasks, &with);
            for (at, (arrival, _)) in tasks.iter().enumerate().skip(1) {
                let (now, moment) = (*arrival, arrival + MOMENT);
                broken[1] += u64::from(!with.is_scheduled(at, moment));
                broken[2] += contributors(&tasks, &with, at, alpha)?;
                // Nobody to take the processor from.
                if (0..at).all(|older| ended(&with, older, now)) {
                    continue;
                }
                let share = with.share(at, moment);
                broken[3] += u64::from(alpha > 1.0 && share < 1.0 - ROUNDING);
                broken[4] += u64::from(alpha < 1.0 && share > 1.0 - ROUNDING);
            }
            broken[5] += newcomers(&tasks, &with);
            if alpha >= 1.0 {
                broken[6] += interruptions(&tasks, &with);
            }
            let scaled = solved(&tasks, alpha, SCALE)?;
            let ends = with.completions.iter().zip(&scaled.completions);
            let same = |(one, other): (&Option<f64>, &Option<f64>)| {
                one.zip(*other).is_some_and(|(one, other)| (other / one / SCALE - 1.0).abs() < 1e-6)
            };
            broken[7] += ends.filter(|ends| !same(*ends)).count() as u64;
        }
        job.progress.advance(1);
    }
    let deprived = interruptions(&NEWCOMERS, &solved(&NEWCOMERS, 0.4, 1.0)?);
    let keys = ["p3", "p4", "p5", "p6", "p7", "p9", "p10", "scale"];
    let numbers = keys.into_iter().zip(broken.map(|count| count as f64));
    Ok(vec![Found {
        id: "properties",
        ran: format!(
            "{SCENARIOS} times {TASKS} tasks that arrive within 10 s (uniform) and need 0.5 to 4 s \
             each, in the fluid model with alpha 0.2, 0.5, 1, 2 and 5. Numbers are how often a \
             property does not hold: at each arrival a microsecond later, or at a hundred times of \
             each run. Property 5 compares with a run without the newcomer; with alpha below 1 a share \
             that is not greater counts, as at first the newcomer's is too small to be seen. Property \
             11 is of Figure 3 with alpha 0.4. Scaled runs have all \
             times multiplied by {SCALE}."
        ),
        numbers: plain(numbers.chain([("p11", deprived as f64)])),
        tables: Vec::new(),
        drawings: Vec::new(),
    }])
}

/// By arrival.
fn draw(seed: u64) -> Vec<Task> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut unit = || (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
    let mut tasks: Vec<Task> = (0..TASKS).map(|_| (10.0 * unit(), 0.5 + 3.5 * unit())).collect();
    tasks.sort_by(|a, b| a.0.total_cmp(&b.0));
    tasks
}

fn solved(tasks: &[Task], alpha: f64, scale: f64) -> Result<Solution, Error> {
    let task =
        |all: Script, (arrival, demand): &Task| all.once("task", arrival * scale, demand * scale);
    let mut script = tasks.iter().fold(Script::default(), task);
    Ok(solve(&mut script, &Pbs::new(alpha, Beta::INFINITE)?, END * scale)?)
}

fn ended(solution: &Solution, task: usize, at: f64) -> bool {
    solution.completions[task].is_some_and(|end| end <= at + MOMENT)
}

/// Pairs of tasks, both there, at a hundred times: the older, then the younger.
fn pairs<'a>(
    tasks: &'a [Task],
    solution: &'a Solution,
) -> impl Iterator<Item = (usize, usize, f64)> + 'a {
    let times = (1..100).map(|part| END * f64::from(part) / 100.0);
    times.flat_map(move |at| {
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
fn interruptions(tasks: &[Task], solution: &Solution) -> u64 {
    let alone = |at: f64| tasks.iter().all(|(arrival, _)| (arrival - at).abs() > MOMENT);
    let of = solution.changes.iter();
    of.filter(|change| change.kind == ChangeKind::Interrupted && alone(change.at)).count() as u64
}

#[cfg(test)]
mod tests {
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
