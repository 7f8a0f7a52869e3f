// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of the Perfetto export against its messages. What Perfetto's trace processor makes of
//! a file is part of the tests of the command line.

use proptest::prelude::*;
use prost::Message as _;

use super::messages::{Argument, EventType, Trace, TracePacket, TrackEvent};
use super::*;
use crate::full_disk::Full;
use crate::kind::Cost;

fn at(time_ns: u64, cpu: Option<u32>, kind: EventKind) -> Event {
    Event { time_ns, cpu, kind }
}

fn task(pid: u32, name: &str, weight: u32) -> Event {
    at(0, None, EventKind::Task { pid, name: name.into(), weight, instance_of: None })
}

fn export(events: &[Event], end_ns: u64) -> Vec<TracePacket> {
    let mut sink = PerfettoSink::new(Vec::new());
    for event in events {
        sink.event(event);
    }
    Trace::decode(sink.finish(end_ns).unwrap().as_slice()).unwrap().packet
}

/// `(time, cpu, name, tid, state, priority)` of all states.
fn states(packets: &[TracePacket]) -> Vec<(u64, i32, String, i64, TaskState, i32)> {
    let states = packets.iter().filter_map(|packet| match &packet.data {
        Some(Data::TaskState(s)) => Some((packet.timestamp.unwrap(), s)),
        _ => None,
    });
    states.map(|(time, s)| (time, s.cpu, s.comm.clone(), s.tid, s.state(), s.prio)).collect()
}

/// `(time, track, type, name, event)` of all that happens on tracks.
fn happenings(packets: &[TracePacket]) -> Vec<(u64, u64, EventType, String, TrackEvent)> {
    let mut names = FxHashMap::default();
    let mut found = Vec::new();
    for packet in packets {
        for name in packet.interned_data.iter().flat_map(|data| &data.event_names) {
            names.insert(name.iid, name.name.clone());
        }
        if let Some(Data::TrackEvent(event)) = &packet.data {
            let name = event.name_iid.map_or(String::new(), |iid| names[&iid].clone());
            let time = packet.timestamp.unwrap();
            found.push((time, event.track_uuid, event.r#type(), name, event.clone()));
        }
    }
    found
}

/// Name of a track or of its thread, and of what it belongs to.
fn tracks(packets: &[TracePacket]) -> FxHashMap<u64, (String, Option<u64>)> {
    let tracks = packets.iter().filter_map(|packet| match &packet.data {
        Some(Data::TrackDescriptor(track)) => Some(track.clone()),
        _ => None,
    });
    tracks
        .map(|track| {
            let name = track.thread.map(|thread| thread.thread_name).or(track.name).unwrap();
            (track.uuid, (name, track.parent_uuid))
        })
        .collect()
}

#[test]
fn switches_and_wakeups_become_states() {
    let packets = export(
        &[
            // Nice 0, and nice 5, whose weight is 335/1024.
            task(10, "a-0", 100),
            task(11, "b-1", 33),
            at(500, Some(3), EventKind::Wakeup { pid: 10, waker: 0 }),
            at(1_500, Some(3), EventKind::SwitchIn { pid: 10 }),
            at(4_500, Some(3), EventKind::SwitchOut { pid: 10, why: OffCpu::Runnable }),
            at(4_500, Some(1), EventKind::SwitchIn { pid: 10 }),
            at(6_000, Some(3), EventKind::SwitchIn { pid: 11 }),
            at(6_500, Some(1), EventKind::SwitchOut { pid: 10, why: OffCpu::Sleep }),
            at(7_000, None, EventKind::Exit { pid: 10 }),
        ],
        9_000,
    );
    let state = |time, cpu, state| (time, cpu, "a-0".to_owned(), 10, state, 120);
    assert_eq!(
        states(&packets),
        [
            state(500, 0, TaskState::Runnable),
            state(1_500, 3, TaskState::Running),
            state(4_500, 3, TaskState::Runnable),
            state(4_500, 1, TaskState::Running),
            (6_000, 3, "b-1".to_owned(), 11, TaskState::Running, 125),
            state(6_500, 1, TaskState::InterruptibleSleep),
            state(7_000, 0, TaskState::Dead),
            (9_000, 3, "b-1".to_owned(), 11, TaskState::Runnable, 125),
        ]
    );
}

#[test]
fn a_task_that_ends_on_its_cpu_dies_when_it_leaves() {
    let out = at(20, Some(0), EventKind::SwitchOut { pid: 1, why: OffCpu::Exit });
    let exit = |time| at(time, None, EventKind::Exit { pid: 1 });
    let run = at(10, Some(0), EventKind::SwitchIn { pid: 1 });
    for events in [[run.clone(), exit(15), out.clone()], [run, out, exit(20)]] {
        let states: Vec<_> = states(&export(&events, 30)).iter().map(|s| (s.0, s.4)).collect();
        assert_eq!(states, [(10, TaskState::Running), (20, TaskState::Dead)]);
    }
}

#[test]
fn an_arrow_leads_from_the_waker() {
    let wakeup = |pid, waker| at(5, Some(0), EventKind::Wakeup { pid, waker });
    let packets = export(&[task(1, "a", 100), task(2, "b", 100), wakeup(2, 1), wakeup(1, 0)], 9);
    let (tracks, happenings) = (tracks(&packets), happenings(&packets));
    let find = |name: &str| {
        let found = happenings.iter().filter(|h| h.3 == name);
        found.map(|h| (tracks[&h.1].0.as_str(), h.4.clone())).collect::<Vec<_>>()
    };
    let (from, to) = (find("wakes"), find("wakeup"));
    assert_eq!((from[0].0, to[0].0, to[1].0), ("a", "b", "a"));
    assert_eq!(from[0].1.flow_ids, to[0].1.terminating_flow_ids);
    assert_eq!(from[0].1.flow_ids.len(), 1);
    assert!(to[1].1.terminating_flow_ids.is_empty());
}

#[test]
fn a_callback_is_on_the_track_of_its_cpu_with_its_cost() {
    let call = |cost| EventKind::OpCall { op: "enqueue".into(), pid: 4, cost };
    let packets = export(
        &[at(5, Some(2), call(Cost::Instructions(77))), at(6, None, call(Cost::Nanoseconds(8)))],
        9,
    );
    let (tracks, happenings) = (tracks(&packets), happenings(&packets));
    let enqueue: Vec<_> = happenings.iter().filter(|h| h.3 == "enqueue").collect();
    let (track, parent) = &tracks[&enqueue[0].1];
    assert_eq!((track.as_str(), tracks[&parent.unwrap()].0.as_str()), ("CPU 2", "Policy"));
    assert_eq!(tracks[&enqueue[1].1].0, "no CPU");
    let arguments = |n: usize| {
        enqueue[n].4.debug_annotations.iter().map(|a| a.value.clone().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(arguments(0), [Argument::Number(77), Argument::Number(4)]);
    assert_eq!(arguments(1), [Argument::Number(8), Argument::Number(4)]);
}

#[test]
fn a_request_is_a_slice_from_arrival_to_answer() {
    let request = |time, request| at(time, None, EventKind::Request(request));
    let begin =
        |request| Request::Begin { request, class: 1, sender: 0, demand_ns: 50, think_ns: None };
    let class = Request::Class { class: 1, name: "user".into(), socket: "http".into() };
    let packets = export(
        &[
            request(0, class),
            request(10, begin(7)),
            request(11, begin(8)),
            request(20, Request::Serve { request: 7, pid: 3 }),
            request(25, Request::End { request: 8, pid: 3 }),
            request(30, Request::End { request: 7, pid: 3 }),
        ],
        40,
    );
    let slices: Vec<_> = happenings(&packets)
        .into_iter()
        .filter(|h| h.2 != EventType::Instant)
        .map(|h| (h.0, h.1, h.2, h.3))
        .collect();
    let (first, second) = (slices[0].1, slices[1].1);
    assert_ne!(first, second);
    let (user, served, none) = ("user".to_owned(), "served".to_owned(), String::new());
    assert_eq!(
        slices,
        [
            (10, first, EventType::SliceBegin, user.clone()),
            (11, second, EventType::SliceBegin, user),
            (20, first, EventType::SliceBegin, served),
            (25, second, EventType::SliceEnd, none.clone()),
            (30, first, EventType::SliceEnd, none.clone()),
            (30, first, EventType::SliceEnd, none),
        ]
    );
    assert_eq!(tracks(&packets)[&first].0, "user");
}

#[test]
fn only_the_first_packet_clears_what_was_known() {
    let events: Vec<Event> =
        (0..200).map(|time| at(time, Some(0), EventKind::SwitchIn { pid: 1 })).collect();
    let packets = export(&events, 200);
    assert!(packets.len() > 200);
    assert_eq!(packets[0].sequence_flags, 3);
    assert!(packets[1..].iter().all(|packet| packet.sequence_flags == 2));
}

#[test]
fn a_write_error_is_kept_for_the_end() {
    for room in [0, 100, 1_000] {
        let mut sink = PerfettoSink::new(Full(room));
        for time in 0..1_000 {
            sink.event(&at(time, Some(0), EventKind::Wakeup { pid: 1, waker: 0 }));
        }
        assert_eq!(sink.finish(1_000).err().unwrap().to_string(), "disk full");
    }
}

#[test]
fn priorities_are_those_of_the_nearest_nice_value() {
    // Weights of nice 0, 5, -5, 10 and -20 in hundredths of 1024, and the bounds of sched_ext.
    let cases =
        [(100, 120), (33, 125), (305, 115), (11, 130), (8668, 100), (1, 139), (10_000, 100)];
    for (weight, expected) in cases {
        assert_eq!(priority(weight), expected, "weight {weight}");
    }
}

/// Any event of a task, valid in its place or not.
fn kinds() -> impl Strategy<Value = EventKind> {
    let pid = 1..4u32;
    prop_oneof![
        (pid.clone(), "\\PC{0,6}").prop_map(|(pid, name)| EventKind::Task {
            pid,
            name,
            weight: 1,
            instance_of: None
        }),
        pid.clone().prop_map(|pid| EventKind::Fork { pid, parent: 0 }),
        pid.clone().prop_map(|pid| EventKind::Exit { pid }),
        (pid.clone(), 0..3u32).prop_map(|(pid, waker)| EventKind::Wakeup { pid, waker }),
        pid.clone().prop_map(|pid| EventKind::SwitchIn { pid }),
        (pid, 0..3usize).prop_map(|(pid, why)| {
            let why = [OffCpu::Runnable, OffCpu::Sleep, OffCpu::Exit][why];
            EventKind::SwitchOut { pid, why }
        }),
        (0..5u64, 1..4u32)
            .prop_map(|(request, pid)| { EventKind::Request(Request::Serve { request, pid }) }),
        (0..5u64, 1..4u32)
            .prop_map(|(request, pid)| EventKind::Request(Request::End { request, pid })),
        (0..5u64, 0..2u32).prop_map(|(request, class)| {
            let begin = Request::Begin { request, class, sender: 0, demand_ns: 1, think_ns: None };
            EventKind::Request(begin)
        }),
    ]
}

proptest! {
    /// However strange the stream: what happens is on tracks that were told before, and no
    /// track ends more slices than it began.
    #[test]
    fn tracks_come_first_and_slices_nest(
        steps in proptest::collection::vec((proptest::option::of(0..3u32), kinds()), 0..80)
    ) {
        let events: Vec<Event> =
            steps.into_iter().zip(0..).map(|((cpu, kind), time)| at(time, cpu, kind)).collect();
        let mut depth = FxHashMap::default();
        for packet in export(&events, events.len() as u64) {
            match packet.data.unwrap() {
                Data::TrackDescriptor(track) => {
                    prop_assert!(track.parent_uuid.is_none_or(|p| depth.contains_key(&p)));
                    prop_assert_eq!(depth.insert(track.uuid, 0), None);
                }
                Data::TrackEvent(event) => {
                    prop_assert!(depth.contains_key(&event.track_uuid));
                    let depth = depth.get_mut(&event.track_uuid).unwrap();
                    *depth += match event.r#type() {
                        EventType::SliceBegin => 1,
                        EventType::SliceEnd => -1,
                        EventType::Instant | EventType::Unspecified => 0,
                    };
                    prop_assert!(*depth >= 0);
                }
                Data::ProcessTree(_) | Data::TaskState(_) => {}
            }
        }
    }
}
