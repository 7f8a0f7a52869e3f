// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of request measures, on streams short enough to work out by hand.

use super::*;
use proptest::prelude::*;

fn of(events: &[(u64, Request)], end_ns: u64) -> RequestsNumbers {
    let mut requests = Requests::default();
    for (time_ns, request) in events {
        let kind = EventKind::Request(request.clone());
        requests.event(&Event { time_ns: *time_ns, cpu: None, kind });
    }
    requests.finish(end_ns)
}

fn class(class: u32, name: &str, socket: &str) -> (u64, Request) {
    (0, Request::Class { class, name: name.into(), socket: socket.into() })
}

fn begin(at_ns: u64, request: u64, class: u32, demand_ns: u64) -> (u64, Request) {
    (at_ns, Request::Begin { request, class, sender: 0, demand_ns, think_ns: None })
}

fn serve(at_ns: u64, request: u64) -> (u64, Request) {
    (at_ns, Request::Serve { request, pid: 7 })
}

fn end(at_ns: u64, request: u64) -> (u64, Request) {
    (at_ns, Request::End { request, pid: 7 })
}

#[test]
fn response_time_is_from_arrival_to_answer() {
    // Arrivals 0 and 10, demands 20 and 40; served from 5 and 30, answered at 25 and 70.
    let numbers = of(
        &[
            class(0, "user", "http"),
            begin(0, 0, 0, 20),
            serve(5, 0),
            begin(10, 1, 0, 40),
            end(25, 0),
            serve(30, 1),
            end(70, 1),
        ],
        1_000_000_000,
    );
    let user = &numbers.classes[0];
    assert_eq!((user.name.as_deref(), user.socket.as_str()), (Some("user"), "http"));
    assert_eq!((user.arrived, user.answered, user.open, user.dropped), (2, 2, 0, 0));
    assert_eq!((user.queue_ns.mean, user.queue_ns.max), (Some(12.5), Some(20)));
    assert_eq!((user.response_ns.mean, user.response_ns.max), (Some(42.5), Some(60)));
    // 25 / 20 = 1.25 and 60 / 40 = 1.5.
    assert_eq!((user.slowdown.mean, user.slowdown.max), (Some(1.375), Some(1.5)));
    assert_eq!((user.demand_mean_ns, user.answered_per_s), (Some(30.0), Some(2.0)));
    assert_eq!(user.cycle_ns.count, 0);
}

#[test]
fn the_curve_of_responses_is_of_all_sockets() {
    let mut requests = Requests::default();
    let events = [
        class(0, "user", "http"),
        class(1, "user", "sql"),
        begin(0, 0, 0, 0),
        begin(5, 1, 1, 0),
        end(30, 0),
    ];
    for (time_ns, request) in events {
        requests.take(&request, time_ns);
    }
    let (_, curve) = requests.finish_all(100);
    let curve = curve.expect("there are sockets");
    // 30, and 95 of the one that is still open at the end.
    assert_eq!((curve.count, curve.waiting), (2, 1));
    let ends = (curve.points.first(), curve.points.last());
    assert_eq!(ends, (Some(&(0.0, 30)), Some(&(100.0, 95))));
    assert_eq!(Requests::default().finish_all(100).1, None);
}

#[test]
fn a_request_still_open_counts_with_its_time_so_far() {
    let numbers = of(
        &[
            class(0, "user", "http"),
            begin(100, 0, 0, 50),
            begin(200, 1, 0, 0),
            serve(300, 0),
            (350, Request::Drop { class: 0 }),
        ],
        1_100,
    );
    let user = &numbers.classes[0];
    assert_eq!((user.arrived, user.answered, user.open, user.dropped), (3, 0, 2, 1));
    // The first waited 200 for its service and 1000 for an answer, the second 900 for both.
    let queue = (user.queue_ns.count, user.queue_ns.max, user.queue_ns.waiting);
    assert_eq!(queue, (2, Some(900), 1));
    let response = (user.response_ns.mean, user.response_ns.max, user.response_ns.waiting);
    assert_eq!(response, (Some(950.0), Some(1000), 2));
    // Only the first says what it asks for.
    let slowdown = (user.slowdown.count, user.slowdown.max, user.slowdown.waiting);
    assert_eq!(slowdown, (1, Some(20.0), 1));
}

#[test]
fn a_cycle_is_think_time_and_response() {
    let asks = |at_ns, request, think_ns| {
        let (class, sender, demand_ns) = (0, 0, 10);
        (at_ns, Request::Begin { request, class, sender, demand_ns, think_ns: Some(think_ns) })
    };
    let numbers = of(
        &[class(0, "user", "s"), asks(30, 0, 30), end(50, 0), asks(60, 1, 10), end(100, 1)],
        100,
    );
    // 30 + 20 and 10 + 40.
    let cycle = &numbers.classes[0].cycle_ns;
    assert_eq!((cycle.count, cycle.mean, cycle.max), (2, Some(50.0), Some(50)));
}

#[test]
fn a_socket_adds_up_its_classes() {
    let numbers = of(
        &[
            class(0, "user", "http"),
            class(1, "web", "db"),
            class(2, "robot", "http"),
            begin(0, 0, 0, 10),
            begin(0, 1, 2, 10),
            begin(0, 2, 1, 10),
            end(10, 0),
            end(30, 1),
            end(90, 2),
        ],
        100,
    );
    let sockets: Vec<_> = numbers.sockets.iter().map(|s| (s.socket.as_str(), s.arrived)).collect();
    assert_eq!(sockets, [("http", 2), ("db", 1)]);
    assert_eq!(numbers.sockets[0].response_ns.mean, Some(20.0));
    assert_eq!(numbers.sockets[0].slowdown.max, Some(3.0));
    assert_eq!(numbers.sockets[0].name, None);
}

#[test]
fn requests_of_the_warm_up_do_not_count() {
    let mut requests = Requests::default().with_warmup(100);
    for (time_ns, request) in [
        class(0, "user", "http"),
        begin(99, 0, 0, 1),
        (99, Request::Drop { class: 0 }),
        begin(100, 1, 0, 1),
        serve(110, 0),
        end(200, 0),
        end(500_000_100, 1),
    ] {
        requests.event(&Event { time_ns, cpu: None, kind: EventKind::Request(request) });
    }
    let numbers = requests.finish(1_000_000_100);
    let user = &numbers.classes[0];
    assert_eq!((user.arrived, user.dropped, user.answered), (1, 0, 1));
    assert_eq!((user.response_ns.max, user.answered_per_s), (Some(500_000_000), Some(1.0)));
}

/// Any event, valid in its place or not.
fn any() -> impl Strategy<Value = Request> {
    let (request, class) = (0..20u64, 0..3u32);
    prop_oneof![
        class.clone().prop_map(|class| {
            Request::Class { class, name: format!("c{class}"), socket: format!("s{}", class % 2) }
        }),
        (request.clone(), class.clone(), 0..50u64).prop_map(|(request, class, demand_ns)| {
            Request::Begin { request, class, sender: 0, demand_ns, think_ns: Some(1) }
        }),
        class.prop_map(|class| Request::Drop { class }),
        request.clone().prop_map(|request| Request::Serve { request, pid: 1 }),
        request.prop_map(|request| Request::End { request, pid: 1 }),
    ]
}

proptest! {
    /// Whatever the order of events: nothing is lost, and sockets hold what their classes do.
    #[test]
    fn what_arrived_was_answered_dropped_or_is_open(
        steps in proptest::collection::vec((0..100u64, any()), 0..80)
    ) {
        let (mut now, mut used) = (0, std::collections::HashSet::new());
        let mut known = std::collections::HashSet::new();
        let mut events = Vec::new();
        for (gap, event) in steps {
            now += gap;
            // The number of a request and that of a class are used once.
            let fresh = match event {
                Request::Begin { request, .. } => used.insert(request),
                Request::Class { class, .. } => known.insert(class),
                _ => true,
            };
            if fresh {
                events.push((now, event));
            }
        }
        let numbers = of(&events, now + 1);
        for r in numbers.classes.iter().chain(&numbers.sockets) {
            prop_assert_eq!(r.arrived, r.answered + r.open + r.dropped);
            prop_assert_eq!(r.response_ns.count, r.answered + r.open);
            prop_assert_eq!(r.response_ns.waiting, r.open);
            prop_assert!(r.queue_ns.count <= r.response_ns.count);
        }
        let sums = |list: &[RequestNumbers]| {
            list.iter().fold([0; 4], |[a, b, c, d], r| {
                [a + r.arrived, b + r.answered, c + r.open, d + r.dropped]
            })
        };
        prop_assert_eq!(sums(&numbers.classes), sums(&numbers.sockets));
    }
}
