// SPDX-License-Identifier: MIT OR Apache-2.0
//! Over a cycle of as many quanta as there are shares, every client gets exactly its share
//! [VTRR §3.1]; and WRR's errors are those that its definition gives.

use super::vectors::{draw, Point};
use crate::bench::{hogs, image, Bench, Length, QUANTUM_NS};
use crate::runs::{received_ns, Runs};
use proptest::prelude::*;
use rota_measure::ServiceError;

/// The shortest there is: in a long cycle somebody waits for nearly all of it, and the watchdog
/// gives nobody more than 30 seconds.
const SHORT_NS: u64 = 100_000;
const SHORT: (&str, &str) = ("quantum_ns", "100000");
const PLAIN: &[(&str, &str)] = &[SHORT];
/// Clients that come need no walk of the queue.
const ARRAY: &[(&str, &str)] = &[SHORT, ("insert", "array")];

/// Quanta that each client gets in one cycle.
fn quanta(policy: &str, set: &[(&str, &str)], shares: &[u64]) -> Vec<u64> {
    let workload = hogs(shares, |at| format!("c{at}")).expect("a workload");
    let cycle_ns = shares.iter().sum::<u64>() * SHORT_NS;
    let mut bench = Bench::new(&image(policy, set).expect("ships"));
    let mut runs = Runs::default();
    bench.run(&workload, Length::of(cycle_ns), &mut runs).expect("runs");
    let received_ns = received_ns(&runs.finish(cycle_ns), shares.len());
    received_ns.iter().map(|ns| ns / SHORT_NS).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn a_cycle_gives_everybody_its_share(
        shares in proptest::collection::vec(1..60u64, 1..60),
    ) {
        prop_assert_eq!(&quanta("vtrr", PLAIN, &shares), &shares);
        prop_assert_eq!(&quanta("vtrr", ARRAY, &shares), &shares);
        prop_assert_eq!(&quanta("wrr", PLAIN, &shares), &shares);
    }
}

#[test]
fn a_cycle_of_ten_thousand_clients_gives_everybody_its_share() {
    let shares: Vec<u64> = (0..10_000).map(|client| client % 3 + 1).collect();
    assert_eq!(quanta("vtrr", ARRAY, &shares), shares);
    assert_eq!(quanta("wrr", PLAIN, &shares), shares);
}

#[test]
fn a_cycle_with_the_largest_share_gives_everybody_its_share() {
    let shares = [65_535, 9_999, 3, 1];
    assert_eq!(quanta("vtrr", PLAIN, &shares), shares);
    assert_eq!(quanta("wrr", PLAIN, &shares), shares);
}

#[test]
fn wrr_is_as_far_off_as_its_definition_says() {
    // A client's turn begins after P quanta of those before it, all of which it has waited, so
    // that its error is -P·s/S. It ends s quanta later with s - (P + s)·s/S.
    for (clients, shares) in [(2, 64), (4, 256), (16, 128)] {
        let mut bench = Bench::new(&image("wrr", &[]).expect("ships"));
        for vector in draw(Point { clients, shares }, 20) {
            let total = i128::from(shares);
            let mut before = 0;
            let (mut lowest, mut highest) = (0, 0);
            for share in vector.iter().map(|share| i128::from(*share)) {
                lowest = lowest.min(-before * share);
                highest = highest.max(share * total - (before + share) * share);
                before += share;
            }
            let workload = hogs(&vector, |at| format!("c{at}")).expect("a workload");
            let length = Length::of(u64::from(shares) * QUANTUM_NS);
            let mut error = ServiceError::default();
            bench.run(&workload, length, &mut error).expect("runs");
            let range = error.finish(length.duration_ns).expect("somebody ran");
            let quantum = i128::from(QUANTUM_NS);
            assert_eq!(
                (range.lowest, range.highest),
                (lowest * quantum, highest * quantum),
                "{vector:?}"
            );
        }
    }
}

#[test]
fn a_second_run_on_a_bench_is_like_the_first() {
    let mut bench = Bench::new(&image("vtrr", &[]).expect("ships"));
    let workload = hogs(&[5, 3, 1], |at| format!("c{at}")).expect("a workload");
    let mut run = || {
        let mut runs = Runs::default();
        bench.run(&workload, Length::of(90 * QUANTUM_NS), &mut runs).expect("runs");
        runs.finish(90 * QUANTUM_NS)
    };
    let first = run();
    assert!(first.len() > 9);
    assert_eq!(run(), first);
    assert_eq!(run(), first);
}
