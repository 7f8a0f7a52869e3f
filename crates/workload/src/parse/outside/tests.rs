// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of the section `"events"`.

use crate::events::{Action, CgroupAction, TaskSetting, When};
use crate::model::{TaskIx, Workload};
use crate::parse::tests::{message, read};
use proptest::prelude::*;

/// A file with two tasks in a group each, and these events.
fn file(events: &str) -> String {
    format!(
        "{{\"tasks\": {{\n\
         \"hog\": {{\"instance\": 2, \"taskgroup\": \"/web/front\", \"run\": 1000}},\n\
         \"idler\": {{\"taskgroup\": \"/batch\", \"sleep\": 1000}}}},\n\
         \"events\": [{events}]}}"
    )
}

fn events(text: &str) -> Workload {
    read(&file(text))
}

fn refused(text: &str) -> String {
    message(&file(text)).replacen("w.json:4: ", "", 1)
}

#[test]
fn an_event_has_a_time_and_does_one_thing() {
    let workload = events(
        r#"{"at": 250, "task": "hog", "cpus": [1, 0, 1]},
           {"at": "1.5ms", "task": "hog-1", "nice": -5},
           {"at": 0, "task": "idler", "weight": 300},
           {"at": 0, "task": "idler", "core_cookie": "A"},
           {"at": 1, "task": "idler", "move": "/web"},
           {"at": 1, "task": "idler", "move": "/"},
           {"at": 1, "cgroup": "/web/front/", "cpu.weight": 50},
           {"at": 2, "scheduler": "unload"}, {"at": 3, "scheduler": "load"}"#,
    );
    let found: Vec<_> = workload.outside.iter().map(|e| (e.at_ns, e.action.to_string())).collect();
    let expected = [
        (250_000, "task hog cpus 0,1"),
        (1_500_000, "task hog-1 nice -5"),
        (0, "task idler weight 300"),
        (0, "task idler core_cookie \"A\""),
        (1000, "task idler cgroup /web"),
        (1000, "task idler cgroup /"),
        (1000, "cgroup /web/front cpu.weight 50"),
        (2000, "scheduler unload"),
        (3000, "scheduler load"),
    ];
    assert_eq!(found, expected.map(|(at, text)| (at, text.to_owned())));
    assert!(matches!(&workload.outside[1].action,
        Action::Set(tasks, TaskSetting::Nice(-5)) if tasks.one == Some(TaskIx(1))));
    assert!(matches!(&workload.outside[6].action, Action::Cgroup(_, CgroupAction::Weight(50))));
    assert_eq!(workload.outside[0].place, "w.json:4:12");
}

#[test]
fn an_event_can_be_about_the_scheduler_s_object_or_a_cgroup_that_another_makes() {
    let workload = events(
        r#"{"at": 1, "cgroup": "/new/x/", "create": true},
           {"at": 2, "cgroup": "/new", "cpu.max": "max 50000"},
           {"at": 2, "variable": "conf.limit", "value": true},
           {"at": 2, "map": "m", "key": 1, "value": {"a": 1, "b": {"c": "x"}}},
           {"at": 2, "program": "p", "cpu": 1, "ctx": {"n": 3}},
           {"at": 2, "cpu": 1, "online": false},
           {"at": 2, "cpu": 1, "fair_server.period": "2ms"},
           {"at": 2, "cpu": 0, "ext_server.runtime": 3},
           {"at": 2, "cpu": 0, "read": "total_bw"}"#,
    );
    let found: Vec<_> = workload.outside.iter().map(|e| e.action.to_string()).collect();
    let expected = [
        "cgroup /new/x create",
        "cgroup /new cpu.max max 50000",
        "variable conf.limit = true",
        "map m[1] = a=1,b.c=x",
        "program p on cpu 1",
        "cpu 1 offline",
        "cpu 1 fair_server.period 2000000 ns",
        "cpu 0 ext_server.runtime 3000 ns",
        "cpu 0 read total_bw",
    ];
    assert_eq!(found, expected);
}

#[test]
fn an_event_can_follow_another_one_that_stands_after_it() {
    let workload = events(
        r#"{"after": "b", "delay": "2us", "task": "hog", "nice": 1, "name": "c"},
           {"after": "a", "delay": 3, "task": "hog", "nice": 1, "name": "b"},
           {"at": 10, "task": "hog", "nice": 1, "name": "a"},
           {"after": "c", "task": "hog", "nice": 1}"#,
    );
    let found: Vec<_> = workload.outside.iter().map(|e| (e.when, e.at_ns)).collect();
    let expected = [
        (When::After(1, 2000), 15_000),
        (When::After(2, 3000), 13_000),
        (When::At, 10_000),
        (When::After(0, 0), 15_000),
    ];
    assert_eq!(found, expected);
}

#[test]
fn mistakes_name_the_place_and_the_nearest_valid_value() {
    let cases = [
        (r#"{"at": 1, "task": "hgo", "nice": 1}"#, "unknown task \"hgo\" (did you mean \"hog\"?)"),
        (r#"{"at": 1, "task": "hog-7", "nice": 1}"#, "(did you mean \"hog-0\"?)"),
        (r#"{"at": 1, "task": "hog", "nise": 1}"#, "unknown key \"nise\" (did you mean \"nice\"?)"),
        (r#"{"at": 1, "taks": "hog", "nice": 1}"#, "unknown key \"taks\" (did you mean \"task\"?)"),
        (r#"{"at": 1, "task": "hog", "nice": 20}"#, "whole number from -20 to 19, not 20"),
        (r#"{"at": 1, "task": "hog", "weight": 0}"#, "whole number from 1 to 10000, not 0"),
        (r#"{"at": 1, "task": "hog", "cpus": []}"#, "\"cpus\" is empty"),
        (
            r#"{"at": 1, "task": "hog"}"#,
            "needs one of \"cpus\", \"nice\", \"weight\", \"core_cookie\", \"move\"",
        ),
        (r#"{"at": 1, "task": "hog", "nice": 1, "weight": 1}"#, "as two events"),
        (r#"{"at": 1, "task": "hog", "cgroup": "/web", "nice": 1}"#, "about one thing"),
        (r#"{"at": 1}"#, "needs what it is about: \"task\", \"cgroup\""),
        (r#"{"task": "hog", "nice": 1}"#, "needs \"at\" (a time) or \"after\""),
        (r#"{"at": 1, "after": "x", "task": "hog", "nice": 1}"#, "\"at\" or \"after\", not both"),
        (r#"{"at": 1, "delay": 1, "task": "hog", "nice": 1}"#, "add it to \"at\""),
        (
            r#"{"at": "1 parsec", "task": "hog", "nice": 1}"#,
            "\"at\": invalid duration \"1 parsec\"",
        ),
        (r#"{"at": -1, "task": "hog", "nice": 1}"#, "\"at\" must be microseconds"),
        (r#"{"at": "366h", "name": "", "task": "hog", "nice": 1}"#, "not a valid name"),
        (r#"{"at": 1, "cgroup": "/wep", "cpu.weight": 1}"#, "(did you mean \"/web\"?)"),
        (r#"{"at": 1, "cgroup": "/", "cpu.weight": 1}"#, "the root cgroup"),
        (r#"{"at": 1, "task": "hog", "move": "web"}"#, "must begin with \"/\""),
        (
            r#"{"after": "fist", "task": "hog", "nice": 1},
               {"at": 1, "task": "hog", "nice": 1, "name": "first"}"#,
            "unknown event \"fist\" (did you mean \"first\"?)",
        ),
        (
            r#"{"at": 1, "task": "hog", "nice": 1, "name": "a"},
               {"at": 2, "task": "hog", "nice": 1, "name": "a"}"#,
            "another event has the name \"a\" already",
        ),
        (
            r#"{"after": "b", "task": "hog", "nice": 1},
               {"after": "c", "task": "hog", "nice": 1, "name": "b"},
               {"after": "b", "task": "hog", "nice": 1, "name": "c"}"#,
            "never happen: \"b\" after \"c\" after \"b\"",
        ),
        (r#"{"after": "a", "task": "hog", "nice": 1, "name": "a"}"#, "\"a\" after \"a\""),
    ];
    for (text, expected) in cases {
        let message = refused(text);
        assert!(message.contains(expected), "{text}\n{message}");
    }
    let more = [
        (r#"{"at": 1, "task": "hog", "signal": "SIGTERM"}"#, "unknown signal \"SIGTERM\""),
        (r#"{"at": 1, "cgroup": "/web", "cpu.max": "1 2"}"#, "a quota and a period"),
        (r#"{"at": 1, "cgroup": "/web", "create": false}"#, "\"create\" must be true, not false"),
        (r#"{"at": 1, "cpu": 1, "online": 1}"#, "\"online\" must be true or false, not 1"),
        (r#"{"at": 1, "cpu": 1, "max_frequency": 1}"#, "slows down no task would"),
        (r#"{"at": 1, "map": "m", "value": 1}"#, "\"key\" is missing here"),
        (r#"{"at": 1, "cpu": 1, "read": "x"}"#, "unknown number of a CPU \"x\""),
        (r#"{"at": 1, "cpu": 1, "ext_server.runtime": -1}"#, "ext_server.runtime"),
        (r#"{"at": 1, "variable": "v", "value": [1]}"#, "a number, a text or a boolean"),
        (r#"{"at": 1, "program": "p"}"#, "an event about a \"program\" needs one of \"cpu\""),
        (r#"{"at": 1, "cgroup": "/new", "cpu.weight": 1}"#, "unknown cgroup \"/new\""),
    ];
    for (text, expected) in more {
        let message = refused(text);
        assert!(message.contains(expected), "{text}\n{message}");
    }
    assert!(message("{\"tasks\": {\"a\": {\"run\": 1}}, \"events\": {}}").contains("an array"));
}

/// Words of the grammar in members of events, mostly in the wrong places.
const KEYS: [&str; 12] = [
    "name",
    "at",
    "after",
    "delay",
    "task",
    "cgroup",
    "cpus",
    "nice",
    "weight",
    "move",
    "cpu.weight",
    "x",
];
const VALUES: [&str; 12] = [
    "0",
    "-1",
    "7",
    "\"1s\"",
    "\"hog\"",
    "\"hog-1\"",
    "\"/web\"",
    "\"/\"",
    "\"a\"",
    "[0]",
    "{}",
    "null",
];

proptest! {
    /// Whatever is accepted has a time that follows from what it comes after.
    #[test]
    fn scrambled_events_are_refused_or_have_their_times(
        given in proptest::collection::vec(
            proptest::collection::vec((0..KEYS.len(), 0..VALUES.len()), 0..5), 0..5)
    ) {
        let member = |&(k, v): &(usize, usize)| format!("\"{}\": {},", KEYS[k], VALUES[v]);
        let event = |m: &Vec<_>| format!("{{{}}},", m.iter().map(member).collect::<String>());
        let text: String = given.iter().map(event).collect();
        if let Ok(workload) = crate::parse("w.json", &file(&text)) {
            prop_assert_eq!(workload.outside.len(), given.len());
            for event in &workload.outside {
                if let When::After(before, delay_ns) = event.when {
                    let before = workload.outside[before as usize].at_ns;
                    prop_assert_eq!(event.at_ns, before + delay_ns);
                }
            }
        }
    }

    /// Chains in any order of the file: each time is the sum of the delays before it.
    #[test]
    fn times_of_a_chain_add_up(
        (delays, order) in proptest::collection::vec(0..1000u64, 1..20).prop_flat_map(|delays| {
            let order: Vec<usize> = (0..delays.len()).collect();
            (Just(delays), Just(order).prop_shuffle())
        })
    ) {
        let event = |&link: &usize| {
            let delay = delays[link];
            let when = match link {
                0 => format!("\"at\": {delay}"),
                _ => format!("\"after\": \"e{}\", \"delay\": {delay}", link - 1),
            };
            format!("{{\"name\": \"e{link}\", {when}, \"task\": \"hog\", \"nice\": 0}},")
        };
        let workload = events(&order.iter().map(event).collect::<String>());
        for (event, link) in workload.outside.iter().zip(&order) {
            prop_assert_eq!(event.at_ns, delays[..=*link].iter().sum::<u64>() * 1000);
        }
    }
}
