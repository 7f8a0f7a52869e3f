// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the fair class learns of cgroups (`sched_create_group()`, `sched_group_set_shares()`,
//! `tg_set_cfs_bandwidth()`, `sched_group_set_idle()`, `task_change_group_fair()`), above a
//! scheduler and alone.

use super::{machine, play_file, MS};
use crate::common::Native;
use rota_machine::consts::OPS_SWITCH_PARTIAL;
use rota_machine::ops::Op;
use rota_machine::run::Outcome;
use std::cell::RefCell;

thread_local! {
    /// What both schedulers are told, in this order.
    static TOLD: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

const OPS: [Op; 11] = [
    Op::Init,
    Op::InitTask,
    Op::Enqueue,
    Op::Dispatch,
    Op::CgroupInit,
    Op::CgroupExit,
    Op::CgroupPrepMove,
    Op::CgroupMove,
    Op::CgroupSetWeight,
    Op::CgroupSetBandwidth,
    Op::CgroupSetIdle,
];

/// One queue for all; notes what is about cgroups.
fn listener(name: &str, ops: &[Op]) -> Native {
    let mut native = Native::new(name, ops, |me, system, op, args| {
        let group = |p: u64| system.native_cgroup(p).unwrap_or("?").to_string();
        let who = if me.count == 1 { "fair" } else { "ext" };
        let text = match op {
            Op::CgroupInit | Op::CgroupExit => group(args[0]),
            Op::CgroupPrepMove | Op::CgroupMove => format!("{} {}", group(args[1]), group(args[2])),
            Op::CgroupSetWeight | Op::CgroupSetBandwidth | Op::CgroupSetIdle => {
                format!("{} {:?}", group(args[0]), &args[1..])
            }
            _ => String::new(),
        };
        if !text.is_empty() {
            TOLD.with_borrow_mut(|told| told.push(format!("{who}: {} {text}", op.name())));
        }
        match op {
            Op::Init => system.native_create_dsq(0).map(|r| r as u64),
            Op::Enqueue => system.native_insert(args[0], 0, me.slice_ns, args[1]).map(|()| 0),
            Op::Dispatch => system.native_move_to_local(me, 0).map(u64::from),
            _ => Ok(0),
        }
    });
    native.count = u64::from(name == "fair");
    native
}

/// What is told in a run of 20 ms with loads and unloads, and what is said of events.
fn told(lifecycle: &[(u64, bool)], ops: &[Op], text: &str) -> (Vec<String>, Vec<String>, Outcome) {
    TOLD.take();
    let mut load = || listener("ext", ops).flags(OPS_SWITCH_PARTIAL);
    let (outcome, ..) =
        play_file(machine(1, 20, lifecycle), text, &mut load, &mut listener("fair", &OPS));
    assert!(!outcome.exit.kind.is_error(), "{}", outcome.exit);
    let results = outcome.outside.iter().map(|h| format!("{}: {}", h.action, h.result)).collect();
    (TOLD.take(), results, outcome)
}

const FILE: &str = r#"{"tasks": {
        "a": {"taskgroup": {"path": "/x", "cpu.weight": 300}, "run": 50000},
        "b": {"policy": "SCHED_EXT", "taskgroup": "/x/y", "run": 50000}},
    "events": [EVENTS]}"#;

fn file(events: &str) -> String {
    FILE.replace("EVENTS", events)
}

#[test]
fn without_a_scheduler_the_fair_class_hears_of_everything() {
    let events = r#"{"at": 1, "cgroup": "/x", "cpu.weight": 20},
        {"at": 2, "cgroup": "/x", "cpu.weight": 20},
        {"at": 3, "cgroup": "/x", "cpu.max": "3000 10000"},
        {"at": 4, "cgroup": "/x", "cpu.max.burst": 2000},
        {"at": 5, "cgroup": "/x", "cpu.idle": 1},
        {"at": 6, "cgroup": "/x", "cpu.idle": 1},
        {"at": 7, "cgroup": "/x/z", "create": true},
        {"at": 8, "task": "a", "move": "/x/z"},
        {"at": 9, "task": "b", "move": "/"},
        {"at": 10, "cgroup": "/x/y", "destroy": true}"#;
    let (log, results, _) = told(&[], &OPS, &file(events));
    let expected = [
        "fair: cgroup_init /",
        "fair: cgroup_init /x",
        "fair: cgroup_init /x/y",
        "fair: cgroup_set_weight /x [20]",
        "fair: cgroup_set_bandwidth /x [10000, 3000, 0]",
        "fair: cgroup_set_bandwidth /x [10000, 3000, 2000]",
        "fair: cgroup_set_idle /x [1]",
        "fair: cgroup_init /x/z",
        "fair: cgroup_prep_move /x /x/z",
        "fair: cgroup_move /x /x/z",
        "fair: cgroup_prep_move /x/y /",
        "fair: cgroup_move /x/y /",
        "fair: cgroup_exit /x/y",
    ];
    assert_eq!(log, expected);
    assert!(results.is_empty(), "{results:?}");
}

#[test]
fn with_a_scheduler_both_hear_in_the_order_of_the_kernel() {
    // cpu_weight_write_u64(), tg_set_bandwidth(), cpu_idle_write_s64(): the fair class first;
    // cpu_cgroup_css_online(), cpu_cgroup_can_attach(): sched_ext first
    let events = r#"{"at": 1000, "cgroup": "/x", "cpu.weight": 20},
        {"at": 2000, "cgroup": "/x", "cpu.max": "3000 10000"},
        {"at": 3000, "cgroup": "/x", "cpu.idle": 1},
        {"at": 4000, "cgroup": "/z", "create": true},
        {"at": 5000, "task": "b", "move": "/z"},
        {"at": 6000, "cgroup": "/x/y", "destroy": true}"#;
    let (log, results, _) = told(&[(0, true), (10, false)], &OPS, &file(events));
    let both = |what: &str| [format!("fair: {what}"), format!("ext: {what}")];
    let mut expected: Vec<String> = Vec::new();
    for who in ["fair", "ext"] {
        expected.extend(["/", "/x", "/x/y"].map(|path| format!("{who}: cgroup_init {path}")));
    }
    expected.extend(both("cgroup_set_weight /x [20]"));
    expected.extend(both("cgroup_set_bandwidth /x [10000, 3000, 0]"));
    expected.extend(both("cgroup_set_idle /x [1]"));
    let mut reversed = |what: &str| {
        let [fair, ext] = both(what);
        expected.extend([ext, fair]);
    };
    reversed("cgroup_init /z");
    reversed("cgroup_prep_move /x/y /z");
    expected.extend(both("cgroup_move /x/y /z"));
    let [fair, ext] = both("cgroup_exit /x/y");
    expected.extend([ext, fair]);
    // scx_cgroup_exit(): children first; the fair class stays
    expected.extend(["/x", "/z", "/"].map(|path| format!("ext: cgroup_exit {path}")));
    assert_eq!(log, expected);
    assert!(results.is_empty(), "{results:?}");
}

#[test]
fn a_scheduler_that_hears_less_is_named() {
    let events = r#"{"at": 1000, "cgroup": "/x", "cpu.weight": 20}"#;
    let few = [Op::Init, Op::Enqueue, Op::Dispatch];
    let (_, results, _) = told(&[(0, true)], &few, &file(events));
    let text = "cgroup /x cpu.weight 20: has an effect in the fair class only: the scheduler has \
                no ops.cgroup_set_weight()";
    assert_eq!(results, [text]);
}

#[test]
fn an_idle_group_of_the_file_is_told_at_the_beginning_and_a_limit_with_the_group() {
    let text = r#"{"tasks": {"a": {"run": 50000, "taskgroup": {"path": "/x", "cpu.idle": 1,
        "cpu.max": "3000 10000", "cpu.max.burst": 1000, "cpu.weight": 7}}}}"#;
    let (log, results, _) = told(&[(0, true), (10, false)], &OPS, text);
    let idle: Vec<_> = log.iter().filter(|line| line.contains("idle")).collect();
    assert_eq!(idle, ["fair: cgroup_set_idle /x [1]", "ext: cgroup_set_idle /x [1]"]);
    assert!(results.is_empty(), "{results:?}");
    // one that comes later hears nothing of it, as in the kernel (scx_cgroup_init())
    let (log, ..) = told(&[(5, true)], &OPS, text);
    assert!(!log.contains(&"ext: cgroup_set_idle /x [1]".to_owned()), "{log:?}");
    assert!(log.contains(&"fair: cgroup_set_idle /x [1]".to_owned()), "{log:?}");
    let few = [Op::Init, Op::Enqueue, Op::Dispatch, Op::CgroupInit, Op::CgroupSetIdle];
    let (_, results, outcome) = told(&[(0, true)], &few, text);
    let text = "cpu.max 3000 10000: has an effect in the fair class only: the scheduler has no \
                ops.cgroup_set_bandwidth()";
    assert_eq!(results, [text]);
    assert_eq!(outcome.outside[0].at_ns / MS, 0);
}
