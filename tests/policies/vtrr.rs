// SPDX-License-Identifier: MIT OR Apache-2.0
//! VTRR's rules for clients that come, go and change, traced by hand [VTRR §3.2, §3.3].
//!
//! Time in the traces is milliseconds, a quantum is 10; virtual times are in quanta per
//! share, `c` is a time counter, QVT the queue's virtual time, QL the sum of counters and
//! TS the sum of shares. Every machine is ideal with one CPU, all clients start at 0 in
//! the order A, B, C, and the first pick is the head of the queue.

use crate::common::hosted::{letters, Hosted};
use crate::common::ideal;
use crate::common::plan::cases;
use proptest::prelude::*;
use rota_machine::exit::ExitKind;
use rota_machine::ops::Op;

const MS: u64 = 1_000_000;

/// A run of `quanta` times 10 ms under vtrr: the loaded machine afterwards, and its picks.
fn vtrr(set: &[(&str, &str)], load: &str, quanta: u64) -> (Hosted, String) {
    let mut hosted = Hosted::new("vtrr", set, ideal(1, quanta * 10 * MS), load);
    let (outcome, tape) = hosted.run();
    assert_eq!(outcome.exit.kind, ExitKind::Unreg, "{}", outcome.exit);
    let picks = letters(&tape);
    (hosted, picks)
}

fn tasks(list: &[&str]) -> String {
    format!(r#"{{"tasks": {{{}}}}}"#, list.join(", "))
}

const A3: &str = r#""A": {"share": 3, "run": 1000000}"#;
const C1: &str = r#""C": {"share": 1, "run": 1000000}"#;
/// Runs one quantum, sleeps 25 ms, then never stops.
const B2_AWAY_25: &str =
    r#""B": {"share": 2, "loop": 1, "run": 10000, "sleep": 25000, "run": 10000000}"#;

#[test]
fn a_client_back_in_its_cycle_gets_its_part_of_what_is_left() {
    // Shares 3, 2, 1.
    //  0 A: c 2, VT 1/3, QVT 1/6.   B is next, as 0 < 2/6
    // 10 B: c 1, VT 1/2, QVT 2/6.   It sleeps until 45: QL 3, TS 4, the cursor goes to A
    // 20 C: c 0, VT 1, QVT 7/12.    0 < 2/6 + 1/4 let it run; the queue ends, back to A
    // 30 A: c 1, VT 2/3, QVT 10/12. C has none left: back to A
    // 40 A: at 45 B returns between A and C (both as before): VT max(1/2, 10/12), c is
    //       floor(2 * QL 1 / TS 4) = 0 [eq. 9]. At 50 A: c 0, QL 0: the cycle is over after 5
    // 50 the next one: A, B (c 2; 10/12 < 8/6), C (1 < 9/6), A, B (4/3 < 11/6), A
    let (hosted, picks) = vtrr(&[], &tasks(&[A3, B2_AWAY_25, C1]), 17);
    assert_eq!(picks, "ABCAAABCABAABCABA");
    assert_eq!([hosted.stat("by_reference"), hosted.stat("by_walk")], [1, 3]);
}

#[test]
fn a_client_whose_neighbour_left_finds_its_place_by_a_walk() {
    // As before, but C sleeps from 30 to 130, and so cannot be B's last-next any more.
    // 30 A (QL 2, TS 3): c 1, QVT 7/12 + 1/3. 40 A again: alone. At 45 B walks past A: VT
    //    11/12, c floor(2 * 1/3) = 0. At 50 A: c 0: the cycle is over
    // 50 A (c 2, QVT 79/60), B (11/12 < 91/60; c 1, QVT 91/60), the queue ends, A,
    //    B (17/12 < 115/60; c 0), A
    let c = r#""C": {"share": 1, "loop": 1, "run": 10000, "sleep": 100000, "run": 10000000}"#;
    let (hosted, picks) = vtrr(&[], &tasks(&[A3, B2_AWAY_25, c]), 10);
    assert_eq!(picks, "ABCAAABABA");
    assert_eq!([hosted.stat("by_reference"), hosted.stat("by_walk")], [0, 4]);
    // B walked past A twice, C past A and B
    assert_eq!(hosted.stat("walked"), 4);
}

#[test]
fn remembered_neighbours_and_a_walk_lead_to_the_same_place() {
    let load = tasks(&[A3, B2_AWAY_25, C1]);
    let (hosted, picks) = vtrr(&[("no_references", "true")], &load, 17);
    assert_eq!(picks, "ABCAAABCABAABCABA");
    assert_eq!([hosted.stat("by_reference"), hosted.stat("by_walk")], [0, 4]);
}

#[test]
fn coming_back_in_the_same_cycle_yields_no_more_quanta_than_before() {
    // Shares 4, 2. A runs 0-10 (c 3) and sleeps until 15: QL 2, TS 2. Its part of that,
    // 4 * 2/2 = 4, is more than it left with: c 3. QL 5
    // 10 B: c 1. 20 A: c 2. 30 B (1/2 < 4/6): c 0. 40 A: c 1. 50 A (B has none): c 0
    // 60 the next cycle after six quanta: A (c 3), B (1 < 8/6)
    let a = r#""A": {"share": 4, "loop": 1, "run": 10000, "sleep": 5000, "run": 10000000}"#;
    let b = r#""B": {"share": 2, "run": 1000000}"#;
    assert_eq!(vtrr(&[], &tasks(&[a, b]), 8).1, "ABABAAAB");
    // without the rule c is 4, and the cycle takes seven quanta
    let without = vtrr(&[("no_keep_counter", "true")], &tasks(&[a, b]), 9).1;
    assert_eq!(without, "ABABAAAAB");
}

#[test]
fn a_client_that_sleeps_stays_as_far_ahead_as_it_was() {
    // Shares 10, 2. 0 A: QVT 1/12. 10 B: c 1, VT 1/2, QVT 2/12. It sleeps 5 ms, and keeps VT 1/2,
    // as that is later than QVT at 25, 2/12 + 1/20 = 26/120 [eq. 8]; c min(1, floor(2 * 9/10)).
    // 20 A: at 30 QVT is 26/120 + 5/120, and 60/120 < 31/120 + 10/120 is false: A goes on, until
    // 50: 60/120 < 51/120 + 10/120
    let a = r#""A": {"share": 10, "run": 1000000}"#;
    let b = r#""B": {"share": 2, "loop": 1, "run": 10000, "sleep": 5000, "run": 10000000}"#;
    assert_eq!(vtrr(&[], &tasks(&[a, b]), 7).1, "ABAAABA");
    // forgetting it, B starts at QVT 26/120 < 41/120: sleeping would pay
    assert_eq!(vtrr(&[("no_keep_vft", "true")], &tasks(&[a, b]), 4).1, "ABAB");
}

#[test]
fn a_new_client_starts_at_the_queues_virtual_time() {
    // Shares 3, 2 from 0 (TS 5), 1 from 25 on.
    //  0 A: c 2. 10 B: c 1, VT 1/2, QVT 2/5. 20 A. At 25 C: VT 2/5 [eq. 7], c floor(3/5) = 0
    // 30 A: c 1, QVT 17/30, B is next: 15/30 < 22/30. B: c 0. C has none: 40 A: c 0: over
    // 50 A, B (1 < 37/30), C (12/30 < 42/30), A, B (3/2 < 52/30), A
    let b = r#""B": {"share": 2, "run": 1000000}"#;
    let late = r#""C": {"share": 1, "delay": 25000, "run": 1000000}"#;
    assert_eq!(vtrr(&[], &tasks(&[A3, b, late]), 11).1, "ABABAABCABA");
}

#[test]
fn a_counter_lies_between_those_of_the_neighbours() {
    // Shares 4, 2, 2.
    //  0 A: c 3. 10 B: c 1, VT 1/2, QVT 2/8. 20 C (0 < 3/8): c 1, VT 1/2, QVT 3/8. It sleeps
    //    until 45: QL 4, TS 6
    // 30 A: c 2, QVT 13/24. 40 B (12/24 < 17/24). At 45 C: VT 13/24; its part is
    //    floor(2 * 3/6) = 1, as it had. But B, whose last quantum is being run, will have
    //    none: c 0. 50: B has c 0, QVT 16/24; nobody but A has any left
    // 50 A, 60 A: c 0, QVT 22/24: over. VT: A 1, B 1, C 13/24
    // 70 A: c 3, QVT 25/24. 80 B (24/24 < 28/24): c 1. 90 C (2 > 1): c 1. 100 A: c 2, QVT
    //    34/24. 110 B (36/24 < 37/24): c 0. 120 C (1 > 0): c 0. 130 A
    let a = r#""A": {"share": 4, "run": 1000000}"#;
    let b = r#""B": {"share": 2, "run": 1000000}"#;
    let c = r#""C": {"share": 2, "loop": 1, "run": 10000, "sleep": 15000, "run": 10000000}"#;
    assert_eq!(vtrr(&[], &tasks(&[a, b, c]), 14).1, "ABCABAAABCABCA");
    // without the clamp c is 1: C is next at 50 (13/24 < 19/24), and the cycle has 8 quanta
    assert_eq!(vtrr(&[("no_clamp", "true")], &tasks(&[a, b, c]), 10).1, "ABCABCAAAB");
}

#[test]
fn a_changed_share_moves_the_client_and_keeps_its_finish() {
    // Shares 3, 2, 1; B's becomes 5 when its first quantum is over, at 20: VT 1/2 of before
    // finishes at 1, so VT is now 1 - 1/5. It leaves (QL 3, TS 4) and comes to the head:
    // c min(1, floor(5 * 3/4)) = 1, but not less than A's: 2. QL 5, TS 9, QVT 2/6
    // 20 C (after A, where the cursor is: 0 < 1/3 + 1/9): c 0, QVT 4/9; the queue ends
    // 30 B: c 1, VT 1. 40 A (2 > 1): c 1. 50 B (C has none): c 0, VT 6/5. 60 A (1 > 0): over
    // 70 B 5, A 3, C 1, QVT 8/9: B, A (1 < 10/9), C (1 < 11/9), B, A (12/9 < 13/9), B (of A
    //    15/9 < 15/9 is false), B, A (15/9 < 16/9), B
    let b = r#""B": {"loop": 1, "phases": {
        "few": {"share": 2, "run": 10000}, "many": {"share": 5, "run": 10000000}}}"#;
    assert_eq!(vtrr(&[], &tasks(&[A3, b, C1]), 16).1, "ABCBABABACBABBAB");
}

/// Tasks with distinct shares that sleep and come back.
fn sleepers() -> impl Strategy<Value = String> {
    let task = (1..40u32, 1..30_000u32, 0..40_000u32, 0..50_000u32);
    prop::collection::vec(task, 2..9).prop_map(|list| {
        let mut shares = Vec::new();
        let task = |(at, (share, run, sleep, delay)): (usize, (u32, u32, u32, u32))| {
            let mut share = share;
            while shares.contains(&share) {
                share += 1;
            }
            shares.push(share);
            let name = char::from(b'A' + at as u8);
            format!(
                r#""{name}": {{"share": {share}, "delay": {delay}, "run": {run}, "sleep": {sleep}}}"#
            )
        };
        format!(
            r#"{{"tasks": {{{}}}}}"#,
            list.into_iter().enumerate().map(task).collect::<Vec<_>>().join(", ")
        )
    })
}

proptest! {
    #![proptest_config(cases(40))]

    #[test]
    fn the_share_array_leads_to_the_same_picks_as_a_walk(load in sleepers()) {
        let walk = [("no_references", "true"), ("insert", "walk")];
        let array = [("no_references", "true"), ("insert", "array")];
        let (by_walk, expected) = vtrr(&walk, &load, 60);
        let (by_array, picks) = vtrr(&array, &load, 60);
        prop_assert_eq!(picks, expected);
        prop_assert_eq!(by_array.stat("by_array"), by_walk.stat("by_walk"));
        prop_assert_eq!(by_array.stat("by_walk"), 0);
    }
}

#[test]
fn a_pick_costs_the_same_among_ten_and_ten_thousand_clients() {
    // [VTRR §3.3]: constant time. Coming and leaving is not counted: nobody does
    let per_decision = |clients: u32| {
        let load = format!(
            r#"{{"tasks": {{"some": {{"instance": {}, "share": 3, "run": 100000000}}, "rest": {{"instance": {}, "share": 1, "run": 100000000}}}}}}"#,
            clients / 2,
            clients / 2
        );
        // 0.5 ms quanta: ten thousand clients must all run within the watchdog's 30 s
        let set = [("insert", "array"), ("quantum_ns", "500000")];
        let run_ns = u64::from(clients).max(1_000) * MS;
        let (outcome, _) = Hosted::new("vtrr", &set, ideal(1, run_ns), &load).run();
        assert_eq!(outcome.exit.kind, ExitKind::Unreg, "{}", outcome.exit);
        let each = [Op::Dispatch, Op::Enqueue, Op::Running, Op::Stopping];
        let counts = outcome.counters.callbacks().filter(|(op, _)| each.contains(op));
        let instructions: u64 = counts.map(|(_, c)| c.instructions).sum();
        assert_eq!(outcome.counters.decisions, run_ns / 500_000);
        instructions as f64 / outcome.counters.decisions as f64
    };
    let ten = per_decision(10);
    for clients in [1_000, 10_000] {
        let many = per_decision(clients);
        assert!((many / ten - 1.0).abs() < 0.1, "{clients} clients: {many}, 10: {ten}");
    }
}
