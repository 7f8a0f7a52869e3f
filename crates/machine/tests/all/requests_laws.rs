// SPDX-License-Identifier: MIT OR Apache-2.0
//! What holds of requests in every workload: none is lost, none is answered twice.

use crate::common::{ideal, run, shared_fifo, Tape};
use proptest::prelude::*;
use rota_machine::run::Outcome;
use rota_measure::{Requests, RequestsNumbers};
use rota_trace::{EventKind, Request, Sink};
use std::collections::HashMap;

const SECOND: u64 = 1_000_000_000;

/// A chain of tiers, each with a socket, threads, and what it does with the next tier.
#[derive(Clone, Debug)]
struct Site {
    tiers: Vec<Tier>,
    customers: Vec<Source>,
}

#[derive(Clone, Debug)]
struct Tier {
    threads: u32,
    backlog: u32,
    next: Next,
}

#[derive(Clone, Copy, Debug)]
enum Next {
    Nothing,
    Ask,
    Tell,
    HandOver,
}

/// Customers: to which tier, when, and what they ask for.
#[derive(Clone, Debug)]
struct Source {
    tier: usize,
    when: String,
    open: bool,
    demand: String,
}

impl Site {
    fn text(&self) -> String {
        let last = self.tiers.len() - 1;
        let list = |items: Vec<String>| items.join(", ");
        let socket = |(n, t): (usize, &Tier)| {
            format!("\"s{n}\": {{\"kind\": \"tcp\", \"backlog\": {}}}", t.backlog)
        };
        let customers = |(n, c): (usize, &Source)| {
            let Source { tier, when, demand, .. } = c;
            let tier = tier.min(&last);
            format!(
                "\"c{n}\": {{\"to\": \"s{tier}\", {when}, \"demand\": {demand}, \"count\": 40}}"
            )
        };
        let task = |(n, t): (usize, &Tier)| {
            let to = n + 1;
            let next = match t.next {
                _ if n == last => format!("\"reply\": \"s{n}\""),
                Next::Nothing => format!("\"reply\": \"s{n}\""),
                Next::Ask => format!(
                    "\"send\": {{\"to\": \"s{to}\", \"wait\": true, \"demand\": \
                     {{\"request\": 0.5}}}}, \"reply\": \"s{n}\""
                ),
                Next::Tell => format!("\"send\": \"s{to}\", \"reply\": \"s{n}\""),
                Next::HandOver => format!("\"send\": {{\"to\": \"s{to}\", \"forward\": true}}"),
            };
            let threads = t.threads;
            format!(
                "\"t{n}\": {{\"instance\": {threads}, \"recv\": \"s{n}\", \
                 \"run\": {{\"request\": 0.5}}, {next}}}"
            )
        };
        format!(
            "{{\"sockets\": {{{}}}, \"customers\": {{{}}}, \"tasks\": {{{}}}}}",
            list(self.tiers.iter().enumerate().map(socket).collect()),
            list(self.customers.iter().enumerate().map(customers).collect()),
            list(self.tiers.iter().enumerate().map(task).collect()),
        )
    }
}

fn sites() -> impl Strategy<Value = Site> {
    let next =
        prop_oneof![Just(Next::Nothing), Just(Next::Ask), Just(Next::Tell), Just(Next::HandOver),];
    let tier = (1..4u32, 1..6u32, next).prop_map(|(threads, backlog, next)| Tier {
        threads,
        backlog,
        next,
    });
    let when = prop_oneof![
        Just(("\"rate\": 500".to_owned(), true)),
        Just(("\"every\": 3000, \"batch\": 3".to_owned(), true)),
        Just(("\"rate\": 2000, \"on\": 5000, \"off\": 20000".to_owned(), true)),
        Just(("\"at\": [0, 0, 10, 5000, [5000, 9000]]".to_owned(), true)),
        Just(("\"users\": 5, \"think\": 4000".to_owned(), false)),
        Just(("\"users\": 9".to_owned(), false)),
    ];
    let demand = prop_oneof![
        Just("1000".to_owned()),
        Just("0".to_owned()),
        Just("{\"dist\": \"exp\", \"mean\": 2000}".to_owned()),
    ];
    let source = (0..3usize, when, demand).prop_map(|(tier, (when, open), demand)| Source {
        tier,
        when,
        open,
        demand,
    });
    (proptest::collection::vec(tier, 1..4), proptest::collection::vec(source, 1..4))
        .prop_map(|(tiers, customers)| Site { tiers, customers })
}

fn simulate(site: &Site, cpus: u32, slice_ns: u64) -> (Outcome, Tape, RequestsNumbers) {
    let mut config = ideal(cpus, 20 * SECOND);
    config.audit = true;
    let mut policy = shared_fifo();
    policy.slice_ns = slice_ns;
    let (outcome, tape) = run(config, &site.text(), &mut policy);
    let mut requests = Requests::default();
    tape.0.iter().for_each(|event| requests.event(event));
    let report = requests.finish(20 * SECOND);
    (outcome, tape, report)
}

/// Times of all arrivals of open customers, dropped ones included.
fn open_arrivals(site: &Site, tape: &Tape) -> Vec<(u32, u64)> {
    let of = |class: u32| site.customers.get(class as usize).is_some_and(|c| c.open);
    let arrivals = tape.0.iter().filter_map(|event| match event.kind {
        EventKind::Request(Request::Begin { class, .. } | Request::Drop { class }) if of(class) => {
            Some((class, event.time_ns))
        }
        _ => None,
    });
    arrivals.collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    /// Given time, everything is answered that was not dropped, once, by who took it.
    #[test]
    fn every_request_is_answered_once(site in sites(), cpus in 1..4u32) {
        let (outcome, tape, report) = simulate(&site, cpus, 700_000);
        prop_assert!(outcome.blocked.is_empty(), "{:?}\n{}", outcome.blocked, site.text());
        let mut server: HashMap<u64, Option<u32>> = HashMap::new();
        let (mut begun, mut ended) = (0, 0);
        for event in &tape.0 {
            match event.kind {
                EventKind::Request(Request::Begin { request, .. }) => {
                    prop_assert!(server.insert(request, None).is_none(), "{} twice", request);
                    begun += 1;
                }
                EventKind::Request(Request::Serve { request, pid }) => {
                    prop_assert!(server.contains_key(&request), "{} after its end", request);
                    server.insert(request, Some(pid));
                }
                EventKind::Request(Request::End { request, pid }) => {
                    prop_assert_eq!(server.remove(&request), Some(Some(pid)));
                    ended += 1;
                }
                _ => {}
            }
        }
        prop_assert_eq!(begun, ended, "{}", site.text());
        for class in &report.classes {
            prop_assert_eq!(class.arrived, class.answered + class.dropped);
            prop_assert_eq!(class.open, 0);
        }
        // Tasks wait for room, so nothing of theirs is dropped.
        let customers = site.customers.len();
        prop_assert!(report.classes[customers..].iter().all(|class| class.dropped == 0));
    }

    /// Open customers come at the same times whatever the machine does.
    #[test]
    fn open_customers_do_not_depend_on_the_machine(site in sites()) {
        let (_, one, _) = simulate(&site, 1, 700_000);
        let (_, other, _) = simulate(&site, 3, 5_000_000);
        prop_assert_eq!(open_arrivals(&site, &one), open_arrivals(&site, &other));
    }
}

#[test]
fn tasks_that_wait_for_each_others_answers_are_a_deadlock() {
    let text = r#"{"sockets": {"x": "unix", "y": "unix"},
        "tasks": {
            "a": {"send": {"to": "y", "wait": true}, "recv": "x", "reply": "x"},
            "b": {"send": {"to": "x", "wait": true}, "recv": "y", "reply": "y"}}}"#;
    let (outcome, _) = run(ideal(2, SECOND), text, &mut shared_fifo());
    let named: Vec<Vec<&str>> = outcome
        .deadlocks
        .iter()
        .map(|deadlock| deadlock.0.iter().map(|link| link.task.as_str()).collect())
        .collect();
    assert_eq!(named, [["a-0", "b-1"]]);
    let waits: Vec<String> = outcome.blocked.iter().map(|(_, on)| on.to_string()).collect();
    assert_eq!(waits, ["an answer from socket \"y\"", "an answer from socket \"x\""]);
}

#[test]
fn a_server_without_customers_is_not_blocked() {
    let text = r#"{"sockets": {"s": "tcp"},
        "customers": {"c": {"to": "s", "at": [10], "demand": 5}},
        "tasks": {"server": {"instance": 3, "recv": "s", "run": {"request": 1}, "reply": "s"}}}"#;
    let (outcome, _) = run(ideal(1, SECOND), text, &mut shared_fifo());
    assert!(outcome.blocked.is_empty() && outcome.deadlocks.is_empty());
}
