// SPDX-License-Identifier: MIT OR Apache-2.0
//! Groups under `cfs`: cgroups compete by their weights, and members share what their group gets
//! by theirs. Parts are calculated by hand; times are on one ideal CPU.

use crate::common::groups::{expect, hogs, parts, run_for};
use crate::common::hosted::Hosted;
use crate::common::{ideal, Tape};
use rota_machine::exit::ExitKind;
use rota_machine::ops::{Op, OpRet, Ops, OpsParams};
use rota_machine::policy::BpfOps;
use rota_machine::system::System;
use rota_vm::error::Fault;

const MS: u64 = 1_000_000;
const RUN_MS: u64 = 30_000;
/// Cgroups count, as they do by default.
const GROUPS: &[(&str, &str)] = &[];

fn run_on(cpus: u32, set: &[(&str, &str)], tasks: &str) -> Tape {
    run_for("cfs", cpus, set, (tasks, ""), RUN_MS)
}

#[test]
fn one_task_has_as_much_as_a_group_of_nine_of_the_same_weight() {
    let tasks = [hogs("a", 1, "/a", 100), hogs("b", 9, "/b", 100)].join(", ");
    let tape = run_on(1, GROUPS, &tasks);
    expect(&parts(&tape, 0, RUN_MS, &[1, 9]), &[0.5, 0.5]);
    // and the nine have the same: 1/18 each
    expect(&parts(&tape, 0, RUN_MS, &[1; 10]), &[&[0.5][..], &[1.0 / 18.0; 9]].concat());
    // without groups ten tasks are ten tasks
    let tape = run_on(1, &[("cgroups", "false")], &tasks);
    expect(&parts(&tape, 0, RUN_MS, &[1, 9]), &[0.1, 0.9]);
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
fn members_share_what_the_group_gets_by_their_nice_values() {
    // weights 1024 and 335 in the group, so 0.7535 and 0.2465 of its half
    let tasks = format!(
        r#"{}, "b": {{"run": 1000000, "taskgroup": "/g"}},
        "c": {{"priority": 5, "run": 1000000, "taskgroup": "/g"}}"#,
        hogs("a", 1, "/a", 100)
    );
    let tape = run_on(1, GROUPS, &tasks);
    expect(&parts(&tape, 0, RUN_MS, &[1, 1, 1]), &[0.5, 0.3767, 0.1233]);
}

#[test]
fn tasks_of_the_root_group_compete_with_groups() {
    // a task of nice 0 weighs as much as a group of weight 100
    let tasks = format!(r#""a": {{"run": 1000000}}, {}"#, hogs("b", 3, "/b", 100));
    expect(&parts(&run_on(1, GROUPS, &tasks), 0, RUN_MS, &[1, 3]), &[0.5, 0.5]);
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
    let tape = run_on(1, GROUPS, &tasks);
    expect(&parts(&tape, 1_000, RUN_MS, &[1, 2, 4, 1]), &[0.125, 0.125, 0.25, 0.5]);
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
fn who_sleeps_in_a_group_takes_no_more_than_its_part() {
    // Four that wake up all the time, and a task that computes, have what the group has.
    let tasks = format!(
        r#"{}, "b": {{"run": 1000000, "taskgroup": "/b"}},
        "s": {{"instance": 4, "run": 500, "sleep": 3500, "taskgroup": "/b"}}"#,
        hogs("a", 1, "/a", 100),
    );
    expect(&parts(&run_on(1, GROUPS, &tasks), 0, RUN_MS, &[1, 5]), &[0.5, 0.5]);
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

/// A hosted policy that is told of another weight of a group at some time.
struct Reweighing<'a> {
    ops: &'a mut BpfOps,
    path: &'a str,
    addr: u64,
    at_ns: u64,
    weight: u64,
}

impl Ops for Reweighing<'_> {
    fn params(&self) -> &OpsParams {
        self.ops.params()
    }

    fn has(&self, op: Op) -> bool {
        self.ops.has(op)
    }

    fn call(&mut self, system: &mut System, op: Op, args: &[u64]) -> Result<OpRet, Fault> {
        if op == Op::CgroupInit && system.native_cgroup(args[0]) == Some(self.path) {
            self.addr = args[0];
        }
        if self.addr != 0 && system.native_now() >= self.at_ns {
            let args = [std::mem::take(&mut self.addr), self.weight];
            self.ops.call(system, Op::CgroupSetWeight, &args)?;
        }
        self.ops.call(system, op, args)
    }

    fn run_timer(&mut self, system: &mut System, timer: u64) -> Result<OpRet, Fault> {
        self.ops.run_timer(system, timer)
    }

    fn release_owner(&mut self, system: &mut System, addr: u64) {
        self.ops.release_owner(system, addr);
    }
}

#[test]
fn a_new_weight_of_a_group_counts_from_then_on() {
    let tasks = [hogs("a", 2, "/a/in", 100), hogs("b", 3, "/b", 100)].join(", ");
    let load = format!(r#"{{"tasks": {{{tasks}}}}}"#);
    let mut hosted = Hosted::new("cfs", GROUPS, ideal(1, RUN_MS * MS), &load);
    let mut tape = Tape::default();
    let at_ns = 10_000 * MS;
    let mut ops = Reweighing { ops: &mut hosted.ops, path: "/a", addr: 0, at_ns, weight: 400 };
    let outcome = hosted.machine.run(&mut ops, &mut tape).unwrap();
    assert_eq!(outcome.exit.kind, ExitKind::Unreg, "{}", outcome.exit);
    expect(&parts(&tape, 0, 10_000, &[2, 3]), &[0.5, 0.5]);
    expect(&parts(&tape, 10_500, RUN_MS, &[2, 3]), &[0.8, 0.2]);
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

#[test]
fn groups_for_which_there_is_no_room_count_as_parts_of_the_one_above() {
    // 511 groups have room; of 600 in /a the rest are in /a itself. All of them together have
    // half beside /b.
    let mut tasks = vec![hogs("b", 1, "/b", 100)];
    tasks.extend((0..600).map(|i| hogs(&format!("t{i}"), 1, &format!("/a/{i}"), 100)));
    let load = format!(r#"{{"tasks": {{{}}}}}"#, tasks.join(", "));
    let (outcome, tape) = Hosted::new("cfs", GROUPS, ideal(1, 20_000 * MS), &load).run();
    assert_eq!(outcome.exit.kind, ExitKind::Unreg, "{}", outcome.exit);
    expect(&parts(&tape, 0, 20_000, &[1, 600]), &[0.5, 0.5]);
}
