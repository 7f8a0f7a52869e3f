// SPDX-License-Identifier: MIT OR Apache-2.0
//! When two programs would be done with infinitely short slices on so many CPUs.

use super::Pair;

/// What is to be shared alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fair {
    /// Each thread has the same: with a thread for each CPU or more in both programs this is
    /// [PFS eq. 3 to 5].
    ToThreads,
    /// Each process has the same, or all that its threads can use.
    ToProcesses,
}

/// Ends of two programs that begin together, from the time that each takes alone with the same
/// CPUs.
pub(super) fn ends_ns(
    fair: Fair,
    threads: Pair<u32>,
    alone_ns: Pair<f64>,
    cpus: usize,
) -> Pair<f64> {
    let cpus = cpus as f64;
    let most = Pair { a: f64::from(threads.a).min(cpus), b: f64::from(threads.b).min(cpus) };
    let work = Pair { a: alone_ns.a * most.a, b: alone_ns.b * most.b };
    let speed = match fair {
        Fair::ToThreads => {
            let all = f64::from(threads.a) + f64::from(threads.b);
            let each = (cpus / all).min(1.0);
            Pair { a: f64::from(threads.a) * each, b: f64::from(threads.b) * each }
        }
        Fair::ToProcesses => {
            let part = |own: f64, other: f64| own.min((cpus / 2.0).max(cpus - other));
            Pair { a: part(most.a, most.b), b: part(most.b, most.a) }
        }
    };
    let first_ns = (work.a / speed.a).min(work.b / speed.b);
    // Whoever is left has all that it can use.
    let end =
        |work: f64, speed: f64, most: f64| first_ns + (work - speed * first_ns).max(0.0) / most;
    Pair { a: end(work.a, speed.a, most.a), b: end(work.b, speed.b, most.b) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ends(fair: Fair, a: u32, b: u32, cpus: usize) -> (f64, f64) {
        let ends = ends_ns(fair, Pair { a, b }, Pair { a: 1.0, b: 1.0 }, cpus);
        (ends.a, ends.b)
    }

    #[test]
    fn threads_of_equal_weight_are_equations_3_to_5() {
        // [PFS eq. 3]: B at T (1 + 4/n); eq. 5: A alone for T (1 - 4/n) from then on.
        for (n, b) in [(4, 2.0), (8, 1.5), (16, 1.25), (32, 1.125)] {
            assert_eq!(ends(Fair::ToThreads, 4, n, 4), (2.0, b), "{n}");
        }
        // The other way round it is B that is left.
        assert_eq!(ends(Fair::ToThreads, 32, 4, 4), (1.125, 2.0));
    }

    #[test]
    fn processes_have_half_of_the_cpus_or_what_they_can_use() {
        assert_eq!(ends(Fair::ToProcesses, 4, 32, 4), (2.0, 2.0));
        // One thread has a CPU, which is all it can use, and is done at T; the other, with three
        // of four, at 4/3 T less the last CPU's part: 3 of its 4 CPU·T are done, 1 left for four.
        assert_eq!(ends(Fair::ToProcesses, 1, 8, 4), (1.0, 1.25));
        // Where there are CPUs for all, nobody is in the way of anybody.
        assert_eq!(ends(Fair::ToThreads, 2, 2, 8), (1.0, 1.0));
    }

    proptest! {
        #[test]
        fn no_work_is_lost(
            a in 1u32..100, b in 1u32..100, cpus in 1usize..20, longer in 1.0..9.0f64,
        ) {
            for fair in [Fair::ToThreads, Fair::ToProcesses] {
                let found = ends_ns(fair, Pair { a, b }, Pair { a: 1.0, b: longer }, cpus);
                // Nobody is sooner than alone, and both are done when all work could be in turns.
                prop_assert!(found.a > 1.0 - 1e-9 && found.b > longer - 1e-9, "{:?}", found);
                prop_assert!(found.a.max(found.b) < 1.0 + longer + 1e-9, "{:?}", found);
            }
        }
    }
}
