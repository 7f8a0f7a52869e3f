// SPDX-License-Identifier: MIT OR Apache-2.0
//! Groups under `eevdf`: they compete level by level, as in Linux 7.2. Parts and sequences are
//! calculated by hand; times are on ideal CPUs.

use crate::common::eevdf::{run, MS};
use crate::common::groups::{expect, hogs, parts, run_for};
use crate::common::hosted::letters;
use crate::common::plan::cases;
use crate::common::Tape;
use proptest::prelude::*;

const RUN_MS: u64 = 20_000;

fn run_on(cpus: u32, tasks: &str) -> Tape {
    run_for("eevdf", cpus, &[], (tasks, ""), RUN_MS)
}

/// An endless task of a group of weight 100 that is tied to a CPU.
fn tied(name: &str, cpu: u32, path: &str) -> String {
    format!(r#""{name}": {{"cpus": [{cpu}], "run": 1000000, "taskgroup": "{path}"}}"#)
}

#[test]
fn groups_with_a_task_each_are_picked_as_tasks_of_their_weights_would_be() {
    // The table of eevdf.rs, the_earliest_deadline_of_the_eligible_runs, for weights of 200 and
    // 100 and slices of 6 ms: a group requests what its task does.
    let set = [("base_slice_ns", "6000000"), ("no_place_deadline_initial", "true")];
    let tasks = [hogs("A", 1, "/a", 200), hogs("B", 1, "/b", 100)].join(", ");
    let tape = run_for("eevdf", 1, &set, (&tasks, ""), 40);
    assert_eq!(letters(&tape), "ABAABAAAA");
}

#[test]
fn groups_that_come_at_once_run_in_the_order_of_coming() {
    // Their parts have the same deadline, and of those the first one in the tree runs, which came
    // first (entity_before). The fourth group's task comes at once, too, and a second one of the
    // first group, which leaves that group's place as it is.
    let set = [("base_slice_ns", "6000000"), ("no_place_deadline_initial", "true")];
    let tasks = ["A", "B", "C", "D"].map(|name| hogs(name, 1, &format!("/{name}"), 100));
    let tasks = [tasks.join(", "), hogs("E", 1, "/A", 100)].join(", ");
    let tape = run_for("eevdf", 1, &set, (&tasks, ""), 60);
    // Ten turns of 6 ms; those of the first group are its two tasks' in turn.
    assert_eq!(letters(&tape), "ABCDEBCDAB");
}

#[test]
fn a_task_that_wakes_up_ends_the_turn_of_a_group_that_has_had_it() {
    // Turns of 8 ms, requests of 6. /a weighs four times what /b does. A runs from 0, C of /b from 8
    // to 16: its group is ahead then, at 8 of V = (4 × 2 + 8) / 5 = 3.2 ms, till /a has had 32 ms.
    // B runs from 16; at 23 ms s wakes up in /b, for which no turn follows; but where the groups
    // meet /a is found to have had its 6 ms, so a pick follows. /a still goes first, at 3.75 ms, and
    // in it D, which has had nothing: not at the tick at 24 ms.
    let tasks = [
        hogs("A", 1, "/a", 400),
        hogs("B", 1, "/a", 400),
        hogs("D", 1, "/a", 400),
        hogs("C", 1, "/b", 100),
        r#""s": {"delay": 23000, "run": 1000, "taskgroup": {"path": "/b", "cpu.weight": 100}}"#
            .into(),
    ];
    let load = format!(r#"{{"tasks": {{{}}}}}"#, tasks.join(", "));
    let tape = run(1, &[], &load, 30).1;
    // In the order of the file.
    let first = |nr: u32| tape.starts(1001 + nr)[0].0 / MS;
    assert_eq!([0, 1, 2, 3].map(first), [0, 16, 23, 8]);
}

#[test]
fn the_rest_of_a_group_goes_first_when_one_of_its_tasks_has_gone_to_sleep() {
    // Turns of 8 ms, requests of 6, equal weights. A, B and C run from 0, 8 and 16, so all groups are
    // at 8 at 24 ms, with the deadline 14, and /A comes first. s, which has had nothing, runs in it
    // till 27, and sleeps with lag: /A is its queue's buddy. At 11 it is not eligible (V = 9), so B
    // runs, till the tick at 36. B is at 17 then, and V = 12. /C at 8 and /A have the same deadline;
    // /C has waited for longer, but the buddy goes first. At the tick at 40 /A is at 15 of 13.3.
    let mut tasks = ["A", "B", "C"].map(|name| hogs(name, 1, &format!("/{name}"), 100)).to_vec();
    tasks.push(r#""s": {"run": 3000, "sleep": 1000000, "taskgroup": "/A"}"#.into());
    let load = format!(r#"{{"tasks": {{{}}}}}"#, tasks.join(", "));
    let starts = |set: &[(&str, &str)], nr: u32| {
        let starts = run(1, set, &load, 43).1.starts(1001 + nr);
        starts.iter().map(|(ns, _)| ns / MS).collect::<Vec<u64>>()
    };
    let all = [vec![0, 36], vec![8, 27], vec![16, 40], vec![24]];
    assert_eq!([0, 1, 2, 3].map(|nr| starts(&[], nr)), all);
    assert_eq!(starts(&[("no_pick_buddy", "true")], 2), [16, 36]);
}

#[test]
fn weights_of_ten_to_one_hold_on_one_cpu_and_on_several() {
    // Four tasks of each, three levels deep. Of 4 CPUs the lighter group's can have no more than
    // one each: 1/11 and 10/11 of all, as each CPU has one of each group.
    let tasks = [hogs("game", 4, "/user/one/game", 1000), hogs("bench", 4, "/user/one/bench", 100)]
        .join(", ");
    for cpus in [1, 2, 4] {
        let tape = run_on(cpus, &tasks);
        let found = parts(&tape, 1_000, RUN_MS, &[4, 4]);
        let ratio = found[0] / found[1];
        assert!((ratio / 10.0 - 1.0).abs() < 0.03, "{cpus} CPUs: {found:?}, ratio {ratio}");
    }
}

#[test]
fn the_weight_of_a_group_is_divided_among_the_cpus_where_it_has_load() {
    // (calc_group_shares) /a has a task on each CPU, /b one on CPU 0. Both queues of /a have a
    // load of 1024, so its part on CPU 0 weighs 1024 × 1024 / 2048 = 512: with /b's 1024 that
    // is a third of the CPU. Load averages need some 0.2 s to get there.
    let tasks = [tied("a", 0, "/a"), tied("b", 1, "/a"), tied("c", 0, "/b")].join(", ");
    let tape = run_on(2, &tasks);
    expect(&parts(&tape, 1_000, RUN_MS, &[1; 3]), &[0.3333, 1.0, 0.6667]);
}

#[test]
fn a_part_that_has_become_empty_gives_its_weight_to_the_others() {
    // As above, but b sleeps from 10 s on: its load fades to 1/2^10 in 0.3 s, and a's part on CPU 0
    // has all of the group's weight.
    let b = r#""b": {"loop": 1, "cpus": [1], "phases": {"p": {"run": 10000000},
        "q": {"sleep": 30000000}}, "taskgroup": "/a"}"#;
    let tasks = [tied("a", 0, "/a"), b.to_string(), tied("c", 0, "/b")].join(", ");
    let tape = run_on(2, &tasks);
    expect(&parts(&tape, 1_000, 10_000, &[1; 3]), &[0.3333, 1.0, 0.6667]);
    expect(&parts(&tape, 11_000, RUN_MS, &[1; 3]), &[0.5, 0.0, 0.5]);
}

#[test]
fn a_task_that_moves_to_another_group_shares_there() {
    // one task of /a has half, two of /b a quarter each; from 10 s on it is the other way round
    let tasks =
        [hogs("a", 1, "/a", 100), hogs("b", 1, "/b", 100), hogs("m", 1, "/b", 100)].join(", ");
    let events = r#"{"at": "10s", "task": "m", "move": "/a"}"#;
    let tape = run_for("eevdf", 1, &[], (&tasks, events), RUN_MS);
    expect(&parts(&tape, 0, 10_000, &[1; 3]), &[0.5, 0.25, 0.25]);
    expect(&parts(&tape, 10_000, RUN_MS, &[1; 3]), &[0.25, 0.5, 0.25]);
}

#[test]
fn a_new_weight_of_a_group_counts_on_each_cpu() {
    let events = r#"{"at": "10s", "cgroup": "/a", "cpu.weight": 400}"#;
    // one of each group on both CPUs: 4:1 there
    let tasks = [tied("a", 0, "/a"), tied("b", 1, "/a"), tied("c", 0, "/b"), tied("d", 1, "/b")];
    let tape = run_for("eevdf", 2, &[], (&tasks.join(", "), events), RUN_MS);
    expect(&parts(&tape, 1_000, 10_000, &[1; 4]), &[0.5; 4]);
    expect(&parts(&tape, 10_500, RUN_MS, &[1; 4]), &[0.8, 0.8, 0.2, 0.2]);
}

#[test]
fn a_group_that_ends_leaves_nothing_behind() {
    // c's group has two thirds until its task has had its 2 s, at 3 s; then a has all. The group
    // is removed, and another one, in its place, begins anew.
    let tasks = format!(
        r#"{}, "c": {{"loop": 1, "run": 2000000, "taskgroup": {{"path": "/c", "cpu.weight": 200}}}},
        "d": {{"delay": 8000000, "run": 1000000, "taskgroup": "/"}}"#,
        hogs("a", 1, "/a", 100)
    );
    let events = r#"{"at": "5s", "cgroup": "/c", "destroy": true},
        {"at": "6s", "cgroup": "/d", "create": true},
        {"at": "10s", "task": "d", "move": "/d"}"#;
    let tape = run_for("eevdf", 1, &[], (&tasks, events), RUN_MS);
    expect(&parts(&tape, 0, 2_900, &[1; 3]), &[0.3333, 0.6667, 0.0]);
    expect(&parts(&tape, 3_100, 8_000, &[1; 3]), &[1.0, 0.0, 0.0]);
    expect(&parts(&tape, 8_000, RUN_MS, &[1; 3]), &[0.5, 0.0, 0.5]);
}

#[test]
fn an_idle_group_has_a_weight_of_three_and_takes_no_cpu_from_others() {
    // WEIGHT_IDLEPRIO: 3 to 1024. b wakes up each 10 ms and runs 1 ms at once, whatever a's turn.
    let tasks = format!(
        r#"{}, {}, "b": {{"run": 1000, "sleep": 9000, "taskgroup": "/b"}}"#,
        hogs("a", 1, "/a", 100),
        hogs("c", 1, "/c", 100)
    );
    let events = r#"{"at": 0, "cgroup": "/a", "cpu.idle": 1},
        {"at": "10s", "cgroup": "/a", "cpu.idle": 0}"#;
    let tape = run_for("eevdf", 1, &[], (&tasks, events), RUN_MS);
    let found = parts(&tape, 0, 10_000, &[1, 1, 1]);
    assert!((found[0] / found[1] - 3.0 / 1024.0).abs() < 0.001, "{found:?}");
    let found = parts(&tape, 10_000, RUN_MS, &[1, 1, 1]);
    assert!((found[0] / found[1] - 1.0).abs() < 0.05, "{found:?}");
}

#[test]
fn sessions_outside_of_cgroups_are_groups_of_the_weight_of_nice_0() {
    // A game of nice -10 and 16 compilers: one to one by session. Without autogroups the weights
    // are 9548 and 16 × 1024: 9548 / 25932 = 36.8 %. A session in a cgroup is none.
    let game = |group: &str| {
        format!(
            r#""game": {{"session": 10, "priority": -10, "run": 10000 {group}}},
            "make": {{"session": 11, "instance": 16, "run": 10000 {group}}}"#
        )
    };
    let run = |set: &[(&str, &str)], group: &str| {
        parts(&run_for("eevdf", 1, set, (&game(group), ""), RUN_MS), 0, RUN_MS, &[1, 16])
    };
    expect(&run(&[], ""), &[0.5, 0.5]);
    expect(&run(&[("autogroup", "false")], ""), &[0.3682, 0.6318]);
    expect(&run(&[], r#", "taskgroup": "/g""#), &[0.3682, 0.6318]);
}

#[test]
fn a_task_that_leaves_its_cgroup_is_in_its_session_again() {
    // a, b and c have a third each. When c is in /g no more, its session, which is b's, has half.
    let tasks = r#""a": {"run": 10000}, "b": {"session": 7, "run": 10000},
        "c": {"session": 7, "run": 10000, "taskgroup": "/g"}"#;
    let events = r#"{"at": "10s", "task": "c", "move": "/"}"#;
    let tape = run_for("eevdf", 1, &[], (tasks, events), RUN_MS);
    expect(&parts(&tape, 0, 10_000, &[1; 3]), &[0.3333; 3]);
    expect(&parts(&tape, 10_000, RUN_MS, &[1; 3]), &[0.5, 0.25, 0.25]);
}

/// A tree of groups: paths with weights, and how many endless tasks are in each.
#[derive(Clone, Debug)]
struct Group {
    path: String,
    weight: u32,
    tasks: u32,
    inner: Vec<Group>,
}

fn tree(levels: u32) -> BoxedStrategy<Vec<Group>> {
    let below = if levels == 0 { Just(Vec::new()).boxed() } else { tree(levels - 1) };
    let group = (20..500u32, 1..3u32, below).prop_map(|(weight, tasks, inner)| Group {
        path: String::new(),
        weight,
        tasks,
        inner,
    });
    prop::collection::vec(group, 0..3).boxed()
}

fn name(groups: &mut [Group], path: &str) {
    for (i, group) in groups.iter_mut().enumerate() {
        group.path = format!("{path}/{i}");
        name(&mut group.inner, &group.path.clone());
    }
}

/// The tasks of groups that share `share`, with the share of each and its level.
fn dues(groups: &[Group], own: u32, share: f64, level: u32, due: &mut Vec<(String, f64, u32)>) {
    let weight = f64::from(own) * 100.0 + groups.iter().map(|g| f64::from(g.weight)).sum::<f64>();
    for group in groups {
        let inner = share * f64::from(group.weight) / weight;
        let sum = f64::from(group.tasks) * 100.0
            + group.inner.iter().map(|g| f64::from(g.weight)).sum::<f64>();
        let task = inner * 100.0 / sum;
        let json = |i| {
            format!(
                r#""t{}-{i}": {{"run": 1000000, "taskgroup": {{"path": "{}", "cpu.weight": {}}}}}"#,
                group.path.replace('/', "_"),
                group.path,
                group.weight
            )
        };
        due.extend((0..group.tasks).map(|i| (json(i), task, level + 1)));
        dues(&group.inner, group.tasks, inner, level + 1, due);
    }
}

proptest! {
    #![proptest_config(cases(12))]

    /// On one CPU each endless task has the hierarchical share of its weight. On each level
    /// |lag| is at most the longest slice and a tick [entity_lag()], 0.7 + 4 ms here, and a task's
    /// service differs from its share by the lags of all levels, at the begin and at the end.
    #[test]
    fn shares_are_those_of_the_tree(mut groups in tree(2), root in 1..3u32) {
        name(&mut groups, "");
        let sum = f64::from(root) * 100.0 + groups.iter().map(|g| f64::from(g.weight)).sum::<f64>();
        let mut due: Vec<(String, f64, u32)> = (0..root)
            .map(|i| (format!(r#""root{i}": {{"run": 1000000}}"#), 100.0 / sum, 0))
            .collect();
        dues(&groups, root, 1.0, 0, &mut due);
        let tasks: Vec<&str> = due.iter().map(|(json, ..)| json.as_str()).collect();
        let tape = run_on(1, &tasks.join(", "));
        let found = parts(&tape, 0, RUN_MS, &vec![1; due.len()]);
        for ((json, share, level), found) in due.iter().zip(&found) {
            let bound = f64::from(2 * (level + 1)) * 4.7 / RUN_MS as f64;
            prop_assert!((found - share).abs() <= bound, "{json}: {found}, expected {share} ± {bound}");
            prop_assert!(*found > 0.0, "{json} starves");
        }
    }
}

#[test]
fn cpus_of_groups_balance_from_the_start_where_tasks_have_no_past() {
    // Of two CPUs 3/5 are for three tasks, 0.4 each. Only one is on CPU 1 at first, as it was the
    // only idle one once, and would have all of that while loads are unknown. They balance each
    // 60 ms (16 × 2 ms × 2), and loads have half of their value after 32 ms.
    let set = [("no_balance_fork", "true"), ("no_place_deadline_initial", "true")];
    let tasks = [
        hogs("front", 3, "/game/front", 300),
        hogs("back", 2, "/game/back", 100),
        hogs("bench", 2, "/bench", 25),
    ]
    .join(", ");
    let tape = run_for("eevdf", 2, &set, (&tasks, ""), 1_000);
    let found = parts(&tape, 300, 1_000, &[1, 1, 1, 2, 2]);
    let near = |part: &f64| (0.3..0.5).contains(part);
    assert!(found[..3].iter().all(near), "{found:?}");
}
