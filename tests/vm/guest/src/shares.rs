// SPDX-License-Identifier: MIT OR Apache-2.0
//! The shares of CPU time that weights promise.

/// Who is always runnable.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Claim {
    /// What its CPU time is in proportion to.
    pub weight: f64,
    /// CPUs that it can use at once: as many as it has threads.
    pub most: u32,
}

/// The part of the machine that each is due: in proportion to the weights, but nobody gets more
/// CPUs than it can use. What one leaves goes to the others, again in proportion.
pub fn due(claims: &[Claim], cpus: usize) -> Vec<f64> {
    let mut due = vec![0.0; claims.len()];
    let mut order: Vec<usize> = (0..claims.len()).collect();
    let per_cpu = |i: usize| claims[i].weight / f64::from(claims[i].most);
    order.sort_by(|&a, &b| per_cpu(b).total_cmp(&per_cpu(a)).then(a.cmp(&b)));
    let mut left_weight: f64 = claims.iter().map(|claim| claim.weight).sum();
    let mut left_cpus = cpus as f64;
    for i in order {
        let Claim { weight, most } = claims[i];
        if weight <= 0.0 {
            break;
        }
        let cpus_of_it = (left_cpus * weight / left_weight).min(f64::from(most));
        due[i] = cpus_of_it / cpus as f64;
        left_weight -= weight;
        left_cpus -= cpus_of_it;
    }
    due
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Of one thread each.
    fn due(weights: &[f64], cpus: usize) -> Vec<f64> {
        let claims: Vec<Claim> =
            weights.iter().map(|weight| Claim { weight: *weight, most: 1 }).collect();
        super::due(&claims, cpus)
    }

    fn close(a: &[f64], b: &[f64]) -> bool {
        a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-9)
    }

    #[test]
    fn one_cpu_is_divided_in_proportion() {
        assert!(close(&due(&[3.0, 2.0, 1.0], 1), &[0.5, 2.0 / 6.0, 1.0 / 6.0]));
    }

    #[test]
    fn nobody_gets_more_than_one_cpu_and_the_rest_is_divided_again() {
        // 6/9 of two CPUs would be 4/3: it gets 1, the others 2:1 of the other CPU.
        assert!(close(&due(&[1.0, 6.0, 2.0], 2), &[1.0 / 6.0, 0.5, 1.0 / 3.0]));
    }

    #[test]
    fn without_weight_nothing_is_due() {
        assert!(close(&due(&[0.0, 2.0], 1), &[0.0, 1.0]));
    }

    #[test]
    fn a_process_can_use_as_many_cpus_as_it_has_threads() {
        // A third of four CPUs for each would be 4/3: one with two threads gets it, one with one
        // thread gets 1, and the others share the remaining 3.
        let claims = [(1.0, 2), (1.0, 1), (1.0, 9)].map(|(weight, most)| Claim { weight, most });
        assert!(close(&super::due(&claims, 4), &[1.5 / 4.0, 1.0 / 4.0, 1.5 / 4.0]));
    }

    #[test]
    fn fewer_tasks_than_cpus_get_one_each() {
        assert!(close(&due(&[5.0, 1.0], 4), &[0.25, 0.25]));
    }

    proptest! {
        #[test]
        fn all_that_can_be_used_is_given_and_order_follows_weight(
            weights in prop::collection::vec(1u32..10_000, 1..12), cpus in 1usize..9,
        ) {
            let weights: Vec<f64> = weights.into_iter().map(f64::from).collect();
            let due = due(&weights, cpus);
            let usable = (weights.len() as f64 / cpus as f64).min(1.0);
            prop_assert!((due.iter().sum::<f64>() - usable).abs() < 1e-9);
            for (i, a) in weights.iter().enumerate() {
                prop_assert!(due[i] <= 1.0 / cpus as f64 + 1e-9);
                for (j, b) in weights.iter().enumerate() {
                    prop_assert!(a < b || due[i] >= due[j] - 1e-9);
                }
            }
        }
    }
}
