// SPDX-License-Identifier: MIT OR Apache-2.0
//! CPUs that share a core.

use super::{end_ns, on, siblings, MS};
use crate::common::{run, shared_fifo};
use rota_trace::EventKind;

#[test]
fn two_tasks_on_a_core_get_what_their_classes_leave_them() {
    // 10 ms of work each: at 540/1024 until 1024 * 10 / 540 = 18,962,963 ns, at 640: 16 ms
    for (class, speed) in [("compute", 540), ("mixed", 640), ("memory", 790)] {
        let load = format!(
            r#"{{"tasks": {{"a": {{"instance": 2, "loop": 1, "work_class": "{class}",
                "run": 10000}}}}}}"#
        );
        let (_, tape) = run(on(siblings(2), "smt=2", 50 * MS), &load, &mut shared_fifo());
        let expected = (10 * MS * 1024).div_ceil(speed);
        assert_eq!([1001, 1002].map(|pid| end_ns(&tape, pid)), [expected; 2], "{class}");
    }
}

#[test]
fn a_task_is_slow_only_while_its_sibling_is_busy() {
    // together for 5 ms at 640: 3.125 of 10 ms done; the other 6.875 alone
    let load = r#"{"tasks": {
        "long": {"loop": 1, "run": 10000}, "short": {"loop": 1, "runtime": 5000}}}"#;
    let (_, tape) = run(on(siblings(2), "smt=2", 50 * MS), load, &mut shared_fifo());
    assert_eq!(end_ns(&tape, 1001), 5 * MS + 6_875_000);
}

#[test]
fn five_tasks_on_four_cores_slow_down_two_of_them_only() {
    // stuffedcow.net, Linux SMT-Aware Process Scheduling: one core holds two, the other three tasks
    // keep full speed
    let load = r#"{"tasks": {"a": {"instance": 5, "loop": 1, "run": 10000}}}"#;
    let (_, tape) = run(on(siblings(8), "smt=2", 50 * MS), load, &mut shared_fifo());
    let mut ends = [1001, 1002, 1003, 1004, 1005].map(|pid| end_ns(&tape, pid));
    ends.sort_unstable();
    assert_eq!(ends, [10 * MS, 10 * MS, 10 * MS, 16 * MS, 16 * MS]);
}

#[test]
fn a_core_with_four_threads_has_a_speed_for_each_number_of_busy_ones() {
    // a list that ends goes on with its last entry
    let mut hardware = siblings(4);
    hardware.core_types[0].smt.as_mut().unwrap().mixed = vec![640, 400];
    for (tasks, speed) in [(1, 1024), (2, 640), (3, 400), (4, 400)] {
        let load =
            format!(r#"{{"tasks": {{"a": {{"instance": {tasks}, "loop": 1, "run": 1000}}}}}}"#);
        let config = on(hardware.clone(), "smt=4", 50 * MS);
        let (_, tape) = run(config, &load, &mut shared_fifo());
        assert_eq!(end_ns(&tape, 1001), (MS * 1024).div_ceil(speed), "{tasks} tasks");
    }
}

#[test]
fn cores_reach_a_share_of_the_most_that_goes_by_class() {
    // brendanlong.com, CPU utilization is a lie: as many loops as a Ryzen 5900X has cores, 12 of 24
    // CPUs, reach 80-100 % of the throughput of 24 in matrix methods, 65-85 % in 64-bit integer ones,
    // 60-65 % over all. Up to 12 it is linear.
    let done = |class: &str, tasks: u32| {
        let load = format!(
            r#"{{"tasks": {{"a": {{"instance": {tasks}, "loop": 1, "work_class": "{class}",
                "run": 100000}}}}}}"#
        );
        let mut config = on(siblings(24), "smt=2", 20 * MS);
        config.audit = false;
        let mut fifo = shared_fifo();
        fifo.slice_ns = MS;
        let (_, tape) = run(config, &load, &mut fifo);
        let work =
            tape.0.iter().map(|e| if let EventKind::Work { done, .. } = e.kind { done } else { 0 });
        work.sum::<u64>()
    };
    for (class, least, most) in [("compute", 80, 100), ("mixed", 65, 85), ("memory", 60, 65)] {
        let [six, twelve, all] = [6, 12, 24].map(|tasks| done(class, tasks));
        assert_eq!(six * 2, twelve, "{class}");
        let share = twelve * 100 / all;
        assert!((least..=most).contains(&share), "{class}: {share} %");
    }
}
