// SPDX-License-Identifier: MIT OR Apache-2.0
//! Requests on a whole machine, against times worked out by hand and against queueing theory.

use crate::common::{ideal, run, shared_fifo, Tape};
use rota_measure::{RequestNumbers, Requests, RequestsNumbers};
use rota_trace::Sink;

const MS: u64 = 1_000_000;
const SECOND: u64 = 1000 * MS;

/// What became of the requests of a workload on so many CPUs without overhead, first come,
/// first served.
fn requests(workload: &str, cpus: u32, duration_ns: u64) -> RequestsNumbers {
    requests_seeded(workload, cpus, duration_ns, 1)
}

fn requests_seeded(workload: &str, cpus: u32, duration_ns: u64, seed: u64) -> RequestsNumbers {
    let mut config = ideal(cpus, duration_ns);
    config.seed = seed;
    let mut policy = shared_fifo();
    // Slices never end here, so that a request is served in one go.
    policy.slice_ns = u64::MAX;
    measured(&run(config, workload, &mut policy).1, duration_ns)
}

fn measured(tape: &Tape, end_ns: u64) -> RequestsNumbers {
    let mut requests = Requests::default();
    tape.0.iter().for_each(|event| requests.event(event));
    requests.finish(end_ns)
}

fn class<'a>(report: &'a RequestsNumbers, name: &str) -> &'a RequestNumbers {
    report.classes.iter().find(|c| c.name.as_deref() == Some(name)).unwrap()
}

#[test]
fn regular_customers_wait_for_those_before_them() {
    // D/D/1 in bursts: three requests of 4 ms at 20 ms, 40 ms … are answered after 4, 8, 12 ms.
    let report = requests(
        r#"{"sockets": {"s": "tcp"},
            "customers": {"c": {"to": "s", "every": 20000, "batch": 3, "demand": 4000}},
            "tasks": {"server": {"recv": "s", "run": {"request": 1}, "reply": "s"}}}"#,
        1,
        101 * MS,
    );
    let c = class(&report, "c");
    // At 100 ms three more have come.
    assert_eq!((c.arrived, c.answered, c.open), (15, 12, 3));
    assert_eq!((c.response_ns.p50, c.response_ns.max), (Some(8 * MS), Some(12 * MS)));
    assert_eq!(c.response_ns.mean, Some((4. * 24. + 3.0) / 15. * 1e6));
    // Answered: 1, 2 and 3; those open at the end: 1 ms / 4 ms.
    assert_eq!(c.slowdown.max, Some(3.0));
    assert_eq!(c.slowdown.mean, Some((4. * 6. + 3. * 0.25) / 15.));
}

#[test]
fn two_workers_share_a_socket_on_two_cpus() {
    let report = requests(
        r#"{"sockets": {"s": "tcp"},
            "customers": {"c": {"to": "s", "every": 20000, "batch": 3, "demand": 4000, "count": 3}},
            "tasks": {"server": {"instance": 2, "recv": "s", "run": {"request": 1}, "reply": "s"}}}"#,
        2,
        100 * MS,
    );
    // Two at once, the third when the first of them is done.
    let c = class(&report, "c");
    assert_eq!((c.answered, c.response_ns.mean), (3, Some(16e6 / 3.)));
    assert_eq!((c.queue_ns.max, c.response_ns.max), (Some(4 * MS), Some(8 * MS)));
}

#[test]
fn a_middle_tier_replies_after_its_database_did() {
    // One CPU. Per request of 10 ms: 3 ms before, database 5 ms, 2 ms after, so 10 ms in all;
    // the second of the pair, which one thread serves after the first, 20 ms.
    let report = requests(
        r#"{"sockets": {"http": "tcp", "db": "unix"},
            "customers": {"c": {"to": "http", "every": 50000, "batch": 2, "demand": 10000}},
            "tasks": {
                "web": {"recv": "http", "run1": {"request": 0.3},
                        "send": {"to": "db", "demand": {"request": 0.5}, "wait": true},
                        "run2": {"request": 0.2}, "reply": "http"},
                "db": {"recv": "db", "run": {"request": 1}, "reply": "db"}}}"#,
        1,
        499 * MS,
    );
    let c = class(&report, "c");
    assert_eq!(
        (c.answered, c.response_ns.mean, c.response_ns.max),
        (18, Some(15e6), Some(20 * MS))
    );
    let db = class(&report, "web");
    assert_eq!((db.socket.as_str(), db.answered), ("db", 18));
    assert_eq!((db.response_ns.p50, db.response_ns.max), (Some(5 * MS), Some(5 * MS)));
    assert_eq!(db.slowdown.max, Some(1.0));
}

#[test]
fn closed_customers_obey_the_response_time_law() {
    // Users who think 30 ms, one server that needs 10 ms. From 4 users on it is always busy, so
    // that X = 100/s, and N = X (R + Z) gives R = N * 10 ms - 30 ms.
    for (users, response_ms) in [(4, 10), (6, 30)] {
        let text = format!(
            r#"{{"sockets": {{"s": "tcp"}},
                "customers": {{"c": {{"to": "s", "users": {users}, "think": 30000, "demand": 10000}}}},
                "tasks": {{"server": {{"recv": "s", "run": {{"request": 1}}, "reply": "s"}}}}}}"#
        );
        let report = requests(&text, 1, 10 * SECOND);
        let c = class(&report, "c");
        let settled = response_ms * MS;
        assert_eq!(c.response_ns.p50, Some(settled), "{users} users");
        assert_eq!(c.cycle_ns.p50, Some(settled + 30 * MS));
        // From 30 ms on one answer every 10 ms; the one at 10 s is not seen any more.
        assert_eq!(c.answered, (10_000 - 30) / 10 - 1);
        let n = c.answered_per_s.unwrap() * c.cycle_ns.mean.unwrap() / 1e9;
        assert!((n / f64::from(users) - 1.0).abs() < 0.01, "{n} instead of {users}");
    }
}

#[test]
fn customers_who_find_the_queue_full_are_refused() {
    // 4 arrive together, before the server can take one: 2 fit.
    let report = requests(
        r#"{"sockets": {"s": {"kind": "tcp", "backlog": 2}},
            "customers": {"c": {"to": "s", "every": 10000, "batch": 4, "demand": 1000}},
            "tasks": {"server": {"recv": "s", "run": {"request": 1}, "reply": "s"}}}"#,
        1,
        95 * MS,
    );
    let c = class(&report, "c");
    assert_eq!((c.arrived, c.dropped, c.answered), (36, 18, 18));
}

#[test]
fn messages_need_no_answer() {
    // The sender goes on at once; a message is over when its receiver asks for the next.
    let report = requests(
        r#"{"sockets": {"s": "unix"},
            "tasks": {"talker": {"loop": 3, "send": "s", "sleep": 10000},
                      "listener": {"recv": "s", "run": 2000}}}"#,
        1,
        100 * MS,
    );
    let talker = class(&report, "talker");
    assert_eq!((talker.arrived, talker.answered, talker.open), (3, 3, 0));
    assert_eq!(talker.response_ns.max, Some(2 * MS));
}

#[test]
fn a_handed_over_request_is_answered_by_who_got_it() {
    // The dispatcher takes 1 ms, the worker 9 ms; two CPUs, so they overlap: arrivals every
    // 10 ms are answered after 10 ms.
    let report = requests(
        r#"{"sockets": {"front": "tcp", "pool": "unix"},
            "customers": {"c": {"to": "front", "every": 10000, "demand": 9000}},
            "tasks": {
                "dispatcher": {"recv": "front", "run": 1000,
                               "send": {"to": "pool", "forward": true}},
                "worker": {"recv": "pool", "run": {"request": 1}, "reply": "pool"}}}"#,
        2,
        505 * MS,
    );
    let c = class(&report, "c");
    assert_eq!((c.arrived, c.answered, c.open), (50, 49, 1));
    assert_eq!((c.response_ns.p50, c.response_ns.max), (Some(10 * MS), Some(10 * MS)));
}

#[test]
fn mm1_has_the_mean_response_time_of_theory() {
    // M/M/1, FIFO: R = S / (1 - rho) [Kleinrock, Queueing Systems I, §3.2]. S = 1 ms.
    // Means of 20 independent runs of 20 s; Student's t for 19 degrees and 99.9 %: 3.883.
    for (rate, rho) in [(500, 0.5), (800, 0.8)] {
        let text = format!(
            r#"{{"sockets": {{"s": "tcp"}},
                "customers": {{"c": {{"to": "s", "rate": {rate},
                               "demand": {{"dist": "exp", "mean": 1000}}}}}},
                "tasks": {{"server": {{"recv": "s", "run": {{"request": 1}}, "reply": "s"}}}}}}"#
        );
        let means: Vec<f64> = (1..=20)
            .map(|seed| {
                let report = requests_seeded(&text, 1, 20 * SECOND, seed);
                class(&report, "c").response_ns.mean.unwrap() / 1e6
            })
            .collect();
        let n = means.len() as f64;
        let mean = means.iter().sum::<f64>() / n;
        let variance = means.iter().map(|m| (m - mean).powi(2)).sum::<f64>() / (n - 1.0);
        let half_width = 3.883 * (variance / n).sqrt();
        let theory = 1.0 / (1.0 - rho);
        assert!((mean - theory).abs() < half_width, "{mean} +- {half_width}, not {theory}");
        assert!(half_width < 0.1 * theory, "too wide to say anything: {half_width}");
    }
}

#[test]
fn md1_has_the_mean_waiting_time_of_theory() {
    // M/D/1: W = rho S / (2 (1 - rho)) (Pollaczek and Khinchine), R = W + S. rho = 0.5.
    let text = r#"{"sockets": {"s": "tcp"},
        "customers": {"c": {"to": "s", "rate": 500, "demand": 1000}},
        "tasks": {"server": {"recv": "s", "run": {"request": 1}, "reply": "s"}}}"#;
    let means: Vec<f64> = (1..=20)
        .map(|seed| {
            let report = requests_seeded(text, 1, 20 * SECOND, seed);
            class(&report, "c").response_ns.mean.unwrap() / 1e6
        })
        .collect();
    let n = means.len() as f64;
    let mean = means.iter().sum::<f64>() / n;
    let variance = means.iter().map(|m| (m - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let half_width = 3.883 * (variance / n).sqrt();
    assert!((mean - 1.5).abs() < half_width, "{mean} +- {half_width}");
    assert!(half_width < 0.05, "{half_width}");
}
