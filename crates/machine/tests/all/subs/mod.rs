// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sub-schedulers: `scx_sub_enable_workfn()`, `scx_bpf_sub_dispatch()`, `scx_sub_disable()`.

mod laws;

use crate::common::{ideal, Native, Tape};
use rota_machine::config::Config;
use rota_machine::exit::ExitKind;
use rota_machine::ops::Op;
use rota_machine::run::{Machine, Outcome};
use rota_machine::system::System;
use rota_trace::EventKind;
use rota_vm::error::Fault;
use rota_vm::host::Host;
use std::sync::Arc;

const MS: u64 = 1_000_000;

/// A shared queue of its own. It prints its callbacks, lets others attach below it, and dispatches
/// from these once it has nothing.
pub(crate) fn hosting_fifo(name: &str) -> Native {
    let ops = [
        Op::Init,
        Op::Exit,
        Op::InitTask,
        Op::ExitTask,
        Op::Enable,
        Op::Disable,
        Op::Enqueue,
        Op::Dispatch,
        Op::SubAttach,
        Op::SubDetach,
    ];
    Native::new(name, &ops, act).cid_form()
}

fn act(me: &mut Native, system: &mut System, op: Op, args: &[u64]) -> Result<u64, Fault> {
    let name = rota_machine::ops::Ops::params(me).name.clone();
    if op != Op::Dispatch && op != Op::Enqueue {
        let pid = args.first().map_or(0, |p| system.native_pid(*p));
        let task = if pid == 0 { String::new() } else { format!(" {pid}") };
        system.print(&format!("{name} {}{task}", op.name()));
    }
    match op {
        Op::Init => system.native_create_dsq(0).map(|r| r as u64),
        Op::Enqueue => system.native_insert(args[0], 0, me.slice_ns, args[1]).map(|()| 0),
        Op::Dispatch => {
            if system.native_move_to_local(me, 0)? {
                return Ok(0);
            }
            for id in me.held.clone() {
                if system.native_sub_dispatch(id)? {
                    return Ok(0);
                }
            }
            Ok(0)
        }
        Op::SubAttach => {
            me.held.push(system.native_sub_cgroup(args[0]));
            Ok(0)
        }
        Op::SubDetach => {
            let gone = system.native_sub_cgroup(args[0]);
            me.held.retain(|id| *id != gone);
            Ok(0)
        }
        _ => Ok(0),
    }
}

/// Makes the scheduler of a cgroup.
pub(crate) type Make = fn() -> Native;

/// Runs a workload under a scheduler and those of cgroups.
pub(crate) fn run_with(
    config: Config,
    load: &str,
    root: &mut Native,
    subs: &[(&str, Make)],
) -> (Outcome, Tape) {
    let load = Arc::new(rota_workload::parse("test.json", load).unwrap());
    let btf = rota_object::btf::reference();
    let mut machine = Machine::new(config, load, &btf).unwrap();
    for (cgroup, make) in subs.iter().copied() {
        machine.system.add_sub_scheduler(cgroup, Box::new(move |_, _| Ok(Box::new(make()))));
    }
    let mut tape = Tape::default();
    let outcome = machine.run(root, &mut tape).unwrap();
    (outcome, tape)
}

fn audited(cpus: u32, for_ms: u64) -> Config {
    let mut config = ideal(cpus, for_ms * MS);
    config.audit = true;
    config
}

/// What was printed, without the pids' thousand.
fn printed(outcome: &Outcome) -> Vec<&str> {
    outcome.printed.iter().map(String::as_str).collect()
}

const TWO: &str = r#""tasks": {"a": {"run": 1000000}, "b": {"taskgroup": "/web", "run": 1000000}}"#;

#[test]
fn a_scheduler_takes_the_tasks_of_a_cgroup_and_gives_them_back() {
    let load = format!(
        r#"{{{TWO}, "events": [{{"at": 15000, "cgroup": "/web", "scheduler": "load"}},
            {{"at": 35000, "cgroup": "/web", "scheduler": "unload"}}]}}"#
    );
    let sub: Make = || hosting_fifo("sub");
    let (outcome, tape) =
        run_with(audited(1, 60), &load, &mut hosting_fifo("root"), &[("/web", sub)]);
    assert_eq!(outcome.exit.kind, ExitKind::Unreg, "{}", outcome.exit);
    // scx_sub_enable_workfn(), then scx_sub_disable(), then scx_root_disable(); b is 1002
    assert_eq!(
        printed(&outcome),
        [
            "root init",
            "root init_task 1001",
            "root enable 1001",
            "root init_task 1002",
            "root enable 1002",
            "sub init",
            "root sub_attach",
            "sub init_task 1002",
            "root disable 1002",
            "root exit_task 1002",
            "sub enable 1002",
            "root init_task 1002",
            "sub disable 1002",
            "sub exit_task 1002",
            "root enable 1002",
            "root sub_detach",
            "sub exit",
            "root disable 1001",
            "root exit_task 1001",
            "root disable 1002",
            "root exit_task 1002",
            "root exit",
        ]
    );
    // a has SCX_SLICE_DFL until 20 ms; then the scheduler of all has a only, and asks the other one
    // where its own queue is empty, which it is when a has used up its slice
    let b = tape.pid("b-1");
    let (sub, all) = (tape.cpu_ns(b, 35 * MS), tape.cpu_ns(b, 60 * MS));
    assert!(sub > 0 && all > sub, "{sub} {all}");
    let exits: Vec<_> =
        outcome.sub_exits.iter().map(|e| (e.at_ns, &*e.cgroup, e.exit.kind)).collect();
    assert_eq!(exits, [(35 * MS, "/web", ExitKind::Unreg)]);
}

#[test]
fn tasks_run_where_the_scheduler_above_dispatches_for_theirs() {
    // a is alone in the queue of all and goes on after its slices: b never runs
    let deaf = |me: &mut Native, system: &mut System, op: Op, args: &[u64]| match op {
        Op::SubAttach => Ok(0),
        op => act(me, system, op, args),
    };
    let mut root = Native::new(
        "root",
        &[Op::Init, Op::Enqueue, Op::Dispatch, Op::SubAttach, Op::SubDetach],
        deaf,
    )
    .cid_form();
    let load = format!("{{{TWO}}}");
    let sub: Make = || hosting_fifo("sub");
    let (outcome, tape) = run_with(audited(1, 50), &load, &mut root, &[("/web", sub)]);
    assert_eq!(outcome.exit.kind, ExitKind::Unreg, "{}", outcome.exit);
    assert_eq!(tape.cpu_ns(tape.pid("b-1"), 50 * MS), 0);
    assert_eq!(tape.cpu_ns(tape.pid("a-0"), 50 * MS), 50 * MS);
}

#[test]
fn forks_are_those_of_the_cgroup_s_scheduler() {
    // scx_fork(): kargs->cset->dfl_cgrp->scx_sched
    let load = r#"{"tasks": {"b": {"taskgroup": "/web", "loop": 1, "run": 1000, "fork": "c"},
        "c": {"instance": 0, "taskgroup": "/web", "loop": 1, "run": 1000}, "d": {"delay": 5000, "loop": 1, "run": 10}}}"#;
    let sub: Make = || hosting_fifo("sub");
    let (outcome, _) = run_with(audited(1, 20), load, &mut hosting_fifo("root"), &[("/web", sub)]);
    let inits: Vec<&str> =
        printed(&outcome).into_iter().filter(|line| line.contains("init_task")).collect();
    assert_eq!(inits, ["sub init_task 1001", "sub init_task 1002", "root init_task 1003"]);
}

#[test]
fn one_that_fails_leaves_its_tasks_to_the_one_above() {
    // it never inserts its task, and check_rq_for_timeouts() ejects it alone
    let silent: Make = || {
        let forgets = |me: &mut Native, system: &mut System, op: Op, args: &[u64]| match op {
            Op::Enqueue => Ok(0),
            op => act(me, system, op, args),
        };
        let ops = [Op::Init, Op::Exit, Op::Enqueue, Op::Dispatch];
        Native::new("sub", &ops, forgets).cid_form().timeout_ms(40)
    };
    let load = format!("{{{TWO}}}");
    let mut config = audited(1, 400);
    config.watchdog = true;
    let mut root = hosting_fifo("root").timeout_ms(100);
    let (outcome, tape) = run_with(config, &load, &mut root, &[("/web", silent)]);
    assert_eq!(outcome.exit.kind, ExitKind::Unreg, "{}", outcome.exit);
    let [gone] = &outcome.sub_exits[..] else { panic!("{:?}", outcome.sub_exits) };
    assert_eq!((gone.exit.kind, &*gone.cgroup), (ExitKind::ErrorStall, "/web"));
    // from then on it takes turns with a
    let b = tape.pid("b-1");
    let half = (400 * MS - gone.at_ns) / 2;
    let got = tape.cpu_ns(b, 400 * MS) - tape.cpu_ns(b, gone.at_ns);
    assert!(got.abs_diff(half) <= 20 * MS, "{got} of {half}");
}

#[test]
fn what_a_kernel_refuses_is_said() {
    let load = format!(
        r#"{{{TWO}, "events": [{{"at": 1000, "cgroup": "/web", "scheduler": "load"}},
            {{"at": 2000, "cgroup": "/web", "scheduler": "unload"}},
            {{"at": 3000, "cgroup": "/web", "scheduler": "unload"}},
            {{"at": 4000, "cgroup": "/web", "scheduler": "load"}},
            {{"at": 5000, "cgroup": "/web", "scheduler": "load"}}]}}"#
    );
    let sub: Make = || hosting_fifo("sub");
    let (outcome, _) = run_with(audited(1, 10), &load, &mut hosting_fifo("root"), &[("/web", sub)]);
    let results: Vec<_> =
        outcome.outside.iter().map(|happened| (happened.at_ns / MS, &*happened.result)).collect();
    let busy = "is refused (EBUSY): a scheduler is attached to it";
    assert_eq!(results, [(3, "none is attached"), (5, busy)]);
    // the second one went with the one of all
    let kinds: Vec<_> = outcome.sub_exits.iter().map(|gone| gone.exit.kind).collect();
    assert_eq!(kinds, [ExitKind::Unreg, ExitKind::Parent]);

    let mut alone = crate::common::shared_fifo();
    let load = format!("{{{TWO}}}");
    let (outcome, _) = run_with(audited(1, 10), &load, &mut alone, &[("/web", sub)]);
    let [refused] = &outcome.outside[..] else { panic!("{:?}", outcome.outside) };
    assert_eq!(
        refused.result,
        "is refused (EOPNOTSUPP): the scheduler above has no ops.sub_attach()"
    );

    // validate_ops()
    let cpu_form: Make = || Native::new("sub", &[Op::Enqueue, Op::Dispatch], act);
    let (outcome, _) =
        run_with(audited(1, 10), &load, &mut hosting_fifo("root"), &[("/web", cpu_form)]);
    assert_eq!(outcome.sub_exits[0].exit.message, "sub-sched requires cid-form struct_ops");
}

#[test]
fn schedulers_nest_and_dispatch_for_their_own_children_only() {
    let load = r#"{"tasks": {"a": {"taskgroup": "/web", "run": 1000000},
        "b": {"taskgroup": "/web/front", "run": 1000000}}}"#;
    let sub: Make = || hosting_fifo("sub");
    let deep: Make = || hosting_fifo("deep");
    let (outcome, tape) = run_with(
        audited(1, 100),
        load,
        &mut hosting_fifo("root"),
        &[("/web", sub), ("/web/front", deep)],
    );
    assert_eq!(outcome.exit.kind, ExitKind::Unreg, "{}", outcome.exit);
    let lines = printed(&outcome);
    let attached = lines.iter().filter(|line| line.ends_with("sub_attach")).collect::<Vec<_>>();
    assert_eq!(attached, [&"root sub_attach", &"sub sub_attach"]);
    // scx_root_disable() drains its descendants: the lowest goes first
    let ends: Vec<_> = lines.iter().filter(|line| line.ends_with(" exit")).copied().collect();
    assert_eq!(ends, ["deep exit", "sub exit", "root exit"]);
    let gone = [tape.pid("a-0"), tape.pid("b-1")].map(|pid| tape.cpu_ns(pid, 100 * MS));
    assert_eq!(gone.iter().sum::<u64>(), 100 * MS);

    // scx_bpf_sub_dispatch(): "distant"
    let distant = |me: &mut Native, system: &mut System, op: Op, args: &[u64]| match op {
        // FIRST_ID of cgroups is 1: /, /web, /web/front
        Op::Dispatch if me.count > 3 => system.native_sub_dispatch(3).map(u64::from),
        Op::Dispatch => {
            me.count += 1;
            act(me, system, op, args)
        }
        op => act(me, system, op, args),
    };
    let ops = [Op::Init, Op::Enqueue, Op::Dispatch, Op::SubAttach, Op::SubDetach];
    let mut root = Native::new("root", &ops, distant).cid_form();
    let (outcome, _) =
        run_with(audited(1, 100), load, &mut root, &[("/web", sub), ("/web/front", deep)]);
    assert_eq!(outcome.exit.message, "trying to dispatch a distant sub-sched on cgroup 3");
}

#[test]
fn a_cgroup_takes_its_scheduler_with_it() {
    // scx_cgroup_lifetime_notify()
    let load = r#"{"tasks": {"a": {"run": 1000000}}, "events": [
        {"at": 0, "cgroup": "/web", "create": true},
        {"at": 1000, "cgroup": "/web", "scheduler": "load"},
        {"at": 2000, "cgroup": "/web", "destroy": true}]}"#;
    let sub: Make = || hosting_fifo("sub");
    let (outcome, tape) =
        run_with(audited(1, 10), load, &mut hosting_fifo("root"), &[("/web", sub)]);
    let [gone] = &outcome.sub_exits[..] else {
        panic!("{:?} {:?}", outcome.sub_exits, outcome.outside)
    };
    assert_eq!((gone.exit.kind, gone.exit.code), (ExitKind::UnregKern, 2 << 32));
    assert!(tape.0.iter().any(|e| matches!(e.kind, EventKind::Outside { .. })));
}
