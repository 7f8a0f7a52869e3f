// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of the filter.

use super::*;
use crate::played::PlayedTask;

const A: u32 = 101;
const B: u32 = 102;
/// A task that is not the workload's.
const STRANGER: u32 = 7;

fn played() -> Played {
    let task = |name: &str, tid| PlayedTask { name: name.into(), tid };
    Played { start_ns: 1000, duration_ns: 500, tasks: vec![task("a-0", A), task("b-1", B)] }
}

fn on_cpu(time_ns: u64, kind: EventKind) -> Event {
    Event { time_ns, cpu: Some(0), kind }
}

fn filter(events: &[Event]) -> Filtered {
    Filtered::new(&played(), 0, events)
}

fn out(pid: u32) -> EventKind {
    EventKind::SwitchOut { pid, why: OffCpu::Runnable }
}

fn enter(pid: u32) -> EventKind {
    EventKind::SwitchIn { pid }
}

fn pick(pid: u32) -> EventKind {
    EventKind::Pick { pid, slice_ns: 10 }
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
fn a_slice_that_goes_on_was_not_left() {
    let filtered = filter(&[
        on_cpu(1000, enter(A)),
        on_cpu(1000, pick(A)),
        on_cpu(1010, out(A)),
        on_cpu(1010, enter(STRANGER)),
        on_cpu(1014, out(STRANGER)),
        on_cpu(1014, enter(A)),
        on_cpu(1040, out(A)),
        on_cpu(1040, enter(B)),
        on_cpu(1040, pick(B)),
    ]);
    let expected = [
        on_cpu(0, enter(A)),
        on_cpu(0, pick(A)),
        on_cpu(40, out(A)),
        on_cpu(40, enter(B)),
        on_cpu(40, pick(B)),
    ];
    assert_eq!(filtered.events, expected);
    assert_eq!((filtered.interruptions, filtered.interrupted_ns), (1, 4));
}

#[test]
fn a_new_slice_another_cpu_or_another_task_is_no_interruption() {
    let again = [
        on_cpu(1000, enter(A)),
        on_cpu(1010, out(A)),
        on_cpu(1014, enter(A)),
        on_cpu(1014, pick(A)),
    ];
    assert_eq!(filter(&again).events.len(), 4);
    let other = [on_cpu(1000, enter(A)), on_cpu(1010, out(A)), on_cpu(1010, enter(B))];
    assert_eq!(filter(&other).events.len(), 3);
    let elsewhere = Event { time_ns: 1014, cpu: Some(1), kind: enter(A) };
    let moved = [on_cpu(1000, enter(A)), on_cpu(1010, out(A)), elsewhere];
    assert_eq!(filter(&moved).events.len(), 3);
}

#[test]
fn tasks_have_their_full_names_and_last_weight_at_the_start() {
    let named = |time_ns, weight| {
        let kind = EventKind::Task { pid: A, name: "short".into(), weight };
        Event { time_ns, cpu: None, kind }
    };
    let filtered = filter(&[named(5, 100), named(6, 300), named(1200, 15)]);
    let task = |weight| EventKind::Task { pid: A, name: "a-0".into(), weight };
    let kinds: Vec<_> = filtered.events.iter().map(|e| (e.time_ns, e.kind.clone())).collect();
    let fork = EventKind::Fork { pid: A, parent: 0 };
    assert_eq!(kinds, [(0, task(300)), (0, fork), (200, task(15))]);
}
