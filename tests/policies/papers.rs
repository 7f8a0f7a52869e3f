// SPDX-License-Identifier: MIT OR Apache-2.0
//! The shipped policies do what their papers say: order of picks and service time error,
//! on one CPU without overheads, through the real objects.

use crate::common::hosted::{hogs, letters, Hosted};
use crate::common::ideal;
use rota_machine::exit::ExitKind;
use rota_trace::EventKind;

const MS: u64 = 1_000_000;
const QUANTUM_NS: u64 = 10 * MS;

/// The first `quanta` picks of hogs with these shares on one ideal CPU.
fn picks(policy: &str, set: &[(&str, &str)], shares: &[u64], quanta: usize) -> String {
    let config = ideal(1, quanta as u64 * QUANTUM_NS);
    let (outcome, tape) = Hosted::new(policy, set, config, &hogs(shares)).run();
    assert_eq!(outcome.exit.kind, ExitKind::Unreg, "{}", outcome.exit);
    let picks = letters(&tape);
    assert_eq!(picks.len(), quanta, "{picks}");
    picks
}

/// Lowest and highest service time error [VTRR §2.1 eq. 2] in quanta, times the sum of
/// shares to stay exact: E(t) = W(t) - t S / sum(S), sampled after each quantum.
fn service_time_errors(picks: &str, shares: &[u64]) -> (i64, i64) {
    let sum: i64 = shares.iter().sum::<u64>() as i64;
    let mut served = vec![0; shares.len()];
    let (mut low, mut high) = (0, 0);
    for (t, pick) in (1..).zip(picks.bytes()) {
        served[usize::from(pick - b'A')] += 1;
        for (service, share) in served.iter().zip(shares) {
            let error = service * sum - t * *share as i64;
            low = low.min(error);
            high = high.max(error);
        }
    }
    (low, high)
}

#[test]
fn vtrr_repeats_a_b_c_a_b_a_for_shares_3_2_1() {
    // [VTRR §3.1], the example at its end
    assert_eq!(picks("vtrr", &[], &[3, 2, 1], 600), "ABCABA".repeat(100));
}

#[test]
fn wrr_gives_each_turn_at_once_for_shares_3_2_1() {
    // [VTRR §2.2]
    assert_eq!(picks("wrr", &[], &[3, 2, 1], 600), "AAABBC".repeat(100));
}

#[test]
fn wfq_takes_the_earliest_finish_and_breaks_ties_by_id() {
    // VFT A 2,4,6; B 3,6; C 6 (in sixths of a quantum): 2, 3, 4, then 6, 6, 6 by id
    assert_eq!(picks("wfq", &[], &[3, 2, 1], 600), "ABAABC".repeat(100));
}

#[test]
fn wfq_with_ties_in_turn_gives_the_papers_order() {
    // [VTRR §2.4]: A, B, A, B, C, A
    assert_eq!(picks("wfq", &[("tie", "rr")], &[3, 2, 1], 600), "ABABCA".repeat(100));
}

#[test]
fn service_time_errors_are_the_papers() {
    // [VTRR §2]: in quanta, WRR -1..+1.5, WFQ -5/6..+1; VTRR -1/2..+1/2. Times sum(S) = 6
    let shares = [3, 2, 1];
    for (policy, expected) in [("wrr", (-6, 9)), ("wfq", (-5, 6)), ("vtrr", (-3, 3))] {
        let picks = picks(policy, &[], &shares, 600);
        assert_eq!(service_time_errors(&picks, &shares), expected, "{policy}");
    }
}

#[test]
fn wrr_errors_grow_with_the_shares() {
    // [VTRR §2.2]: -1000..+1500 quanta for shares 3000, 2000, 1000, over two rounds. The
    // last client waits for 50 s of the others' quanta, longer than the watchdog allows;
    // with 1 ms quanta it is 5 s
    let shares = [3000, 2000, 1000];
    let config = ideal(1, 12_000 * MS);
    let (outcome, tape) =
        Hosted::new("wrr", &[("quantum_ns", "1000000")], config, &hogs(&shares)).run();
    assert_eq!(outcome.exit.kind, ExitKind::Unreg, "{}", outcome.exit);
    let picks = letters(&tape);
    assert_eq!(picks.len(), 12_000);
    assert_eq!(service_time_errors(&picks, &shares), (-1000 * 6000, 1500 * 6000));
}

#[test]
fn wfq_never_lets_a_client_fall_a_whole_quantum_behind() {
    // [VTRR §2.4], [stride]: true for any shares; the error ahead may exceed a quantum
    for shares in [&[7, 5, 3, 1][..], &[10, 1, 1, 1, 1, 1], &[1, 1, 1], &[97, 3, 50]] {
        let sum: u64 = shares.iter().sum();
        let picks = picks("wfq", &[], shares, 3 * sum as usize);
        let (low, _) = service_time_errors(&picks, shares);
        assert!(low > -(sum as i64), "{shares:?}: {low} of {sum}");
    }
}

#[test]
fn every_proportional_policy_is_exact_at_the_end_of_each_cycle() {
    let shares = [5, 3, 2, 2, 1];
    for policy in ["wrr", "wfq", "vtrr"] {
        let picks = picks(policy, &[], &shares, 130);
        for cycles in 1..=10 {
            let so_far = &picks[..13 * cycles];
            let served = |at: u8| so_far.bytes().filter(|p| *p == b'A' + at).count();
            let counts: Vec<usize> = (0..5).map(served).collect();
            let due: Vec<usize> = shares.iter().map(|s| *s as usize * cycles).collect();
            assert_eq!(counts, due, "{policy}, cycle {cycles}: {so_far}");
        }
    }
}

#[test]
fn fifo_runs_each_task_to_completion() {
    let load = r#"{"tasks": {"a": {"instance": 3, "loop": 1, "run": 100000}}}"#;
    let (outcome, tape) = Hosted::new("fifo", &[], ideal(1, 1_000 * MS), load).run();
    assert_eq!(letters(&tape), "ABC");
    let exits: Vec<(u64, u32)> = tape
        .0
        .iter()
        .filter_map(|e| match e.kind {
            EventKind::Exit { pid } => Some((e.time_ns / MS, pid)),
            _ => None,
        })
        .collect();
    assert_eq!(exits, [(100, 1001), (200, 1002), (300, 1003)]);
    assert_eq!(outcome.exit.kind, ExitKind::Unreg);
}

#[test]
fn fifo_never_preempts_and_the_watchdog_ends_it() {
    // two endless tasks, one CPU: the second starves until the timeout of 30 s
    let (outcome, tape) = Hosted::new("fifo", &[], ideal(1, 60_000 * MS), &hogs(&[1, 1])).run();
    assert_eq!(letters(&tape), "A");
    assert_eq!(outcome.exit.kind, ExitKind::ErrorStall);
    assert_eq!(outcome.exit.message, "B-1[1002] failed to run for 45.000s");
}

#[test]
fn rr_gives_equal_turns_whatever_the_shares() {
    assert_eq!(picks("rr", &[], &[3, 2, 1], 300), "ABC".repeat(100));
}

#[test]
fn rr_takes_what_a_tick_gave_off_the_next_turn() {
    // Ticks of 4 ms: a slice of 10 ms ends at 12 ms, so the next one is 8 ms, which is two ticks
    let mut config = ideal(1, 80 * MS);
    config.exact_slices = false;
    let (_, tape) = Hosted::new("rr", &[], config, &hogs(&[1, 1])).run();
    let picks = tape.0.iter().filter_map(|e| match e.kind {
        EventKind::Pick { pid, slice_ns } => Some((e.time_ns / MS, pid, slice_ns / MS)),
        _ => None,
    });
    let (a, b) = (1001, 1002);
    let expected = [
        (0, a, 10),
        (12, b, 10),
        (24, a, 8),
        (32, b, 8),
        (40, a, 10),
        (52, b, 10),
        (64, a, 8),
        (72, b, 8),
    ];
    assert_eq!(picks.collect::<Vec<_>>(), expected);
}

#[test]
fn a_yield_ends_a_turn_in_fifo_and_rr() {
    let load = r#"{"tasks": {"a": {"instance": 2, "run": 3000, "yield": ""}}}"#;
    for policy in ["fifo", "rr"] {
        let (_, tape) = Hosted::new(policy, &[], ideal(1, 30 * MS), load).run();
        assert_eq!(letters(&tape), "ABABABABAB", "{policy}");
    }
}

#[test]
fn quantum_ns_is_the_length_of_every_slice() {
    for policy in ["rr", "wrr", "wfq", "vtrr", "stride", "lottery"] {
        let set = [("quantum_ns", "3000000")];
        let (_, tape) = Hosted::new(policy, &set, ideal(1, 300 * MS), &hogs(&[3, 2, 1])).run();
        let picks = tape.0.iter().filter_map(|e| match e.kind {
            EventKind::Pick { slice_ns, .. } => Some((e.time_ns, slice_ns)),
            _ => None,
        });
        let expected: Vec<(u64, u64)> = (0..100).map(|n| (n * 3 * MS, 3 * MS)).collect();
        assert_eq!(picks.collect::<Vec<_>>(), expected, "{policy}");
    }
}

#[test]
fn a_share_that_no_policy_can_hold_ends_it_with_its_number() {
    let end =
        |policy, share| Hosted::new(policy, &[], ideal(1, 100 * MS), &hogs(&[share])).run().0.exit;
    for policy in ["wrr", "wfq", "vtrr", "stride", "lottery", "cfs", "eevdf"] {
        let exit = end(policy, 1_000_001);
        assert_eq!(exit.kind, ExitKind::ErrorBpf, "{policy}");
        assert_eq!(
            exit.message, "share 1000001 of task 1001 is not between 1 and 1000000",
            "{policy}"
        );
        assert_eq!(end(policy, 1_000_000).kind, ExitKind::Unreg, "{policy}");
    }
}

#[test]
fn a_task_more_than_there_are_slots_ends_the_policy_with_the_number() {
    let load = r#"{"tasks": {"a": {"instance": 32768, "run": 1000000}}}"#;
    let (outcome, _) = Hosted::new("wfq", &[], ideal(1, MS), load).run();
    assert_eq!(outcome.exit.kind, ExitKind::ErrorBpf);
    let message = "more than 32767 tasks: this policy has no room for them";
    assert_eq!(outcome.exit.message, message);
}
