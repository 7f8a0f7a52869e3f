// SPDX-License-Identifier: MIT OR Apache-2.0
//! `SCHED_DEADLINE`.

use super::{play, play_in_ticks, MS};
use crate::common::{ideal, shared_fifo, Tape};
use rota_machine::run::{Machine, RunError};
use std::sync::Arc;

#[test]
fn a_reservation_gives_its_runtime_each_period_and_no_more() {
    let tape = play(
        1,
        r#""hog": {"loop": 1, "run": 14000},
           "dl": {"loop": 1, "policy": "SCHED_DEADLINE", "dl-runtime": 4000, "dl-period": 10000,
               "run": 10000}"#,
    );
    assert_eq!(tape.spans("dl-1"), [(0, 4000), (10_000, 14_000), (20_000, 22_000)]);
    assert_eq!(tape.spans("hog-0"), [(4000, 10_000), (14_000, 20_000), (22_000, 24_000)]);
}

#[test]
fn the_earlier_deadline_runs_and_any_deadline_comes_before_real_time() {
    let tape = play(
        1,
        r#""rt": {"loop": 1, "policy": "SCHED_FIFO", "priority": 99, "run": 10000},
           "late": {"loop": 1, "policy": "SCHED_DEADLINE", "dl-runtime": 4000, "dl-period": 20000,
               "delay": 1000, "run": 4000},
           "early": {"loop": 1, "policy": "SCHED_DEADLINE", "dl-runtime": 2000, "dl-period": 10000,
               "delay": 2000, "run": 2000},
           "later": {"loop": 1, "policy": "SCHED_DEADLINE", "dl-runtime": 1000, "dl-period": 20000,
               "delay": 4500, "run": 1000}"#,
    );
    // due: late at 21, early at 12, later at 24.5
    assert_eq!(tape.spans("late-1"), [(1000, 2000), (4000, 7000)]);
    assert_eq!(tape.spans("early-2"), [(2000, 4000)]);
    assert_eq!(tape.spans("later-3"), [(7000, 8000)]);
    assert_eq!(tape.spans("rt-0"), [(0, 1000), (8000, 17_000)]);
}

#[test]
fn what_a_tick_noticed_too_late_is_missing_in_the_next_period() {
    // 5 ms of each 20, looked at every 4: 8, then 2 left: 4, then 3 left: 4, then 4 left: 4
    let tape = play_in_ticks(
        1,
        r#""dl": {"loop": 1, "policy": "SCHED_DEADLINE", "dl-runtime": 5000, "dl-period": 20000,
               "run": 20000}"#,
    );
    let expected = [(0, 8000), (20_000, 24_000), (40_000, 44_000), (60_000, 64_000)];
    assert_eq!(tape.spans("dl-0"), expected);
}

#[test]
fn a_yield_gives_the_rest_of_the_period_away() {
    let tape = play(
        1,
        r#""dl": {"loop": 2, "policy": "SCHED_DEADLINE", "dl-runtime": 4000, "dl-period": 10000,
               "run": 1000, "yield": ""}"#,
    );
    assert_eq!(tape.spans("dl-0"), [(0, 1000), (10_000, 11_000)]);
}

#[test]
fn who_wakes_keeps_its_period_only_while_the_rest_is_within_its_bandwidth() {
    // 4 ms of 10. At 2 it sleeps with 2 ms left, due at 10. Up again at 4: 2/6 < 4/10, so it goes
    // on with those 2 ms, is throttled at 6 and begins its next period at 10. In "late" it is up
    // again at 7: 2/3 > 4/10, so a new period begins then, with 4 ms
    let task = |sleep: u32| {
        format!(
            r#""dl": {{"loop": 1, "policy": "SCHED_DEADLINE", "dl-runtime": 4000,
                "dl-period": 10000, "run": 2000, "sleep": {sleep}, "run1": 4000}}"#
        )
    };
    assert_eq!(play(1, &task(2000)).spans("dl-0"), [(0, 2000), (4000, 6000), (10_000, 12_000)]);
    assert_eq!(play(1, &task(5000)).spans("dl-0"), [(0, 2000), (7000, 11_000)]);
}

#[test]
fn a_deadline_before_the_end_of_the_period_is_no_way_to_more_time() {
    // 2 ms within 4 of each 10: asleep over its deadline at 4, it is up at 5, but its budget comes
    // back at 10 only
    let tape = play(
        1,
        r#""dl": {"loop": 1, "policy": "SCHED_DEADLINE", "dl-runtime": 2000, "dl-deadline": 4000,
               "dl-period": 10000, "run": 1000, "sleep": 4000, "run1": 2000}"#,
    );
    assert_eq!(tape.spans("dl-0"), [(0, 1000), (10_000, 12_000)]);
}

fn refusal(cpus: u32, tasks: &str) -> RunError {
    let load = format!("{{\"tasks\": {{{tasks}}}}}");
    let load = Arc::new(rota_workload::parse("w.json", &load).unwrap());
    let machine = Machine::new(ideal(cpus, 100 * MS), load, &rota_object::btf::reference());
    let run = |mut machine: Machine| machine.run(&mut shared_fifo(), &mut Tape::default());
    machine.and_then(run).expect_err("too much is reserved")
}

#[test]
fn reservations_beyond_what_the_machine_admits_are_refused() {
    // 0.95 - 0.05 of two CPUs are 1.8: two of 0.8 fit, 0.3 more do not
    let tasks = r#""a": {"instance": 2, "policy": "SCHED_DEADLINE", "dl-runtime": 8000,
            "dl-period": 10000, "run": 1000, "sleep": 1000},
        "b": {"policy": "SCHED_DEADLINE", "dl-runtime": 3000, "dl-period": 10000, "run": 1000}"#;
    assert_eq!(
        refusal(2, tasks).to_string(),
        "task \"b-2\": SCHED_DEADLINE is refused (EBUSY): it reserves 30.0 % of a CPU, others \
         160.0 %, and 2 CPUs admit 180.0 %"
    );
}

#[test]
fn a_reservation_on_a_part_of_the_machine_is_refused() {
    let tasks = r#""a": {"policy": "SCHED_DEADLINE", "dl-runtime": 1000, "dl-period": 10000,
        "cpus": [1], "run": 1000}"#;
    assert_eq!(
        refusal(2, tasks).to_string(),
        "task \"a-0\": SCHED_DEADLINE is refused (EPERM): \"cpus\" must leave out no CPU"
    );
}
