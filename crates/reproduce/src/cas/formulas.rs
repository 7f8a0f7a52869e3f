// SPDX-License-Identifier: MIT OR Apache-2.0
//! Unhappiness as the paper works it out, in the unit of the times that are given.
//!
//! "As printed" is that, misprints included. "By definition" is what the same scenario comes to if
//! unhappiness is elapsed time less CPU time [CAS §2.2]: time in the queue, from which the analyses
//! of §3 and §5.1 take the CPU time off once more.

/// Eq. 8 and 9: each part of a request is `z` quanta long.
pub(super) fn rr_printed(n: f64, quantum: f64, parts: &[u32]) -> f64 {
    parts.iter().map(|z| quantum * (f64::from(*z) * (n - 2.0) + 1.0)).sum()
}

/// Before each quantum N - 1 others have theirs.
pub(super) fn rr(n: f64, quantum: f64, parts: &[u32]) -> f64 {
    parts.iter().map(|z| quantum * f64::from(*z) * (n - 1.0)).sum()
}

/// The queue in which a task ends that needs so many quanta of Q_0 [CAS eq. 11].
fn last_queue(quanta: u32) -> u32 {
    (quanta + 1).ilog2() - 1
}

/// Eq. 12 and 13, with `a` tasks in each queue.
pub(super) fn mlfq_printed(a: f64, quantum: f64, parts: &[u32]) -> f64 {
    let of = |quanta: &u32| {
        let last = last_queue(*quanta);
        let waits: f64 = (0..=last).map(|i| power(i) * (a - 1.0)).sum();
        quantum * (waits - power(last))
    };
    parts.iter().map(of).sum()
}

/// The first sum of eq. 10 for each part, with the tasks of each queue as they are when the
/// request's comes there: `others` begin in Q_`from`, and whoever is waited for in a queue is in
/// the next one from then on; in the last of `queues` they stay.
pub(super) fn mlfq(others: f64, from: u32, queues: u32, quantum: f64, parts: &[u32]) -> f64 {
    let (mut at, mut waits) = (from, 0.0);
    for quanta in parts {
        for i in 0..=last_queue(*quanta) {
            if i == at {
                waits += power(i) * others;
                at = (at + 1).min(queues - 1);
            }
        }
    }
    quantum * waits
}

fn power(exponent: u32) -> f64 {
    f64::from(1u32 << exponent)
}

/// Eq. 18; the same with one part for a request without a service, of which the paper has only
/// that it may be 0 (eq. 17). Numbers of slices, less a time.
pub(super) fn cfs_printed(n: f64, latency: f64, parts: &[f64]) -> f64 {
    let slice = latency / n;
    parts.iter().map(|tau| (tau / slice - 1.0) * (n - 1.0) - tau).sum()
}

/// Eq. 18 with the factor q(N), and no CPU time taken off: (N - 1)(tau - parts · sch_lat / N).
pub(super) fn cfs(n: f64, latency: f64, parts: &[f64]) -> f64 {
    parts.iter().map(|tau| (n - 1.0) * (tau - latency / n).max(0.0)).sum()
}

/// Linux 2.6.24 in the fluid limit, which the paper does not count: who slept begins sch_lat
/// before the others in virtual time, and has so much before they go on. For a request alone.
pub(super) fn cfs_with_credit(n: f64, latency: f64, tau: f64) -> f64 {
    (n - 1.0) * (tau - latency).max(0.0)
}

/// A request under priority elevation: nice level `-nice` at first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Elevated {
    pub(super) n: f64,
    pub(super) latency: f64,
    pub(super) nice: u32,
    /// One level less after each slice, as the paper assumes (d <= q); else it stays.
    pub(super) decays: bool,
}

impl Elevated {
    fn weight(&self, slice: u32) -> f64 {
        let level = if self.decays { self.nice.saturating_sub(slice) } else { self.nice };
        libm::pow(1.25, f64::from(level))
    }

    /// Eq. 19: the slice of that number, and how long the others have the CPU after it.
    fn round(&self, slice: u32) -> (f64, f64) {
        let weight = self.weight(slice);
        let part = self.latency / (self.n - 1.0 + weight);
        (weight * part, (self.n - 1.0) * part)
    }

    /// Eq. 19: the first slice of P_j.
    pub(super) fn slice(&self) -> f64 {
        self.round(0).0
    }

    /// Slices that a part takes.
    fn slices(&self, tau: f64) -> u32 {
        let (mut left, mut slices) = (tau, 0);
        // What is left of rounding is no slice.
        while left > tau * 1e-9 {
            left -= self.round(slices).0;
            slices += 1;
        }
        slices
    }

    /// Eq. 23, with eq. 22 for tau: without sch_lat, and without the first slices.
    pub(super) fn printed(&self, parts: &[f64]) -> f64 {
        let of = |tau: &f64| {
            let slices = self.slices(*tau);
            let received: f64 =
                (1..slices).map(|i| self.weight(i) / (self.n - 1.0 + self.weight(i))).sum();
            self.waits(slices) - received
        };
        parts.iter().map(of).sum()
    }

    /// The sums of eq. 23 alone: what the others have between the slices.
    pub(super) fn by_definition(&self, parts: &[f64]) -> f64 {
        parts.iter().map(|tau| self.waits(self.slices(*tau))).sum()
    }

    fn waits(&self, slices: u32) -> f64 {
        (0..slices.saturating_sub(1)).map(|i| self.round(i).1).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
    }

    #[test]
    fn round_robin() {
        // N = 4, q = 4: three others. Five quanta: 5 · 3 · 4 = 60; printed 4 (5 · 2 + 1) = 44.
        is(rr(4.0, 4.0, &[5]), 60.0);
        is(rr_printed(4.0, 4.0, &[5]), 44.0);
        // 1 + 2 + 1 quanta: 4 · 3 · 4 = 48; printed 4 (4 · 2 + 3) = 44.
        is(rr(4.0, 4.0, &[1, 2, 1]), 48.0);
        is(rr_printed(4.0, 4.0, &[1, 2, 1]), 44.0);
    }

    #[test]
    fn multilevel_feedback_queue() {
        // Seven quanta end in Q_2. Three others in Q_0 are waited for in Q_0, Q_1 and Q_2:
        // 4 (1 + 2 + 4) 3 = 84. Printed, with a = 4: 84 - 4 · 4 = 68.
        is(mlfq(3.0, 0, 4, 4.0, &[7]), 84.0);
        is(mlfq_printed(4.0, 4.0, &[7]), 68.0);
        // Three parts of three quanta, in Q_0 and Q_1: all have sunk to Q_2 after the first.
        is(mlfq(3.0, 0, 4, 4.0, &[3, 3, 3]), 4.0 * 3.0 * 3.0);
        // Printed each is as the first: 3 · 4 (3 · 3 - 2) = 84.
        is(mlfq_printed(4.0, 4.0, &[3, 3, 3]), 84.0);
        // One quantum: Q_0. Then three: Q_1, where they are now. Then seven: Q_2.
        is(mlfq(3.0, 0, 4, 4.0, &[1, 3, 7]), 84.0);
        // Others in the last queue: only who gets there waits, 8 quanta for each, every time.
        is(mlfq(3.0, 3, 4, 4.0, &[7]), 0.0);
        is(mlfq(3.0, 3, 4, 4.0, &[15, 15, 1]), 2.0 * 96.0);
    }

    #[test]
    fn completely_fair_scheduler() {
        // sch_lat = 20.8, N = 4: slices of 5.2. Ten slices: nine rounds of three others.
        is(cfs(4.0, 20.8, &[52.0]), 9.0 * 3.0 * 5.2);
        is(cfs_printed(4.0, 20.8, &[52.0]), 9.0 * 3.0 - 52.0);
        // Three parts of four slices: 3 · 3 rounds.
        is(cfs(4.0, 20.8, &[20.8; 3]), 9.0 * 3.0 * 5.2);
        is(cfs_printed(4.0, 20.8, &[20.8; 3]), 9.0 * 3.0 - 62.4);
        // One slice: none [eq. 17].
        is(cfs(4.0, 20.8, &[5.2]), 0.0);
        // 20.8 of 52 before the others go on, the rest at a quarter of the CPU.
        is(cfs_with_credit(4.0, 20.8, 52.0), 3.0 * 31.2);
        is(cfs_with_credit(13.0, 20.8, 16.0), 0.0);
    }

    #[test]
    fn priority_elevation() {
        // N = 3, nice -1, sch_lat = 13: of 2 + 1.25 = 3.25 parts of 4 the slice is 5, others 8.
        let elevated = Elevated { n: 3.0, latency: 13.0, nice: 1, decays: false };
        is(elevated.slice(), 5.0);
        is(elevated.by_definition(&[15.0]), 16.0);
        is(elevated.by_definition(&[5.0]), 0.0);
        is(elevated.by_definition(&[10.0; 3]), 24.0);
        // Printed: less 1.25 / 3.25 for each slice but the first.
        is(elevated.printed(&[15.0]), 16.0 - 2.0 * 1.25 / 3.25);
        // At nice 0 from the second slice on: 13 / 3 each, others 26 / 3.
        let decays = Elevated { decays: true, ..elevated };
        is(decays.by_definition(&[5.0 + 26.0 / 3.0]), 8.0 + 26.0 / 3.0);
        is(decays.printed(&[5.0 + 26.0 / 3.0]), 8.0 + 26.0 / 3.0 - 2.0 / 3.0);
    }
}
