// SPDX-License-Identifier: MIT OR Apache-2.0

use super::anonymise;
use crate::parse;
use proptest::prelude::*;

/// A file with a name at each place where one can stand; `@x` is one of them.
const EVERYWHERE: &str = r#"/* Recorded: @host */
{
	"global" : { "duration" : 1, "logdir" : "@dir", "io_device" : "@dev" }, // @note
	"machine" : { "name" : "@box", "source" : "recorded: @cmd", "topology" : { "cpus" : 2 } },
	"resources" : { "@m" : { "type" : "mutex" }, "@r" : { "type" : "signal", "target" : "@m" } },
	"sockets" : { "@sock" : "unix" },
	"streams" : { "@st" : { "capacity" : 99 } },
	"customers" : { "@users" : { "to" : "@sock", "users" : 2, "think" : 500 } },
	"tasks" : {
		// @note
		"@a-71" : { "loop" : 1, "run1" : 100, "sem_wait2" : "@a read", "sem_post@x" : "@b read",
			"timer4" : { "ref" : "unique @t", "period" : 10, "mode" : "absolute" },
			"timer5" : { "ref" : "@t", "period" : 10 }, "fork6" : "@c", "yield7" : "@y",
			"vfork8" : { "fork" : "@c", "run" : 3, "sem_wait" : "@a vfork" }, "exit9" : "@b read" },
		"@a-72" : { "taskgroup" : "/@g/@h", "core_cookie" : "@k", "run" : 5, "lock" : "@m",
			"unlock" : "@m", "flow1" : { "put" : { "@st" : [ 9, 3 ] } }, "barrier" : "@bar", "resume" : "@c", "sleep" : { "dist" : "exp", "mean" : 9 } },
		"@b" : { "thread_of" : "@a-71", "loop" : 3, "sem_wait" : "@b read", "run" : 2,
			"sem_post" : "@a read", "signal" : "@cond", "recv" : "@sock", "reply" : "@sock" },
		"@c" : { "instance" : 0, "phases" : { "@p" : { "loop" : 2, "run" : 1,
			"taskgroup" : { "path" : "/@g", "cpu.weight" : 50 },
			"memrun" : { "type" : "read", "ref" : "@buf", "size" : 10, "count" : 5 } } } },
		"@d" : { "kthread" : true, "run" : 1, "sleep" : 10 },
		"@e" : { "loop" : 1, "run" : 1, "lock" : "unknown", "wait" : { "ref" : "@cond", "mutex" : "unknown" } },
	},
	"events" : [
		{ "name" : "@e1", "at" : "1ms", "task" : "@a-72", "nice" : 3 },
		{ "after" : "@e1", "task" : "@b-2", "move" : "/@g" },
		{ "at" : 5, "cgroup" : "/@g/@h", "cpu.weight" : 7 }
	]
}
"#;

fn anonymous(text: &str) -> String {
    anonymise("w.json", text).unwrap_or_else(|e| panic!("{e}"))
}

proptest! {
    /// A mark that no word of the grammar holds stands in each name: none is left.
    #[test]
    fn no_name_is_left(mark in "[A-Z][a-zäß]{0,3}_[0-9]?", after in "[a-z]{1,9}") {
        let mark = format!("{mark}{after}Q");
        let text = EVERYWHERE.replace('@', &mark);
        parse("w.json", &text).unwrap_or_else(|e| panic!("{e}"));
        let new = anonymous(&text);
        prop_assert!(!new.contains(&mark) && !new.contains("note") && !new.contains("Recorded"), "{}", new);
        let workload = parse("w.json", &new).unwrap_or_else(|e| panic!("{e}\n{new}"));
        prop_assert_eq!(workload.tasks.len(), 5);
    }

    /// Whatever the names are, the file is the same: only what is one name stays one.
    #[test]
    fn the_new_file_does_not_depend_on_the_names(mark in "[A-Z][a-z_]{1,9}") {
        let first = anonymous(&EVERYWHERE.replace('@', "Some"));
        prop_assert_eq!(anonymous(&EVERYWHERE.replace('@', &mark)), first);
    }
}

#[test]
fn names_say_what_is_of_one_kind_and_of_one_process() {
    let new = anonymous(&EVERYWHERE.replace('@', "x"));
    let names: Vec<String> =
        parse("w.json", &new).expect("a workload").task_names().map(str::to_owned).collect();
    let expected = [
        "process-1-1",
        "process-1-2",
        "process-1/thread-1-0",
        "process-2-0",
        "kthread-1-0",
        "process-3-0",
    ];
    assert_eq!(names, expected);
    for kept in [
        r#""fork6" : "process-2-0""#,
        r#""vfork8" : { "fork" : "process-2-0", "run" : 3, "sem_wait" : "semaphore-3" }"#,
        r#""exit9" : "semaphore-2""#,
        r#""flow1" : { "put" : { "stream-1" : [ 9, 3 ] } }"#,
        r#""sem_wait2" : "semaphore-1", "sem_post4" : "semaphore-2""#,
        r#""ref" : "unique timer-1", "period" : 10, "mode" : "absolute""#,
        r#""timer5" : { "ref" : "timer-2", "period" : 10 }"#,
        r#""lock" : "unknown""#,
        r#"{ "after" : "event-1", "task" : "process-1/thread-1-0-2", "move" : "/cgroup-1" }"#,
        r#""taskgroup" : "/cgroup-1/cgroup-2""#,
    ] {
        assert!(new.contains(kept), "{kept}\n{new}");
    }
}

#[test]
fn files_that_a_workload_names_are_refused_with_what_to_do() {
    let of = |machine: &str, at: &str| {
        let text = format!(
            r#"{{ "machine": {machine}, "sockets": {{"s": "unix"}},
"customers": {{"c": {{"to": "s", "at": {at}}}}},
"tasks": {{"a": {{"recv": "s", "run": 1}}}} }}"#
        );
        anonymise("w.json", &text).map_err(|e| e.to_string())
    };
    assert!(of("\"server\"", "[1, 2]").is_ok());
    let error = of("\"bob/own.toml\"", "[1, 2]").expect_err("another file");
    assert!(error.starts_with("w.json:1:14: the machine is in a file"), "{error}");
    let error = of("\"server\"", "\"bob.txt\"").expect_err("another file");
    assert!(error.contains("arrivals are in a file of their own"), "{error}");
    assert!(anonymise("w.json", "{\"tasks\": {\"a\": {\"rnu\": 1}}}").is_err());
    assert!(anonymise("w.json", "{").is_err());
}
