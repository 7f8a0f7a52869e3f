// SPDX-License-Identifier: MIT OR Apache-2.0
//! `appease` counts each wait once, whoever it makes wait: [CAS §2.2], elapsed time less CPU time.
//! Times are calculated by hand; the machine is ideal. Each server has a small request before, as
//! only who has read from a socket is known to be one.

use crate::appease::run;
use proptest::prelude::*;

const MS: u64 = 1_000_000;
/// Real-time tasks have the CPU of `front` from 100 to 117 ms, and 6 ms from 118.5 on.
const ABOVE: &str = r#"
    "rt1": {"policy": "SCHED_FIFO", "delay": 100000, "loop": 1, "run": 17000, "cpus": [0]},
    "rt2": {"policy": "SCHED_FIFO", "delay": 118500, "loop": 1, "run": 6000, "cpus": [0]}"#;
const HOG: &str = r#""hog": {"run": 1000000}"#;

/// Asked at 100 ms it runs for 1 ms, asks for 8 ms of help, runs for so many tenths of its demand
/// of 10 ms, waits for the help, and runs 1 ms.
fn front(asks: &str, goes_on: f64) -> String {
    format!(
        r#""front": {{"cpus": [0], "recv": "s", "run1": {{"request": 0.1}}, {asks},
            "run2": {{"request": {goes_on}}}, "sem_wait": "done", "run3": {{"request": 0.1}},
            "reply": "s"}}"#
    )
}

/// The response to the request at 100 ms, and what is counted of what its customer waited, in us.
fn response(cpus: u32, set: &[(&str, &str)], tasks: &str) -> (u64, u64) {
    let load = format!(
        r#"{{"sockets": {{"s": "tcp", "db": "unix"}},
            "customers": {{"c": {{"to": "s", "at": [[1000, 100], 100000], "demand": 10000}}}},
            "tasks": {{{tasks}}}}}"#
    );
    let set: Vec<_> = [("reserve", "0")].iter().chain(set).copied().collect();
    let before = run(&set, cpus, &load, 90).stat("waited_ns");
    let mut ran = run(&set, cpus, &load, 200);
    let responses = ran.responses_us("s");
    assert_eq!((responses.len(), ran.stat("open")), (2, 0), "{responses:?}");
    (responses[1], (ran.stat("waited_ns") - before) / 1000)
}

const DB: &str =
    r#""db": {"recv": "db", "run": {"request": 1}, "reply": "db", "sem_post": "done"}"#;
const ASKS: &str = r#""send": {"to": "db", "demand": {"request": 0.8}}"#;

#[test]
fn a_wait_between_a_send_and_the_sleep_that_follows_counts_once() {
    // Front on CPU 0, its help on CPU 1, which rt3 has to 125. rt1 to 117; front to 118, asks; to
    // 118.5; rt2 to 124.5; front to 125, blocks. It waited 17 + 6 ms, its help 7 of the same time:
    // 23 is what help has, less alpha of it that front keeps. Help runs to 133, front to 134. Of 34
    // ms the request ran for 1 + 1 + 8 + 1, and waited 23.
    let db = DB.replace(r#""recv""#, r#""cpus": [1], "recv""#);
    let rt3 = r#""rt3": {"policy": "SCHED_FIFO", "delay": 100000, "loop": 1, "run": 25000,
        "cpus": [1]}"#;
    for alpha in ["0", "0.2", "0.499"] {
        let tasks = format!("{}, {db}, {ABOVE}, {rt3}", front(ASKS, 0.1));
        assert_eq!(response(2, &[("alpha", alpha)], &tasks), (34_000, 23_000), "alpha {alpha}");
    }
}

#[test]
fn nothing_between_the_send_and_the_sleep_but_a_task_above_counts_once() {
    // One CPU. Front asks at 118, and rt2 comes just then, before it can block: to 124. Help to
    // 132, front to 133. Of 33 ms the request ran for 1 + 8 + 1: it waited 23.
    let front = r#""front": {"cpus": [0], "recv": "s", "run1": {"request": 0.1},
        "send": {"to": "db", "demand": {"request": 0.8}, "wait": true},
        "run3": {"request": 0.1}, "reply": "s"}"#;
    let db = r#""db": {"recv": "db", "run": {"request": 1}, "reply": "db"}"#;
    let above = ABOVE.replace("118500", "118000");
    for set in [&[][..], &[("falls", "true")]] {
        let (response, waited) = response(1, set, &format!("{front}, {db}, {above}, {HOG}"));
        // With falls front has 17 - 1 at 118, and 16 + 6 + 8 at 132; help, that waited 6 and ran 8,
        // has 0, 14 less than it could have. So 30 - 14, and 1 less for the last ms.
        let due = if set.is_empty() { 23_000 } else { 15_000 };
        assert_eq!((response, waited), (33_000, due), "{set:?}");
    }
}

#[test]
fn who_has_woken_a_thread_to_help_waits_with_it_once() {
    // One CPU. rt1 to 117; front to 118, wakes the thread; to 118.5; rt2 to 124.5; the thread,
    // which has the request now, to 132.5; front to 134.
    let pool = r#""pool": {"thread_of": "front", "sem_wait": "job", "run": 8000,
        "sem_post": "done"}"#;
    let tasks = format!("{}, {pool}, {ABOVE}, {HOG}", front(r#""sem_post": "job""#, 0.1));
    assert_eq!(response(1, &[], &tasks), (34_000, 23_000));
}

#[test]
fn who_has_help_on_another_cpu_meanwhile_waits_for_nothing() {
    // Two CPUs, front and the real-time tasks on one, help on the other. Front to 118, asks; help
    // from 118 to 126; front has its CPU back at 124.5, blocks at 125, goes on at 126 to 127. From
    // 117 on somebody works for the customer at any time: it waited 17 ms.
    let db = DB.replace(r#""recv""#, r#""cpus": [1], "recv""#);
    let tasks = format!("{}, {db}, {ABOVE}, {HOG}", front(ASKS, 0.1));
    assert_eq!(response(2, &[], &tasks), (27_000, 17_000));
}

#[test]
fn who_asks_and_goes_on_waits_while_its_help_is_served_and_the_other_way_round() {
    // One CPU. Front from 100 on; asks at 101, and is not what its customer waits for meanwhile:
    // help to 109; front has 10 ms to go on with, and 1 more: to 120. It ran for 12 ms, help for 8,
    // and the customer waited 0.
    let tasks = format!("{}, {DB}, {HOG}", front(ASKS, 1.0));
    assert_eq!(response(1, &[], &tasks), (20_000, 0));
}

#[test]
fn a_request_that_was_handed_on_does_not_wait_where_its_server_waits_for_another() {
    // One CPU. web takes A at 100 ms, runs 1 ms, asks db for 8 and takes the next one: it sleeps,
    // and db has A's 0 ms. B comes at 103. At 105, after a quantum, B has waited 2 ms, db 0: web
    // works on B to 106, and waits for db, which has 4 ms left. At 110 both are answered. A waited
    // from 105 to 106; B from 103 to 105, and later for others' work, which does not count [§2.2].
    let load = r#"{"sockets": {"s": "tcp", "db": "unix"},
        "customers": {"c": {"to": "s", "at": [[1000, 100], [2000, 100], [100000, 10000],
                                              [103000, 10000]]}},
        "tasks": {
            "web": {"recv1": "s", "run1": {"request": 0.1},
                    "send": {"to": "db", "demand": {"request": 0.8}}, "recv2": "s",
                    "run2": {"request": 0.1}, "sem_wait": "done", "reply1": "s", "reply2": "s"},
            "db": {"recv": "db", "run": {"request": 1}, "reply": "db", "sem_post": "done"},
            "hog": {"run": 1000000}}}"#;
    let until = |ms| run(&[("reserve", "0")], 1, load, ms).stat("waited_ns");
    let before = until(90);
    assert_eq!((until(200) - before) / 1000, 3 * MS / 1000);
}

#[test]
fn a_new_process_begins_in_q0_for_a_quantum_or_until_it_sleeps() {
    // One CPU, quanta of 4 ms. A server has a request of 20 ms at 100 ms, and forks at 105. At 108 it
    // has waited 0. The child has waited 3 and begins with newborn_ns, 4 ms or none: it goes first,
    // for 4 ms or until it sleeps after 1, and is behind the server from then on.
    let ran = |set: &[(&str, &str)], child: &str| {
        let load = format!(
            r#"{{"sockets": {{"s": "tcp"}},
            "customers": {{"c": {{"to": "s", "at": [[1000, 100], 100000], "demand": 20000}}}},
            "tasks": {{
                "server": {{"phases": {{"known": {{"loop": 1, "recv": "s", "reply": "s"}},
                    "forks": {{"recv": "s", "run1": {{"request": 0.25}}, "fork": "child",
                               "run2": {{"request": 0.75}}, "reply": "s"}}}}}},
                "child": {{"instance": 0, "loop": 1, {child}}}, "hog": {{"run": 1000000}}}}}}"#
        );
        let set: Vec<_> = [("reserve", "0")].iter().chain(set).copied().collect();
        let before = run(&set, 1, &load, 90).stat("waited_ns");
        let mut ran = run(&set, 1, &load, 200);
        let first = ran.tape.spans("child-2-0000")[0];
        (ran.responses_us("s")[1], (ran.stat("waited_ns") - before) / MS, first)
    };
    let runs = r#""run": 10000"#;
    let sleeps = r#""run1": 1000, "sleep": 1000, "run2": 10000"#;
    for newborn_ns in ["0", "4000000"] {
        let q0 = [("newborns", "q0"), ("newborn_ns", newborn_ns)];
        assert_eq!(ran(&q0, runs), (24_000, 4, (108_000, 112_000)), "{newborn_ns}");
        assert_eq!(ran(&q0, sleeps), (21_000, 1, (108_000, 109_000)), "{newborn_ns}");
    }
    // Among the others it comes when nobody serves any more: at 120.
    let (response, waited, first) = ran(&[], runs);
    assert_eq!((response, waited, first.0), (20_000, 0, 120_000));
}

#[test]
fn newborn_ns_is_what_a_new_process_has_waited_as_it_begins() {
    // As above, with a request at 104.5 for another server, for 4 ms: at 108 it has waited 3.5 ms,
    // the child 3 and newborn_ns. So the child goes first with 4 ms, and with none at 112.
    let load = r#"{"sockets": {"s": "tcp", "o": "tcp"},
        "customers": {"c": {"to": "s", "at": [[1000, 100], 100000], "demand": 20000},
                      "d": {"to": "o", "at": [[2000, 100], 104500], "demand": 4000}},
        "tasks": {
            "server": {"phases": {"known": {"loop": 1, "recv": "s", "reply": "s"},
                "forks": {"recv": "s", "run1": {"request": 0.25}, "fork": "child",
                          "run2": {"request": 0.75}, "reply": "s"}}},
            "other": {"recv": "o", "run": {"request": 1}, "reply": "o"},
            "child": {"instance": 0, "loop": 1, "run": 10000}}}"#;
    for (newborn_ns, comes) in [("0", 112_000), ("4000000", 108_000)] {
        let ran = run(&[("newborns", "q0"), ("newborn_ns", newborn_ns)], 1, load, 200);
        assert_eq!(ran.tape.spans("child-2-0000")[0].0, comes, "{newborn_ns}");
    }
}

#[test]
fn who_is_served_by_a_task_of_a_class_above_does_not_wait() {
    // The server is a real-time task for 5 of the 6 ms.
    let load = r#"{"sockets": {"s": "tcp"},
        "customers": {"c": {"to": "s", "at": [[1000, 100], 100000], "demand": 5000}},
        "tasks": {"server": {"phases": {
            "a": {"policy": "SCHED_OTHER", "recv": "s", "run": 1000},
            "b": {"policy": "SCHED_FIFO", "run": {"request": 1}, "reply": "s"}}},
            "hog": {"run": 1000000}}}"#;
    let until = |ms| run(&[("reserve", "0")], 1, load, ms);
    let (before, mut ran) = (until(90).stat("waited_ns"), until(200));
    assert_eq!((ran.responses_us("s")[1], ran.stat("waited_ns") - before), (6000, 0));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// One CPU: whatever takes it when, and in whatever order an asker and its help run, customers
    /// have waited what their responses took less the CPU time that all of it needed.
    #[test]
    fn on_one_cpu_customers_waited_their_responses_less_the_work(
        parts in prop::array::uniform4(1..8u32), users in 1..4u32, hogs in 0..3u32,
        above_us in 200..9000u32, every_us in 10_000..40_000u32, alpha in 0..5u32,
        quantum_us in 500..6000u32,
    ) {
        let [before, help, beside, after] = parts.map(|part| f64::from(part) / 4.0);
        let load = format!(
            r#"{{"sockets": {{"s": "tcp", "db": "unix"}},
            "customers": {{"c": {{"to": "s", "users": {users}, "demand": 4000, "count": 30,
                                 "think": {{"dist": "exp", "mean": 20000}}}}}},
            "tasks": {{
                "front": {{"recv": "s", "run1": {{"request": {before}}},
                    "send": {{"to": "db", "demand": {{"request": {help}}}}},
                    "run2": {{"request": {beside}}}, "sem_wait": "done",
                    "run3": {{"request": {after}}}, "reply": "s"}},
                "db": {{"recv": "db", "run": {{"request": 1}}, "reply": "db",
                        "sem_post": "done"}},
                "hog": {{"instance": {hogs}, "run": 7000, "sleep": 900}},
                "rt": {{"policy": "SCHED_FIFO", "run": {above_us},
                        "sleep": {{"dist": "exp", "mean": {every_us}}}}}}}}}"#
        );
        let (alpha, quantum) = (format!("0.{alpha}"), format!("{quantum_us}us"));
        let alpha = if alpha == "0.5" { "0.499" } else { &alpha };
        let mut ran = run(&[("alpha", alpha), ("quantum_ns", &quantum)], 1, &load, 5000);
        let responses = ran.responses_us("s");
        prop_assert_eq!((responses.len(), ran.stat("open")), (30, 0));
        let work_us = parts.iter().sum::<u32>() * 1000;
        let waited_us: u64 = responses.iter().map(|us| us - u64::from(work_us)).sum();
        let counted_us = ran.stat("waited_ns") / 1000;
        // half a microsecond for each time, as that is what the tape is read in here
        prop_assert!(counted_us.abs_diff(waited_us) <= 40, "{} of {}", counted_us, waited_us);
    }
}
