// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of what is gathered from events.

use proptest::prelude::*;
use rota_trace::{Event, EventKind, OffCpu, Sink};

use super::{CpuSegment, TaskRow, TaskSegment, Timeline, TimelineSink};

pub(super) fn at(time_ns: u64, cpu: u32, kind: EventKind) -> Event {
    Event { time_ns, cpu: Some(cpu), kind }
}

pub(super) fn task(pid: u32, name: &str) -> Event {
    at(0, 0, EventKind::Task { pid, name: name.into(), weight: 100, instance_of: None })
}

pub(super) fn wakeup(time_ns: u64, pid: u32) -> Event {
    at(time_ns, 0, EventKind::Wakeup { pid, waker: 0 })
}

/// A task comes onto a CPU and begins a slice.
pub(super) fn enter(time_ns: u64, cpu: u32, pid: u32) -> [Event; 2] {
    [at(time_ns, cpu, EventKind::SwitchIn { pid }), pick(time_ns, cpu, pid)]
}

pub(super) fn pick(time_ns: u64, cpu: u32, pid: u32) -> Event {
    at(time_ns, cpu, EventKind::Pick { pid, slice_ns: 10 })
}

pub(super) fn leave(time_ns: u64, cpu: u32, pid: u32, why: OffCpu) -> Event {
    at(time_ns, cpu, EventKind::SwitchOut { pid, why })
}

pub(super) fn gather(mut sink: TimelineSink, events: &[Event], end_ns: u64) -> Timeline {
    events.iter().for_each(|event| sink.event(event));
    sink.finish(end_ns)
}

/// Two tasks on one CPU: `a` 10 to 20 and 35 to 50, `b`, which came at 12, 20 to 35.
pub(super) fn two_tasks() -> Vec<Event> {
    [
        vec![task(1, "a-0"), task(2, "b-1"), wakeup(10, 1)],
        enter(10, 0, 1).into(),
        vec![wakeup(12, 2), leave(20, 0, 1, OffCpu::Runnable)],
        enter(20, 0, 2).into(),
        vec![pick(30, 0, 2), leave(35, 0, 2, OffCpu::Sleep)],
        enter(35, 0, 1).into(),
        vec![leave(50, 0, 1, OffCpu::Exit)],
    ]
    .concat()
}

fn ran(start_ns: u64, end_ns: u64, pid: u32, picks_ns: &[u64]) -> CpuSegment {
    CpuSegment { start_ns, end_ns, pid, picks_ns: picks_ns.into() }
}

fn row(pid: u32, name: &str, segments: &[(u64, u64, Option<u32>)]) -> TaskRow {
    let segment = |&(start_ns, end_ns, cpu)| TaskSegment { start_ns, end_ns, cpu };
    let segments = segments.iter().map(segment).collect();
    TaskRow { pid, name: name.into(), instance_of: name.into(), segments }
}

#[test]
fn switches_become_segments_of_cpu_and_task() {
    let timeline = gather(TimelineSink::new(1, 0, 100), &two_tasks(), 60);
    assert_eq!((timeline.from_ns, timeline.to_ns), (0, 60), "the run ended before the window");
    let ran_0 = [ran(10, 20, 1, &[10]), ran(20, 35, 2, &[20, 30]), ran(35, 50, 1, &[35])];
    assert_eq!(timeline.cpus[&0], ran_0);
    let a = row(1, "a-0", &[(10, 20, Some(0)), (20, 35, None), (35, 50, Some(0))]);
    let b = row(2, "b-1", &[(12, 20, None), (20, 35, Some(0))]);
    assert_eq!(timeline.tasks, [a, b]);
}

#[test]
fn what_crosses_the_window_is_clipped_to_it() {
    let timeline = gather(TimelineSink::new(1, 15, 32), &two_tasks(), 60);
    assert_eq!(timeline.cpus[&0], [ran(15, 20, 1, &[]), ran(20, 32, 2, &[20, 30])]);
    let a = row(1, "a-0", &[(15, 20, Some(0)), (20, 32, None)]);
    let b = row(2, "b-1", &[(15, 20, None), (20, 32, Some(0))]);
    assert_eq!(timeline.tasks, [a, b]);
    assert!(!timeline.cut_short);
}

#[test]
fn a_task_that_left_before_the_window_is_not_in_it() {
    let timeline = gather(TimelineSink::new(1, 35, 70), &two_tasks(), 60);
    let names: Vec<&str> = timeline.tasks.iter().map(|task| task.name.as_str()).collect();
    assert_eq!(names, ["a-0"]);
    assert_eq!(gather(TimelineSink::new(1, 50, 70), &two_tasks(), 60).tasks, []);
}

#[test]
fn a_cpu_that_ran_nothing_has_a_row() {
    let timeline = gather(TimelineSink::new(2, 0, 10), &[], 10);
    assert_eq!(timeline.cpus.len(), 2);
    assert!(timeline.cpus.values().all(Vec::is_empty) && timeline.tasks.is_empty());
}

#[test]
fn where_the_room_ends_so_does_the_window() {
    // Pick, segment (two entries), pick: room for four is used up at 20.
    let timeline = gather(TimelineSink::new(1, 0, 100).with_room(4), &two_tasks(), 60);
    assert!(timeline.cut_short);
    assert_eq!(timeline.to_ns, 20);
    assert_eq!(timeline.cpus[&0], [ran(10, 20, 1, &[10])]);
}

#[test]
fn the_end_of_the_policy_is_kept() {
    let reason = "stall".to_owned();
    let exit = at(40, 0, EventKind::PolicyExit { kind: 1, code: 0, reason: reason.clone() });
    let timeline = gather(TimelineSink::new(1, 0, 100), &[exit], 40);
    assert_eq!(timeline.policy_exit, Some((40, reason)));
}

/// Any event, sensible where it stands or not.
pub(super) fn streams() -> impl Strategy<Value = Vec<Event>> {
    let kind =
        (0..5u32, 0..8usize, "\\PC{0,6}|[<>&'\"\0-\x1f]{0,6}").prop_map(|(pid, what, text)| {
            let off = |why| EventKind::SwitchOut { pid, why };
            match what {
                0 => EventKind::Task { pid, name: text, weight: 1, instance_of: None },
                1 => EventKind::Wakeup { pid, waker: 0 },
                2 => EventKind::SwitchIn { pid },
                3 => off(OffCpu::Runnable),
                4 => off(OffCpu::Sleep),
                5 => off(OffCpu::Exit),
                6 => EventKind::Pick { pid, slice_ns: 1 },
                _ if pid == 0 => EventKind::PolicyExit { kind: 1, code: -1, reason: text },
                _ => EventKind::Exit { pid },
            }
        });
    let cpu = proptest::option::weighted(0.9, prop_oneof![0..3u32, Just(u32::MAX)]);
    let time = prop_oneof![9 => 0..500u64, 1 => any::<u64>()];
    proptest::collection::vec((time, cpu, kind), 0..80).prop_map(|mut steps| {
        steps.sort_by_key(|(time_ns, ..)| *time_ns);
        let event = |(time_ns, cpu, kind)| Event { time_ns, cpu, kind };
        steps.into_iter().map(event).collect()
    })
}

proptest! {
    #[test]
    fn segments_are_in_the_window_and_never_overlap(
        events in streams(), from in 0..600u64, length in 0..600u64, room in 0..60usize, end: u64,
    ) {
        let sink = TimelineSink::new(2, from, from + length).with_room(room);
        let timeline = gather(sink, &events, end);
        let window = (timeline.from_ns, timeline.to_ns);
        let in_order = |times: Vec<(u64, u64)>| {
            let ends = std::iter::once(window.0).chain(times.iter().map(|t| t.1));
            times.iter().zip(ends).all(|((start, end), before)| before <= *start && start < end)
                && times.last().is_none_or(|last| last.1 <= window.1)
        };
        let mut cpu_ns = 0;
        for segments in timeline.cpus.values() {
            prop_assert!(in_order(segments.iter().map(|s| (s.start_ns, s.end_ns)).collect()));
            for segment in segments {
                cpu_ns += segment.end_ns - segment.start_ns;
                let inside = |at| &segment.start_ns <= at && at < &segment.end_ns;
                prop_assert!(segment.picks_ns.iter().all(inside), "{:?}", segment);
            }
        }
        for task in &timeline.tasks {
            prop_assert!(in_order(task.segments.iter().map(|s| (s.start_ns, s.end_ns)).collect()));
        }
        let ran: u64 = timeline.tasks.iter().map(TaskRow::cpu_ns).sum();
        prop_assert_eq!(ran, cpu_ns);
    }
}
