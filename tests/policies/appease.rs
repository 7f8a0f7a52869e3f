// SPDX-License-Identifier: MIT OR Apache-2.0
//! `appease`: who serves customers goes first. Times are calculated by hand; the machine is ideal.
//! Each server has a small request before, as only who has read from a socket is known to be one.

use crate::common::hosted::Hosted;
use crate::common::{ideal, Tape};
use proptest::prelude::*;
use rota_machine::exit::ExitKind;
use rota_trace::{EventKind, Request};

const MS: u64 = 1_000_000;
const SERVER: &str = r#""recv": "s", "run": {"request": 1}, "reply": "s""#;

pub(crate) struct Ran {
    pub(crate) tape: Tape,
    hosted: Hosted,
}

pub(crate) fn run(set: &[(&str, &str)], cpus: u32, load: &str, end_ms: u64) -> Ran {
    let mut hosted = Hosted::new("appease", set, ideal(cpus, end_ms * MS), load);
    let (outcome, tape) = hosted.run();
    assert_eq!(outcome.exit.kind, ExitKind::Unreg, "{}", outcome.exit);
    Ran { tape, hosted }
}

impl Ran {
    /// CPU time of the tasks whose names begin so, in us.
    fn had_us(&self, name: &str) -> u64 {
        let known = |e: &rota_trace::Event| match &e.kind {
            EventKind::Task { name: n, .. } if n.starts_with(name) => Some(n.clone()),
            _ => None,
        };
        let mut names: Vec<String> = self.tape.0.iter().filter_map(known).collect();
        names.sort_unstable();
        names.dedup();
        let spans = names.iter().flat_map(|name| self.tape.spans(name));
        spans.map(|(from, to)| to - from).sum()
    }

    /// Response times of the requests to a socket, in order of their end, us.
    pub(crate) fn responses_us(&self, socket: &str) -> Vec<u64> {
        let mut class_of = None;
        let mut begun = std::collections::HashMap::new();
        let mut all = Vec::new();
        for event in &self.tape.0 {
            match &event.kind {
                EventKind::Request(Request::Class { class, socket: s, .. }) if s == socket => {
                    class_of = Some(*class);
                }
                EventKind::Request(Request::Begin { request, class, .. })
                    if Some(*class) == class_of =>
                {
                    begun.insert(*request, event.time_ns);
                }
                EventKind::Request(Request::End { request, .. }) => {
                    all.extend(begun.remove(request).map(|at| (event.time_ns - at) / 1000));
                }
                _ => {}
            }
        }
        all
    }

    pub(crate) fn stat(&mut self, field: &str) -> u64 {
        self.hosted.global("stats", field)
    }
}

#[test]
fn a_customer_waits_for_nobody_but_customers() {
    // Every 50 ms a request of 7 ms, one CPU, five hogs: answered after 7 ms, and the hogs share
    // what is left.
    let load = format!(
        r#"{{"sockets": {{"s": "tcp"}}, "customers": {{"c": {{"to": "s", "every": 50000, "demand": 7000}}}},
            "tasks": {{"server": {{{SERVER}}}, "hog": {{"instance": 5, "run": 1000000}}}}}}"#
    );
    let mut ran = run(&[("reserve", "0")], 1, &load, 1000);
    assert_eq!(ran.responses_us("s"), vec![7000; 19]);
    let hogs: Vec<u64> = (1..6).map(|n| ran.had_us(&format!("hog-{n}"))).collect();
    let left = (1_000_000 - 19 * 7000) / 5;
    assert!(hogs.iter().all(|had| had.abs_diff(left) <= 8000), "{hogs:?}, expected {left}");
    assert_eq!((ran.stat("waited_ns"), ran.stat("open")), (0, 0));
}

#[test]
fn the_one_that_has_waited_longest_is_served_next() {
    // Requests of 10 ms at 10 ms (a) and 11 ms (b), quanta of 4 ms. What each has waited decides:
    // at 14 ms a 0 and b 3: b; at 18 a 4, b 3: a; at 22 a 4, b 7: b; at 26 a 8, b 7: a, done at
    // 28 ms; b until 30.
    let load = r#"{"sockets": {"a": "tcp", "b": "unix"},
        "customers": {"ca": {"to": "a", "at": [[1000, 10], 10000], "demand": 10000},
                      "cb": {"to": "b", "at": [[2000, 10], 11000], "demand": 10000}},
        "tasks": {"sa": {"recv": "a", "run": {"request": 1}, "reply": "a"},
                  "sb": {"recv": "b", "run": {"request": 1}, "reply": "b"},
                  "hog": {"run": 1000000}}}"#;
    let ran = run(&[("reserve", "0")], 1, load, 40);
    let a = [(10_000, 14_000), (18_000, 22_000), (26_000, 28_000)];
    let b = [(14_000, 18_000), (22_000, 26_000), (28_000, 30_000)];
    let of = |name: &str| -> Vec<(u64, u64)> {
        ran.tape.spans(name).into_iter().filter(|(from, _)| *from >= 10_000).collect()
    };
    assert_eq!((of("sa-0"), of("sb-1")), (a.to_vec(), b.to_vec()));
}

#[test]
fn a_customer_that_weighs_more_is_unhappy_sooner() {
    // As above, but b is local and weighs 3 times as much: at 14 ms b has 9; at 18 a 4, b 9; at
    // 22 a 8, b 9: b to its end at 24 ms, then a to its end at 30 ms.
    let load = r#"{"sockets": {"a": "tcp", "b": "unix"},
        "customers": {"ca": {"to": "a", "at": [[1000, 10], 10000], "demand": 10000},
                      "cb": {"to": "b", "at": [[2000, 10], 11000], "demand": 10000}},
        "tasks": {"sa": {"recv": "a", "run": {"request": 1}, "reply": "a"},
                  "sb": {"recv": "b", "run": {"request": 1}, "reply": "b"}}}"#;
    let ran = run(&[("weight_local", "300")], 1, load, 40);
    assert_eq!((ran.responses_us("b")[1], ran.responses_us("a")[1]), (13_000, 20_000));
}

#[test]
fn a_service_inherits_what_its_customer_has_waited() {
    // One CPU. other is asked at 48 ms for 8 ms, web at 49 ms for 1 ms, 6 ms of db, and 1 ms. other
    // to 52; web, which has waited 3, to 53, where it asks db and blocks: db has its 3, other 1: db
    // to 57; other has waited 5: to its end at 61; db to 63, web to 64. All of it waited 12 ms.
    // What web keeps of its 3 ms counts for db as well [eq. 3].
    let load = r#"{"sockets": {"http": "tcp", "db": "unix", "o": "tcp"},
        "customers": {"r": {"to": "http", "at": [[1000, 100], 49000], "demand": 1000},
                      "q": {"to": "o", "at": [[500, 100], 48000], "demand": 8000}},
        "tasks": {
            "web": {"recv": "http", "run1": {"request": 1},
                    "send": {"to": "db", "demand": 6000, "wait": true},
                    "run2": {"request": 1}, "reply": "http"},
            "db": {"recv": "db", "run": {"request": 1}, "reply": "db"},
            "other": {"recv": "o", "run": {"request": 1}, "reply": "o"},
            "hog": {"run": 1000000}}}"#;
    for alpha in ["0", "0.2", "0.499"] {
        let mut ran = run(&[("reserve", "0"), ("alpha", alpha)], 1, load, 80);
        let responses = (ran.responses_us("http")[1], ran.responses_us("o")[1]);
        assert_eq!(responses, (15_000, 13_000), "alpha {alpha}");
        let counted = (ran.stat("services"), ran.stat("answered"), ran.stat("open"));
        assert_eq!(counted, (2, 6, 0), "alpha {alpha}");
        let before = ran.responses_us("http")[0] - 6_200 + ran.responses_us("o")[0] - 100;
        assert_eq!(ran.stat("waited_ns"), 12 * MS + before * 1000, "alpha {alpha}");
    }
}

#[test]
fn threads_of_a_pool_are_woken_for_the_request_of_their_waker() {
    // front takes requests and has a thread of its process work 50 ms on each, beside ten hogs.
    let load = r#"{"sockets": {"s": "tcp"},
        "customers": {"c": {"to": "s", "every": 200000, "demand": 1000}},
        "tasks": {
            "front": {"recv": "s", "run": {"request": 1}, "sem_post": "job", "sem_wait": "done",
                      "reply": "s"},
            "pool": {"thread_of": "front", "sem_wait": "job", "run": 50000, "sem_post": "done"},
            "hog": {"instance": 10, "run": 1000000}}}"#;
    let mut ran = run(&[("reserve", "0")], 1, load, 1000);
    let responses = ran.responses_us("s");
    assert_eq!(responses[1..], vec![51_000; responses.len() - 1]);
    assert!(ran.stat("pooled") >= responses.len() as u64 - 1);
    let without = run(&[("reserve", "0"), ("no_pools", "true")], 1, load, 1000).responses_us("s");
    assert!(without[1..].iter().all(|us| *us > 60_000), "{without:?}");
}

#[test]
fn others_have_their_reserve_beside_customers_without_end() {
    // A closed customer keeps the CPU busy. A tenth is reserved: 36 ms of service leave 4 ms, a
    // quantum, to the hogs. Nothing is reserved: they have nothing.
    let load = format!(
        r#"{{"sockets": {{"s": "tcp"}}, "customers": {{"c": {{"to": "s", "users": 2, "demand": 20000}}}},
            "tasks": {{"server": {{"instance": 2, {SERVER}}}, "hog": {{"instance": 2, "run": 1000000}}}}}}"#
    );
    for (reserve, due_us) in [("0.1", 200_000), ("0.5", 1_000_000)] {
        let mut ran = run(&[("reserve", reserve)], 1, &load, 2000);
        let had = ran.had_us("hog");
        assert!(had.abs_diff(due_us) <= 12_000, "{reserve}: {had}, expected {due_us}");
        assert!(ran.stat("reserved") > 0);
    }
    let ran = run(&[("reserve", "0")], 1, &load, 2000);
    assert!(ran.had_us("hog") <= 8_000, "{}", ran.had_us("hog"));
}

#[test]
fn who_writes_to_himself_is_no_customer() {
    // One CPU: a task that sends to its own socket before each 10 ms of work, and a hog.
    let load = r#"{"sockets": {"self": "unix"},
        "tasks": {
            "cheat": {"send": {"to": "self"}, "recv": "self", "run": 10000},
            "hog": {"run": 10000}}}"#;
    for customers in ["remote", "other_session", "other_process"] {
        let mut ran = run(&[("customers", customers)], 1, load, 1000);
        let had = ran.had_us("cheat");
        assert!(had.abs_diff(500_000) <= 10_000, "{customers}: {had}");
        assert!(ran.stat("refused") > 40);
    }
}

#[test]
fn a_request_that_needs_no_answer_is_over_with_the_next_one() {
    // Messages, each 20 ms, of 5 ms; nobody replies.
    let load = r#"{"sockets": {"log": "tcp"},
        "customers": {"c": {"to": "log", "every": 20000, "demand": 5000}},
        "tasks": {"logger": {"recv": "log", "run": {"request": 1}},
                  "hog": {"instance": 3, "run": 1000000}}}"#;
    let mut ran = run(&[("reserve", "0")], 1, load, 1000);
    // 49 messages arrive; each but the last is over as the next one comes
    assert_eq!((ran.stat("requests"), ran.stat("forgotten"), ran.stat("answered")), (49, 48, 0));
    assert!(ran.had_us("logger") >= 48 * 5000);
}

#[test]
fn responses_stay_flat_whatever_else_runs() {
    let shop = |hogs: u32| {
        format!(
            r#"{{"sockets": {{"http": "tcp", "db": "unix"}},
            "customers": {{"c": {{"to": "http", "users": 3, "think": {{"dist": "exp", "mean": 60000}},
                                 "demand": 8000}}}},
            "tasks": {{
                "web": {{"instance": 3, "recv": "http", "run1": {{"request": 0.25}},
                        "send": {{"to": "db", "demand": {{"request": 0.5}}, "wait": true}},
                        "run2": {{"request": 0.25}}, "reply": "http"}},
                "db": {{"instance": 3, "recv": "db", "run": {{"request": 1}}, "reply": "db"}},
                "make": {{"instance": {}, "run": 30000, "sleep": 2000}}}}}}"#,
            hogs.max(1)
        )
    };
    let mean = |hogs: u32, set: &[(&str, &str)]| {
        let all = run(set, 1, &shop(hogs), 20_000).responses_us("http");
        all.iter().sum::<u64>() as f64 / all.len() as f64
    };
    let few = mean(1, &[]);
    let many = mean(12, &[]);
    // 5 % of the time, in quanta of 4 ms, is what the others can take
    assert!(many < 1.1 * few, "{few} us beside 1, {many} us beside 12");
    let had = run(&[], 1, &shop(12), 20_000).had_us("make");
    assert!(had > 1_000_000, "{had} us of 20 s");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Unhappiness is neither lost nor made when it is passed on and back: over all customers it
    /// is what they waited, response times less the CPU time that their requests took. Of none
    /// is anything left after its answer.
    #[test]
    fn unhappiness_is_what_customers_waited(
        alpha in 0..500u32, cpus in 1..4u32, threads in (1..4u32, 1..4u32), hogs in 0..5u32,
        users in 1..8u32, think_us in 1000..40_000u32, seed in 0..1000u64, reserve in 0..3u32,
        above in 0..3u32,
    ) {
        let (web, db) = threads;
        let hogs = if hogs == 0 { String::new() } else {
            format!(r#", "hog": {{"instance": {hogs}, "run": 7000, "sleep": 900}}"#)
        };
        // Tasks above take the CPUs at any moment.
        let above = if above == 0 { String::new() } else {
            format!(r#", "rt": {{"instance": {above}, "policy": "SCHED_FIFO", "run": 3100,
                                 "sleep": {{"dist": "exp", "mean": 9000}}}}"#)
        };
        let load = format!(
            r#"{{"sockets": {{"http": "tcp", "db": "unix"}},
            "customers": {{"c": {{"to": "http", "users": {users}, "demand": 8000, "count": 40,
                                 "think": {{"dist": "exp", "mean": {think_us}}}}}}},
            "tasks": {{
                "web": {{"instance": {web}, "recv": "http", "run1": {{"request": 0.25}},
                        "send": {{"to": "db", "demand": {{"request": 0.5}}, "wait": true}},
                        "run2": {{"request": 0.25}}, "reply": "http"}},
                "db": {{"instance": {db}, "recv": "db", "run": {{"request": 1}}, "reply": "db"}}
                {hogs}{above}}}}}"#
        );
        let (alpha, reserve) = (format!("{}", f64::from(alpha) / 1000.0), format!("0.{reserve}"));
        let mut config = ideal(cpus, 60_000 * MS);
        config.seed = seed;
        let set = [("alpha", alpha.as_str()), ("reserve", &reserve)];
        let mut hosted = Hosted::new("appease", &set, config, &load);
        let (outcome, tape) = hosted.run();
        prop_assert_eq!(outcome.exit.kind, ExitKind::Unreg, "{}", outcome.exit);
        let mut ran = Ran { tape, hosted };
        let responses = ran.responses_us("http");
        prop_assert_eq!(responses.len(), 40);
        let waited: u64 = responses.iter().map(|us| (us - 8000) * 1000).sum();
        let counted = ran.stat("waited_ns");
        // half a microsecond for each time, as that is what the tape is read in here
        prop_assert!(counted.abs_diff(waited) <= 40 * 1000, "{} of {}", counted, waited);
        prop_assert_eq!((ran.stat("open"), ran.stat("answered")), (0, 80));
    }
}

#[test]
fn elevation_is_by_load_and_decays() {
    // The load of one CPU with eight hogs is 8 × 2048 = 16384 > 16000: a UNIX socket is worth 15
    // levels, one of a network 5 [CAS Table 1]; each lasts for 0.6 s.
    let load = |kind: &str| {
        format!(
            r#"{{"sockets": {{"s": "{kind}"}},
            "customers": {{"c": {{"to": "s", "at": [3000000], "demand": 4000000}}}},
            "tasks": {{"server": {{{SERVER}}}, "hog": {{"instance": 8, "run": 1000000}}}}}}"#
        )
    };
    let set = [("mode", "rbpe"), ("load_window_ns", "200ms")];
    // Until 3.6 s it has a share of 1.25^n / (1.25^n + 8), with the kernel's weights.
    for (kind, weight) in [("unix", 29154.), ("tcp", 3121.)] {
        let ran = run(&set, 1, &load(kind), 3600);
        let part = ran.had_us("server") as f64 / 600_000.;
        let due = weight / (weight + 8. * 1024.);
        assert!((part - due).abs() < 0.03, "{kind}: {part}, expected {due}");
    }
}

#[test]
fn others_are_not_behind_one_that_had_the_cpu_alone_for_long() {
    // The hog has the CPU alone for a second. One that slept meanwhile begins 4 ms, a quantum,
    // before it, and one that is new where it is: a third of the next 300 ms each, give or take two
    // quanta.
    let load = r#"{"tasks": {"hog": {"run": 10000000},
        "sleeper": {"sleep": 1000000, "run": 10000000},
        "late": {"delay": 1000000, "run": 10000000}}}"#;
    let ran = run(&[], 1, load, 1300);
    for (name, alone) in [("hog", 1_000_000), ("sleeper", 0), ("late", 0)] {
        let had = ran.had_us(name) - alone;
        assert!(had.abs_diff(100_000) <= 8_000, "{name}: {had}");
    }
}

#[test]
fn the_load_is_that_of_the_time_before_a_client_comes() {
    // One task computes for 2 s, and nothing happens until a request comes: a load of 1 (less what
    // the steps of a 1024th of the window leave), and nice -1, not that of two.
    let load = format!(
        r#"{{"sockets": {{"s": "unix"}},
            "customers": {{"c": {{"to": "s", "at": [2000000], "demand": 1000}}}},
            "tasks": {{"server": {{{SERVER}}}, "hog": {{"run": 10000000}}}}}}"#
    );
    let mut ran = run(&[("mode", "rbpe"), ("load_window_ns", "200ms")], 1, &load, 2001);
    let load = ran.stat("load");
    assert!(load.abs_diff(2048) <= 4, "{load}");
}
