// SPDX-License-Identifier: MIT OR Apache-2.0
//! Priority-based blind scheduling [PBS], traced by hand: T / S^alpha in quanta of 10 ms. A and B
//! come at 0, C at 40 ms; who was not served yet goes first, and of equal ones who came first.

use crate::common::hosted::{letters, Hosted};
use crate::common::{ideal, Tape};
use rota_machine::exit::ExitKind;

const MS: u64 = 1_000_000;
const AB_AND_LATE_C: &str = r#"{"tasks": {
    "A": {"run": 1000000}, "B": {"run": 1000000}, "C": {"delay": 40000, "run": 1000000}}}"#;

fn run(set: &[(&str, &str)], ms: u64, load: &str) -> (Hosted, Tape) {
    let mut hosted = Hosted::new("pbs", set, ideal(1, ms * MS), load);
    let (outcome, tape) = hosted.run();
    assert_eq!(outcome.exit.kind, ExitKind::Unreg, "{}", outcome.exit);
    (hosted, tape)
}

/// Picks of the three tasks in the first 130 ms, with a quantum of 10 ms.
fn picks(set: &[(&str, &str)]) -> String {
    let set = [&[("quantum_ns", "10000000"), ("beta", "inf")], set].concat();
    letters(&run(&set, 130, AB_AND_LATE_C).1)
}

#[test]
fn alpha_0_is_first_come_first_served() {
    assert_eq!(picks(&[("alpha", "0"), ("alpha_min", "0")]), "AAAAAAAAAAAAA");
}

#[test]
fn alpha_half_lets_a_newcomer_wait_for_its_second_quantum() {
    // T^2 / S, at 5: A 25/2, B 25/2, C 1/1. 6: 12, 18, 4. 7: 16.3, 16.3, 9. 8: 16, 21.3, 16.
    // 9: 20.3, 20.3, 25. 10: 25, 25, 18. 11: 24.2, 30.3, 24.5. 12: 28.8, 28.8, 32
    assert_eq!(picks(&[("alpha", "0.5")]), "ABABCABABCABC");
}

#[test]
fn alpha_1_equalises_slowdown() {
    // T / S, at 5: A 2.5, B 2.5, C 1. 6: 2, 3, 2. 7: 2.3, 2.3, 3. 8: 2.7, 2.7, 2. 9: 2.3, 3, 2.5.
    // 10: 2.5, 2.5, 3. 11: 2.75, 2.75, 2.3. 12: 2.4, 3, 2.7
    assert_eq!(picks(&[("alpha", "1")]), "ABABCABCABCAB");
}

#[test]
fn alpha_2_lets_a_newcomer_catch_up() {
    // T / S^2, at 5: A 1.25, B 1.25, C 1. 6: .67, 1.5, 2. 7: .78, 1.75, .75. 8: .89, .89, 1.
    // 9: 1, 1, .56. 10: .63, 1.1, .67. 11: .69, .69, .78. 12: .75, .75, .5
    assert_eq!(picks(&[("alpha", "2")]), "ABABCACBCABCA");
}

#[test]
fn alpha_100_is_least_attained_service() {
    // C has 2 at 60, as A and B
    assert_eq!(picks(&[("alpha", "100")]), "ABABCCABCABCA");
}

#[test]
fn negative_alpha_takes_the_smallest_t_over_s_to_the_alpha() {
    // T S: at 5 to 7 C has 1, 4 and 9, A and B 10 to 14. 8: 16 all, and who came last goes
    // first. 9: A 18, B 18, C 25. 10: 30, 20, 30. 11: 33, 33, 35. 12: 48, 36, 40
    assert_eq!(picks(&[("alpha", "-1")]), "ABABCCCCCABAB");
}

#[test]
fn negative_alpha_near_0_is_last_come_first_served() {
    let near = [("alpha", "-0.0001"), ("alpha_min", "0.0001")];
    assert_eq!(picks(&near)[4..], *"CCCCCCCCC");
}

#[test]
fn alpha_is_kept_between_its_bounds() {
    assert_eq!(picks(&[("alpha", "0"), ("alpha_min", "1")]), picks(&[("alpha", "1")]));
    assert_eq!(picks(&[("alpha", "50"), ("alpha_max", "2")]), picks(&[("alpha", "2")]));
    let negative = [("alpha", "-0.1"), ("alpha_min", "1")];
    assert_eq!(picks(&negative), picks(&[("alpha", "-1")]), "the sign stays");
}

#[test]
fn alpha_changes_while_it_runs() {
    // Until 60 as with 2; then C has 2/1 and goes. With 0 from 70 on A goes, which came first
    let set = [("quantum_ns", "10000000"), ("beta", "inf"), ("alpha", "2"), ("alpha_min", "0")];
    let mut hosted = Hosted::new("pbs", &set, ideal(1, 130 * MS), AB_AND_LATE_C).change(&[(
        65 * MS,
        "alpha",
        0,
    )]);
    assert_eq!(letters(&hosted.run().1), "ABABCACAAAAAA");
}

#[test]
fn who_comes_preempts_the_one_with_the_smaller_priority() {
    // C comes at 4 ms into the second quantum of A
    let load = AB_AND_LATE_C.replace("40000", "24000");
    let set = [("quantum_ns", "10000000"), ("beta", "inf")];
    let spans = |set: &[(&str, &str)]| run(set, 60, &load).1.spans("C-2");
    assert_eq!(spans(&set)[0], (24_000, 34_000));
    let waits = [&set[..], &[("no_preemption", "true")]].concat();
    assert_eq!(spans(&waits)[0].0, 30_000);
}

#[test]
fn gamma_makes_turns_longer_in_proportion_to_service() {
    // alpha = 2, gamma = 2 log2(1 + 1/4): who has S goes on until the others' S is 4/5 of its
    // own [eq. 5]
    let turns = |set: &[(&str, &str)]| {
        let set = [&[("quantum_ns", "1000000"), ("beta", "inf"), ("alpha", "2")], set].concat();
        let load = r#"{"tasks": {"A": {"run": 90000000}, "B": {"run": 90000000}}}"#;
        run(&set, 20_000, load).1.spans("A-0")
    };
    let by_gamma = turns(&[("gamma", "0.6439")]);
    for spans in [&by_gamma, &turns(&[("switch_interval", "0.25")])] {
        for pair in spans.windows(2) {
            if pair[0].0 < 1_000_000 || pair[1].1 == 20_000_000 {
                continue; // in quanta still, or cut off
            }
            // each turn takes A's service from s to 25/16 s, as B had 5/4 s in between
            let growth = (pair[1].1 - pair[1].0) as f64 / (pair[0].1 - pair[0].0) as f64;
            assert!((growth - 25.0 / 16.0).abs() < 0.02, "{growth} in {spans:?}");
        }
        assert!(spans.len() > 15 && spans.len() < 50, "{spans:?}");
    }
    assert!(turns(&[]).len() > 9_000, "without gamma they take turns in quanta");
}

#[test]
fn who_is_interrupted_at_the_end_of_a_quantum_keeps_the_bonus() {
    // A runs until 10 ms, then B, who was not served yet. At 20 ms B's quantum ends as R wakes up,
    // and so it is every 11 ms: B is not the current one when R sleeps again
    let load = r#"{"tasks": {"A": {"run": 9000000}, "B": {"run": 9000000},
        "R": {"policy": "SCHED_FIFO", "delay": 20000, "loop": -1, "run": 1000, "sleep": 10000}}}"#;
    let turns = |gamma| {
        let set = [("quantum_ns", "10000000"), ("beta", "inf"), ("gamma", gamma)];
        letters(&run(&set, 75, load).1)
    };
    assert_eq!(turns("0"), "ABABABA");
    assert_eq!(turns("10"), "ABBBBBB");
}

#[test]
fn who_may_not_use_its_cpu_any_more_waits_for_all_others() {
    // A has to leave CPU 1 at 5 ms. X keeps CPU 0, as it came first and has as much, and Y leaves
    // CPU 2 at 7 ms
    let load = r#"{"tasks": {
        "X": {"cpus": [0], "run": 100000}, "Y": {"cpus": [2], "loop": 1, "run": 7000},
        "A": {"loop": 1, "phases": {
            "tied": {"cpus": [1], "run": 5000}, "moved": {"cpus": [0, 2], "run": 3000}}}}}"#;
    let set = [("quantum_ns", "10000000"), ("beta", "inf")];
    let (_, tape) = Hosted::new("pbs", &set, ideal(3, 12 * MS), load).run();
    assert_eq!(tape.starts(1003), [(0, 1), (7 * MS, 2)]);
}

#[test]
fn a_share_of_kappa_has_kappa_times_the_time() {
    let load = r#"{"tasks": {"A": {"share": 300, "run": 90000000}, "B": {"run": 90000000}}}"#;
    for alpha in ["0.5", "1", "2", "100"] {
        let set = [("alpha", alpha), ("beta", "inf")];
        let (_, tape) = run(&set, 4_000, load);
        let [a, b] = [1001, 1002].map(|pid| tape.cpu_ns(pid, 4_000 * MS) as i64);
        assert!((a - 3 * b).abs() <= 16 * MS as i64, "alpha {alpha}: {a} and {b}");
        let even = run(&[&set[..], &[("no_offset", "true")]].concat(), 4_000, load).1;
        assert_eq!(even.cpu_ns(1001, 4_000 * MS), 2_000 * MS);
    }
}

#[test]
fn nice_values_are_weights_of_linux() {
    // 1024 and 335: nice 0 and 5
    let load = r#"{"tasks": {"A": {"run": 90000000}, "B": {"priority": 5, "run": 90000000}}}"#;
    let (_, tape) = run(&[("beta", "inf"), ("quantum_ns", "1000000")], 13_590, load);
    let ran = [1001, 1002].map(|pid| tape.cpu_ns(pid, 13_590 * MS) as f64 / MS as f64);
    assert!((ran[0] - 10_240.0).abs() < 4.0 && (ran[1] - 3_350.0).abs() < 4.0, "{ran:?}");
}

/// Runs 1 ms each time, after sleeps of 10, 10, 10 and 40 ms; then it is there for long.
const SLEEPER: &str = r#"{"tasks": {"A": {"loop": 1, "run": 1000, "sleep": 10000, "run": 1000,
    "sleep": 10000, "run": 1000, "sleep": 10000, "run": 1000, "sleep": 40000, "run": 100000}}}"#;

#[test]
fn a_session_begins_after_a_period_of_beta_times_the_mean() {
    // The first sleep has no mean before it, and begins one unless beta is infinite
    let cases = [
        ("inf", 1, 70),
        ("-inf", 1, 70),
        ("3", 3, 0),
        ("-3", 3, 0),
        ("4", 3, 0), // 40 >= 4 x 10
        ("4.1", 2, 60),
        ("1", 5, 0), // 10 >= 1 x 10
        ("1.001", 3, 0),
        ("0", 5, 0),
    ];
    for (beta, sessions, slept_ms) in cases {
        let (mut hosted, _) = run(&[("beta", beta)], 100, SLEEPER);
        assert_eq!(hosted.stat("sessions"), sessions, "beta {beta}");
        let slept = hosted.global("clients", "[1].session.inactive_ns");
        assert_eq!(slept / MS, slept_ms, "beta {beta}");
    }
}

#[test]
fn sleep_counts_into_sojourn_time_if_beta_is_positive() {
    // A runs from 0 to 10 and sleeps until 90; B, alone, has T / S = 1 and a bonus of 0.1, with
    // quanta that end at 85 and 100. A has 90/10 at 90, but without its sleep 10/10, which is
    // less than 2^0.1, and at 100 20/10
    let load = r#"{"tasks": {"A": {"loop": 1, "run": 10000, "sleep": 80000, "run": 100000},
        "B": {"delay": 70000, "run": 1000000}}}"#;
    for (beta, ms) in [("inf", 90), ("-inf", 100)] {
        let set = [("beta", beta), ("gamma", "0.1"), ("quantum_ns", "15000000")];
        assert_eq!(run(&set, 150, load).1.spans("A-0")[1].0, ms * 1000, "beta {beta}");
    }
}

#[test]
fn epsilon_favours_who_is_served_little() {
    // T (T / S)^epsilon at 1 s, where B came at 0.5 s and nobody was idle: for epsilon = 1 it is
    // 1 / a = 0.5^2 / b with a + b = 1, so b = 0.2; for 10, b = 0.5^1.1 a, so b = 0.318
    let load = r#"{"tasks": {"A": {"run": 9000000}, "B": {"delay": 500000, "run": 9000000}}}"#;
    for (epsilon, b_ms) in [("0", 0.0), ("1", 200.0), ("10", 318.0)] {
        let set = [("alpha", "0"), ("alpha_min", "0"), ("beta", "inf"), ("epsilon", epsilon)];
        let ran = run(&set, 1_000, load).1.cpu_ns(1002, 1_000 * MS) as f64 / MS as f64;
        assert!((ran - b_ms).abs() <= 5.0, "epsilon {epsilon}: {ran} ms");
    }
}
