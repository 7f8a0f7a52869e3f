// SPDX-License-Identifier: MIT OR Apache-2.0
//! How tasks are set to be scheduled.

use super::*;

fn policy(time_us: u64, pid: u32, policy: Policy) -> (u64, u32, EventKind) {
    (time_us, 0, EventKind::Setting(Setting::Policy { pid, policy }))
}

fn tied(time_us: u64, pid: u32, cpus: &[u32]) -> (u64, u32, EventKind) {
    (time_us, 0, EventKind::Affinity { pid, cpus: cpus.iter().copied().collect() })
}

const BATCH: Policy = Policy::Fair { kind: FairKind::Batch, nice: 3, slice_ns: Some(5_000_000) };
const FIFO: Policy = Policy::Realtime { round_robin: false, priority: 7 };

#[test]
fn a_policy_holds_from_the_beginning_or_from_the_point_of_the_work_where_it_was_set() {
    let deadline =
        Policy::Deadline { runtime_ns: 2_000_000, deadline_ns: 5_000_000, period_ns: 10_000_000 };
    let ordinary = Policy::Fair { kind: FairKind::Other, nice: 0, slice_ns: None };
    let found = replay(
        &[
            named(1, "a"),
            policy(0, 1, BATCH),
            on(0, 0, 1),
            policy(100, 1, FIFO),
            off(300, 0, 1, OffCpu::Sleep),
            // While it sleeps: from the beginning of its sleep on, as it does not run before.
            policy(400, 1, deadline),
            source(500, 1, WakeSource::Timer),
            wakeup(500, 1, 0),
            on(500, 0, 1),
            policy(600, 1, ordinary),
            off(700, 0, 1, OffCpu::Exit),
        ],
        &Facts::default(),
    );
    assert_eq!(
        task(&found, "a-1"),
        [
            "\"policy\" : \"SCHED_BATCH\", \"priority\" : 3, \"dl-runtime\" : 5000, \"loop\" : 1",
            "\"phases\" : {",
            "\"1\" : {",
            "\"loop\" : 1",
            "\"run1\" : 100",
            "}",
            "\"2\" : {",
            "\"policy\" : \"SCHED_FIFO\", \"priority\" : 7",
            "\"run2\" : 200",
            "}",
            "\"3\" : {",
            "\"policy\" : \"SCHED_DEADLINE\", \"dl-runtime\" : 2000, \"dl-deadline\" : 5000, \
             \"dl-period\" : 10000",
            "\"sleep3\" : 200",
            "\"run4\" : 100",
            "}",
            "\"4\" : {",
            "\"policy\" : \"SCHED_OTHER\", \"dl-runtime\" : 0",
            "\"run5\" : 100",
            "}",
            "}"
        ]
    );
}

#[test]
fn cpus_and_nice_values_that_change_hold_from_then_on() {
    let nice = Policy::Fair { kind: FairKind::Other, nice: 5, slice_ns: None };
    let events = [
        named(1, "a"),
        tied(0, 1, &[0, 1]),
        on(0, 0, 1),
        tied(100, 1, &[1]),
        policy(200, 1, nice),
        off(300, 0, 1, OffCpu::Exit),
    ];
    let facts = Facts { nr_cpus: 4, ..Facts::default() };
    let found = replay(&events, &facts);
    let lines = [
        "\"loop\" : 1",
        "\"phases\" : {",
        "\"1\" : {",
        "\"cpus\" : [0,1]",
        "\"run1\" : 100",
        "}",
        "\"2\" : {",
        "\"cpus\" : [1]",
        "\"run2\" : 100",
        "}",
        "\"3\" : {",
        "\"priority\" : 5, \"cpus\" : [1]",
        "\"run3\" : 100",
        "}",
        "}",
    ];
    assert_eq!(task(&found, "a-1"), lines);
    // On a machine of the CPUs 0 and 1 only, it is tied to none at first.
    let facts = Facts { cpus: Some(vec![0, 1]), ..facts };
    let found = replay(&events, &facts);
    assert_eq!(task(&found, "a-1")[3], "\"loop\" : 1");
}

#[test]
fn cpus_that_all_tasks_share_are_those_of_the_machine() {
    let facts = Facts { nr_cpus: 4, kernel_threads: [9].into(), ..Facts::default() };
    let common = |ties: &[(u64, u32, EventKind)]| {
        let mut events = vec![named(1, "a"), named(2, "b"), named(9, "[k]")];
        events.extend(ties.iter().filter(|tie| tie.0 == 0).cloned());
        events.extend([on(0, 0, 1), on(0, 1, 2), on(0, 2, 9), named(1, "became")]);
        events.extend(ties.iter().filter(|tie| tie.0 > 0).cloned());
        events.push(off(50, 0, 1, OffCpu::Exit));
        events.push(off(50, 1, 2, OffCpu::Exit));
        events.push(off(50, 2, 9, OffCpu::Sleep));
        gathered(Charges::default(), &events).common_cpus(&facts)
    };
    assert_eq!(common(&[tied(0, 1, &[2]), tied(0, 2, &[0, 2])]), Some(vec![0, 2]));
    assert_eq!(common(&[tied(0, 1, &[2]), tied(10, 2, &[0])]), None);
    assert_eq!(common(&[tied(0, 1, &[0, 1]), tied(0, 2, &[2, 3])]), None);
    assert_eq!(common(&[]), None);
}

#[test]
fn what_a_program_was_tied_to_before_it_became_one_does_not_count() {
    // As taskset does: it ties itself to a CPU, then it becomes the program.
    let events = [
        named(1, "taskset"),
        on(0, 0, 1),
        tied(10, 1, &[1]),
        (20, 0, named(1, "program").2),
        off(50, 0, 1, OffCpu::Exit),
    ];
    let facts = Facts { nr_cpus: 2, ..Facts::default() };
    assert_eq!(gathered(Charges::default(), &events).common_cpus(&facts), Some(vec![1]));
}

#[test]
fn groups_have_their_values_where_they_are_mentioned_first() {
    let group =
        |time_us, pid, path: &str| (time_us, 0, EventKind::Cgroup { pid, path: path.into() });
    let set = |path: &str, weight, limit_ns, idle| {
        (0, 0, EventKind::CgroupSet { path: path.into(), weight, limit_ns, idle })
    };
    let found = replay(
        &[
            set("/s", 300, None, false),
            set("/s/a", 50, Some((20_000_000, 100_000_000)), false),
            set("/s/b", 1, None, true),
            named(1, "a"),
            group(0, 1, "/s/a"),
            named(2, "b"),
            group(0, 2, "/s/a"),
            on(0, 0, 1),
            on(0, 1, 2),
            group(50, 1, "/s/b"),
            // Above groups.
            policy(80, 1, FIFO),
            off(90, 0, 1, OffCpu::Exit),
            off(90, 1, 2, OffCpu::Exit),
        ],
        &Facts::default(),
    );
    assert_eq!(
        task(&found, "a-1"),
        [
            "\"taskgroup\" : {\"path\":\"/s/a\",\"cpu.weight\":50,\"cpu.max\":\"20000 100000\"}, \
             \"loop\" : 1",
            "\"phases\" : {",
            "\"1\" : {",
            "\"loop\" : 1",
            "\"run1\" : 50",
            "}",
            "\"2\" : {",
            "\"taskgroup\" : {\"path\":\"/s/b\",\"cpu.idle\":1}",
            "\"run2\" : 30",
            "}",
            "\"3\" : {",
            "\"policy\" : \"SCHED_FIFO\", \"priority\" : 7, \"taskgroup\" : \"/\"",
            "\"run3\" : 10",
            "}",
            "}"
        ]
    );
    assert_eq!(task(&found, "b-2")[0], "\"taskgroup\" : \"/s/a\", \"loop\" : 1");
    let parent =
        "\"events\" : [\n\t\t{ \"at\" : 0, \"cgroup\" : \"/s\", \"cpu.weight\" : 300 }\n\t]";
    assert!(found.text.contains(parent), "{}", found.text);
    assert!(rota_workload::parse("w.json", &found.text).is_ok());
}

#[test]
fn a_group_that_changed_keeps_its_first_values_and_is_a_doubt() {
    let set = |time_us, weight| {
        let kind = EventKind::CgroupSet { path: "/a".into(), weight, limit_ns: None, idle: false };
        (time_us, 0, kind)
    };
    let run = [named(1, "a"), on(0, 0, 1), off(50, 0, 1, OffCpu::Exit)];
    let with = |last| replay(&[&run[..], &[set(0, 50), set(60, last)]].concat(), &Facts::default());
    assert_eq!(with(50).doubts, []);
    assert_eq!(with(60).doubts, [Doubt::GroupsChanged(1)]);
}

#[test]
fn sessions_count_where_there_are_several() {
    let session = |pid, session| (0, 0, EventKind::Setting(Setting::Session { pid, session }));
    let sessions = |of_b: u32| {
        let events = [
            named(1, "a"),
            session(1, 7),
            named(2, "b"),
            session(2, of_b),
            on(0, 0, 1),
            on(0, 1, 2),
            off(90, 0, 1, OffCpu::Exit),
            off(90, 1, 2, OffCpu::Exit),
        ];
        let found = replay(&events, &Facts::default());
        (task(&found, "a-1")[0].to_owned(), task(&found, "b-2")[0].to_owned())
    };
    let of = |session| format!("\"session\" : {session}, \"loop\" : 1");
    assert_eq!(sessions(8), (of(7), of(8)));
    assert_eq!(sessions(7), ("\"loop\" : 1".into(), "\"loop\" : 1".into()));
}
