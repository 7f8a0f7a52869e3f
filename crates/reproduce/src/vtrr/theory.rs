// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is known of the errors of schedulers, beside what the paper measures.

use super::vectors::{draw, Point};
use std::f64::consts::FRAC_PI_2;

/// Nobody is further behind under fair queueing than by one quantum [Parekh and Gallager].
pub(crate) const FAIR_BEHIND: f64 = -1.0;

/// How far anybody can be ahead under fair queueing, averaged over the combinations of a point, in
/// quanta: by N - 1 times its part of all shares. A client with the share s gets its k-th quantum,
/// which finishes at k/s, when each other one has had all that finish sooner: of a share x these
/// are k·x/s - 1 at least. So k·S/s - (N - 1) quanta at least have passed, and k - (N - 1)·s/S
/// were due to it.
pub(crate) fn fair_ahead(point: Point, combinations: usize) -> f64 {
    let largest = |shares: &Vec<u64>| shares.iter().copied().max().unwrap_or_default();
    let sum: u64 = draw(point, combinations).iter().map(largest).sum();
    let part = sum as f64 / combinations as f64 / f64::from(point.shares);
    f64::from(point.clients - 1) * part
}

/// Nobody's lag is more than its longest request, in either direction, where all are of one
/// quantum [Stoica, Abdel-Wahab: EEVDF, 1995, Theorem 1].
pub(crate) const EEVDF_AHEAD: f64 = 1.0;
pub(crate) const EEVDF_BEHIND: f64 = -1.0;

/// Of strides below which shares are rounded.
const STRIDE1: f64 = (1_u64 << 20) as f64;

/// Lottery scheduling of two clients: one that holds the part p of the tickets has won n·p of n
/// draws, with a variance of n·p·(1 - p), and the other is as far behind as it is ahead. So the
/// furthest that anybody is ahead in S draws is the greatest distance of a random walk from its
/// origin, which is sqrt(π/2) standard deviations of its end on average, in the limit of many
/// draws. Averaged over the combinations of a point, in quanta.
pub(crate) fn lottery_of_two(point: Point, combinations: usize) -> f64 {
    let total = f64::from(point.shares);
    let deviation = |shares: &Vec<u64>| {
        let parts = shares.iter().map(|share| *share as f64 / total);
        (total * parts.product::<f64>()).sqrt()
    };
    let sum: f64 = draw(point, combinations).iter().map(deviation).sum();
    FRAC_PI_2.sqrt() * sum / combinations as f64
}

/// Stride scheduling in a cycle of S quanta: fair queueing, of strides 2^20/s that are rounded
/// down, as if shares were up to x = (S - s)/2^20 of themselves greater. At worst all are but
/// one's, s, which gets s/S · x · (S - s) quanta less in a cycle; most for s = S/3.
pub(crate) fn stride_behind(shares: u32) -> f64 {
    let total = f64::from(shares);
    let rounded = total * total * 4.0 / 27.0 / STRIDE1;
    FAIR_BEHIND - rounded / (1.0 - total / STRIDE1)
}

#[cfg(test)]
mod tests {
    use super::super::errors::EEVDF;
    use super::*;
    use crate::rig::{hogs, linked, Length, Rig, QUANTUM_NS};
    use rota_measure::ServiceError;

    /// The furthest ahead and behind of a cycle, in quanta.
    fn errors(rig: &mut Rig, shares: &[u64]) -> (f64, f64) {
        let workload = hogs(shares, |at| format!("c{at}")).expect("a workload");
        let length = Length::of(shares.iter().sum::<u64>() * QUANTUM_NS);
        let mut error = ServiceError::default();
        rig.run(&workload, length, &mut error).expect("runs");
        let range = error.finish(length.duration_ns).expect("somebody ran");
        let quantum_ns = QUANTUM_NS as f64;
        (range.highest_ns() / quantum_ns, range.lowest_ns() / quantum_ns)
    }

    /// The furthest ahead and behind if whoever would finish its next quantum first gets it, the
    /// first in the list among equals [VTRR §2.4]; in quanta times S.
    fn fair_queueing(shares: &[u64]) -> (i128, i128) {
        let total: u64 = shares.iter().sum();
        let mut received = vec![0_u64; shares.len()];
        let (mut highest, mut lowest) = (i128::MIN, i128::MAX);
        for passed in 1..=total {
            let sooner =
                |a: usize, b: usize| (received[b] + 1) * shares[a] > (received[a] + 1) * shares[b];
            let next =
                (1..shares.len()).fold(0, |best, at| if sooner(at, best) { at } else { best });
            received[next] += 1;
            for (share, received) in shares.iter().zip(&received) {
                let error = i128::from(received * total) - i128::from(passed * share);
                (highest, lowest) = (highest.max(error), lowest.min(error));
            }
        }
        (highest, lowest)
    }

    #[test]
    fn wfq_is_as_far_off_as_its_definition_says_and_no_further_than_its_bounds() {
        // 3, 2, 1: the paper's range, -5/6 to +1 [VTRR §2.4].
        assert_eq!(fair_queueing(&[3, 2, 1]), (6, -5));
        let mut rig = Rig::new(&linked("wfq", &[]).expect("ships"));
        for (clients, shares) in [(2, 64), (4, 256), (16, 64), (16, 512)] {
            for vector in draw(Point { clients, shares }, 15) {
                let workload = hogs(&vector, |at| format!("c{at}")).expect("a workload");
                let length = Length::of(u64::from(shares) * QUANTUM_NS);
                let mut error = ServiceError::default();
                rig.run(&workload, length, &mut error).expect("runs");
                let range = error.finish(length.duration_ns).expect("somebody ran");
                let (highest, lowest) = fair_queueing(&vector);
                let quantum = i128::from(QUANTUM_NS);
                let theirs = (highest * quantum, lowest * quantum);
                assert_eq!((range.highest, range.lowest), theirs, "{vector:?}");
                let largest = vector.iter().max().copied().unwrap_or_default();
                assert!(highest <= i128::from(u64::from(clients - 1) * largest), "{vector:?}");
                assert!(lowest >= -i128::from(shares), "{vector:?}");
            }
        }
    }

    #[test]
    fn the_bound_of_fair_queueing_tends_to_two_quanta_with_more_clients() {
        // For uniform shares the largest is N/(N + 1) of the most there is, and the mean half of
        // it: (N - 1) · N/(N + 1) / (N/2) = 2 - 4/(N + 1), and a little more, as the sum varies;
        // by so much, of 400 draws, that the mean is off by some 0.01.
        for (clients, limit) in [(16, 1.765), (128, 1.969), (512, 1.992)] {
            let bound = fair_ahead(Point { clients, shares: 1 << 20 }, 400);
            assert!((-0.02..0.06).contains(&(bound - limit)), "{clients}: {bound}");
        }
    }

    #[test]
    fn under_eevdf_nobody_is_further_off_than_a_request() {
        let mut rig = Rig::new(&linked("eevdf", EEVDF.set).expect("ships"));
        for (clients, shares) in [(2, 64), (4, 256), (16, 64), (16, 512)] {
            for vector in draw(Point { clients, shares }, 15) {
                // Its virtual times are whole nanoseconds.
                let (highest, lowest) = errors(&mut rig, &vector);
                assert!(highest < EEVDF_AHEAD + 1e-4, "{vector:?}: {highest}");
                assert!(lowest > EEVDF_BEHIND - 1e-4, "{vector:?}: {lowest}");
            }
        }
    }

    #[test]
    fn a_lottery_of_two_is_as_far_off_as_a_random_walk() {
        let (point, count) = (Point { clients: 2, shares: 256 }, 200);
        let mut lottery = linked("lottery", &[]).expect("ships");
        let mut sum = 0.0;
        for (seed, shares) in (1..).zip(draw(point, count)) {
            lottery.set("seed", &format!("{seed}")).expect("has a seed");
            sum += errors(&mut Rig::new(&lottery), &shares).0;
        }
        // Of 200 walks the mean is off by 3 % of itself (the standard deviation of one is 0.41 of
        // its mean), and steps of half a quantum leave out some 4 % of the way.
        let ratio = sum / count as f64 / lottery_of_two(point, count);
        assert!((0.88..1.06).contains(&ratio), "{ratio}");
    }

    #[test]
    fn strides_that_are_whole_leave_nobody_further_behind_than_a_quantum() {
        let mut rig = Rig::new(&linked("stride", &[]).expect("ships"));
        for shares in [vec![512, 256, 256], vec![64, 32, 16, 8, 4, 2, 1, 1], vec![1; 16]] {
            let (_, lowest) = errors(&mut rig, &shares);
            assert!(lowest >= FAIR_BEHIND - 1e-9, "{shares:?}: {lowest}");
        }
    }

    #[test]
    fn strides_that_are_not_take_from_a_third() {
        // 2^20/683 = 1535.25 and 2^20/1365 = 768.19 are cut to 1535 and 768. So of 2048 quanta the
        // first gets 2048 · 768/(1535 + 768) = 682.96, and the second a little more than its due.
        let bound = stride_behind(2048);
        assert!((bound + 1.594).abs() < 0.001, "{bound}");
        let mut rig = Rig::new(&linked("stride", &[]).expect("ships"));
        for shares in [[1365, 683], [1366, 682], [1500, 548]] {
            let (_, lowest) = errors(&mut rig, &shares);
            assert!((bound..0.0).contains(&lowest), "{shares:?}: {lowest}");
        }
    }
}
