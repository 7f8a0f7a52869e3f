// SPDX-License-Identifier: MIT OR Apache-2.0
//! The properties, and that the policy scales [PBS §2, §3.2]: in the fluid model, of which they are,
//! over random tasks; and as far as slices allow of the policy that ships. A number is how often a
//! property did not hold.

mod fluid;
mod sliced;

use crate::error::Error;
use crate::figure::{plain, Found};
use crate::pool;
use crate::Job;
use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rota_fluid::{solve, Beta, Pbs, Script, Solution};

const ALPHAS: [f64; 5] = [0.2, 0.5, 1.0, 2.0, 5.0];
const SCENARIOS: u64 = 60;
/// Of these also under the policy that ships.
const SLICED: u64 = 10;
const TASKS: usize = 6;
const END: f64 = 40.0;
/// Scaled by so much, time is another one and decisions are the same.
const SCALE: f64 = 7.0;

/// Figure 3's.
const NEWCOMERS: [Task; 5] = [(0.0, 1e4), (2.5, 1e4), (2.5, 1e4), (2.5, 1e4), (2.5, 1e4)];

/// Arrival and demand.
type Task = (f64, f64);

/// By the number's key, how often it did not hold.
type Broken = Vec<(&'static str, f64)>;

pub(crate) fn run(job: &Job<'_>) -> Result<Vec<Found>, Error> {
    let seeds: Vec<u64> = (1..=SCENARIOS).collect();
    job.progress.announce(SCENARIOS);
    let all = pool::map(job.threads, &seeds, |seed| {
        let tasks = draw(*seed);
        let mut broken = Vec::new();
        for alpha in ALPHAS {
            broken.push(fluid::broken(&tasks, alpha)?);
            if *seed <= SLICED {
                broken.push(sliced::broken(&tasks, alpha)?);
            }
        }
        job.progress.advance(1);
        Ok(broken)
    })?;
    let mut numbers: Vec<(String, f64)> = Vec::new();
    for (key, count) in all.into_iter().flatten().flatten() {
        match numbers.iter_mut().find(|(known, _)| known == key) {
            Some((_, sum)) if key == "eq3" => *sum = sum.max(count),
            Some((_, sum)) => *sum += count,
            None => numbers.push((key.to_owned(), count)),
        }
    }
    let deprived = fluid::interruptions(&NEWCOMERS, &solved(&NEWCOMERS, 0.4, 1.0)?);
    numbers.push(("p11".to_owned(), deprived as f64));
    Ok(vec![Found {
        id: "properties",
        ran: format!(
            "{SCENARIOS} times {TASKS} tasks that arrive within 10 s (uniform) and need 0.5 to 4 s \
             each, in the fluid model with alpha 0.2, 0.5, 1, 2 and 5. Numbers are how often a \
             property does not hold: a microsecond after each arrival or end, or at a hundred times \
             of each run. Property 5 compares with a run without the newcomer; with alpha below 1 a \
             share that is not greater counts, as at first the newcomer's is too small to be seen. \
             Property 8 compares with a run in which the task that leaves stays. Property 11 is of Figure 3 with alpha 0.4. Scaled runs have all \
             times multiplied by {SCALE}. In slices: {SLICED} of these scenarios under the policy \
             that ships, in the ideal machine, all times a tenth, slices of 1 ms, at every \
             decision; scaled ones are eight times as long, slices too."
        ),
        numbers: plain(numbers),
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
