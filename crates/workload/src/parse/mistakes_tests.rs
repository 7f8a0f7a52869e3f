// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of what the mistakes in a file are told.

use super::parse;
use super::tests::{message, read, task_message};

#[test]
fn a_typo_names_file_line_column_task_phase_and_key() {
    let text = "{\n \"tasks\": {\n  \"a\": { \"phases\": { \"b\": {\n   \"rnu\": 1\n } } } } }";
    assert_eq!(
        parse("w.json", text).unwrap_err().to_string(),
        "w.json:4:4: task \"a\", phase \"b\": unknown key \"rnu\" (did you mean \"run\"?)"
    );
}

#[test]
fn streams_that_cannot_be_are_errors() {
    let message_of = |streams: &str| {
        let text = format!(
            r#"{{"streams": {{{streams}}}, "tasks": {{"t": {{"flow": {{"put": {{"s": 1}}}}}}}}}}"#
        );
        parse("w.json", &text).unwrap_err().message
    };
    for (streams, message) in [
        (r#""s": 5"#, "stream \"s\" must be an object {…}, not 5"),
        (r#""s": {"size": 5}"#, "unknown key \"size\"; known: capacity, holds, refill"),
        (r#""s": {}, "s": {}"#, "another stream has the name \"s\" already"),
        (
            r#""s": {"capacity": 4, "holds": 5}"#,
            "\"holds\" must be a whole number from 0 to 4, not 5",
        ),
        (
            r#""s": {"capacity": 4, "refill": 5}"#,
            "\"refill\" must be a whole number from 1 to 4, not 5",
        ),
    ] {
        assert_eq!(message_of(streams), message);
    }
}

#[test]
fn users_and_sessions_out_of_range_or_of_a_thread_are_errors() {
    for (key, value, range) in [
        ("uid", "-1", "from 0 to 4294967294"),
        ("session", "0", "from 1 to 2147483647"),
        ("uid", "\"x\"", "from 0 to 4294967294"),
    ] {
        let message = task_message(&format!("\"{key}\": {value}, \"run\": 1"));
        assert!(message.contains(key) && message.contains(range), "{message}");
    }
    let message = task_message("\"thread_of\": \"u\", \"uid\": 1, \"run\": 1");
    assert!(message.contains("is that of its process"), "{message}");
}

#[test]
fn what_a_kernel_thread_cannot_have_is_an_error() {
    for (rest, message) in [
        ("\"uid\": 1, \"run\": 1", "belongs to no user but 0: leave out \"uid\""),
        ("\"session\": 1, \"run\": 1", "is in no session"),
        ("\"taskgroup\": \"/a\", \"run\": 1", "stays in the root group"),
        ("\"run\": 1, \"fork1\": \"t\"", "forks no tasks: leave out \"fork1\""),
        (
            "\"vfork2\": {\"fork\": \"t\", \"sem_wait\": \"s\"}",
            "forks no tasks: leave out \"vfork2\"",
        ),
        ("\"thread_of\": \"u\", \"run\": 1", "is a process of its own"),
        (
            "\"cpus\": [1], \"phases\": {\"a\": {\"cpus\": [0], \"run\": 1}}",
            "phase \"a\": a kernel thread with one CPU is bound to it: leave out \"cpus\"",
        ),
    ] {
        let found = task_message(&format!("\"kthread\": true, {rest}"));
        assert!(found.contains(message), "{found}");
    }
    let found = task_message("\"kthread\": 1, \"run\": 1");
    assert!(found.contains("\"kthread\" must be true or false"), "{found}");
    let text = "{\"tasks\": {\"t\": {\"run\": 1, \"kthread\": true}, \"u\": {\"run\": 1, \
                \"thread_of\": \"t\"}}}";
    let found = parse("w.json", text).unwrap_err().to_string();
    assert!(found.contains("is a kernel thread, which leads no process"), "{found}");
}

#[test]
fn keys_not_simulated_yet_say_so() {
    for key in ["parent", "gid"] {
        assert_eq!(
            task_message(&format!("\"{key}\": \"x\", \"run\": 1")),
            format!(
                "w.json:1: task \"t\": \"{key}\" is not supported yet: this version does not \
                 simulate it"
            )
        );
    }
}

#[test]
fn wrong_values_name_what_was_expected() {
    let cases = [
        ("\"run\": -5", "\"run\" must be microseconds (a whole number from 0 to 31622400000000) or a distribution {\"dist\": …}, not -5"),
        ("\"sleep\": 1.5", "\"sleep\" must be microseconds (a whole number from 0 to 31622400000000) or a distribution {\"dist\": …}, not 1.5"),
        ("\"run\": \"1ms\"", "\"run\" must be microseconds (a whole number from 0 to 31622400000000) or a distribution {\"dist\": …}, not \"1ms\""),
        ("\"run\": 1, \"loop\": -2", "\"loop\" must be -1 (for ever) or a whole number from 0 up, not -2"),
        ("\"run\": 1, \"instance\": -1", "\"instance\" must be a whole number from 0 to 100000, not -1"),
        ("\"run\": 1, \"weight\": 0", "\"weight\" must be a whole number from 1 to 10000, not 0"),
        ("\"run\": 1, \"share\": true", "\"share\" must be a whole number from 1 to 4294967295, not true"),
        ("\"run\": 1, \"policy\": \"OTHER\"", "unknown policy \"OTHER\"; known: SCHED_OTHER, SCHED_BATCH, SCHED_IDLE, SCHED_RR, SCHED_FIFO, SCHED_DEADLINE, SCHED_EXT"),
        ("\"run\": 1, \"policy\": \"SCHED_FFIO\"", "unknown policy \"SCHED_FFIO\" (did you mean \"SCHED_FIFO\"?)"),
        ("\"run\": 1, \"priority\": 20", "policy SCHED_OTHER takes a nice value from -20 to 19, not 20"),
        ("\"run\": 1, \"policy\": \"SCHED_RR\", \"priority\": 0", "policy SCHED_RR takes a real-time priority from 1 to 99, not 0"),
        ("\"run\": 1, \"policy\": \"SCHED_RR\", \"taskgroup\": \"/a\"", "policy SCHED_RR cannot be in a task group (\"/a\")"),
        ("\"run\": 1, \"cpus\": []", "\"cpus\" is empty: the task could run nowhere"),
        ("\"run\": 1, \"cpus\": [0, -1]", "\"cpus\" must be an array of CPU numbers from 0 to 8191; -1 is none"),
        ("\"run\": 1, \"cpus\": 3", "\"cpus\" must be an array of CPU numbers from 0 to 8191, not 3"),
        ("\"run\": 1, \"taskgroup\": \"a\"", "task group \"a\" must begin with \"/\""),
        ("\"run\": 1, \"taskgroup\": \"/a//b\"", "task group \"/a//b\" is not a plain absolute path"),
        ("\"run\": 1, \"taskgroup\": {\"path\": \"/a\", \"cpu.max\": 1}", "\"cpu.max\" must be a quota and a period in microseconds as \"50000 100000\": the quota \"max\" or from 1000 to 17592186044415, the period (which can be left out) from 1000 to 1000000, not 1"),
        ("\"run\": 1, \"taskgroup\": {\"path\": \"/a\", \"cpu.max\": \"4000\", \"cpu.max.burst\": 4001}", "task group \"/a\" cannot have a \"cpu.max.burst\" of 4001 with a quota of 4000"),
        ("\"run\": 1, \"taskgroup\": {\"path\": \"/\", \"cpuset.cpus\": [1]}", "the root task group \"/\" takes no \"cpuset.cpus\""),
        ("\"run\": 1, \"taskgroup\": {\"path\": \"/a\", \"cpuset.cpus\": []}", "\"cpuset.cpus\" is empty: the task could run nowhere"),
        ("\"run\": 1, \"taskgroup\": {\"cpu.weight\": 1}", "\"taskgroup\" needs a \"path\""),
        ("\"run\": 1, \"taskgroup\": {\"path\": \"/a\", \"weight\": 1}", "unknown key \"weight\"; known: path, cpu.weight, cpu.max, cpu.max.burst, cpu.idle, cpuset.cpus"),
        ("\"lock\": 5", "\"lock\" must be a string, not 5"),
        ("\"wait\": \"c\"", "\"wait\" must be an object {…}, not \"c\""),
        ("\"sync1\": {\"ref\": \"c\", \"mutx\": \"m\"}", "unknown key \"mutx\" (did you mean \"mutex\"?)"),
        ("\"mem\": -1", "\"mem\" must be a whole number from 0 to 2147483647, not -1"),
        ("\"memrun\": {\"type\": \"chas\"}", "unknown type of memrun \"chas\" (did you mean \"chase\"?)"),
        ("\"memrun\": {\"type\": \"read\", \"count\": 1}", "\"size\" is missing here"),
        ("\"memrun\": {\"type\": \"read\", \"size\": 1, \"count\": 1, \"stride\": 64}", "unknown key \"stride\"; known: type, size, count, ref"),
        ("\"memrun\": {\"type\": \"chase\", \"size\": 100, \"count\": 1}", "a buffer of 100 bytes has no room for two strides of 64"),
        ("\"memrun\": {\"type\": \"read\", \"size\": 1, \"count\": 1, \"ref\": \"b\"}, \"memrun2\": {\"type\": \"read\", \"size\": 2, \"count\": 1, \"ref\": \"b\"}", "another memrun shares this buffer but gives a different size, stride or pattern"),
        ("\"run\": 1, \"policy\": \"SCHED_DEADLINE\"", "policy SCHED_DEADLINE needs a \"dl-runtime\" above 0"),
        ("\"run\": 1, \"policy\": \"SCHED_DEADLINE\", \"dl-runtime\": 5, \"dl-period\": 4", "policy SCHED_DEADLINE needs dl-runtime <= dl-deadline <= dl-period, not 5 us, 4 us and 4 us"),
        ("\"run\": 1, \"util_min\": 1025", "\"util_min\" must be a whole number from -1 to 1024, not 1025"),
        ("\"run\": 1, \"util_min\": 500, \"util_max\": 499", "a util_min of 500 is more than the util_max of 499"),
        ("\"run\": 1, \"nodes_membind\": [0, \"x\"]", "\"nodes_membind\" must be an array of NUMA node numbers from 0 to 1023; \"x\" is none"),
        ("\"run\"", "\"run\" must be microseconds (a whole number from 0 to 31622400000000) or a distribution {\"dist\": …}, not nothing"),
        ("\"timer\": 5", "\"timer\" must be an object {…}, not 5"),
        ("\"timer\": {\"perod\": 5}", "unknown key \"perod\" (did you mean \"period\"?)"),
        ("\"timer\": {\"period\": 5, \"mode\": \"absolut\"}", "unknown timer mode \"absolut\" (did you mean \"absolute\"?)"),
        ("\"fork\": \"u\"", "unknown task \"u\" (did you mean \"t\"?)"),
        ("\"vfork\": \"t\"", "\"vfork\" must be an object {…}, not \"t\""),
        ("\"vfork\": {\"fork\": \"t\"}", "\"vfork\" needs \"fork\" and \"sem_wait\""),
        ("\"vfork\": {\"fork\": \"u\", \"sem_wait\": \"s\"}", "unknown task \"u\" (did you mean \"t\"?)"),
        ("\"vfork\": {\"fork\": \"t\", \"run\": -1, \"sem_wait\": \"s\"}", "\"run\" must be a whole number from 0 to 31622400000000, not -1"),
        ("\"vfork\": {\"fork\": \"t\", \"sem_post\": \"s\"}", "unknown key \"sem_post\" (did you mean \"sem_wait\"?)"),
        ("\"exit\": 1", "\"exit\" must be a string, not 1"),
        ("\"run\": 1, \"delay\": 1, \"delay\": 2", "\"delay\" is listed twice here"),
        ("\"loop\": 3", "there is no event: it needs at least one of run, runtime, sleep, timer, mem, memrun, iorun, yield, fork, suspend, resume, lock, unlock, wait, signal, broad, sync, barrier, sem_post, sem_wait, send, recv, reply, flow, vfork or exit"),
        ("\"flow\": {\"run\": 1}", "a flow needs \"take\" or \"put\": streams with the bytes to move"),
        ("\"flow\": {\"puts\": {\"s\": 1}}", "unknown key \"puts\" (did you mean \"put\"?)"),
        ("\"flow\": {\"put\": {\"s\": 0}}", "\"s\" must be bytes (a whole number from 1 to 9007199254740992) or [bytes, calls], with from 1 to 10000000 calls of at least a byte, not 0"),
        ("\"flow\": {\"put\": {\"s\": [2, 3]}}", "\"s\" must be bytes (a whole number from 1 to 9007199254740992) or [bytes, calls], with from 1 to 10000000 calls of at least a byte, not an array"),
        ("\"phases\": {}", "\"phases\" is empty"),
        ("\"run\": 1, \"phases\": {\"p\": {\"run\": 1}}", "event \"run\" is next to \"phases\" and would never run: move it into a phase"),
        ("\"run\": 1, \"thread_of\": \"t\"", "a task cannot be a thread of itself"),
        ("\"run\": 1, \"thread_of\": \"server\"", "unknown task \"server\"; known: t"),
        ("\"run\": {\"mean\": 5}", "\"run\" needs \"dist\": \"exp\", \"uniform\", \"pareto\" or \"lognormal\""),
        ("\"run\": {\"dist\": \"normal\"}", "unknown distribution \"normal\"; known: exp, uniform, pareto, lognormal"),
        ("\"run\": {\"dist\": \"exp\"}", "this distribution needs \"mean\""),
        ("\"run\": {\"dist\": \"exp\", \"mean\": 0}", "\"mean\" must be a number above 0 and at most 31622400000000, not 0"),
        ("\"run\": {\"dist\": \"exp\", \"mena\": 1}", "unknown key \"mena\" (did you mean \"mean\"?)"),
        ("\"run\": {\"dist\": \"uniform\", \"min\": 3, \"max\": 2}", "\"min\" is greater than \"max\""),
        ("\"run\": {\"dist\": \"pareto\", \"shape\": 1, \"mean\": 5}", "a Pareto distribution has a \"mean\" only if its \"shape\" is above 1; give its \"scale\" (least value) instead"),
        ("\"run\": {\"dist\": \"pareto\", \"shape\": 2}", "a Pareto distribution needs either \"mean\" or \"scale\" (its least value)"),
    ];
    for (members, expected) in cases {
        assert_eq!(task_message(members), format!("w.json:1: task \"t\": {expected}"));
    }
}

#[test]
fn wrong_files_name_what_was_expected() {
    let cases = [
        ("", "w.json:1: expected a value, found the end of the file"),
        ("[]", "w.json:1: the file must be an object {…}, not an array"),
        ("{}", "w.json:1: \"tasks\" is missing: it holds what is to run"),
        ("{\"tsaks\": {}}", "w.json:1: unknown key \"tsaks\" (did you mean \"tasks\"?)"),
        ("{\"tasks\": {}}", "w.json:1: nothing starts: every task has \"instance\": 0 or there is no task"),
        ("{\"tasks\": {\"t\": 3}}", "w.json:1: task \"t\": a task must be an object {…}, not 3"),
        (
            "{\"tasks\": {\"t\": {\"run\": 1},\n\"t\": {\"run\": 1}}}",
            "w.json:2: task \"t\": another task has this name already",
        ),
        (
            "{\"tasks\": {\"t\": {\"run\": 1, \"instance\": 0}}}",
            "w.json:1: nothing starts: every task has \"instance\": 0 or there is no task",
        ),
        (
            "{\"tasks\": {\"t\": {\"run\": 1, \"instance\": 99999},\n \"u\": {\"run\": 1, \"instance\": 2}}}",
            "w.json:2: task \"u\": the file starts more than 100000 instances",
        ),
        (
            "{\"tasks\": {\"t\": {\"phases\": {\"p\": {\"run\": 1, \"instance\": 2}}}}}",
            "w.json:1: task \"t\", phase \"p\": \"instance\" belongs to the task, not to a phase",
        ),
        (
            "{\"global\": {\"duration\": 1.5}, \"tasks\": {\"t\": {\"run\": 1}}}",
            "w.json:1: \"duration\" must be a whole number from -1 to 31622400, not 1.5",
        ),
        (
            "{\"global\": {\"calibration\": \"GPU0\"}, \"tasks\": {\"t\": {\"run\": 1}}}",
            "w.json:1: \"calibration\" must be \"CPU<number>\" or the nanoseconds of one loop, not \"GPU0\"",
        ),
        (
            "{\"global\": {\"durations\": 1}, \"tasks\": {\"t\": {\"run\": 1}}}",
            "w.json:1: unknown key \"durations\" (did you mean \"duration\"?)",
        ),
        (
            "{\"tasks\": {\"t\": {\"run\": 1, \"taskgroup\": {\"path\": \"/a\", \"cpu.weight\": 5}},\n\
             \"u\": {\"run\": 1, \"taskgroup\": {\"path\": \"/a\", \"cpu.weight\": 6}}}}",
            "w.json:2: task \"u\": task group \"/a\" has \"cpu.weight\" 6 here and 5 before",
        ),
        (
            "{\"tasks\": {\"t\": {\"phases\": {\"a\": {\"run\": 1, \"util_min\": 9}, \"b\": {\"run\": 1, \"util_max\": 8}}}}}",
            "w.json:1: task \"t\", phase \"b\": a util_min of 9 is more than the util_max of 8",
        ),
        (
            "{\"tasks\": {\"t\": {\"run\": 1}, \"u\": {\"run\": 1, \"thread_of\": \"t\"},\n\
             \"v\": {\"run\": 1, \"thread_of\": \"u\"}}}",
            "w.json:2: task \"v\": \"u\" is a thread itself: name the task that leads the process",
        ),
        (
            "{\"tasks\": {\"t\": {\"run\": 1, \"instance\": 0}, \"u\": {\"run\": 1, \"thread_of\": \"t\"}}}",
            "w.json:1: task \"u\": \"t\" is only forked: a thread of it must be, too (\"instance\": 0)",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(message(text), expected);
    }
}

#[test]
fn a_priority_left_by_the_last_phase_is_checked_in_the_next_round() {
    // Round two enters "a" under SCHED_FIFO, where nice -5 is no priority.
    let text = "{\"tasks\": {\"t\": {\"phases\": {\n\
                \"a\": {\"priority\": -5, \"run\": 1},\n\
                \"b\": {\"policy\": \"SCHED_FIFO\", \"run\": 1}}}}}";
    assert_eq!(
        message(text),
        "w.json:2: task \"t\", phase \"a\": policy SCHED_FIFO takes a real-time priority from 1 \
         to 99, not -5"
    );
    // There is none.
    let once = text.replace("{\"phases\"", "{\"loop\": 1, \"phases\"");
    assert!(crate::parse("w.json", &once).is_ok());
}

#[test]
fn names_and_groups_have_a_greatest_length() {
    // Each of 100,000 instances has a name: one of 255 bytes is possible, one of 256 is not.
    let named = |bytes: usize| {
        let text = format!("{{\"tasks\": {{\"{}\": {{\"run\": 1}}}}}}", "n".repeat(bytes));
        parse("w.json", &text).map_err(|e| e.message)
    };
    assert!(named(255).is_ok());
    let message = named(256).unwrap_err();
    assert!(message.contains("256 bytes long: at most 255"), "{message}");
    let grouped = |path: &str| {
        task_message(&format!("\"taskgroup\": \"{path}\", \"run\": 1, \"priority\": 20"))
    };
    let deepest = "/g".repeat(15);
    assert!(grouped(&deepest).contains("nice value"), "15 levels are possible");
    let message = grouped(&"/g".repeat(16));
    assert!(message.contains("16 levels deep: at most 4096 bytes and 15 levels"), "{message}");
    let message = grouped(&format!("/{}", "g".repeat(4096)));
    assert!(message.contains("4097 bytes long"), "{message}");
}

#[test]
fn what_is_too_much_for_a_machine_is_refused() {
    // 100,000 instances with 100 timers each are ten million, with 101 they are more
    let timers = |count: usize| -> String {
        let timer = |n| format!(r#""timer{n}": {{"ref": "unique{n}", "period": 1}}, "#);
        let timers: String = (0..count).map(timer).collect();
        format!(r#"{{"tasks": {{"t": {{"instance": 100000, {timers}"run": 1}}}}}}"#)
    };
    assert!(parse("w.json", &timers(100)).is_ok());
    let message = parse("w.json", &timers(101)).unwrap_err().to_string();
    let expected = "w.json:1:18: task \"t\": 100000 instances with 101 timers each are 10100000 \
                    timers: at most 10000000 are possible";
    assert_eq!(message, expected);
    // each brings one group of its own, and all are in "/g"
    let groups = |count: usize| -> String {
        let task = |n| format!(r#""t{n}": {{"run": 1, "taskgroup": "/g/{n}"}}"#);
        let tasks: Vec<String> = (0..count).map(task).collect();
        format!(r#"{{"tasks": {{{}}}}}"#, tasks.join(",\n"))
    };
    assert!(parse("w.json", &groups(99_999)).is_ok());
    let message = parse("w.json", &groups(100_000)).unwrap_err().to_string();
    assert!(message.starts_with("w.json:100000:"), "{message}");
    assert!(message.ends_with("the file names more than 100000 task groups"), "{message}");
}

#[test]
fn loops_that_never_use_time_are_refused() {
    let end = "would loop for ever without using any time: give it a run, sleep or timer longer \
               than 0, or a finite \"loop\"";
    for members in [
        "\"run\": 0",
        "\"loop\": -1, \"sleep\": 0",
        "\"timer\": {\"ref\": \"unique\"}",
        "\"run\": {\"dist\": \"uniform\", \"max\": 0}",
        "\"phases\": {\"a\": {\"run\": 0}, \"b\": {\"loop\": 7, \"sleep\": 0}}",
    ] {
        assert_eq!(task_message(members), format!("w.json:1: task \"t\": this task {end}"));
    }
    assert_eq!(
        task_message("\"phases\": {\"a\": {\"run\": 5}, \"b\": {\"loop\": -1, \"sleep\": 0}}"),
        format!("w.json:1: task \"t\", phase \"b\": this phase {end}")
    );
    read("{\"tasks\": {\"t\": {\"loop\": 3, \"run\": 0}}}");
}

#[test]
fn what_work_is_made_of_is_checked() {
    for (rest, message) in [
        ("\"work_class\": \"memroy\"", "unknown work_class \"memroy\" (did you mean \"memory\"?)"),
        ("\"working_set_kib\": -1", "\"working_set_kib\" must be a whole number from 0"),
        ("\"dram_share\": 1.5", "\"dram_share\" must be a number from 0 to 1"),
    ] {
        let found = task_message(&format!("{rest}, \"run\": 1"));
        assert!(found.contains(message), "{found}");
    }
}
