// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of the Chrome trace export: it is read back as JSON and compared slice by slice.

use proptest::prelude::*;
use serde_json::{json, Value};

use super::*;
use crate::full_disk::Full;
use crate::kind::Cost;

fn at(time_ns: u64, cpu: Option<u32>, kind: EventKind) -> Event {
    Event { time_ns, cpu, kind }
}

fn export(events: &[Event], end_ns: u64) -> Vec<Value> {
    let mut sink = ChromeTraceSink::new(Vec::new());
    for event in events {
        sink.event(event);
    }
    let bytes = sink.finish(end_ns).unwrap();
    serde_json::from_slice(&bytes).unwrap()
}

/// `(process, track, name, start, length)` of all slices, in output order.
fn slices(objects: &[Value]) -> Vec<(u64, u64, String, f64, f64)> {
    let slices = objects.iter().filter(|o| o["ph"] == "X");
    let number = |v: &Value| v.as_f64().unwrap();
    slices
        .map(|o| {
            let track = (o["pid"].as_u64().unwrap(), o["tid"].as_u64().unwrap());
            let name = o["name"].as_str().unwrap().to_owned();
            (track.0, track.1, name, number(&o["ts"]), number(&o["dur"]))
        })
        .collect()
}

fn task(pid: u32, name: &str) -> Event {
    at(0, None, EventKind::Task { pid, name: name.into(), weight: 100, instance_of: None })
}

#[test]
fn a_short_run_becomes_its_slices() {
    let objects = export(
        &[
            task(10, "a \"quoted\"-0"),
            at(0, None, EventKind::Fork { pid: 10, parent: 0 }),
            at(500, Some(3), EventKind::Wakeup { pid: 10, waker: 7 }),
            at(1_500, Some(3), EventKind::SwitchIn { pid: 10 }),
            at(4_500, Some(3), EventKind::SwitchOut { pid: 10, why: OffCpu::Runnable }),
            at(4_500, Some(1), EventKind::SwitchIn { pid: 10 }),
            at(6_501, Some(1), EventKind::SwitchOut { pid: 10, why: OffCpu::Sleep }),
        ],
        10_000,
    );
    let quoted = "a \"quoted\"-0".to_owned();
    assert_eq!(
        slices(&objects),
        [
            (2, 10, "created".into(), 0.0, 0.5),
            (2, 10, "runnable".into(), 0.5, 1.0),
            (2, 10, "running".into(), 1.5, 3.0),
            (1, 4, quoted.clone(), 1.5, 3.0),
            (2, 10, "running".into(), 4.5, 2.001),
            (1, 2, quoted.clone(), 4.5, 2.001),
            (2, 10, "sleeping".into(), 6.501, 3.499),
        ]
    );
    let named = |name: &str| {
        objects.iter().any(|o| o["name"] == "thread_name" && o["args"]["name"] == name)
    };
    assert!(named(&quoted) && named("CPU 3") && named("CPU 1") && !named("CPU 0"));
    let find = |phase: &str, name: &str| {
        objects.iter().find(|o| o["ph"] == phase && o["name"] == name).unwrap()
    };
    let wakeup = find("i", "wakeup");
    assert_eq!((&wakeup["tid"], &wakeup["args"]["waker_pid"]), (&10.into(), &7.into()));
    let (from, to) = (find("s", "wakeup"), find("f", "wakeup"));
    assert_eq!((&from["tid"], &to["tid"], &from["id"]), (&7.into(), &10.into(), &to["id"]));
}

#[test]
fn what_is_open_at_the_end_ends_there() {
    let objects = export(
        &[
            task(1, "runs-0"),
            task(2, "waits-1"),
            at(0, Some(0), EventKind::SwitchIn { pid: 1 }),
            at(2_000, None, EventKind::Wakeup { pid: 2, waker: 0 }),
            at(
                9_000,
                None,
                EventKind::PolicyExit { kind: 1026, code: 0, reason: "a \"stall\"".into() },
            ),
        ],
        9_000,
    );
    assert_eq!(
        slices(&objects),
        [
            (1, 1, "runs-0".into(), 0.0, 9.0),
            (2, 1, "running".into(), 0.0, 9.0),
            (2, 2, "runnable".into(), 2.0, 7.0),
        ]
    );
    let exit = objects.iter().find(|o| o["name"] == "policy_exit").unwrap();
    assert_eq!(exit["args"]["exit_reason"], "a \"stall\"");
}

#[test]
fn a_callback_is_on_the_track_of_its_cpu_with_its_cost() {
    let call = |op: &'static str, cpu, pid| {
        at(1_000, cpu, EventKind::OpCall { op: op.into(), pid, cost: Cost::Instructions(77) })
    };
    let objects = export(&[call("enqueue", Some(2), 4), call("init", None, 0)], 2_000);
    let find = |name: &str| objects.iter().find(|o| o["name"] == name).unwrap();
    let (enqueue, init) = (find("enqueue"), find("init"));
    assert_eq!((&enqueue["pid"], &enqueue["tid"]), (&POLICY.into(), &3.into()));
    assert_eq!(enqueue["args"], json!({ "op_instructions": 77, "pid": 4 }));
    assert_eq!((&init["tid"], &init["args"]), (&0.into(), &json!({ "op_instructions": 77 })));
}

#[test]
fn a_request_lasts_from_arrival_to_answer() {
    let request = |time, request| at(time, None, EventKind::Request(request));
    let class = Request::Class { class: 1, name: "user".into(), socket: "http".into() };
    let begin =
        Request::Begin { request: 7, class: 1, sender: 9, demand_ns: 50, think_ns: Some(3) };
    let objects = export(
        &[
            request(0, class),
            request(10_000, begin),
            request(20_000, Request::Serve { request: 7, pid: 3 }),
            request(30_000, Request::End { request: 7, pid: 3 }),
            // Those that did not begin are not shown.
            request(30_000, Request::End { request: 8, pid: 3 }),
        ],
        40_000,
    );
    let ends: Vec<Value> = objects.into_iter().filter(|o| o["id"] == 7 || o["id"] == 8).collect();
    let end = |phase: &str, ts: f64, args: Value| {
        json!({
            "ph": phase, "cat": "request", "name": "user", "id": 7, "pid": REQUESTS, "tid": 0,
            "ts": ts, "args": args,
        })
    };
    let arrival = json!({ "request": 7, "class": 1, "demand_ns": 50, "think_ns": 3, "pid": 9 });
    assert_eq!(
        ends,
        [
            end("b", 10.0, arrival),
            end("n", 20.0, json!({ "request": 7, "pid": 3 })),
            end("e", 30.0, json!({ "request": 7, "pid": 3 })),
        ]
    );
}

/// The members that the format's description wants for each phase.
fn is_documented(object: &Value) -> bool {
    let number = |name: &str| object[name].is_number();
    let text = |name: &str| object[name].is_string();
    let common = text("name") && number("pid") && number("tid") && object["args"].is_object();
    let timed = number("ts") && text("cat");
    common
        && match object["ph"].as_str() {
            Some("M") => {
                object["args"]["name"].is_string() || object["args"]["sort_index"].is_number()
            }
            Some("X") => timed && number("dur"),
            Some("i") => timed && object["s"] == "t",
            Some("s" | "b" | "n" | "e") => timed && number("id"),
            Some("f") => timed && number("id") && object["bp"] == "e",
            _ => false,
        }
}

#[test]
fn an_empty_run_is_valid_json() {
    assert!(slices(&export(&[], 0)).is_empty());
}

#[test]
fn a_write_error_is_kept_for_the_end() {
    for room in [0, 100, 1_000] {
        let mut sink = ChromeTraceSink::new(Full(room));
        for time in 0..100 {
            sink.event(&at(time, Some(0), EventKind::Wakeup { pid: 1, waker: 0 }));
        }
        assert_eq!(sink.finish(100).err().unwrap().to_string(), "disk full");
    }
}

/// Any event, valid in its place or not.
fn kinds() -> impl Strategy<Value = EventKind> {
    let pid = 0..4u32;
    prop_oneof![
        (pid.clone(), "\\PC{0,6}").prop_map(|(pid, name)| EventKind::Task {
            pid,
            name,
            weight: 1,
            instance_of: None
        }),
        pid.clone().prop_map(|pid| EventKind::Fork { pid, parent: 0 }),
        pid.clone().prop_map(|pid| EventKind::Exit { pid }),
        pid.clone().prop_map(|pid| EventKind::Wakeup { pid, waker: 0 }),
        pid.clone().prop_map(|pid| EventKind::SwitchIn { pid }),
        (pid, 0..3usize).prop_map(|(pid, why)| {
            let why = [OffCpu::Runnable, OffCpu::Sleep, OffCpu::Exit][why];
            EventKind::SwitchOut { pid, why }
        }),
        (0..4u32, 0..3u64)
            .prop_map(|(pid, request)| { EventKind::Request(Request::Serve { request, pid }) }),
        (0..3u64, 0..2u32).prop_map(|(request, class)| {
            let begin = Request::Begin { request, class, sender: 0, demand_ns: 1, think_ns: None };
            EventKind::Request(begin)
        }),
        "\\PC{0,9}".prop_map(|reason| EventKind::OpCall {
            op: reason.into(),
            pid: 0,
            cost: Cost::Nanoseconds(1),
        }),
        "\\PC{0,9}".prop_map(|reason| EventKind::PolicyExit { kind: 1, code: -1, reason }),
    ]
}

proptest! {
    /// However strange the stream: each object has what the format wants, and no two slices of a track overlap.
    #[test]
    fn slices_of_a_track_never_overlap(
        steps in proptest::collection::vec((0..2000u64, proptest::option::of(0..3u32), kinds()), 0..60)
    ) {
        let mut now = 0;
        let events: Vec<Event> = steps
            .into_iter()
            .map(|(gap, cpu, kind)| {
                now += gap;
                at(now, cpu, kind)
            })
            .collect();
        let mut ends = std::collections::HashMap::new();
        let objects = export(&events, now + 1);
        for object in &objects {
            prop_assert!(is_documented(object), "{}", object);
        }
        for (process, track, _, start, length) in slices(&objects) {
            let end = ends.entry((process, track)).or_insert(0.0);
            prop_assert!(start >= *end - 1e-6 && length > 0.0, "{start} {length} after {end}");
            *end = start + length;
        }
    }
}
