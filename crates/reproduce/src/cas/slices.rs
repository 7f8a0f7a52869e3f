// SPDX-License-Identifier: MIT OR Apache-2.0
//! Requests that need so many of CFS' slices q(N) = sch_lat / N [CAS §3.3], each under two
//! schedulers.

use super::scene::{Scene, Scheduler, Socket, Unhappiness};
use super::{formulas, told, Parts, NS};
use crate::error::Error;
use crate::pool;
use crate::Job;

/// The latency: divided by any of `NS` these are whole microseconds.
const LATENCY_US: u64 = 20_800;
pub(super) const LATENCY_MS: f64 = 20.8;

/// So many requests, at times that have nothing to do with slices.
pub(super) const REQUESTS: u64 = 16;

pub(super) fn arrivals_us() -> Vec<u64> {
    (1..=REQUESTS).map(|at| at * 1_000_000 + at * 1_237).collect()
}

/// CPU time in slices, and what its numbers are called.
pub(super) type Case = (Parts<u32>, &'static str);

/// Requests of a case beside N - 1 tasks that compute.
pub(super) struct Asked {
    pub(super) slices: Parts<u32>,
    pub(super) case: &'static str,
    pub(super) n: u32,
    pub(super) waits: [Unhappiness; 2],
}

/// Every case with each N.
pub(super) fn ask(
    job: &Job<'_>,
    cases: &[Case],
    under: [Scheduler<'_>; 2],
) -> Result<Vec<Asked>, Error> {
    let all: Vec<(Case, u32)> = cases.iter().flat_map(|case| NS.map(|n| (*case, n))).collect();
    job.progress.announce(all.len() as u64);
    let arrivals_us = arrivals_us();
    pool::map(job.threads, &all, |((slices, case), n)| {
        let parts = slices.map(|z| u64::from(z) * LATENCY_US / u64::from(*n));
        let scene = Scene { n: *n, parts, arrivals_us: &arrivals_us, socket: Socket::Unix };
        let waits = [scene.run(&under[0])?, scene.run(&under[1])?];
        job.progress.advance(1);
        Ok(Asked { slices: *slices, case, n: *n, waits })
    })
}

impl Asked {
    /// CPU time of each part, in milliseconds.
    pub(super) fn taus_ms(&self) -> Parts<f64> {
        self.slices.map(|z| f64::from(z) * LATENCY_MS / f64::from(self.n))
    }

    /// CPU time of all parts, in milliseconds.
    pub(super) fn tau_ms(&self) -> f64 {
        self.taus_ms().as_slice().iter().sum()
    }

    /// What is in its row of a table before the numbers: slices, N and tau.
    pub(super) fn first_cells(&self) -> Vec<String> {
        vec![told(&self.slices), self.n.to_string(), format!("{:.1}", self.tau_ms())]
    }

    /// Unhappiness under CFS by the definition, in milliseconds.
    pub(super) fn by_definition_ms(&self) -> f64 {
        formulas::cfs(f64::from(self.n), LATENCY_MS, self.taus_ms().as_slice())
    }
}
