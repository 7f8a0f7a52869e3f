// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of the filter.

use super::*;
use crate::played::PlayedTask;

const A: u32 = 101;
const B: u32 = 102;
/// A task that is not the workload's.
const STRANGER: u32 = 7;

fn played() -> Played {
    let task = |name: &str, instance_of: &str, tid| PlayedTask {
        name: name.into(),
        instance_of: instance_of.into(),
        tid,
        had: None,
    };
    let tasks = vec![task("a-0", "a", A), task("b-1", "b", B)];
    Played { start_ns: 1000, duration_ns: 500, period_ns: 400_000, fork_ns: 0, tasks }
}

fn on_cpu(time_ns: u64, kind: EventKind) -> Event {
    Event { time_ns, cpu: Some(0), kind }
}

fn filter(events: &[Event]) -> Filtered {
    Filtered::new(&played(), 0, events, &BTreeSet::new())
}

fn out(pid: u32) -> EventKind {
    EventKind::SwitchOut { pid, why: OffCpu::Runnable }
}

fn enter(pid: u32) -> EventKind {
    EventKind::SwitchIn { pid }
}

#[test]
fn events_outside_the_run_and_of_others_are_left_out() {
    let filtered = filter(&[
        on_cpu(999, enter(A)),
        on_cpu(1000, enter(STRANGER)),
        on_cpu(1001, enter(A)),
        on_cpu(1499, out(A)),
        on_cpu(1500, enter(B)),
    ]);
    assert_eq!(filtered.events, [on_cpu(1, enter(A)), on_cpu(499, out(A))]);
}

#[test]
fn the_schedulers_own_program_interrupts_nobody_and_its_time_is_counted() {
    let program: BTreeSet<u32> = [STRANGER].into();
    let events = [
        // Ten before the start, and five after it.
        on_cpu(990, enter(STRANGER)),
        on_cpu(1005, out(STRANGER)),
        on_cpu(1005, enter(A)),
        on_cpu(1010, out(A)),
        on_cpu(1010, enter(STRANGER)),
        on_cpu(1017, out(STRANGER)),
        on_cpu(1017, enter(STRANGER + 1)),
        on_cpu(1019, out(STRANGER + 1)),
        on_cpu(1019, enter(A)),
        on_cpu(1480, out(A)),
        // To the end at 1500, and beyond.
        on_cpu(1480, enter(STRANGER)),
        on_cpu(1510, out(STRANGER)),
    ];
    let filtered = Filtered::new(&played(), 0, &events, &program);
    assert_eq!(filtered.program_ns, 5 + 7 + 20);
    assert_eq!(filtered.interruptions, [Interruption { cpu: 0, at_ns: 17, for_ns: 2 }]);
}

#[test]
fn others_on_a_cpu_are_an_interruption() {
    let elsewhere = |time_ns, kind| Event { time_ns, cpu: Some(1), kind };
    let filtered = filter(&[
        elsewhere(900, enter(STRANGER)),
        on_cpu(1000, enter(A)),
        on_cpu(1010, out(A)),
        on_cpu(1010, enter(STRANGER)),
        on_cpu(1014, out(STRANGER)),
        on_cpu(1014, enter(STRANGER + 1)),
        on_cpu(1017, out(STRANGER + 1)),
        on_cpu(1017, enter(A)),
        elsewhere(1020, out(STRANGER)),
        on_cpu(1030, out(A)),
        on_cpu(1030, enter(B)),
        on_cpu(1040, out(B)),
    ]);
    let interruption = |cpu, at_ns, for_ns| Interruption { cpu, at_ns, for_ns };
    let expected = [interruption(0, 10, 7), interruption(0, 40, 460), interruption(1, 0, 20)];
    assert_eq!(filtered.interruptions, expected);
    let own =
        [(0, enter(A)), (10, out(A)), (17, enter(A)), (30, out(A)), (30, enter(B)), (40, out(B))];
    assert_eq!(filtered.events, own.map(|(time_ns, kind)| on_cpu(time_ns, kind)));
}

#[test]
fn a_cpu_that_idles_after_a_task_that_can_go_on_has_no_others() {
    // A group is out of CPU time: its task leaves, and the CPU idles till the next period.
    let filtered = filter(&[
        on_cpu(1000, enter(A)),
        on_cpu(1010, out(A)),
        on_cpu(1010, EventKind::Idle),
        on_cpu(1100, enter(A)),
        // One that is not recorded comes, and sleeps after 30 ns; A is elsewhere by then.
        on_cpu(1150, out(A)),
        on_cpu(1180, EventKind::Idle),
        on_cpu(1300, enter(B)),
        on_cpu(1400, out(B)),
        on_cpu(1400, enter(A)),
    ]);
    assert_eq!(filtered.interruptions, [Interruption { cpu: 0, at_ns: 150, for_ns: 30 }]);
}

#[test]
fn tasks_have_the_names_of_the_file_and_their_last_weight_at_the_start() {
    let named = |time_ns, weight| {
        let kind = EventKind::Task { pid: A, name: "short".into(), weight, instance_of: None };
        Event { time_ns, cpu: None, kind }
    };
    let filtered = filter(&[named(5, 100), named(6, 300), named(1200, 15)]);
    let instance_of = Some("a".into());
    let task = |weight| EventKind::Task {
        pid: A,
        name: "a-0".into(),
        weight,
        instance_of: instance_of.clone(),
    };
    let kinds: Vec<_> = filtered.events.iter().map(|e| (e.time_ns, e.kind.clone())).collect();
    let fork = EventKind::Fork { pid: A, parent: 0 };
    assert_eq!(kinds, [(0, task(300)), (0, fork), (200, task(15))]);
}

#[test]
fn the_first_run_is_that_on_the_cpu_of_the_timers_within_a_tick() {
    let elsewhere = Event { time_ns: 1010, cpu: Some(1), kind: enter(A) };
    let after = |events: &[Event]| filter(events).start_ns;
    let before = on_cpu(990, enter(B));
    assert_eq!(after(&[before.clone(), elsewhere, on_cpu(1070, enter(B))]), 70);
    assert_eq!(
        after(&[on_cpu(1000, enter(STRANGER)), on_cpu(401_000, enter(A))]),
        0,
        "a tick later"
    );
    assert_eq!(after(&[before]), 0);
}
