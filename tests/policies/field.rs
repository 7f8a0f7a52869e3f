// SPDX-License-Identifier: MIT OR Apache-2.0
//! The schedulers that the VTRR paper compares with: fair queueing in a list, stride
//! scheduling and lotteries, through the real objects.
//!
//! In the traces a quantum is 10 ms, on one ideal CPU; S is a stride of 2^20.

use crate::common::hosted::{hogs, letters, Hosted};
use crate::common::plan::{cases, plan};
use crate::common::{ideal, Tape};
use proptest::prelude::*;
use rota_machine::exit::ExitKind;
use rota_trace::{Event, EventKind};

const MS: u64 = 1_000_000;

/// A run on one ideal CPU: the loaded machine afterwards, and its picks.
fn run(policy: &str, set: &[(&str, &str)], load: &str, ms: u64) -> (Hosted, String) {
    let mut hosted = Hosted::new(policy, set, ideal(1, ms * MS), load);
    let (outcome, tape) = hosted.run();
    assert_eq!(outcome.exit.kind, ExitKind::Unreg, "{}", outcome.exit);
    let picks = letters(&tape);
    (hosted, picks)
}

/// How many picks each of the first `N` clients has.
fn counts<const N: usize>(picks: &str) -> [u64; N] {
    std::array::from_fn(|at| picks.bytes().filter(|p| *p == b'A' + at as u8).count() as u64)
}

/// Equal clients, more than letters.
fn crowd(clients: u32) -> String {
    format!(r#"{{"tasks": {{"t": {{"instance": {clients}, "share": 1, "run": 100000000}}}}}}"#)
}

/// The picks of a crowd on one ideal CPU, in quanta of 0.5 ms.
fn crowd_picks(policy: &str, set: &[(&str, &str)], clients: u32, ms: u64) -> Vec<u32> {
    let mut set = set.to_vec();
    set.push(("quantum_ns", "500000"));
    let (outcome, tape) = Hosted::new(policy, &set, ideal(1, ms * MS), &crowd(clients)).run();
    assert_eq!(outcome.exit.kind, ExitKind::Unreg, "{}", outcome.exit);
    tape.picks(0)
}

/// All but the instructions of single callbacks.
fn schedule(tape: Tape) -> Vec<Event> {
    tape.0.into_iter().filter(|event| !matches!(event.kind, EventKind::OpCall { .. })).collect()
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn a_list_and_a_heap_lead_to_the_same_schedule(plan in plan()) {
        // Callbacks that take time would tell the two apart
        let config = plan.config(150 * MS).ideal();
        for (policy, tie) in [("wfq", "id"), ("wfq", "rr"), ("stride", "")] {
            let tape = |queue| -> Tape {
                let mut set = vec![("queue", queue)];
                set.extend((!tie.is_empty()).then_some(("tie", tie)));
                Hosted::new(policy, &set, config.clone(), &plan.workload()).run().1
            };
            let (heap, list) = (tape("heap"), tape("list"));
            prop_assert_eq!(schedule(heap), schedule(list), "{} {}", policy, tie);
        }
    }
}

#[test]
fn a_list_walks_past_every_client_and_a_heap_does_not() {
    // the list costs at least one instruction more per decision for each client more
    let insns = |queue: &str, clients: u32| {
        let set = [("queue", queue), ("quantum_ns", "500000")];
        let (outcome, _) = Hosted::new("wfq", &set, ideal(1, 100 * MS), &crowd(clients)).run();
        let dispatch = outcome.counters.callbacks().find(|(op, _)| op.name() == "dispatch");
        let (_, counts) = dispatch.expect("dispatch was called");
        counts.instructions / counts.calls
    };
    assert!(insns("list", 2_000) > insns("list", 1_000) + 1_000);
    // a heap of twice as many is one level deeper
    assert!(insns("heap", 2_000) < insns("heap", 1_000) + 200);
}

#[test]
fn ten_thousand_clients_take_turns() {
    for (policy, set) in
        [("wfq", &[("queue", "list")][..]), ("stride", &[]), ("stride", &[("queue", "list")])]
    {
        let picks = crowd_picks(policy, set, 10_000, 100);
        assert_eq!(picks, (1001..1201).collect::<Vec<_>>(), "{policy} {set:?}");
    }
}

#[test]
fn stride_takes_the_smallest_pass_for_shares_3_2_1() {
    // Strides of floor(2^20 / 3) = 349525, 524288 and 1048576. In the first cycle passes are
    // A 349525, B 524288, A 699050, A 1048575, then B and C at 1048576, by id. A is one unit
    // ahead of them at the end of each cycle, which does not change the order in 100 of them
    assert_eq!(run("stride", &[], &hogs(&[3, 2, 1]), 6_000).1, "ABAABC".repeat(100));
}

#[test]
fn stride_rounds_strides_of_many_tickets() {
    // 2^20 / 60000 = 17.5 and 2^20 / 40000 = 26.2, so strides are 17 and 26: after 43 quanta
    // both passes are at 17 * 26, with 26 and 17 quanta; 3 to 2 would be 25.8 and 17.2
    let picks = run("stride", &[], &hogs(&[60_000, 40_000]), 4_300).1;
    assert_eq!(counts(&picks), [260, 170]);
}

#[test]
fn stride_counts_the_part_of_a_quantum_that_was_used() {
    // Share 1 each. 0 A, for 4 ms: pass 1.4 S; it leaves at a distance of 1.4 S from the
    // queue's pass, 0. 4 B: 2 S. A is back at 7: 1.4 S. 14 A: 2.4 S. 24 B (2 < 2.4): 3 S
    // 34 A: 3.4 S. 44 B: 4 S
    let a = r#""A": {"share": 1, "loop": 1, "run": 4000, "sleep": 3000, "run": 10000000}"#;
    let load = format!(r#"{{"tasks": {{{a}, "B": {{"share": 1, "run": 1000000}}}}}}"#);
    assert_eq!(run("stride", &[], &load, 54).1, "ABABAB");
    // Forgetting it, A is back with S. 14 A: 2 S. 24 A (by id): 3 S. 34 B: 3 S. 44 A
    assert_eq!(run("stride", &[("no_remain", "true")], &load, 54).1, "ABAABA");
}

#[test]
fn stride_keeps_the_distance_in_strides_when_tickets_change() {
    // Share 1 each. 0 A: 2 S. 10 B: 2 S, two strides from the queue's pass, 0. Its share is 2
    // from 20 on, so its stride S/2 and its pass S. 20 B: 1.5 S. 30 B: 2 S. 40 A (by id): 3 S
    // 50 B: 2.5 S. 60 B: 3 S. 70 A
    let b = r#""B": {"loop": 1, "phases": {
        "few": {"share": 1, "run": 10000}, "many": {"share": 2, "run": 10000000}}}"#;
    let load = format!(r#"{{"tasks": {{"A": {{"share": 1, "run": 1000000}}, {b}}}}}"#);
    assert_eq!(run("stride", &[], &load, 110).1, "ABBBABBABBA");
}

#[test]
fn stride_never_lets_a_client_fall_a_whole_quantum_behind() {
    // [VTRR §2.4] with shares that divide 2^20, so that no stride is rounded
    for shares in [&[8, 4, 2, 1, 1][..], &[16, 1, 1, 1, 1], &[64, 32, 32]] {
        let sum: u64 = shares.iter().sum();
        let picks = run("stride", &[], &hogs(shares), 3 * sum * 10).1;
        for t in 1..=picks.len() {
            let served: [u64; 5] = counts(&picks[..t]);
            for (service, share) in served.iter().zip(shares) {
                assert!(service * sum + sum > t as u64 * share, "{shares:?} at {t}: {picks}");
            }
        }
    }
}

#[test]
fn lottery_draws_the_numbers_of_splitmix64() {
    // The published first numbers for the seed 1234567, modulo 6 tickets: 6457827717110365317
    // is 3, 3203168211198807973 is 1, 9817491932198370423 is 3, 4593380528125082431 is 1 and
    // 16408922859458223821 is 5. Of the shares 3, 2, 1, A has the tickets 0 to 2, B 3 and 4, C 5
    let (hosted, picks) = run("lottery", &[("seed", "1234567")], &hogs(&[3, 2, 1]), 50);
    assert_eq!(picks, "BABAC");
    assert_eq!([hosted.stat("draws"), hosted.stat("kept")], [5, 0]);
}

#[test]
fn lottery_repeats_itself_and_another_seed_differs() {
    let picks = |seed| run("lottery", &[("seed", seed)], &hogs(&[3, 2, 1]), 1_000).1;
    assert_eq!(picks("7"), picks("7"));
    assert_ne!(picks("7"), picks("8"));
}

#[test]
fn lottery_wins_are_in_proportion_to_shares_and_not_too_regular() {
    // Chi square of 6000 draws against 3000, 2000, 1000: two degrees of freedom, which
    // exceed 18.4 once in 10000. The sum over 20 seeds has 40, and is below 16.9 or above
    // 76.1 with one in 2000 each
    let chi_square = |seed: u32| {
        let seed = seed.to_string();
        let picks = run("lottery", &[("seed", &seed)], &hogs(&[3, 2, 1]), 60_000).1;
        let wins: [u64; 3] = counts(&picks);
        let parts = wins.iter().zip([3_000.0, 2_000.0, 1_000.0]);
        parts.map(|(n, due)| (*n as f64 - due) * (*n as f64 - due) / due).sum::<f64>()
    };
    let all: Vec<f64> = (1..=20).map(chi_square).collect();
    assert!(all.iter().all(|x| *x < 18.4), "{all:?}");
    let sum: f64 = all.iter().sum();
    assert!((16.9..76.1).contains(&sum), "{sum}: {all:?}");
}

#[test]
fn lottery_draws_again_among_those_who_may_use_the_cpu() {
    // A and B share CPU 0 by 3 to 1. One of C and D always waits for CPU 1, and wins most draws
    // of CPU 0, where it may not run. 4000 quanta: A has 3000, with a standard deviation of 27
    let tied = |name, cpu, share| {
        format!(r#""{name}": {{"cpus": [{cpu}], "share": {share}, "run": 1000}}"#)
    };
    let tasks = [tied("A", 0, 3), tied("B", 0, 1), tied("C", 1, 50), tied("D", 1, 50)];
    let load = format!(r#"{{"tasks": {{{}}}}}"#, tasks.join(", "));
    let mut hosted = Hosted::new("lottery", &[], ideal(2, 40_000 * MS), &load);
    let (_, tape) = hosted.run();
    let a = tape.cpu_ns(1001, 40_000 * MS) / (10 * MS);
    assert!(a.abs_diff(3_000) < 4 * 27, "{a}");
    assert!(hosted.stat("redraws") > 3_000, "{}", hosted.stat("redraws"));
}

#[test]
fn lottery_keeps_proportions_on_four_cpus() {
    // Of 40000 quanta in 100 s, each client's part p has a standard deviation of
    // sqrt(40000 p (1 - p)). The largest are due 0.8 of a CPU each
    let shares = [4, 4, 3, 3, 2, 2, 1, 1];
    let (_, tape) = Hosted::new("lottery", &[], ideal(4, 100_000 * MS), &hogs(&shares)).run();
    for (pid, share) in (1001..).zip(shares) {
        let p = share as f64 / 20.0;
        let quanta = tape.cpu_ns(pid, 100_000 * MS) as f64 / (10 * MS) as f64;
        let deviations = (quanta - 40_000.0 * p) / (40_000.0 * p * (1.0 - p)).sqrt();
        assert!(deviations.abs() < 4.0, "share {share}: {quanta}, {deviations} deviations");
    }
}

#[test]
fn lottery_gives_a_client_that_is_due_more_than_a_cpu_one_cpu() {
    // A is due 1.8 CPUs of two; B and C divide the other one
    let mut hosted = Hosted::new("lottery", &[], ideal(2, 100_000 * MS), &hogs(&[18, 1, 1]));
    let (_, tape) = hosted.run();
    let [a, b] = [1001, 1002].map(|pid| tape.cpu_ns(pid, 100_000 * MS) / (10 * MS));
    // 10000 quanta each; B has half of the other's, with a standard deviation of 50, and A's
    // CPU goes to others only until it has a win in hand
    assert!(a > 9_990 && b.abs_diff(5_000) < 4 * 50, "{a}, {b}");
    assert!(hosted.stat("in_hand") > 10_000, "{}", hosted.stat("in_hand"));
}

#[test]
fn lottery_follows_a_changed_share() {
    // B has 1 of 2 tickets for its first 5 s, then 9 of 10. That is so after 20 s; of the 4000
    // quanta from then on A has 400, with a standard deviation of 19
    let b = r#""B": {"loop": 1, "phases": {
        "few": {"share": 1, "run": 5000000}, "many": {"share": 9, "run": 1000000000}}}"#;
    let load = format!(r#"{{"tasks": {{"A": {{"share": 1, "run": 1000000}}, {b}}}}}"#);
    let (_, tape) = Hosted::new("lottery", &[], ideal(1, 60_000 * MS), &load).run();
    let a = (tape.cpu_ns(1001, 60_000 * MS) - tape.cpu_ns(1001, 20_000 * MS)) / (10 * MS);
    assert!(a.abs_diff(400) < 4 * 19, "{a}");
}

#[test]
fn lottery_serves_ten_thousand_clients() {
    // 2000 draws: each client goes without with a probability of (1 - 1/10000)^2000, so that
    // 1813 have won, with a standard deviation of 12.6 (occupancy problem)
    let mut picks = crowd_picks("lottery", &[], 10_000, 1_000);
    assert_eq!(picks.len(), 2_000);
    picks.sort_unstable();
    picks.dedup();
    assert!(picks.len().abs_diff(1_813) < 4 * 13, "{}", picks.len());
    assert!(picks.iter().all(|pid| (1001..11_001).contains(pid)));
}
