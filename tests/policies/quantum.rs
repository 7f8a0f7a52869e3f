// SPDX-License-Identifier: MIT OR Apache-2.0
//! A quantum that changes while a policy runs: traced by hand for shares 3, 2, 1 on one
//! ideal CPU, and by its bounds for any.
//!
//! Times in the traces are milliseconds; the quantum is 10 at first. Virtual times VT and
//! finishing times are service divided by share.

use crate::common::hosted::{hogs, letters, Hosted};
use crate::common::plan::cases;
use crate::common::{ideal, Tape};
use proptest::prelude::*;
use rota_machine::exit::ExitKind;

const MS: u64 = 1_000_000;

/// Picks within `end` ms when the quantum becomes `quantum` ms at `at` ms, and the tape.
fn picks(policy: &str, at: u64, quantum: u64, end: u64) -> (String, Tape) {
    let hosted = Hosted::new(policy, &[], ideal(1, end * MS), &hogs(&[3, 2, 1]));
    let (outcome, tape) = hosted.change(&[(at * MS, "quantum_ns", quantum * MS)]).run();
    assert_eq!(outcome.exit.kind, ExitKind::Unreg, "{}", outcome.exit);
    (letters(&tape), tape)
}

/// CPU time of A, B and C in the first `until` ms.
fn service(tape: &Tape, until: u64) -> [u64; 3] {
    [1001, 1002, 1003].map(|pid| tape.cpu_ns(pid, until * MS) / MS)
}

#[test]
fn wfq_orders_everybody_by_the_new_quantum() {
    // 0 A: VT 10/3. 10 B: VT 5. Now 5: finishes A 10/3+5/3=5, B 5+5/2=7.5, C 0+5=5
    // 20 A (5, before C by id): 20/3. 25 C: VT 5, 10. 30 A: 25/3. 35 B: VT 7.5, 10
    // 40 A: VT 25/3, 10. All at 10: A, B, C; at 60 all VT are 10, as without a change
    let (picks, tape) = picks("wfq", 20, 5, 90);
    assert_eq!(picks, "ABACABAABC".to_owned() + "ABAABC");
    assert_eq!(service(&tape, 60), [30, 20, 10]);
}

#[test]
fn vtrr_keeps_what_is_due_in_the_cycle_when_the_quantum_shrinks() {
    // 0 A, 10 B. Due: A 20, B 10, C 10, now in quanta of 5: c 4, 2, 2. QVT 20/6
    // 20 C (0 < 25/6): VT 5, c 1. The queue ends. 25 A (VT 10/3): VT 5, c 3
    // 30 B (5 < 35/6): VT 7.5, c 1. 35 C (5 < 40/6): c 0. 40 A: c 2, VT 20/3
    // 45 B (7.5 < 50/6): c 0. 50 A, 55 A: c 0. At 60 the cycle is over
    let (picks, tape) = picks("vtrr", 20, 5, 90);
    assert_eq!(picks, "ABCABCABAA".to_owned() + "ABCABA");
    assert_eq!(service(&tape, 60), [30, 20, 10]);
}

#[test]
fn vtrr_keeps_what_is_due_in_the_cycle_when_the_quantum_grows() {
    // 0 A, 10 B. Due: A 20, B 10, C 10, now in quanta of 20: c 1, 1, 1, of which B and C
    // have had one half already. 20 C (0 < 40/6) for 10: c 0. 30 A for 20: c 0
    // 50 B (1 > 0) for 10. At 60 the cycle is over, as it would have been
    let (picks, tape) = picks("vtrr", 20, 20, 180);
    assert_eq!(picks, "ABCAB".to_owned() + "ABCABA");
    assert_eq!(service(&tape, 60), [30, 20, 10]);
    assert_eq!(service(&tape, 180), [90, 60, 30]);
}

#[test]
fn wrr_shrinks_what_is_left_of_a_turn_with_the_quantum() {
    // 0 A. Now 5: A has 2 quanta left, that is 10; turns of B and C are 10 and 5
    let (picks, tape) = picks("wrr", 10, 5, 65);
    assert_eq!(picks, "AAABBC".repeat(2));
    assert_eq!(service(&tape, 35), [20, 10, 5]);
    assert_eq!(service(&tape, 65), [35, 20, 10]);
}

#[test]
fn rr_gives_the_new_quantum_from_the_next_turn_on() {
    // B and C have begun to wait with 10
    let (picks, tape) = picks("rr", 10, 5, 45);
    assert_eq!(picks, "ABCABC");
    assert_eq!(service(&tape, 45), [15, 15, 15]);
}

#[test]
fn a_quantum_written_past_its_range_counts_as_the_nearest_in_it() {
    // 0 is 0.1 ms: nothing divides by it, and decisions are not endless
    for policy in ["rr", "wrr", "wfq", "vtrr"] {
        assert_eq!(picks(policy, 0, 0, 6).0.len(), 60, "{policy}");
        assert_eq!(picks(policy, 0, u64::MAX / MS, 6_000).0.len(), 6, "{policy}");
    }
}

/// Shares, and changes of the quantum: after how many microseconds, to how many.
fn changing() -> impl Strategy<Value = (Vec<u64>, Vec<(u64, u64)>)> {
    let change = (1_000..300_000u64, 100..40_000u64);
    (prop::collection::vec(1..9u64, 2..9), prop::collection::vec(change, 1..6))
}

/// Runs it for a second after the last change. Of each client the share, and the most
/// that it ever lacked of its due share, in ns.
fn behind(policy: &str, shares: &[u64], changes: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let mut at_us = 0;
    let mut list = Vec::new();
    for (after_us, quantum_us) in changes {
        at_us += after_us;
        list.push((at_us * 1_000, "quantum_ns", quantum_us * 1_000));
    }
    let end_ns = at_us * 1_000 + 1_000 * MS;
    let hosted = Hosted::new(policy, &[], ideal(1, end_ns), &hogs(shares));
    let (outcome, tape) = hosted.change(&list).run();
    assert_eq!(outcome.exit.kind, ExitKind::Unreg, "{}", outcome.exit);
    let total: u64 = shares.iter().sum();
    let lag = |(at, share): (usize, &u64)| {
        let pid = 1001 + at as u32;
        let lag = |ns: u64| (ns * share / total).saturating_sub(tape.cpu_ns(pid, ns));
        let worst = (0..end_ns / MS).step_by(7).map(|ms| lag(ms * MS)).max().unwrap_or(0);
        (*share, worst)
    };
    shares.iter().enumerate().map(lag).collect()
}

proptest! {
    #![proptest_config(cases(24))]

    /// As whoever is picked finishes no later than the others would: the bound of a
    /// fixed quantum, with the longest that was in force.
    #[test]
    fn wfq_never_lets_a_client_fall_the_longest_quantum_behind((shares, changes) in changing()) {
        let longest = changes.iter().map(|(_, us)| us * 1_000).max().unwrap_or(0).max(10 * MS);
        for (share, lag) in behind("wfq", &shares, &changes) {
            prop_assert!(lag <= longest, "share {share}: {lag} ns behind");
        }
    }

    /// A client can have all of its quanta at the end of a cycle, and not later.
    #[test]
    fn vtrr_never_lets_a_client_fall_a_cycle_behind((shares, changes) in changing()) {
        let longest = changes.iter().map(|(_, us)| us * 1_000).max().unwrap_or(0).max(10 * MS);
        for (share, lag) in behind("vtrr", &shares, &changes) {
            prop_assert!(lag <= share * longest, "share {share}: {lag} ns behind");
        }
    }
}
