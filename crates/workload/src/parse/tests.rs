// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of the workload grammar: what a file means, and what it is warned of.

use crate::event::{Event, TaskEvent};
use proptest::prelude::*;

use super::{keys, parse};
use crate::model::{Group, Policy, TaskIx, Workload};
use crate::runner::{SeededRunner, Step};

pub(super) fn read(text: &str) -> Workload {
    parse("w.json", text).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// What a file is refused for, without the column.
pub(super) fn message(text: &str) -> String {
    let error = parse("w.json", text).expect_err("was accepted");
    error.to_string().replacen(
        &format!(":{}:{}:", error.line, error.column),
        &format!(":{}:", error.line),
        1,
    )
}

/// The message for a single task `t` with these members.
pub(super) fn task_message(members: &str) -> String {
    message(&format!("{{\"tasks\": {{\"t\": {{{members}}}}}}}"))
}

fn steps(workload: Workload, task: u32, count: usize) -> Vec<Step> {
    let mut runner = SeededRunner::new(workload.into(), 1);
    (0..count).map(|_| runner.next(TaskIx(task), 0)).collect()
}

/// rt-app 1.0 (src/rt-app.c, rtapp_suspend): a task waits for a resume of the name that its
/// suspend has, which need not be a task's; a name that only one of the two has is no fault there.
#[test]
fn in_rt_app_1_0_a_suspend_waits_for_the_name_that_it_has() {
    let text = |version: &str| {
        format!(
            "{{\"global\": {{\"rtapp\": \"{version}\"}}, \"tasks\": {{\n\
             \"a\": {{\"suspend\": \"b\", \"run\": 1}},\n\
             \"b\": {{\"suspend\": \"door\", \"run\": 1}},\n\
             \"c\": {{\"run\": 1, \"resume\": \"door\", \"resume2\": \"b\"}}}}}}"
        )
    };
    let names = |version| -> Vec<Option<u32>> {
        let workload = parse("f.json", &text(version)).expect("in order");
        let events =
            workload.definitions.iter().flat_map(|of| of.events().copied().collect::<Vec<_>>());
        let name = |event| match event {
            Event::Task(TaskEvent::Suspend { name } | TaskEvent::Resume { name }) => Some(name),
            _ => None,
        };
        events.filter_map(name).collect()
    };
    // Tasks a, b and c have the names 0, 1 and 2, and door is the next.
    assert_eq!(names("1.0"), [Some(1), Some(3), Some(3), Some(1)]);
    assert_eq!(names("now"), [None, None, None, Some(1)]);
    assert!(parse("f.json", &text("1.0")).expect("in order").warnings.is_empty());
    assert_eq!(parse("f.json", &text("now")).expect("in order").warnings.len(), 3);
    let error = parse("f.json", &text("0.9")).expect_err("no such version").to_string();
    assert!(error.contains("\"1.0\"") && error.contains("\"now\""), "{error}");
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
    let mut runner = crate::SeededRunner::new(workload, 1);
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
    assert_eq!(settings.cpus, Some([1, 3].into()));
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
            "2: \"resume\" wakes no task: unknown task \"aa\" (did you mean \"a\"?)",
            "3: \"loop\" 0 repeats for ever, as in rt-app; write -1 if that is meant",
        ]
    );
}

#[test]
fn keys_of_global_that_rt_app_passes_over_are_warned_of() {
    let text = "{\"global\": {\"logsize\": \"file\",\n\"logstats\": true},\n\
                \"tasks\": {\"a\": {\"run\": 1}}}";
    assert_eq!(
        warnings(text),
        [
            "1: \"logsize\": rt-app ignores it; \"log_size\" is its key, and has no effect here \
             either",
            "2: \"logstats\": rt-app ignores it; `rota sim --json` has statistics of each task",
        ]
    );
}

#[test]
fn a_phase_clamps_utilization_from_then_on_and_minus_one_ends_that() {
    let workload = read(
        "{\"tasks\": {\"t\": {\"util_min\": 300, \"phases\": {
            \"a\": {\"run\": 1}, \"b\": {\"util_max\": 512, \"run\": 1},
            \"c\": {\"util_min\": -1, \"run\": 1}}}}}",
    );
    let mut runner = crate::SeededRunner::new(workload.into(), 1);
    let begin = runner.settings(crate::TaskIx(0));
    assert_eq!((begin.util_min, begin.util_max), (Some(300), None));
    let changes = std::iter::from_fn(|| Some(runner.next(crate::TaskIx(0), 0))).take(5);
    let clamps = changes.filter_map(|step| match step {
        crate::Step::Change(settings) => Some((settings.util_min, settings.util_max)),
        _ => None,
    });
    assert_eq!(clamps.collect::<Vec<_>>(), [(Some(300), Some(512)), (None, Some(512))]);
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
        "w.json:2: task \"f\", phase \"p\": no task comes to barrier \"x\": every task that names \
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
    let group = |path: &str, cpu_weight| Group { path: path.into(), cpu_weight, files: vec![] };
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
    let mut examples = manual.split("```json\n").skip(1).map(|rest| {
        let (example, _) = rest.split_once("```").unwrap();
        read(example)
    });
    assert_eq!(examples.next().unwrap().tasks.len(), 5);
    assert!(examples.next().unwrap().machine.is_some());
    let cookies = examples.next().unwrap();
    assert_eq!((cookies.tasks.len(), cookies.outside.len()), (4, 1));
    let streams = examples.next().unwrap();
    assert_eq!((streams.streams.len(), streams.flows.len()), (1, 2));
    assert_eq!(examples.next().unwrap().outside.len(), 4);
}

proptest! {
    #[test]
    fn arbitrary_text_never_panics(text in "\\PC{0,80}") {
        let _ = parse("w.json", &text);
    }

    /// Well-formed JSON out of the grammar's own words, mostly in the wrong places.
    #[test]
    fn scrambled_grammar_never_panics(
        words in proptest::collection::vec((0..52usize, 0..19usize), 0..12), depth in 0..3usize
    ) {
        const KEYS: [&str; 52] = [
            "tasks", "global", "phases", "run", "runtime", "sleep", "timer", "yield", "fork",
            "loop", "instance", "delay", "arrive", "thread_of", "policy", "priority", "weight",
            "share", "cpus", "taskgroup", "dl-runtime", "duration", "dist", "mean", "ref",
            "period", "mode", "path", "cpu.weight", "x", "lock", "unlock", "wait", "signal",
            "broad", "sync", "suspend", "resume", "barrier", "sem_post", "sem_wait", "mem",
            "memrun", "iorun", "dl-period", "deadline", "util_max", "nodes_membind", "resources",
            "pi_enabled", "vfork", "exit",
        ];
        const VALUES: [&str; 19] = [
            "0", "-1", "1", "99", "1e300", "9223372036854775807", "null", "true", "\"\"", "\"/\"",
            "[0]", "{}", "{\"dist\":\"exp\",\"mean\":1e-9}", "\"unique\"", "\"x\"",
            "{\"ref\":\"x\",\"mutex\":\"x\"}", "\"SCHED_DEADLINE\"",
            "{\"type\":\"chase\",\"size\":128,\"count\":9}", "{\"fork\":\"x\",\"sem_wait\":\"x\"}",
        ];
        let member = |&(k, v): &(usize, usize)| format!("\"{}\": {},", KEYS[k], VALUES[v]);
        let body: String = words.iter().map(member).collect();
        let text = match depth {
            0 => format!("{{{body}}}"),
            1 => format!("{{\"tasks\": {{\"x\": {{{body}}}}}}}"),
            _ => format!("{{\"tasks\": {{\"x\": {{\"phases\": {{\"p\": {{{body}}}}}}}}}}}"),
        };
        if let Ok(workload) = parse("w.json", &text) {
            let mut runner = SeededRunner::new(workload.into(), 1);
            for _ in 0..50 {
                runner.next(TaskIx(0), u64::MAX / 2);
            }
        }
    }
}

#[test]
fn a_phase_says_which_nodes_its_memory_comes_from_from_then_on() {
    let workload = read(
        "{\"tasks\": {\"t\": {\"nodes_membind\": [2, 0, 2], \"phases\": {
            \"a\": {\"run\": 1}, \"b\": {\"nodes_membind\": [1], \"run\": 1},
            \"c\": {\"nodes_membind\": [], \"run\": 1}}}}}",
    );
    let mut runner = crate::SeededRunner::new(workload.into(), 1);
    let begin = runner.settings(crate::TaskIx(0)).mem_nodes.clone();
    assert_eq!(begin.as_deref(), Some(&[0, 2][..]));
    let later = std::iter::repeat_with(|| runner.next(crate::TaskIx(0), 0)).take(6);
    let later = later.filter_map(|step| match step {
        crate::Step::Change(settings) => Some(settings.mem_nodes.map(|nodes| nodes.to_vec())),
        _ => None,
    });
    assert_eq!(later.collect::<Vec<_>>(), [Some(vec![1]), None]);
}

#[test]
fn a_phase_says_of_its_work_what_differs_from_the_tasks() {
    use crate::work::{WorkClass, WorkKind};

    let workload = read(
        "{\"tasks\": {\"t\": {\"work_class\": \"memory\", \"dram_share\": 0.25, \"phases\": {
            \"a\": {\"run\": 1}, \"b\": {\"working_set_kib\": 512, \"run\": 1}}}}}",
    );
    let mut runner = crate::SeededRunner::new(workload.into(), 1);
    let begin = runner.settings(crate::TaskIx(0)).work;
    let (class, dram_share) = (Some(WorkClass::Memory), Some(256));
    assert_eq!(begin, WorkKind { class, working_set_kib: None, dram_share });
    let later = std::iter::repeat_with(|| runner.next(crate::TaskIx(0), 0)).take(4);
    let later = later.filter_map(|step| match step {
        crate::Step::Change(settings) => Some(settings.work),
        _ => None,
    });
    let expected = WorkKind { class, working_set_kib: Some(512), dram_share };
    assert_eq!(later.collect::<Vec<_>>(), [expected]);
}
