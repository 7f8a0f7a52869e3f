// SPDX-License-Identifier: MIT OR Apache-2.0
//! Over a cycle of as many quanta as there are shares, every client gets exactly its share; and
//! WRR's errors are those that its definition gives.
//!
//! VTRR: every time counter, reset to the share, is zero at the end of a cycle [VTRR §3.1]. WRR: a
//! turn is as many quanta as shares [VTRR §2.2]. WFQ: of all finishing times k / share, as many as
//! the client's share are at most 1, for every client, and they are the smallest [VTRR §2.4].

use super::vectors::{draw, Point};
use crate::rig::{hogs, linked, Length, Rig, QUANTUM_NS};
use crate::runs::Runs;
use proptest::prelude::*;
use rota_measure::ServiceError;
use rota_trace::{Event, EventKind, Sink};
use std::collections::BTreeMap;

/// The shortest there is, so that fractions of it are the least exact.
const SHORT_NS: u64 = 100_000;
const SHORT: (&str, &str) = ("quantum_ns", "100000");
const PLAIN: &[(&str, &str)] = &[SHORT];
/// Clients that come need no walk of the queue.
const ARRAY: &[(&str, &str)] = &[SHORT, ("insert", "array")];
const MAX_SHARE: u64 = 1_000_000;

/// CPU time by pid.
#[derive(Default)]
struct Received {
    ns: BTreeMap<u32, u64>,
    running: Option<(u32, u64)>,
}

impl Received {
    fn leave(&mut self, to_ns: u64) {
        if let Some((pid, from_ns)) = self.running.take() {
            *self.ns.entry(pid).or_default() += to_ns - from_ns;
        }
    }
}

impl Sink for Received {
    fn event(&mut self, event: &Event) {
        match event.kind {
            EventKind::Fork { pid, .. } => {
                self.ns.insert(pid, 0);
            }
            EventKind::SwitchIn { pid } => self.running = Some((pid, event.time_ns)),
            EventKind::SwitchOut { .. } => self.leave(event.time_ns),
            _ => {}
        }
    }
}

/// What each client gets in one cycle, in quanta. In a long one somebody waits for nearly all of
/// it, for longer than a watchdog allows.
fn quanta(policy: &str, set: &[(&str, &str)], shares: &[u64]) -> Vec<u64> {
    let workload = hogs(shares, |at| format!("c{at}")).expect("a workload");
    let cycle_ns = shares.iter().sum::<u64>() * SHORT_NS;
    let mut rig = Rig::new(&linked(policy, set).expect("ships")).without_watchdog();
    let mut received = Received::default();
    rig.run(&workload, Length::of(cycle_ns), &mut received).expect("runs");
    received.leave(cycle_ns);
    assert_eq!(received.ns.values().sum::<u64>(), cycle_ns);
    // In the order in which the clients came.
    received.ns.values().map(|ns| ns / SHORT_NS).collect()
}

/// Shares of all sizes up to the largest, in cycles that a test can wait for.
fn sizes() -> impl Strategy<Value = Vec<u64>> {
    let share = (0..6_u32).prop_flat_map(|digits| 10_u64.pow(digits)..10_u64.pow(digits + 1));
    proptest::collection::vec(share, 1..40).prop_map(|mut shares| {
        let mut left = 40_000;
        for share in &mut shares {
            *share = (*share).min(left / 2).max(1);
            left = left.saturating_sub(*share);
        }
        shares
    })
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
        prop_assert_eq!(&quanta("wfq", PLAIN, &shares), &shares);
    }

    #[test]
    fn a_cycle_of_shares_of_all_sizes_gives_everybody_its_share(shares in sizes()) {
        prop_assert_eq!(&quanta("vtrr", ARRAY, &shares), &shares);
        prop_assert_eq!(&quanta("wrr", PLAIN, &shares), &shares);
        prop_assert_eq!(&quanta("wfq", PLAIN, &shares), &shares);
    }
}

#[test]
fn a_cycle_of_ten_thousand_clients_gives_everybody_its_share() {
    let shares: Vec<u64> = (0..10_000).map(|client| client % 3 + 1).collect();
    assert_eq!(quanta("vtrr", ARRAY, &shares), shares);
    assert_eq!(quanta("wrr", PLAIN, &shares), shares);
    assert_eq!(quanta("wfq", PLAIN, &shares), shares);
}

/// A cycle of 105 s, for all of which the last client can wait.
const LARGEST: [u64; 4] = [MAX_SHARE, 49_999, 100, 1];

#[test]
fn a_vtrr_cycle_with_the_largest_share_gives_everybody_its_share() {
    assert_eq!(quanta("vtrr", PLAIN, &LARGEST), LARGEST);
}

#[test]
fn a_wrr_cycle_with_the_largest_share_gives_everybody_its_share() {
    assert_eq!(quanta("wrr", PLAIN, &LARGEST), LARGEST);
}

#[test]
fn a_wfq_cycle_with_the_largest_share_gives_everybody_its_share() {
    assert_eq!(quanta("wfq", PLAIN, &LARGEST), LARGEST);
}

#[test]
fn wrr_is_as_far_off_as_its_definition_says() {
    // A client's turn begins after P quanta of those before it, all of which it has waited, so
    // that its error is -P·s/S. It ends s quanta later with s - (P + s)·s/S.
    for (clients, shares) in [(2, 64), (4, 256), (16, 128)] {
        let mut rig = Rig::new(&linked("wrr", &[]).expect("ships"));
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
            rig.run(&workload, length, &mut error).expect("runs");
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
    let mut rig = Rig::new(&linked("vtrr", &[]).expect("ships"));
    let workload = hogs(&[5, 3, 1], |at| format!("c{at}")).expect("a workload");
    let mut run = || {
        let mut runs = Runs::default();
        rig.run(&workload, Length::of(90 * QUANTUM_NS), &mut runs).expect("runs");
        runs.finish(90 * QUANTUM_NS)
    };
    let first = run();
    assert!(first.len() > 9);
    assert_eq!(run(), first);
    assert_eq!(run(), first);
}
