// SPDX-License-Identifier: MIT OR Apache-2.0
//! What sched_ext gets behind real-time tasks that never sleep.

use super::{play_for, MS};

#[test]
fn a_real_time_hog_leaves_sched_ext_50_ms_of_each_second() {
    let tape = play_for(
        3000 * MS,
        1,
        r#""hog": {"policy": "SCHED_FIFO", "run": 5000000}, "ext": {"run": 5000000}"#,
    );
    // the first second's at its last moment, the others when they are due
    let expected = [(950_000, 1_050_000), (2_000_000, 2_050_000)];
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
    // due at 980, the server at 1000. What is left of its 50 ms ends at 1005, after its deadline,
    // and the next 50 begin at once
    assert_eq!(tape.spans("dl-1"), [(960_000, 965_000)]);
    assert_eq!(tape.spans("ext-2"), [(950_000, 960_000), (965_000, 1_055_000)]);
}
