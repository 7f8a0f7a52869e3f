// SPDX-License-Identifier: MIT OR Apache-2.0
//! Groups under `cfs`: cgroups compete by their weights, and members share what their group gets
//! by theirs. Parts are calculated by hand; times are on one ideal CPU.

use crate::common::groups::{expect, hogs, parts, run_for};
use crate::common::Tape;

const RUN_MS: u64 = 30_000;
/// Cgroups count, as they do by default.
const GROUPS: &[(&str, &str)] = &[];

fn run_on(cpus: u32, set: &[(&str, &str)], tasks: &str) -> Tape {
    run_for("cfs", cpus, set, (tasks, ""), RUN_MS)
}

#[test]
fn weights_of_groups_are_kept_whatever_is_in_them() {
    let tasks = [hogs("a", 2, "/a", 300), hogs("b", 5, "/b", 100)].join(", ");
    expect(&parts(&run_on(1, GROUPS, &tasks), 0, RUN_MS, &[2, 5]), &[0.75, 0.25]);
}

#[test]
fn slices_are_the_groups_part_of_the_period() {
    // two of 3:1, so 15 and 5 ms of the 20
    let tasks = [hogs("a", 1, "/a", 300), hogs("b", 1, "/b", 100)].join(", ");
    let tape = run_on(1, GROUPS, &tasks);
    for (name, us) in [("a-0", 15_000), ("b-1", 5_000)] {
        let (begin, end) = tape.spans(name)[0];
        assert!((end - begin).abs_diff(us) <= 1, "{name}: {} us", end - begin);
    }
}

#[test]
fn a_group_without_anybody_to_run_leaves_its_part_to_the_others() {
    let tasks = format!(
        r#"{}, {}, "end": {{"loop": 1, "run": 5000000, "taskgroup": "/c"}}"#,
        hogs("a", 1, "/a", 200),
        hogs("b", 2, "/b", 100)
    );
    // 2:1:1 until the third has had its five seconds, which takes twenty; then 2:1
    let tape = run_on(1, GROUPS, &tasks);
    expect(&parts(&tape, 0, 19_000, &[1, 2, 1]), &[0.5, 0.25, 0.25]);
    expect(&parts(&tape, 21_000, RUN_MS, &[1, 2, 1]), &[0.6667, 0.3333, 0.0]);
}

#[test]
fn who_moves_to_another_group_shares_there() {
    // At first one task of /a has half, and two of /b a quarter each. After ten seconds of its
    // own, which take forty at a quarter, m would go to /a: it moves after two, at 8 s.
    let tasks = format!(
        r#"{}, {}, "m": {{"phases": {{
            "first": {{"loop": 1, "run": 2000000, "taskgroup": "/b"}},
            "then": {{"run": 100000000, "taskgroup": "/a"}}}}}}"#,
        hogs("a", 1, "/a", 100),
        hogs("b", 1, "/b", 100)
    );
    let tape = run_on(1, GROUPS, &tasks);
    expect(&parts(&tape, 0, 7_900, &[1, 1, 1]), &[0.5, 0.25, 0.25]);
    expect(&parts(&tape, 8_200, RUN_MS, &[1, 1, 1]), &[0.25, 0.5, 0.25]);
}

#[test]
fn each_cpu_has_the_whole_weight_of_a_group() {
    // As in 2.6.24: tied to two CPUs, two of a group have half of each beside one task of another.
    let tied = |name: &str, cpu: u32, path: &str| {
        format!(r#""{name}": {{"cpus": [{cpu}], "run": 1000000, "taskgroup": "{path}"}}"#)
    };
    let tasks = [tied("a", 0, "/a"), tied("b", 1, "/a"), tied("c", 0, "/b"), tied("d", 1, "/c")];
    let tape = run_on(2, GROUPS, &tasks.join(", "));
    expect(&parts(&tape, 0, RUN_MS, &[1; 4]), &[0.5; 4]);
}
