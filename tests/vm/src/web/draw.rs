// SPDX-License-Identifier: MIT OR Apache-2.0
//! Times and sizes drawn by chance, the same for every scheduler.

use rand_chacha::rand_core::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rota_guest::visits::{Visit, Visits};

/// What one client draws: its numbers do not depend on what others draw.
pub(super) struct Draw(ChaCha8Rng);

impl Draw {
    pub(super) fn of_client(seed: u64, client: usize) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(client as u64);
        Self(rng)
    }

    /// In (0, 1].
    fn unit(&mut self) -> f64 {
        ((self.0.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    pub(super) fn exponential(&mut self, mean: f64) -> f64 {
        -mean * libm::log(self.unit())
    }

    /// Of Pareto's distribution with a shape above 1; what is more than `most` is that.
    pub(super) fn pareto(&mut self, shape: f64, mean: f64, most: f64) -> f64 {
        let least = mean * (shape - 1.0) / shape;
        (least * libm::exp(-libm::log(self.unit()) / shape)).min(most)
    }
}

/// Customers who think, ask for a page, and wait for it, again and again.
pub(super) struct Customers {
    pub(super) seed: u64,
    pub(super) count: usize,
    /// On average, exponentially distributed.
    pub(super) think_us: f64,
    pub(super) until_us: u64,
}

impl Customers {
    /// What they do if `page` draws what they ask for, and how that begins.
    pub(super) fn visits(&self, page: impl Fn(&mut Draw) -> (String, String)) -> Visits {
        let client = |number| {
            let mut draw = Draw::of_client(self.seed, number);
            let (mut visits, mut us) = (Vec::new(), 0);
            while us < self.until_us {
                let think_us = draw.exponential(self.think_us).round() as u64;
                let (path, begins) = page(&mut draw);
                us += think_us;
                visits.push(Visit { think_us, path, begins });
            }
            visits
        };
        Visits { until_us: self.until_us, clients: (0..self.count).map(client).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_and_medians_are_those_of_the_distributions() {
        let mut draw = Draw::of_client(1, 0);
        let mut all: Vec<f64> = (0..100_000).map(|_| draw.pareto(1.2, 6.0, 1e9)).collect();
        all.sort_by(f64::total_cmp);
        // The least value is 6 · 0.2 / 1.2 = 1, the median 2^(1/1.2).
        assert!((all[0] - 1.0).abs() < 1e-3 && (all[50_000] / 1.7818 - 1.0).abs() < 0.02);
        let mean = (0..100_000).map(|_| draw.exponential(3.0)).sum::<f64>() / 1e5;
        assert!((mean / 3.0 - 1.0).abs() < 0.02, "{mean}");
        assert!((0..1_000).all(|_| draw.pareto(1.2, 6.0, 7.0) <= 7.0));
    }

    #[test]
    fn clients_have_numbers_of_their_own() {
        let first = |client| Draw::of_client(1, client).exponential(1.0);
        assert_eq!(first(3), first(3));
        assert!(first(3) != first(4));
    }
}
