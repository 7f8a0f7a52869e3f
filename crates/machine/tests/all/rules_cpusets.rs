// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cgroups with `cpuset.cpus` (`kernel/cgroup/cpuset.c`): which CPUs their tasks may use, and what
//! a scheduler is told of it.

use crate::common::{ideal, Native, Tape};
use rota_machine::consts::SLICE_INF;
use rota_machine::cpuset::CpuSet;
use rota_machine::ops::Op;
use rota_machine::run::{Machine, Outcome, RunError};
use rota_machine::user_half::groups::at_start;
use std::sync::Arc;

const MS: u64 = 1_000_000;
const CPUS: u32 = 4;

/// One queue for all; notes changes of masks, with times and the mask, moves and hotplug.
fn keeper() -> Native {
    let ops = [
        Op::Init,
        Op::Enqueue,
        Op::Dispatch,
        Op::SetCpumask,
        Op::CgroupPrepMove,
        Op::CgroupMove,
        Op::CpuOffline,
        Op::CpuOnline,
    ];
    Native::new("keeper", &ops, |me, system, op, args| {
        let ms = system.native_now() / MS;
        match op {
            Op::SetCpumask => {
                let may = |cpu: &u32| system.native_may_use(args[0], *cpu);
                let mask: Vec<u32> = (0..CPUS).filter(may).collect();
                // pids begin at 1001
                let name = char::from(b'a' + (system.native_pid(args[0]) - 1001) as u8);
                me.log.push(format!("{ms} {name} {mask:?}"));
            }
            Op::CgroupPrepMove | Op::CgroupMove | Op::CpuOffline | Op::CpuOnline => {
                me.log.push(format!("{ms} {}", op.name()));
            }
            _ => {}
        }
        match op {
            Op::Init => system.native_create_dsq(0).map(|r| r as u64),
            Op::Enqueue => {
                system.native_insert(args[0], 0, SLICE_INF, args[1])?;
                let idle = system.native_pick_idle(args[0], 0)?;
                if idle >= 0 {
                    system.native_kick(idle as i32, rota_machine::consts::KICK_IDLE);
                }
                Ok(0)
            }
            Op::Dispatch => system.native_move_to_local(me, 0).map(u64::from),
            _ => Ok(0),
        }
    })
}

fn try_run(tasks: &str, events: &str) -> Result<(Vec<String>, Outcome, Tape), RunError> {
    let text = format!(r#"{{"tasks": {{{tasks}}}, "events": [{events}]}}"#);
    let load = Arc::new(rota_workload::parse("test.json", &text).unwrap());
    let mut config = ideal(CPUS, 20 * MS);
    config.audit = true;
    let mut machine = Machine::new(config, load, &rota_object::btf::reference())?;
    let (mut native, mut tape) = (keeper(), Tape::default());
    let outcome = machine.run(&mut native, &mut tape)?;
    assert_eq!(outcome.exit.to_string(), "unregistered from user space");
    Ok((native.log, outcome, tape))
}

fn run(tasks: &str, events: &str) -> (Vec<String>, Outcome, Tape) {
    try_run(tasks, events).unwrap()
}

/// What is told after the beginning.
fn told(tasks: &str, events: &str) -> Vec<String> {
    let (log, outcome, _) = run(tasks, events);
    assert_eq!(outcome.outside, []);
    log.into_iter().filter(|line| !line.starts_with("0 ")).collect()
}

/// The CPUs that a task ran on.
fn used(tape: &Tape, name: &str) -> Vec<u32> {
    let mut cpus: Vec<u32> = tape.starts(tape.pid(name)).iter().map(|(_, cpu)| *cpu).collect();
    cpus.sort_unstable();
    cpus.dedup();
    cpus
}

const X: &str = r#""taskgroup": {"path": "/x", "cpuset.cpus": [2, 3]}"#;

#[test]
fn tasks_begin_on_the_cpus_of_their_group_and_of_their_own() {
    let tasks = format!(
        r#""a": {{"instance": 3, {X}, "run": 50000}}, "b": {{"cpus": [1, 2], {X}, "run": 50000}},
           "c": {{"taskgroup": "/x/y", "run": 50000}}, "d": {{"run": 5000}}"#
    );
    let (.., tape) = run(&tasks, "");
    for name in ["a-0", "a-1", "a-2", "c-4"] {
        assert!(used(&tape, name).iter().all(|cpu| [2, 3].contains(cpu)), "{name}");
    }
    assert!(used(&tape, "b-3").iter().all(|cpu| *cpu == 2));
    // the others are left to whoever is in no such group
    assert!(used(&tape, "d-5").iter().all(|cpu| *cpu < 2), "{:?}", used(&tape, "d-5"));
}

#[test]
fn a_group_has_what_is_its_own_and_its_parent_s_or_else_its_parent_s() {
    // compute_effective_cpumask()
    let tasks = r#""a": {"taskgroup": {"path": "/x", "cpuset.cpus": [1, 2]}, "run": 1000, "sleep": 1000},
        "b": {"taskgroup": {"path": "/x/y", "cpuset.cpus": [0, 1]}, "run": 1000, "sleep": 1000},
        "c": {"taskgroup": {"path": "/x/z", "cpuset.cpus": [3]}, "run": 1000, "sleep": 1000}"#;
    let write = r#"{"at": 5000, "cgroup": "/x", "cpuset.cpus": [3]},
        {"at": 6000, "cgroup": "/x", "cpuset.cpus": [0, 1, 3]},
        {"at": 7000, "cgroup": "/x/z", "cpuset.cpus": [2]}"#;
    let expected = [
        // /x/y has neither 0 nor 1 of it; /x/z was 1 and 2, and has its own now, which is the same
        "5 a [3]",
        "5 b [3]",
        "5 c [3]",
        "6 a [0, 1, 3]",
        "6 b [0, 1]",
        "7 c [0, 1, 3]",
    ];
    assert_eq!(told(tasks, write), expected);
    let (.., tape) = run(tasks, "");
    assert_eq!(used(&tape, "b-1"), [1]);
    assert!(used(&tape, "c-2").iter().all(|cpu| [1, 2].contains(cpu)));
}

#[test]
fn what_a_task_has_asked_for_comes_back_when_the_group_allows_it() {
    // __set_cpus_allowed_ptr(): user_cpus_ptr, unless nothing of it is left
    let tasks = format!(r#""a": {{"cpus": [1, 2], {X}, "sleep": 50000}}"#);
    let events = r#"{"at": 1000, "cgroup": "/x", "cpuset.cpus": [0]},
        {"at": 2000, "cgroup": "/x", "cpuset.cpus": [1, 3]},
        {"at": 3000, "cgroup": "/x", "cpuset.cpus": [1, 2, 3]},
        {"at": 4000, "task": "a", "cpus": [0, 3]},
        {"at": 5000, "cgroup": "/x", "cpuset.cpus": [0, 1]}"#;
    let expected = ["1 a [0]", "2 a [1]", "3 a [1, 2]", "4 a [3]", "5 a [0]"];
    assert_eq!(told(&tasks, events), expected);
}

#[test]
fn a_move_is_attached_between_its_preparation_and_its_end() {
    // cgroup_migrate_execute(): can_attach of both, then cpuset_attach(), cpu_cgroup_attach()
    let tasks = format!(r#""a": {{"sleep": 50000}}, "b": {{{X}, "sleep": 50000}}"#);
    let events = r#"{"at": 5000, "task": "a", "move": "/x"},
        {"at": 6000, "task": "a", "move": "/"}"#;
    let expected = [
        "5 cgroup_prep_move",
        "5 a [2, 3]",
        "5 cgroup_move",
        "6 cgroup_prep_move",
        "6 a [0, 1, 2, 3]",
        "6 cgroup_move",
    ];
    assert_eq!(told(&tasks, events), expected);
}

#[test]
fn groups_follow_cpus_that_go_and_come_back() {
    // cpuset_handle_hotplug(): after rq_offline_scx(), and before rq_online_scx(); tasks of the
    // root are left alone. Without any CPU a group has those of its parent.
    let tasks = r#""a": {"taskgroup": {"path": "/x", "cpuset.cpus": [1, 2]}, "sleep": 50000},
        "b": {"taskgroup": {"path": "/y", "cpuset.cpus": [1]}, "sleep": 50000},
        "c": {"sleep": 50000}"#;
    let events =
        r#"{"at": 5000, "cpu": 1, "online": false}, {"at": 8000, "cpu": 1, "online": true}"#;
    let expected =
        ["5 cpu_offline", "5 a [2]", "5 b [0, 2, 3]", "8 a [1, 2]", "8 b [1]", "8 cpu_online"];
    assert_eq!(told(tasks, events), expected);
}

#[test]
fn a_running_task_leaves_a_cpu_that_its_group_loses() {
    let tasks = r#""a": {"taskgroup": {"path": "/x", "cpuset.cpus": [1]}, "run": 50000}"#;
    let events = r#"{"at": 5000, "cgroup": "/x", "cpuset.cpus": [3]}"#;
    let (.., tape) = run(tasks, events);
    assert_eq!(tape.starts(1001), [(0, 1), (5 * MS, 3)]);
}

#[test]
fn an_affinity_without_a_cpu_of_the_group_is_refused() {
    let tasks = format!(r#""a": {{{X}, "sleep": 50000}}"#);
    let (_, outcome, _) = run(&tasks, r#"{"at": 5000, "task": "a", "cpus": [0, 1]}"#);
    let found: Vec<_> = outcome.outside.iter().map(|h| h.result.as_str()).collect();
    let text = "a-0[1001]: task \"a-0\": none of its cpus is in the cpuset of its cgroup then \
                (EINVAL)";
    assert_eq!(found, [text]);
    let of_phase = format!(r#""a": {{"phases": {{"p": {{"cpus": [0], {X}, "run": 1}}}}}}"#);
    let error = try_run(&of_phase, "").map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("in the cpuset of its cgroup"), "{error}");
}

#[test]
fn cpus_that_the_machine_lacks_are_refused() {
    let tasks = r#""a": {"taskgroup": {"path": "/x", "cpuset.cpus": [4]}, "run": 1}"#;
    let error = try_run(tasks, "").map(|_| ()).unwrap_err().to_string();
    let expected = "cpuset.cpus of task group \"/x\" names CPU 4, but the machine has CPUs 0 to 3";
    assert_eq!(error, expected);
    let event = r#"{"at": 1, "cgroup": "/x", "cpuset.cpus": [0, 7]}"#;
    let tasks = r#""a": {"taskgroup": "/x", "run": 1}"#;
    let error = try_run(tasks, event).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("names CPU 7, but the machine has CPUs 0 to 3"), "{error}");
}

/// A scheduler's program reads them before there is a machine.
#[test]
fn files_of_groups_before_the_start_are_those_of_the_machine() {
    let load = r#"{"tasks": {
        "a": {"run": 1000, "taskgroup": {"path": "/x/y/z", "cpuset.cpus": [1, 3]}},
        "b": {"run": 1000, "taskgroup": {"path": "/x", "cpuset.cpus": [0, 1], "cpu.weight": 7}},
        "c": {"run": 1000, "taskgroup": {"path": "/w", "cpu.max": "5000 20000", "cpu.max.burst": 100}},
        "d": {"run": 1000, "taskgroup": "/x/u"}
    }}"#;
    let load = Arc::new(rota_workload::parse("load.json", load).unwrap());
    let mut before = at_start(&load.groups, &CpuSet::first_n(CPUS));
    let machine = Machine::new(ideal(CPUS, MS), load, &rota_object::btf::reference()).unwrap();

    assert_eq!(before, machine.system.groups());
    let paths: Vec<_> = before.iter().map(|group| (group.path.as_str(), group.id)).collect();
    assert_eq!(paths[0], ("/", 1));
    // CPU 3 is none of /x
    let z = before.iter_mut().find(|group| group.path == "/x/y/z").unwrap();
    assert_eq!(z.effective, [1].into_iter().collect());
}
