// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random shares of N clients that add up to S [VTRR §5.1]. Our reading: drawn uniformly, scaled
//! to S by largest remainders, at least 1 each, largest first.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Of the drawn numbers, so that their ratios are fine enough for any S.
const MOST: u64 = 1 << 32;

/// A pair (N, S).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Point {
    pub(crate) clients: u32,
    pub(crate) shares: u32,
}

/// `count` draws, the same for every scheduler.
pub(crate) fn draw(point: Point, count: usize) -> Vec<Vec<u64>> {
    let seed = u64::from(point.clients) << 32 | u64::from(point.shares);
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut vectors = Vec::with_capacity(count);
    for _ in 0..count {
        let drawn: Vec<u64> = (0..point.clients).map(|_| rng.gen_range(1..=MOST)).collect();
        vectors.push(scaled(&drawn, point.shares.into()));
    }
    vectors
}

/// Numbers in about the proportions of the drawn ones, which add up to `sum`.
fn scaled(drawn: &[u64], sum: u64) -> Vec<u64> {
    let all: u128 = drawn.iter().map(|x| u128::from(*x)).sum();
    let exact = |x: u64| u128::from(x) * u128::from(sum);
    let mut shares: Vec<u64> =
        drawn.iter().map(|x| u64::try_from(exact(*x) / all).unwrap_or(sum)).collect();
    let mut by_remainder: Vec<usize> = (0..drawn.len()).collect();
    by_remainder.sort_by_key(|at| std::cmp::Reverse(exact(drawn[*at]) % all));
    let missing = sum - shares.iter().sum::<u64>();
    by_remainder.iter().take(missing as usize).for_each(|at| shares[*at] += 1);
    // Those below 1 take from the largest.
    while let Some(none) = shares.iter().position(|share| *share == 0) {
        let Some(largest) = (0..shares.len()).max_by_key(|at| shares[*at]) else { break };
        if shares[largest] <= 1 {
            break;
        }
        shares[largest] -= 1;
        shares[none] = 1;
    }
    shares.sort_unstable_by(|a, b| b.cmp(a));
    shares
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn remainders_decide_who_is_rounded_up() {
        // 10 shares for 5 : 3 : 1 are 5.55, 3.33, 1.11.
        assert_eq!(scaled(&[5, 3, 1], 10), [6, 3, 1]);
        // For 100 : 1 : 1 they are 9.80, 0.098, 0.098: 10, 0, 0.
        assert_eq!(scaled(&[1, 100, 1], 10), [8, 1, 1]);
    }

    proptest! {
        #[test]
        fn shares_add_up_and_nobody_is_left_out(
            drawn in proptest::collection::vec(1..=MOST, 1..40), more in 0..3000u64,
        ) {
            let sum = drawn.len() as u64 + more;
            let shares = scaled(&drawn, sum);
            prop_assert_eq!(shares.iter().sum::<u64>(), sum);
            prop_assert!(shares.iter().all(|share| *share >= 1));
            prop_assert!(shares.windows(2).all(|two| two[0] >= two[1]));
        }
    }
}
