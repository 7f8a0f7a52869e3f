// SPDX-License-Identifier: MIT OR Apache-2.0
//! Shares up to the largest, 10^6, and up to 10,000 clients that have them. Of such a cycle, of
//! up to 10^10 quanta, a test can only run the beginning: it is that of the rules in exact
//! integers.

use crate::common::hosted::{hogs, letters, Hosted};
use crate::common::ideal;
use crate::common::plan::cases;
use proptest::prelude::*;
use rota_machine::exit::ExitKind;
use std::fmt::Write as _;

const MS: u64 = 1_000_000;
/// The shortest quantum there is, in which numbers are the least exact.
const QUANTUM_NS: u64 = 100_000;
const QUANTUM: (&str, &str) = ("quantum_ns", "100000");
const MAX_SHARE: u64 = 1_000_000;

/// The first picks of endless clients with these shares on one ideal CPU, as indices.
fn picks(policy: &str, set: &[(&str, &str)], shares: &[u64], quanta: usize) -> Vec<usize> {
    let mut load = String::from(r#"{"tasks": {"#);
    for (at, share) in shares.iter().enumerate() {
        let comma = if at > 0 { ", " } else { "" };
        write!(load, r#"{comma}"c{at}": {{"share": {share}, "run": 1000000000}}"#).unwrap();
    }
    load.push_str("}}");
    let config = ideal(1, quanta as u64 * QUANTUM_NS);
    let set = [&[QUANTUM], set].concat();
    let (outcome, tape) = Hosted::new(policy, &set, config, &load).run();
    assert_eq!(outcome.exit.kind, ExitKind::Unreg, "{}", outcome.exit);
    tape.picks(0).iter().map(|pid| *pid as usize - 1001).collect()
}

/// VTRR's picks [VTRR §3.1]. Without sleepers eq. 6 is W_next < (t + 1) S_next / sum(S).
fn vtrr(shares: &[u64], quanta: usize) -> Vec<usize> {
    let mut queue: Vec<usize> = (0..shares.len()).collect();
    queue.sort_by_key(|at| std::cmp::Reverse(shares[*at]));
    let sum: u128 = shares.iter().map(|share| u128::from(*share)).sum();
    let mut counters = shares.to_vec();
    let mut served = vec![0_u64; shares.len()];
    let mut left = sum;
    let mut cursor = None;
    let mut picks = Vec::with_capacity(quanta);
    for t in 0..quanta as u128 {
        if left == 0 {
            (counters, left, cursor) = (shares.to_vec(), sum, None);
        }
        let goes_on = |place: &usize| {
            let (current, next) = (queue[place - 1], *queue.get(*place)?);
            let behind = u128::from(served[next]) * sum < (t + 1) * u128::from(shares[next]);
            (counters[next] > 0 && (counters[next] > counters[current] || behind)).then_some(*place)
        };
        let place = cursor.map(|at: usize| at + 1).as_ref().and_then(goes_on).unwrap_or(0);
        let client = queue[place];
        counters[client] -= 1;
        served[client] += 1;
        left -= 1;
        cursor = Some(place);
        picks.push(client);
    }
    picks
}

/// WFQ's picks [VTRR §2.4]: the smallest (W + 1) / S, of equal ones the lowest id.
fn wfq(shares: &[u64], quanta: usize) -> Vec<usize> {
    let mut served = vec![0_u64; shares.len()];
    let pick = |_| {
        let finishes_before = |a: usize, b: usize| {
            u128::from(served[a] + 1) * u128::from(shares[b])
                < u128::from(served[b] + 1) * u128::from(shares[a])
        };
        let first = (1..shares.len()).fold(0, |b, a| if finishes_before(a, b) { a } else { b });
        served[first] += 1;
        first
    };
    (0..quanta).map(pick).collect()
}

/// Shares of all sizes: as many from 1 to 9 as from 100,000 to 999,999.
fn share() -> impl Strategy<Value = u64> {
    let size = (0..7_u32).prop_flat_map(|digits| {
        let least = 10_u64.pow(digits);
        least..=(least * 10 - 1).min(MAX_SHARE)
    });
    prop_oneof![4 => size, 1 => MAX_SHARE - 3..=MAX_SHARE]
}

proptest! {
    #![proptest_config(cases(24))]

    #[test]
    fn vtrr_follows_its_rules_to_the_unit(shares in prop::collection::vec(share(), 1..120)) {
        let expected = vtrr(&shares, 3_000);
        prop_assert_eq!(&picks("vtrr", &[], &shares, 3_000), &expected, "{:?}", shares);
        let by_array = picks("vtrr", &[("insert", "array")], &shares, 3_000);
        prop_assert_eq!(by_array, expected, "{:?}", shares);
    }

    #[test]
    fn wfq_follows_its_rule_to_the_unit(shares in prop::collection::vec(share(), 1..120)) {
        let expected = wfq(&shares, 3_000);
        prop_assert_eq!(picks("wfq", &[], &shares, 3_000), expected, "{:?}", shares);
    }
}

#[test]
fn ten_thousand_clients_with_large_shares_follow_the_rules() {
    // From 500,001 to 10^6, in an order without a pattern: 7919 and 10^4 have no common factor.
    let shares: Vec<u64> = (0..10_000).map(|at| MAX_SHARE - at * 7_919 % 10_000 * 50 + 1).collect();
    let shares: Vec<u64> = shares.iter().map(|share| *share.min(&MAX_SHARE)).collect();
    assert!(shares.iter().sum::<u64>() > 1 << 32);
    let expected = vtrr(&shares, 25_000);
    assert_eq!(picks("vtrr", &[("insert", "array")], &shares, 25_000), expected);
    assert_eq!(picks("wfq", &[], &shares, 2_000), wfq(&shares, 2_000));
}

#[test]
fn lottery_draws_below_a_sum_of_more_than_32_bits() {
    // 5000 clients with 10^6 tickets each. The published first numbers of splitmix64 for the
    // seed 1234567, by their last ten digits, modulo 5 × 10^9: 7110365317 is 2110365317, a
    // ticket of client 2110; 1198807973; 2198370423; 8125082431 is 3125082431; 9458223821 is
    // 4458223821
    let shares = vec![MAX_SHARE; 5_000];
    let picks = picks("lottery", &[("seed", "1234567")], &shares, 5);
    assert_eq!(picks, [2_110, 1_198, 2_198, 3_125, 4_458]);
}

#[test]
fn stride_has_one_unit_for_more_than_half_of_2_to_the_20() {
    // [VTRR §2.4]'s reference has whole strides: 2^20 / 10^6 and 2^20 / 600,000 are both 1, so
    // that these clients take turns; 2^20 / 500,000 is 2.1, and 2
    let picks = |shares: &[u64]| {
        let (_, tape) = Hosted::new("stride", &[], ideal(1, 120 * MS), &hogs(shares)).run();
        letters(&tape)
    };
    assert_eq!(picks(&[MAX_SHARE, 600_000]), "AB".repeat(6));
    // Passes begin at 1 and 2. A: 2, 2, a tie that A has by id. A: 3, 2. B: 3, 4. A: 4, 4
    assert_eq!(picks(&[MAX_SHARE, 500_000]), "AAB".repeat(4));
}

#[test]
fn wrr_measures_what_is_left_of_the_longest_turn() {
    // A's turn is 10^6 quanta of a second. After one of them its share becomes 200,000 and the
    // quantum 0.1 ms: of 999,999 quanta a fifth is left, 199,999.8, which is 19.99998 s
    let a = r#""A": {"loop": 1, "phases": {
        "many": {"share": 1000000, "run": 1000000}, "less": {"share": 200000, "run": 100000000}}}"#;
    let load = format!(r#"{{"tasks": {{{a}, "B": {{"share": 1, "run": 1000000}}}}}}"#);
    let hosted = Hosted::new("wrr", &[("quantum_ns", "1000000000")], ideal(1, 21_000 * MS), &load);
    let (outcome, tape) = hosted.change(&[(1_000 * MS, "quantum_ns", QUANTUM_NS)]).run();
    assert_eq!(outcome.exit.kind, ExitKind::Unreg, "{}", outcome.exit);
    assert_eq!(tape.starts(1002), [(20_999_980_000, 0)]);
}

#[test]
fn cfs_and_eevdf_keep_proportions_of_the_largest_shares() {
    // Twelve clients of 10^6 and eight of 500,000, in all 16 × 10^6: weights are a share times
    // 1024, so that four of the first are more than 2^32
    let mut shares = vec![MAX_SHARE; 12];
    shares.extend([MAX_SHARE / 2; 8]);
    let run_ns = 32_000 * MS;
    for policy in ["cfs", "eevdf"] {
        let (outcome, tape) = Hosted::new(policy, &[], ideal(1, run_ns), &hogs(&shares)).run();
        assert_eq!(outcome.exit.kind, ExitKind::Unreg, "{policy}: {}", outcome.exit);
        for (pid, share) in (1001..).zip(&shares) {
            let due_ns = run_ns * share / (16 * MAX_SHARE);
            let used_ns = tape.cpu_ns(pid, run_ns);
            let error_ppm = used_ns.abs_diff(due_ns) * 1_000_000 / due_ns;
            assert!(error_ppm <= 20_000, "{policy}, {pid}: {used_ns} of {due_ns}");
        }
    }
}

#[test]
fn eevdf_keeps_the_lag_of_a_client_that_outweighs_the_others() {
    // B requests slices of 100 ms: half a one first, and the next one from 50 to 150 of its CPU
    // time. A comes at 52, where a tick gives it the CPU, and sleeps from 55 to 56. B, picked
    // anew at 55, is protected until it has had its slice, at 153. So 97 ms are due to A, but for
    // a millionth. It keeps that lag when it sleeps, as nothing is due to it then, and so
    // preempts B, to whom nothing is due, whenever it wakes up
    let a = r#""A": {"share": 1000000, "delay": 52000, "run": 3000, "sleep": 1000}"#;
    let load = format!(r#"{{"tasks": {{{a}, "B": {{"share": 1, "run": 1000000}}}}}}"#);
    let set = [("base_slice_ns", "100000000")];
    let (outcome, tape) = Hosted::new("eevdf", &set, ideal(1, 350 * MS), &load).run();
    assert_eq!(outcome.exit.kind, ExitKind::Unreg, "{}", outcome.exit);
    let mut expected = vec![(52, 55)];
    expected.extend((0..49).map(|n| (153 + n * 4, 156 + n * 4)));
    let ms: Vec<(u64, u64)> =
        tape.spans("A-0").iter().map(|(from, to)| (from / 1000, to / 1000)).collect();
    assert_eq!(ms, expected);
}
