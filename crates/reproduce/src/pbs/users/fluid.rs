// SPDX-License-Identifier: MIT OR Apache-2.0
//! The users of group A in the fluid model.

use super::responses::Responses;
use super::{Amount, Seeds, Spread, BETAS, PAUSE_US, PIECES, PIECE_US, THINK_US, USERS};
use crate::error::Error;
use crate::pool;
use crate::Job;
use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rota_fluid::{solve, Next, Pbs, Tasks};

/// Of the curves.
pub(super) const ALPHAS: [f64; 9] = [0.1, 0.2, 0.3, 0.5, 0.8, 1.0, 2.0, 4.0, 10.0];

/// By beta, then by alpha.
pub(super) fn spreads(job: &Job<'_>, amount: &Amount) -> Result<Vec<Vec<Spread>>, Error> {
    let of = |beta: &'static str| ALPHAS.map(|alpha| (alpha, beta));
    let cases: Vec<(f64, &str)> = BETAS.into_iter().flat_map(of).collect();
    let all = pool::map(job.threads, &cases, |(alpha, beta)| one(amount, *alpha, beta))?;
    Ok(all.chunks(ALPHAS.len()).map(<[_]>::to_vec).collect())
}

fn one(amount: &Amount, alpha: f64, beta: &str) -> Result<Spread, Error> {
    let policy = Pbs::new(alpha, beta.parse()?)?;
    let window = amount.window;
    let run = |seed| -> Result<Vec<f64>, Error> {
        let mut users = Users::new(seed);
        let solution = solve(&mut users, &policy, window.end)?;
        let (mut responses, mut done) = (Responses::new(PIECES), [(0, 0.0); USERS]);
        for activation in &solution.activations {
            let Some(to) = activation.to else { continue };
            let (pieces, began) = &mut done[activation.task];
            if *pieces % PIECES == 0 {
                *began = activation.from;
            }
            *pieces += 1;
            if *pieces % PIECES == 0 {
                responses.add(*began, to);
            }
        }
        Ok(responses.within(window.from, window.to))
    };
    let runs = (1..=amount.fluid_seeds).map(run).collect::<Result<Vec<_>, _>>()?;
    Ok(Seeds::of(runs.iter().map(Vec::as_slice)).spread())
}

/// Users with a random stream of their own each.
struct Users {
    names: Vec<String>,
    arrivals: Vec<f64>,
    random: Vec<ChaCha8Rng>,
    steps: Vec<u64>,
}

impl Users {
    fn new(seed: u64) -> Self {
        let stream = |user: usize| {
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            random.set_stream(user as u64);
            random
        };
        let mut random: Vec<ChaCha8Rng> = (0..USERS).map(stream).collect();
        Self {
            names: (0..USERS).map(|user| format!("user-{user}")).collect(),
            arrivals: random.iter_mut().map(think).collect(),
            random,
            steps: vec![0; USERS],
        }
    }
}

/// Exponential.
fn think(random: &mut ChaCha8Rng) -> f64 {
    let unit = ((random.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64;
    -libm::log(unit) * THINK_US as f64 / 1e6
}

impl Tasks for Users {
    fn count(&self) -> usize {
        USERS
    }

    fn name(&self, task: usize) -> &str {
        &self.names[task]
    }

    fn arrival(&self, task: usize) -> f64 {
        self.arrivals[task]
    }

    fn weight(&self, _task: usize) -> f64 {
        1.0
    }

    fn next(&mut self, task: usize, now: f64) -> Next {
        let step = self.steps[task];
        self.steps[task] += 1;
        match step % (2 * PIECES) {
            even if even % 2 == 0 => Next::Run(PIECE_US as f64 / 1e6),
            last if last == 2 * PIECES - 1 => Next::SleepUntil(now + think(&mut self.random[task])),
            _ => Next::SleepUntil(now + PAUSE_US as f64 / 1e6),
        }
    }
}
