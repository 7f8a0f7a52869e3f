// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of what a file says about sockets, customers and requests, right and wrong.

use super::*;
use crate::model::TaskIx;
use crate::requests::SocketKind;

const SERVER: &str = r#""server": {"recv": "s", "run": {"request": 1}, "reply": "s"}"#;

fn text(sockets: &str, customers: &str, tasks: &str) -> String {
    format!(
        "{{\"sockets\": {{{sockets}}},\n\"customers\": {{{customers}}},\n\"tasks\": {{{tasks}}}}}"
    )
}

fn error(text: &str) -> String {
    parse("w.json", text).map(|_| ()).unwrap_err().to_string()
}

/// The message about customers of socket "s", without file, line and column.
fn customers_error(members: &str) -> String {
    let customers = format!("\"c\": {{\"to\": \"s\", {members}}}");
    let message = error(&text("\"s\": \"tcp\"", &customers, SERVER));
    let (place, message) = message.split_once(": ").unwrap();
    assert!(place.starts_with("w.json:2:"), "{place}");
    message.to_owned()
}

#[test]
fn sockets_have_a_kind_and_a_backlog() {
    let sockets = r#""s": "tcp", "t": {"kind": "unix", "backlog": 7}"#;
    let workload = parse("w.json", &text(sockets, "", SERVER)).unwrap();
    let read: Vec<_> =
        workload.sockets().iter().map(|s| (s.name.as_str(), s.kind, s.backlog)).collect();
    assert_eq!(read, [("s", SocketKind::Tcp, 4096), ("t", SocketKind::Unix, 7)]);
}

#[test]
fn classes_are_customers_and_then_tasks_that_send() {
    let workload = parse(
        "w.json",
        &text(
            r#""s": "tcp", "db": "unix""#,
            r#""b": {"to": "s", "rate": 1}, "a": {"to": "s", "users": 1}"#,
            r#""server": {"recv": "s", "send": {"to": "db", "wait": true}, "send2": "db",
                          "reply": "s"},
               "db": {"recv": "db", "reply": "db"}"#,
        ),
    );
    let workload = workload.unwrap();
    let classes = workload.request_classes().iter();
    let classes: Vec<_> = classes.map(|c| (c.name.as_str(), c.socket)).collect();
    assert_eq!(classes, [("b", 0), ("a", 0), ("server", 1)]);
}

#[test]
fn wrong_customers_name_what_was_expected() {
    let cases = [
        ("\"rat\": 5", "unknown key \"rat\" (did you mean \"rate\"?)"),
        ("\"demand\": 5", "customers need \"rate\", \"every\", \"at\" or \"users\": when do they send?"),
        ("\"rate\": 5, \"users\": 5", "\"rate\" and \"users\" exclude each other"),
        ("\"rate\": 0", "\"rate\" must be requests in a second, above 0 and at most 10000000, not 0"),
        ("\"every\": 0", "\"every\" must be longer than 0: all requests would arrive at once"),
        ("\"users\": 0", "\"users\" must be a whole number from 1 to 100000, not 0"),
        ("\"rate\": 1, \"think\": 5", "\"think\" has no effect together with \"rate\""),
        ("\"users\": 1, \"batch\": 5", "\"batch\" has no effect together with \"users\""),
        ("\"at\": [0], \"on\": 5", "\"on\" has no effect together with \"at\""),
        ("\"rate\": 1, \"on\": 5", "\"on\" needs \"off\" too"),
        ("\"at\": 5", "\"at\" must be an array of times or the name of a file, not 5"),
        ("\"at\": [5, true]", "an arrival is a time from 0 to 31622400000000 microseconds or [time, demand], not true"),
        ("\"at\": [5, 4]", "this arrival is before the one above it: they must be in order of time"),
        ("\"at\": \"f.txt\"", "cannot read arrivals from \"f.txt\": no other files can be read here"),
        ("\"rate\": 1, \"count\": 0", "\"count\" must be a whole number from 1 to 9223372036854775807, not 0"),
    ];
    for (members, expected) in cases {
        assert_eq!(customers_error(members), expected, "{members}");
    }
}

#[test]
fn wrong_sockets_name_what_was_expected() {
    let socket = |spec: &str| error(&text(&format!("\"s\": {spec}"), "", SERVER));
    assert_eq!(socket("\"udp\""), "w.json:1:19: unknown kind of socket \"udp\"; known: unix, tcp");
    let shape = "\"s\" must be \"unix\", \"tcp\" or {\"kind\": …, \"backlog\": …}, not 5";
    assert_eq!(socket("5"), format!("w.json:1:19: {shape}"));
    assert!(socket("{}").ends_with("a socket needs a \"kind\": \"unix\" or \"tcp\""));
    assert!(socket("{\"kind\": \"tcp\", \"backlog\": 0}")
        .ends_with("\"backlog\" must be a whole number from 1 to 1000000, not 0"));
    assert!(error(&text("\"a b\": \"tcp\"", "", SERVER))
        .ends_with("\"a b\" is not a valid name for a socket: it may hold no blanks"));
}

#[test]
fn a_slip_in_a_sockets_name_is_an_error() {
    let task =
        |events: &str| error(&text("\"http\": \"tcp\"", "", &format!("\"t\": {{{events}}}")));
    assert_eq!(
        task("\"recv\": \"htpp\""),
        "w.json:3:25: task \"t\": unknown socket \"htpp\" (did you mean \"http\"?)"
    );
    let none = error("{\"tasks\": {\"t\": {\"recv\": \"http\"}}}");
    assert!(none.ends_with("there is no socket \"http\": the file has no \"sockets\""), "{none}");
    assert!(task("\"send\": {\"to\": \"http\", \"wiat\": true}")
        .ends_with("unknown key \"wiat\" (did you mean \"wait\"?)"));
    assert!(task("\"send\": 5").ends_with("must be the name of a socket or {\"to\": …}, not 5"));
}

#[test]
fn what_could_never_work_is_an_error() {
    let file = |tasks: &str| error(&text(r#""s": "tcp", "p": "unix""#, "", tasks));
    assert!(file(r#""t": {"send": "s", "run": 1}"#)
        .ends_with("no task receives from socket \"s\": a task needs a \"recv\""));
    assert!(file(r#""t": {"send": {"to": "s", "wait": true}}, "u": {"recv": "s"}"#).ends_with(
        "no task replies to what arrives at socket \"s\", so that waiting for an answer would \
         never end: a task that receives there needs a \"reply\""
    ));
    assert!(file(r#""t": {"recv": "s", "reply": "p"}"#).ends_with(
        "the task replies to what it never receives: it needs a \"recv\" from this socket"
    ));
    assert!(file(r#""t": {"run1": {"request": 0.5}}"#)
        .ends_with("\"run1\" depends on a request, but the task has no \"recv\""));
    assert!(file(r#""t": {"recv": "s", "run": {"request": 0}}"#).ends_with(
        "\"request\" must be a part of the request's demand, above 0 and at most 1000, not 0"
    ));
    assert!(file(r#""t": {"recv": "s", "send": {"to": "p", "forward": true, "wait": true}}"#)
        .contains("\"forward\" hands over the request that the task serves"));
    assert!(file(r#""t": {"reply": "s", "recv": "s", "loop": -1}, "u": {"reply": "s"}"#)
        .contains("task \"u\": the task replies to what it never receives"));
}

#[test]
fn an_answer_may_come_from_where_a_request_was_handed_to() {
    let tasks = r#""t": {"recv": "s", "send": {"to": "p", "forward": true}},
                   "u": {"recv": "p", "reply": "p"}"#;
    let customers = r#""c": {"to": "s", "users": 1}"#;
    parse("w.json", &text(r#""s": "tcp", "p": "unix""#, customers, tasks)).unwrap();
}

#[test]
fn arrivals_are_read_from_a_file() {
    let customers = r#""c": {"to": "s", "at": "times.csv"}"#;
    let file = text("\"s\": \"tcp\"", customers, SERVER);
    let with = |arrivals: &str| {
        let files = |name: &str| match name {
            "times.csv" => Ok(arrivals.to_owned()),
            other => Err(format!("no {other}")),
        };
        parse_with("w.json", &file, &files).map_err(|e| e.to_string())
    };
    let workload = with("# time, demand\n10\n20.5, 300\r\n\n20.5\t7 # again\n").unwrap();
    let pattern = &workload.requests.customers[0].pattern;
    let crate::requests::model::Pattern::Listed(list) = pattern else { panic!("{pattern:?}") };
    let read: Vec<_> = list.iter().map(|a| (a.at_ns, a.demand_ns)).collect();
    assert_eq!(read, [(10_000, None), (20_500, Some(300_000)), (20_500, Some(7_000))]);
    let bad = |arrivals: &str| with(arrivals).map(|_| ()).unwrap_err();
    assert!(bad("1\nx").starts_with("times.csv:2:1: \"x\" is not a time from 0 to "));
    assert!(bad("1 2 3").starts_with("times.csv:1:1: \"3\" is not a time"));
    assert!(bad("5\n4").starts_with("times.csv:2:1: this arrival is before the one above it"));
}

#[test]
fn the_manuals_workloads_run() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/requests.md");
    let manual = std::fs::read_to_string(path).unwrap();
    let examples: Vec<&str> =
        manual.split("```json\n").skip(1).filter_map(|s| s.split("```").next()).collect();
    assert_eq!(examples.len(), 3);
    for example in examples {
        let workload = parse("requests.md", example).unwrap_or_else(|e| panic!("{e}\n{example}"));
        assert!(!workload.request_classes().is_empty());
    }
    for key in ["to", "rate", "every", "at", "users", "think", "batch", "count"] {
        assert!(manual.contains(&format!("| `{key}` |")), "{key} is not in the manual");
    }
}

proptest::proptest! {
    /// Well-formed JSON out of the grammar's own words, mostly in the wrong places.
    #[test]
    fn scrambled_requests_never_panic(
        words in proptest::collection::vec((0..20usize, 0..16usize), 0..8), place in 0..4usize
    ) {
        const KEYS: [&str; 20] = [
            "to", "rate", "every", "at", "users", "think", "demand", "delay", "count", "batch",
            "on", "off", "send", "recv", "reply", "run", "request", "kind", "backlog", "s",
        ];
        const VALUES: [&str; 16] = [
            "0", "-1", "1", "1e300", "9223372036854775807", "null", "true", "\"s\"", "\"tcp\"",
            "[0]", "[[1, 2]]", "{}", "{\"to\": \"s\", \"wait\": true}", "{\"request\": 0.5}",
            "{\"dist\": \"lognormal\", \"mean\": 1e-9, \"sigma\": 9}", "\"unix\"",
        ];
        let member = |&(k, v): &(usize, usize)| format!("\"{}\": {},", KEYS[k], VALUES[v]);
        let body: String = words.iter().map(member).collect();
        let text = match place {
            0 => text(&body, "", SERVER),
            1 => text("\"s\": \"tcp\"", &format!("\"c\": {{\"to\": \"s\", {body}}}"), SERVER),
            2 => text("\"s\": \"tcp\"", "\"c\": {\"to\": \"s\", \"rate\": 9}", &format!("\"t\": {{{body}}}")),
            _ => text("\"s\": \"unix\"", "", &format!("\"t\": {{\"recv\": \"s\", {body}}}")),
        };
        if let Ok(workload) = parse("w.json", &text) {
            let mut runner = crate::SeededRunner::new(workload.into(), 1);
            for now in 0..50u64 {
                runner.arrive(now * 100);
                runner.next(TaskIx(0), now * 100);
            }
        }
    }
}
