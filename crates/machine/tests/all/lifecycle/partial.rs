// SPDX-License-Identifier: MIT OR Apache-2.0
//! `SCX_OPS_SWITCH_PARTIAL`: tasks of `SCHED_EXT` are the scheduler's, and the fair class is above.

use super::{fair, machine, play, MS};
use crate::common::{shared_fifo, Native, Tape};
use rota_machine::config::Config;
use rota_machine::consts::OPS_SWITCH_PARTIAL;
use rota_machine::run::Outcome;

fn partial() -> Native {
    shared_fifo().flags(OPS_SWITCH_PARTIAL)
}

fn run(config: Config, tasks: &str) -> (Outcome, Tape) {
    let (outcome, tape, _) = play(config, tasks, partial, &mut fair());
    assert!(!outcome.exit.kind.is_error(), "{}", outcome.exit);
    (outcome, tape)
}

#[test]
fn the_fair_class_goes_first() {
    let tasks = r#""ext": {"policy": "SCHED_EXT", "run": 100000},
        "other": {"loop": -1, "sleep": 5000, "run": 5000}"#;
    let (_, tape) = run(machine(1, 40, &[(0, true)]), tasks);
    let each = |from: u64| (from, from + 5000);
    assert_eq!(tape.spans("ext-0"), [0, 10_000, 20_000, 30_000].map(each));
    assert_eq!(tape.spans("other-1")[..3], [5000, 15_000, 25_000].map(each));
}

const HOGS: &str = r#""ext": {"policy": "SCHED_EXT", "run": 10000000},
    "hog": {"run": 10000000}, "hug": {"policy": "SCHED_BATCH", "run": 10000000}"#;

#[test]
fn below_hogs_sched_ext_has_50_ms_of_each_second() {
    let (_, tape) = run(machine(1, 3000, &[(0, true)]), HOGS);
    // as behind a real-time hog (classes/server.rs): 5 %
    assert_eq!(tape.spans("ext-0"), [(950_000, 1_000_000), (1_950_000, 2_000_000)]);
}

#[test]
fn kernels_before_7_0_let_it_starve() {
    let mut config = machine(1, 3000, &[(0, true)]);
    config.rules.ext_server = false;
    let (_, tape) = run(config, HOGS);
    assert_eq!(tape.spans("ext-0"), []);
}

#[test]
fn above_both_a_real_time_hog_leaves_each_its_50_ms() {
    let tasks = r#""rt": {"policy": "SCHED_FIFO", "run": 10000000},
        "ext": {"policy": "SCHED_EXT", "run": 10000000}, "other": {"run": 10000000}"#;
    let (_, tape) = run(machine(1, 4000, &[(0, true)]), tasks);
    let used = |name: &str| tape.cpu_ns(tape.pid(name), 4000 * MS) / MS;
    // four periods of 50 ms each; where a span begins late, the last may not be over
    assert!((150..=200).contains(&used("ext-1")), "{}", used("ext-1"));
    assert!((150..=200).contains(&used("other-2")), "{}", used("other-2"));
    let alone = r#""rt": {"policy": "SCHED_FIFO", "run": 10000000}, "other": {"run": 10000000}"#;
    let (_, tape) = run(machine(1, 3000, &[]), alone);
    assert_eq!(tape.spans("other-1"), [(950_000, 1_000_000), (1_950_000, 2_000_000)]);
}

#[test]
fn a_task_moves_between_the_classes() {
    let tasks = r#""moves": {"loop": 1, "phases": {
            "a": {"loop": 1, "policy": "SCHED_EXT", "run": 2000},
            "b": {"loop": 1, "policy": "SCHED_OTHER", "run": 2000},
            "c": {"loop": 1, "policy": "SCHED_EXT", "run": 2000}}},
        "stays": {"loop": 1, "run": 100000}"#;
    let (_, tape) = run(machine(1, 200, &[(0, true)]), tasks);
    // below the hog of 100 ms; then both of its parts
    assert_eq!(tape.spans("moves-0"), [(100_000, 106_000)]);
}

#[test]
fn without_a_fair_class_a_partial_scheduler_is_refused() {
    let (outcome, _) = crate::common::run(
        machine(1, 10, &[(0, true)]),
        r#"{"tasks": {"a": {"run": 1}}}"#,
        &mut partial(),
    );
    let text = "SCX_OPS_SWITCH_PARTIAL needs a fair class, and this machine has none";
    assert_eq!(outcome.exit.message, text);
}
