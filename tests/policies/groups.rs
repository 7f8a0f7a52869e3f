// SPDX-License-Identifier: MIT OR Apache-2.0
//! Groups under the policies that have them: cgroups compete by their weights, and members share
//! what their group gets by theirs. Parts are calculated by hand; times are on one ideal CPU.

use crate::common::groups::{expect, hogs, parts, run_for};
use crate::common::Tape;

const POLICIES: [&str; 2] = ["cfs", "eevdf"];
const RUN_MS: u64 = 30_000;

/// A run of these tasks under each policy, on one CPU.
fn each(tasks: &str, events: &str) -> [Tape; 2] {
    POLICIES.map(|policy| run_for(policy, 1, &[], (tasks, events), RUN_MS))
}

#[test]
fn one_task_has_as_much_as_a_group_of_nine_of_the_same_weight() {
    let tasks = [hogs("a", 1, "/a", 100), hogs("b", 9, "/b", 100)].join(", ");
    for tape in each(&tasks, "") {
        expect(&parts(&tape, 0, RUN_MS, &[1, 9]), &[0.5, 0.5]);
        // and the nine have the same: 1/18 each
        expect(&parts(&tape, 0, RUN_MS, &[1; 10]), &[&[0.5][..], &[1.0 / 18.0; 9]].concat());
    }
    // without groups ten tasks are ten tasks
    for policy in POLICIES {
        let tape = run_for(policy, 1, &[("cgroups", "false")], (&tasks, ""), RUN_MS);
        expect(&parts(&tape, 0, RUN_MS, &[1, 9]), &[0.1, 0.9]);
    }
}

#[test]
fn members_share_what_the_group_gets_by_their_nice_values() {
    // weights 1024 and 335 in the group, so 0.7535 and 0.2465 of its half
    let tasks = format!(
        r#"{}, "b": {{"run": 1000000, "taskgroup": "/g"}},
        "c": {{"priority": 5, "run": 1000000, "taskgroup": "/g"}}"#,
        hogs("a", 1, "/a", 100)
    );
    for tape in each(&tasks, "") {
        expect(&parts(&tape, 0, RUN_MS, &[1, 1, 1]), &[0.5, 0.3767, 0.1233]);
    }
}

#[test]
fn tasks_of_the_root_group_compete_with_groups() {
    // a task of nice 0 weighs as much as a group of weight 100
    let tasks = format!(r#""a": {{"instance": 2, "run": 1000000}}, {}"#, hogs("b", 3, "/b", 100));
    for tape in each(&tasks, "") {
        expect(&parts(&tape, 0, RUN_MS, &[1, 1, 3]), &[1.0 / 3.0; 3]);
    }
}

#[test]
fn groups_in_groups_share_what_the_outer_one_gets() {
    // /a has half, its own task and its groups of 100 and 200 a quarter, a quarter and half of that
    let tasks = [
        hogs("own", 1, "/a", 100),
        hogs("x", 2, "/a/x", 100),
        hogs("y", 4, "/a/y/deep", 700),
        hogs("b", 1, "/b", 100),
        // only to give /a/y its weight: it ends at once
        r#""w": {"loop": 1, "run": 1, "taskgroup": {"path": "/a/y", "cpu.weight": 200}}"#.into(),
    ]
    .join(", ");
    for tape in each(&tasks, "") {
        expect(&parts(&tape, 1_000, RUN_MS, &[1, 2, 4, 1]), &[0.125, 0.125, 0.25, 0.5]);
    }
}

#[test]
fn tasks_that_sleep_in_a_group_take_no_more_than_its_part() {
    // Four that wake up all the time, and a task that computes, have what the group has.
    let tasks = format!(
        r#"{}, "b": {{"run": 1000000, "taskgroup": "/b"}},
        "s": {{"instance": 4, "run": 500, "sleep": 3500, "taskgroup": "/b"}}"#,
        hogs("a", 1, "/a", 100),
    );
    for tape in each(&tasks, "") {
        expect(&parts(&tape, 0, RUN_MS, &[1, 5]), &[0.5, 0.5]);
    }
}

#[test]
fn a_new_weight_of_a_group_counts_from_then_on() {
    let tasks = [hogs("a", 2, "/a/in", 100), hogs("b", 3, "/b", 100)].join(", ");
    for tape in each(&tasks, r#"{"at": "10s", "cgroup": "/a", "cpu.weight": 400}"#) {
        expect(&parts(&tape, 0, 10_000, &[2, 3]), &[0.5, 0.5]);
        expect(&parts(&tape, 10_500, RUN_MS, &[2, 3]), &[0.8, 0.2]);
    }
}

#[test]
fn groups_for_which_there_is_no_room_count_as_parts_of_the_one_above() {
    // 511 groups have room; of 600 in /a the rest are in /a itself. All of them together have
    // half, as /b has.
    let mut tasks = vec![hogs("b", 1, "/b", 100)];
    tasks.extend((0..600).map(|i| hogs(&format!("t{i}"), 1, &format!("/a/{i}"), 100)));
    for tape in each(&tasks.join(", "), "") {
        expect(&parts(&tape, 0, RUN_MS, &[1, 600]), &[0.5, 0.5]);
    }
}
