// SPDX-License-Identifier: MIT OR Apache-2.0
//! What sched_ext gets behind real-time tasks that never sleep.

use super::{play_for, MS};
use crate::common::{ideal, run, shared_fifo, Tape};
use rota_machine::exit::ExitKind;
use rota_machine::run::Outcome;

#[test]
fn a_real_time_hog_leaves_sched_ext_50_ms_of_each_second() {
    let tape = play_for(
        3100 * MS,
        1,
        r#""hog": {"policy": "SCHED_FIFO", "run": 5000000}, "ext": {"run": 5000000}"#,
    );
    // The first second's at its last moment. 50 ms within the 50 until its deadline are more than
    // 5 %, so a period begins there (replenish_dl_entity()), and the others are due after it.
    let expected = [(950_000, 1_000_000), (1_950_000, 2_000_000), (2_950_000, 3_000_000)];
    assert_eq!(tape.spans("ext-1"), expected);
}

#[test]
fn who_gets_its_50_ms_anyway_is_given_no_more() {
    // awake for 900 ms of each second, the hog leaves 100
    let tape = play_for(
        3000 * MS,
        1,
        r#""hog": {"policy": "SCHED_FIFO", "run": 900000,
               "timer": {"ref": "unique", "period": 1000000}},
           "ext": {"run": 5000000}"#,
    );
    let expected = [(900_000, 1_000_000), (1_900_000, 2_000_000)];
    assert_eq!(tape.spans("ext-1"), expected);
}

#[test]
fn a_deadline_before_the_server_s_goes_first() {
    let tape = play_for(
        1100 * MS,
        1,
        r#""hog": {"policy": "SCHED_FIFO", "run": 5000000},
           "dl": {"loop": 1, "policy": "SCHED_DEADLINE", "dl-runtime": 5000, "dl-period": 20000,
               "delay": 960000, "run": 5000},
           "ext": {"run": 5000000}"#,
    );
    // due at 980, the server at 1950
    assert_eq!(tape.spans("dl-1"), [(960_000, 965_000)]);
    assert_eq!(tape.spans("ext-2"), [(950_000, 960_000), (965_000, 1_005_000)]);
}

/// `e` runs 2 ms and sleeps 8, behind a task above it that never sleeps.
fn behind_a_hog(cpus: u32, policy: &str, ext_server: bool) -> (Outcome, Tape) {
    let mut config = ideal(cpus, 3000 * MS);
    config.audit = true;
    config.rules.ext_server = ext_server;
    let load = format!(
        r#"{{"tasks": {{"hog": {{"policy": "{policy}", "priority": 50, "cpus": [0], "run": 1000000}},
            "e": {{"cpus": [0], "run": 2000, "sleep": 8000}}}}}}"#
    );
    run(config, &load, &mut shared_fifo().timeout_ms(1000))
}

#[test]
fn a_task_that_sleeps_gets_the_cpu_again_at_each_wakeup_until_its_50_ms_are_used() {
    // From its last moment in the first second (950 ms) on, each wakeup starts the server anew
    // (dl_server_start()), which takes the CPU from the hog: 25 times 2 ms, every 10 ms. Before
    // the k-th, 50 - 2k ms are left until 1000 - 10k ms later: never more than 5 %.
    let run_of = |second: u64, k: u64| {
        let at = 950_000 + 1_000_000 * second + 10_000 * k;
        (at, at + 2_000)
    };
    let expected = (0..2).flat_map(|second| (0..25).map(move |k| run_of(second, k)));
    let expected: Vec<_> = expected.chain((0..5).map(|k| run_of(2, k))).collect();
    for policy in ["SCHED_FIFO", "SCHED_RR"] {
        for cpus in [1, 4] {
            let (outcome, tape) = behind_a_hog(cpus, policy, true);
            assert_eq!(outcome.exit.kind, ExitKind::Unreg, "{policy} on {cpus}: {}", outcome.exit);
            assert_eq!(tape.spans("e-1"), expected, "{policy} on {cpus}");
        }
    }
}

#[test]
fn without_a_server_the_same_task_stalls() {
    let (outcome, tape) = behind_a_hog(1, "SCHED_FIFO", false);
    assert_eq!(outcome.exit.kind, ExitKind::ErrorStall);
    assert_eq!(tape.spans("e-1"), []);
}

#[test]
fn a_server_that_comes_back_late_gets_its_share_of_what_is_left() {
    // The server owes 50 ms until 1950. ext takes 10 of them, and comes back at 1600 with 40 left
    // and 350 to go: more than 5 %. update_dl_revised_wakeup() leaves it 5 % of 350 ms, cut to
    // the 52428/2^20 of the kernel's fractions: 17.499 ms.
    let tape = play_for(
        2100 * MS,
        1,
        r#""hog": {"policy": "SCHED_FIFO", "run": 5000000},
           "ext": {"loop": 1, "run": 10000, "sleep": 640000, "run1": 500000}"#,
    );
    let left_us = 350_000 * 52_428 / (1 << 20);
    let expected = [(950_000, 960_000), (1_600_000, 1_600_000 + left_us), (1_950_000, 2_000_000)];
    assert_eq!(tape.spans("ext-1"), expected);
}
