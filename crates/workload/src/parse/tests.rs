// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of the workload grammar: what is accepted, and what every mistake is told.

use proptest::prelude::*;

use super::{keys, parse};
use crate::model::{Group, Policy, TaskIx, Workload};
use crate::runner::{Runner, Step};

fn read(text: &str) -> Workload {
    parse("w.json", text).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// What a file is refused for, without the column.
fn message(text: &str) -> String {
    let error = parse("w.json", text).expect_err("was accepted");
    error.to_string().replacen(
        &format!(":{}:{}:", error.line, error.column),
        &format!(":{}:", error.line),
        1,
    )
}

/// The message for a single task `t` with these members.
fn task_message(members: &str) -> String {
    message(&format!("{{\"tasks\": {{\"t\": {{{members}}}}}}}"))
}

fn steps(workload: Workload, task: u32, count: usize) -> Vec<Step> {
    let mut runner = Runner::new(workload.into(), 1);
    (0..count).map(|_| runner.next(TaskIx(task), 0)).collect()
}

#[test]
fn a_typo_names_file_line_column_task_phase_and_key() {
    let text = "{\n \"tasks\": {\n  \"a\": { \"phases\": { \"b\": {\n   \"rnu\": 1\n } } } } }";
    assert_eq!(
        parse("w.json", text).unwrap_err().to_string(),
        "w.json:4:4: task \"a\", phase \"b\": unknown key \"rnu\" (did you mean \"run\"?)"
    );
}

#[test]
fn users_and_sessions_are_those_of_a_process() {
    let text = r#"{"tasks": {
        "a": {"uid": 7, "session": 3, "loop": 1, "run": 1, "fork": "child", "fork2": "other"},
        "aide": {"thread_of": "a", "run": 1},
        "child": {"instance": 0, "run": 1},
        "other": {"instance": 0, "uid": 8, "run": 1},
        "b": {"run": 1}
    }}"#;
    let workload = std::sync::Arc::new(parse("w.json", text).unwrap());
    let mut runner = crate::Runner::new(workload, 1);
    let a = crate::TaskIx(0);
    for _ in 0..3 {
        runner.next(a, 1000);
    }
    let identity = |ix| {
        let identity = runner.identity(crate::TaskIx(ix));
        (runner.name(crate::TaskIx(ix)), identity.uid, identity.session)
    };
    assert_eq!(identity(0), ("a-0", 7, 3));
    assert_eq!(identity(1), ("aide-1", 7, 3));
    assert_eq!(identity(2), ("b-2", 0, 1));
    assert_eq!(identity(3), ("child-3-0000", 7, 3));
    assert_eq!(identity(4), ("other-4-0000", 8, 3));
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
        ("\"run\": 1, \"policy\": \"OTHER\"", "unknown policy \"OTHER\"; known: SCHED_OTHER, SCHED_BATCH, SCHED_IDLE, SCHED_RR, SCHED_FIFO, SCHED_DEADLINE"),
        ("\"run\": 1, \"policy\": \"SCHED_FFIO\"", "unknown policy \"SCHED_FFIO\" (did you mean \"SCHED_FIFO\"?)"),
        ("\"run\": 1, \"priority\": 20", "policy SCHED_OTHER takes a nice value from -20 to 19, not 20"),
        ("\"run\": 1, \"policy\": \"SCHED_RR\", \"priority\": 0", "policy SCHED_RR takes a real-time priority from 1 to 99, not 0"),
        ("\"run\": 1, \"policy\": \"SCHED_RR\", \"taskgroup\": \"/a\"", "policy SCHED_RR cannot be in a task group (\"/a\")"),
        ("\"run\": 1, \"cpus\": []", "\"cpus\" is empty: the task could run nowhere"),
        ("\"run\": 1, \"cpus\": [0, -1]", "\"cpus\" must be an array of CPU numbers from 0 to 8191; -1 is none"),
        ("\"run\": 1, \"cpus\": 3", "\"cpus\" must be an array of CPU numbers from 0 to 8191, not 3"),
        ("\"run\": 1, \"taskgroup\": \"a\"", "task group \"a\" must begin with \"/\""),
        ("\"run\": 1, \"taskgroup\": \"/a//b\"", "task group \"/a//b\" is not a plain absolute path"),
        ("\"run\": 1, \"taskgroup\": {\"path\": \"/a\", \"cpu.max\": 1}", "\"cpu.max\" is not supported yet: this version does not simulate bandwidth limits"),
        ("\"run\": 1, \"taskgroup\": {\"cpu.weight\": 1}", "\"taskgroup\" needs a \"path\""),
        ("\"run\": 1, \"taskgroup\": {\"path\": \"/a\", \"weight\": 1}", "unknown key \"weight\"; known: path, cpu.weight"),
        ("\"lock\": 5", "\"lock\" must be a string, not 5"),
        ("\"wait\": \"c\"", "\"wait\" must be an object {…}, not \"c\""),
        ("\"sync1\": {\"ref\": \"c\", \"mutx\": \"m\"}", "unknown key \"mutx\" (did you mean \"mutex\"?)"),
        ("\"mem\": -1", "\"mem\" must be a whole number from 0 to 2147483647, not -1"),
        ("\"memrun\": {\"type\": \"chas\"}", "unknown type of memrun \"chas\" (did you mean \"chase\"?)"),
        ("\"memrun\": {\"type\": \"read\", \"count\": 1}", "\"size\" is missing here"),
        ("\"memrun\": {\"type\": \"read\", \"size\": 1, \"count\": 1, \"stride\": 64}", "unknown key \"stride\"; known: type, size, count, ref"),
        ("\"memrun\": {\"type\": \"chase\", \"size\": 100, \"count\": 1}", "a buffer of 100 bytes has no room for two strides of 64"),
        ("\"memrun\": {\"type\": \"read\", \"size\": 1, \"count\": 1, \"ref\": \"b\"}, \"memrun2\": {\"type\": \"read\", \"size\": 2, \"count\": 1, \"ref\": \"b\"}", "another memrun shares this buffer and says something else of its size, stride or pattern"),
        ("\"run\": 1, \"policy\": \"SCHED_DEADLINE\"", "policy SCHED_DEADLINE needs a \"dl-runtime\" above 0"),
        ("\"run\": 1, \"policy\": \"SCHED_DEADLINE\", \"dl-runtime\": 5, \"dl-period\": 4", "policy SCHED_DEADLINE needs dl-runtime <= dl-deadline <= dl-period, not 5 us, 4 us and 4 us"),
        ("\"run\": 1, \"util_min\": 1025", "\"util_min\" must be a whole number from -1 to 1024, not 1025"),
        ("\"run\": 1, \"nodes_membind\": [0, \"x\"]", "\"nodes_membind\" must be an array of NUMA node numbers from 0 to 1023; \"x\" is none"),
        ("\"run\"", "\"run\" must be microseconds (a whole number from 0 to 31622400000000) or a distribution {\"dist\": …}, not nothing"),
        ("\"timer\": 5", "\"timer\" must be an object {…}, not 5"),
        ("\"timer\": {\"perod\": 5}", "unknown key \"perod\" (did you mean \"period\"?)"),
        ("\"timer\": {\"period\": 5, \"mode\": \"absolut\"}", "unknown timer mode \"absolut\" (did you mean \"absolute\"?)"),
        ("\"fork\": \"u\"", "unknown task \"u\" (did you mean \"t\"?)"),
        ("\"run\": 1, \"delay\": 1, \"delay\": 2", "\"delay\" stands here twice"),
        ("\"loop\": 3", "there is no event: it needs at least one of run, runtime, sleep, timer, mem, memrun, iorun, yield, fork, suspend, resume, lock, unlock, wait, signal, broad, sync, barrier, sem_post, sem_wait, send, recv or reply"),
        ("\"phases\": {}", "\"phases\" is empty"),
        ("\"run\": 1, \"phases\": {\"p\": {\"run\": 1}}", "event \"run\" stands beside \"phases\" and would never run: move it into a phase"),
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
            "{\"tasks\": {\"t\": {\"run\": 1}, \"u\": {\"run\": 1, \"thread_of\": \"t\"},\n\
             \"v\": {\"run\": 1, \"thread_of\": \"u\"}}}",
            "w.json:2: task \"v\": \"u\" is a thread itself: name the task that leads the process",
        ),
        (
            "{\"tasks\": {\"t\": {\"run\": 1, \"instance\": 0}, \"u\": {\"run\": 1, \"thread_of\": \"t\"}}}",
            "w.json:1: task \"u\": \"t\" has no instance from the start that could lead a process",
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
fn instances_are_named_over_the_whole_file() {
    let workload = read(
        "{\"tasks\": {\"a\": {\"instance\": 2, \"run\": 1}, \"none\": {\"instance\": 0, \"run\": 1},
          \"b\": {\"run\": 1}}}",
    );
    let names: Vec<&str> = workload.tasks.iter().map(|t| t.name.as_str()).collect();
    assert_eq!(names, ["a-0", "a-1", "b-2"]);
}

#[test]
fn settings_are_read_and_the_first_phase_joins_in() {
    let workload = read(
        "{\"global\": {\"duration\": 2, \"default_policy\": \"SCHED_BATCH\", \"calibration\": 12},
          \"resources\": {\"m\": {\"type\": \"mutex\"}},
          \"tasks\": {\"t\": {\"priority\": 5, \"cpus\": [3, 1, 3], \"taskgroup\": \"/g/h/\",
            \"weight\": 250, \"share\": 7, \"dl-runtime\": 3000,
            \"phases\": {\"p\": {\"priority\": -2, \"run\": 1}}},
          \"r\": {\"policy\": \"SCHED_FIFO\", \"run\": 1}}}",
    );
    assert_eq!(workload.duration_ns, Some(2_000_000_000));
    let settings = &workload.tasks[0].settings;
    assert_eq!(settings.policy, Policy::Batch);
    assert_eq!(settings.priority, -2);
    assert_eq!(settings.cpus, Some(vec![1, 3]));
    assert_eq!(settings.group.as_deref(), Some("/g/h"));
    assert_eq!((settings.weight, settings.share), (Some(250), Some(7)));
    assert_eq!(settings.slice_ns, Some(3_000_000));
    assert_eq!(workload.tasks[1].settings.priority, 10);
    assert_eq!(workload.highest_cpu(), Some((3, "t")));
}

#[test]
fn values_of_meetings_are_names() {
    assert_eq!(
        task_message("\"sem_wait\": 3"),
        "w.json:1: task \"t\": \"sem_wait\" must be a string, not 3"
    );
    assert!(task_message("\"sem_post\": \"s\"").contains("without using any time"));
    read("{\"tasks\": {\"t\": {\"suspend\": \"t\"}, \"u\": {\"suspend\": \"\"}}}");
}

/// The warnings of a file, without columns.
fn warnings(text: &str) -> Vec<String> {
    let warnings = read(text).warnings;
    warnings.iter().map(|w| format!("{}: {}", w.line, w.message)).collect()
}

#[test]
fn what_rt_app_ignores_is_warned_of() {
    let text = "{\"tasks\": {\"a\": {\"suspend\": \"b\", \"run\": 1},\n\
                \"b\": {\"run\": 1, \"resume\": \"aa\", \"suspend\": \"b\"},\n\
                \"c\": {\"loop\": 0, \"run\": 1, \"suspend\"}}}";
    assert_eq!(
        warnings(text),
        [
            "1: \"suspend\" names \"b\", but a task suspends itself: only a resume of \"a\" wakes it",
            "2: \"resume\" wakes nobody: unknown task \"aa\" (did you mean \"a\"?)",
            "3: \"loop\" 0 repeats for ever, as in rt-app; write -1 if that is meant",
        ]
    );
}

#[test]
fn a_barrier_for_more_tasks_than_there_are_is_warned_of() {
    let twice = r#"{"tasks": {"a": {"run": 1, "barrier": "x", "run": 1, "barrier": "x"}}}"#;
    assert_eq!(
        warnings(twice),
        ["1: barrier \"x\" never opens: it waits for 2, and 1 task can be there at once (every \
          mention counts)"]
    );
    let pair = r#"{"tasks": {"a": {"instance": 2, "run": 1, "barrier": "x"}}}"#;
    assert_eq!(warnings(pair), [""; 0]);
}

#[test]
fn deadline_budgets_come_from_old_keys_too() {
    let text = r#"{"tasks": {"t": {"policy": "SCHED_DEADLINE", "runtime": 5, "period": 20,
        "deadline": 10, "phases": {"p": {"run": 4, "timer": {"ref": "unique", "period": 20}}}}}}"#;
    let settings = read(text).tasks[0].settings.clone();
    assert_eq!(settings.slice_ns, Some(5_000));
    assert_eq!((settings.dl_deadline_ns, settings.dl_period_ns), (Some(10_000), Some(20_000)));
}

#[test]
fn every_mention_of_a_barrier_brings_its_instances() {
    let workload = read(
        "{\"tasks\": {\"a\": {\"instance\": 3, \"run\": 1, \"barrier\": \"x\", \"barrier1\": \"y\"},
          \"b\": {\"run\": 1, \"barrier\": \"y\", \"run1\": 1, \"barrier2\": \"y\"}}}",
    );
    let barriers: Vec<_> =
        workload.barriers.iter().map(|b| (b.name.as_str(), b.participants)).collect();
    assert_eq!(barriers, [("x", 3), ("y", 5)]);
    let nobody = "{\"tasks\": {\"a\": {\"run\": 1, \"fork\": \"f\"},
        \"f\": {\"instance\": 0, \"phases\": {\"p\": {\"barrier\": \"x\"}}}}}";
    assert_eq!(
        message(nobody),
        "w.json:2: task \"f\", phase \"p\": nobody comes to barrier \"x\": every task that names \
         it has \"instance\": 0"
    );
}

#[test]
fn groups_list_parents_first_and_keep_weights() {
    let workload = read(
        "{\"tasks\": {\"a\": {\"run\": 1, \"taskgroup\": \"/x/y\"},
          \"b\": {\"run\": 1, \"taskgroup\": {\"path\": \"/x/y\", \"cpu.weight\": 300}},
          \"c\": {\"run\": 1, \"taskgroup\": \"/\"}, \"d\": {\"run\": 1, \"taskgroup\": \"\"}}}",
    );
    let group = |path: &str, cpu_weight| Group { path: path.into(), cpu_weight };
    assert_eq!(workload.groups, [group("/x", 100), group("/x/y", 300)]);
    assert_eq!(workload.tasks[2].settings.group, None);
}

#[test]
fn threads_spread_over_the_instances_of_their_leader() {
    let workload = read(
        "{\"tasks\": {\"pool\": {\"instance\": 3, \"run\": 1, \"thread_of\": \"server\"},
          \"server\": {\"instance\": 2, \"run\": 1},
          \"aide\": {\"run\": 1, \"thread_of\": \"server-4\"}}}",
    );
    let leaders: Vec<_> = workload.tasks.iter().map(|t| t.thread_of.map(|l| l.0)).collect();
    assert_eq!(leaders, [Some(3), Some(4), Some(3), None, None, Some(4)]);
}

#[test]
fn the_same_event_key_may_stand_twice() {
    let workload =
        read("{\"tasks\": {\"t\": {\"loop\": 1, \"run\": 1, \"sleep\": 2, \"run\": 3}}}");
    assert_eq!(
        steps(workload, 0, 4),
        [
            Step::Run { work_ns: 1000 },
            Step::Sleep { ns: 2000 },
            Step::Run { work_ns: 3000 },
            Step::Exit
        ]
    );
}

#[test]
fn the_manual_has_every_key_and_its_example_runs() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/workloads.md");
    let manual = std::fs::read_to_string(path).unwrap();
    for key in keys::all(false) {
        assert!(manual.contains(&format!("| `{key}`")), "{key} is not in the manual");
    }
    let (_, example) = manual.split_once("```json\n").unwrap();
    let (example, _) = example.split_once("```").unwrap();
    assert_eq!(read(example).tasks.len(), 5);
}

proptest! {
    #[test]
    fn arbitrary_text_never_panics(text in "\\PC{0,80}") {
        let _ = parse("w.json", &text);
    }

    /// Well-formed JSON out of the grammar's own words, mostly in the wrong places.
    #[test]
    fn scrambled_grammar_never_panics(
        words in proptest::collection::vec((0..50usize, 0..18usize), 0..12), depth in 0..3usize
    ) {
        const KEYS: [&str; 50] = [
            "tasks", "global", "phases", "run", "runtime", "sleep", "timer", "yield", "fork",
            "loop", "instance", "delay", "arrive", "thread_of", "policy", "priority", "weight",
            "share", "cpus", "taskgroup", "dl-runtime", "duration", "dist", "mean", "ref",
            "period", "mode", "path", "cpu.weight", "x", "lock", "unlock", "wait", "signal",
            "broad", "sync", "suspend", "resume", "barrier", "sem_post", "sem_wait", "mem",
            "memrun", "iorun", "dl-period", "deadline", "util_max", "nodes_membind", "resources",
            "pi_enabled",
        ];
        const VALUES: [&str; 18] = [
            "0", "-1", "1", "99", "1e300", "9223372036854775807", "null", "true", "\"\"", "\"/\"",
            "[0]", "{}", "{\"dist\":\"exp\",\"mean\":1e-9}", "\"unique\"", "\"x\"",
            "{\"ref\":\"x\",\"mutex\":\"x\"}", "\"SCHED_DEADLINE\"",
            "{\"type\":\"chase\",\"size\":128,\"count\":9}",
        ];
        let member = |&(k, v): &(usize, usize)| format!("\"{}\": {},", KEYS[k], VALUES[v]);
        let body: String = words.iter().map(member).collect();
        let text = match depth {
            0 => format!("{{{body}}}"),
            1 => format!("{{\"tasks\": {{\"x\": {{{body}}}}}}}"),
            _ => format!("{{\"tasks\": {{\"x\": {{\"phases\": {{\"p\": {{{body}}}}}}}}}}}"),
        };
        if let Ok(workload) = parse("w.json", &text) {
            let mut runner = Runner::new(workload.into(), 1);
            for _ in 0..50 {
                runner.next(TaskIx(0), u64::MAX / 2);
            }
        }
    }
}
