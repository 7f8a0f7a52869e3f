// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota sim` on good input.

use crate::support::{fixture, picks, root, rota, Scratch};
use serde_json::{json, Value};
use std::process::Command;

const HOGS: &str = "workloads/hogs.json";
const SHARES: &str = "workloads/shares321.json";

fn names(object: &Value) -> Vec<&str> {
    object.as_object().expect("an object").keys().map(String::as_str).collect()
}

#[test]
fn json_is_one_object_of_the_schema() {
    let run = rota(&["sim", "rr", HOGS, "--duration", "1s", "--seed", "7", "--json"]).ok().json();
    let first = ["schema", "policy", "machine", "seed", "duration_ns", "exit", "tasks", "totals"];
    assert_eq!(names(&run)[..first.len()], first);
    assert_eq!(run["schema"], "rota.sim/1");
    assert_eq!(names(&run["policy"])[..3], ["name", "source", "tunables"]);
    assert_eq!(run["policy"]["name"], "rr");
    assert_eq!(run["policy"]["tunables"], json!({ "quantum_ns": 10_000_000 }));
    assert_eq!(names(&run["machine"])[..2], ["cpus", "hz"]);
    assert_eq!((&run["machine"]["cpus"], &run["machine"]["hz"]), (&json!(4), &json!(250)));
    assert_eq!((&run["seed"], &run["duration_ns"]), (&json!(7), &json!(1_000_000_000)));
    let exit = json!({
        "kind": 64, "code": 0, "reason": "unregistered from user space", "callback": null,
        "function": null, "instruction": null, "source": null, "task": null,
    });
    assert_eq!(run["exit"], exit);
    let of_task = [
        "name",
        "pid",
        "weight",
        "cpu_ns",
        "share",
        "run_delay_ns",
        "wakeup_latency_ns",
        "switches",
        "migrations",
        "started_ns",
        "finished_ns",
        "lag_ns",
        "turnaround_ns",
        "slowdown",
        "class",
        "wasted_wait_ns",
        "wait_max_ns",
    ];
    let task = &run["tasks"][2];
    assert_eq!(names(task), of_task);
    // The third task of the file is the first of the two at nice -5.
    assert_eq!((&task["name"], &task["weight"]), (&json!("eager-2"), &json!(305)));
    assert_eq!(task["finished_ns"], Value::Null);
    let latency = ["count", "mean", "p50", "p95", "p99", "max"];
    assert_eq!(names(&task["wakeup_latency_ns"])[..6], latency);
    let totals = ["decisions", "context_switches", "idle_ns", "jain", "instructions_per_decision"];
    assert_eq!(names(&run["totals"])[..5], totals);
    assert_eq!(names(&run["totals"]["instructions_per_decision"]), ["mean", "max"]);
}

#[test]
fn cpu_time_and_idle_time_add_up_to_the_machine() {
    for policy in ["fifo", "rr", "wrr", "wfq", "vtrr"] {
        let run = rota(&["sim", policy, "workloads/web.json", "--cpus", "3", "--json"]).ok().json();
        let ns = |value: &Value| value.as_u64().expect("nanoseconds");
        let busy: u64 =
            run["tasks"].as_array().expect("tasks").iter().map(|t| ns(&t["cpu_ns"])).sum();
        assert_eq!(busy + ns(&run["totals"]["idle_ns"]), 3 * ns(&run["duration_ns"]), "{policy}");
    }
}

/// Orders of the paper's example, shares 3, 2, 1 [VTRR §2 and figure 1]; of WFQ by our
/// reading with ties to the lowest id.
#[test]
fn policies_pick_in_the_order_of_the_paper() {
    let orders =
        [("vtrr", "ABCABA"), ("wrr", "AAABBC"), ("wfq", "ABAABC"), ("rr", "ABCABC"), ("fifo", "A")];
    for (policy, order) in orders {
        let scratch = Scratch::new();
        let trace = scratch.path("run.csv");
        let machine = ["--cpus", "1", "--ideal", "--duration", "180ms", "--trace", &trace];
        rota(&[&["sim", policy, SHARES], &machine[..]].concat()).ok();
        let expected = if policy == "fifo" { order.into() } else { order.repeat(3) };
        assert_eq!(picks(&trace, 18), expected, "{policy}");
    }
}

#[test]
fn wfq_gives_shares_within_one_percent() {
    let scratch = Scratch::new();
    let task = |name: &str, share: u32| {
        format!("\"{name}\": {{ \"instance\": 4, \"share\": {share}, \"run\": 100000 }}")
    };
    let tasks = [task("a", 1), task("b", 2), task("c", 3), task("d", 4)].join(", ");
    let load = scratch.file("load.json", format!("{{ \"tasks\": {{ {tasks} }} }}"));
    for cpus in ["1", "2", "4"] {
        let run = rota(&["sim", "wfq", &load, "--cpus", cpus, "--json"]).ok().json();
        for task in run["tasks"].as_array().expect("tasks") {
            let name = task["name"].as_str().expect("name");
            // Shares add up to 4 * (1 + 2 + 3 + 4).
            let due = (1 + "abcd".find(&name[..1]).expect("a to d")) as f64 / 40.0;
            let error = task["share"].as_f64().expect("share") / due - 1.0;
            assert!(error.abs() <= 0.01, "{name} on {cpus} CPUs is off by {error}");
        }
    }
}

#[test]
fn same_seed_same_bytes_other_seed_others() {
    let scratch = Scratch::new();
    let run = |seed: &str, file: &str| {
        let trace = scratch.path(file);
        let arguments = ["sim", "wfq", "workloads/random.json", "--seed", seed, "--json"];
        let json = rota(&[&arguments[..], &["--trace", &trace]].concat()).ok().stdout;
        (json, std::fs::read(trace).expect("trace"))
    };
    let (first, second, other) = (run("5", "a.csv"), run("5", "b.csv"), run("6", "c.csv"));
    assert!(first == second, "two runs with one seed differ");
    assert!(first.1 != other.1, "another seed draws the same times");
}

#[test]
fn shuffled_ties_are_those_of_the_seed() {
    // Three tasks come at once, and nothing is random but, if asked for, who is the first.
    let order = |options: &[&str]| {
        let arguments = ["sim", "rr", "workloads/shares321.json", "--cpus", "1", "--ideal"];
        let scratch = Scratch::new();
        let (trace, all) = (scratch.path("run.csv"), [&arguments[..], options].concat());
        let run = rota(&[&all[..], &["--trace", &trace]].concat()).ok();
        let title = run.stdout.lines().next().expect("title").to_owned();
        (title, std::fs::read(trace).expect("trace"))
    };
    let (title, by_rule) = order(&[]);
    assert!(!title.contains("shuffled") && order(&["--seed", "2"]).1 == by_rule, "{title}");
    let drawn = |seed| order(&["--shuffle-ties", "--seed", seed]);
    assert!(drawn("1").0.ends_with(", seed 1, ideal, ties shuffled"), "{}", drawn("1").0);
    assert!(drawn("1") == drawn("1"), "two runs with one seed differ");
    let different = ["1", "2", "3", "4", "5", "6"].map(|seed| drawn(seed).1 != by_rule);
    assert!(different.contains(&true), "six seeds drew the order of the file");
}

#[test]
fn a_trace_has_the_documented_columns_and_opens_as_json() {
    let scratch = Scratch::new();
    let (csv, json) = (scratch.path("run.csv"), scratch.path("run.json"));
    let arguments = ["sim", "vtrr", "workloads/web.json", "--duration", "1s"];
    rota(&[&arguments[..], &["--trace", &csv, "--trace", &json]].concat()).ok();
    let text = std::fs::read_to_string(csv).expect("CSV trace");
    assert_eq!(text.lines().next(), Some("time_ns,cpu,event,pid,task,detail"));
    for event in ["pick", "switch_in", "switch_out", "wakeup", "fork", "enqueue", "dispatch"] {
        assert!(text.contains(&format!(",{event},")), "{event}");
    }
    let text = std::fs::read_to_string(json).expect("JSON trace");
    let events: Value = serde_json::from_str(&text).expect("JSON");
    let has = |name: &str| {
        let named = |e: &Value| e["ph"] == "M" && e["args"]["name"] == name;
        events.as_array().expect("an array of events").iter().any(named)
    };
    assert!(has("CPU 3") && has("front-0"), "one track per CPU and one per task");
}

#[test]
fn duration_is_the_options_else_the_workloads_else_ten_seconds() {
    let scratch = Scratch::new();
    let load = scratch.file("load.json", r#"{ "tasks": { "a": { "run": 1000 } } }"#);
    let duration = |arguments: &[&str]| {
        rota(&[&["sim", "fifo", "--json"], arguments].concat()).ok().json()["duration_ns"].clone()
    };
    assert_eq!(duration(&[&load]), 10_000_000_000u64);
    assert_eq!(duration(&["workloads/web.json"]), 6_000_000_000u64);
    assert_eq!(duration(&["workloads/web.json", "--duration", "1.5ms"]), 1_500_000);
}

#[test]
fn set_changes_the_policy_and_shows_in_the_json() {
    let run = |quantum: &str| {
        let set = format!("quantum_ns={quantum}");
        let machine = ["--cpus", "1", "--ideal", "--duration", "1s", "--json"];
        rota(&[&["sim", "rr", SHARES, "--set", &set], &machine[..]].concat()).ok().json()
    };
    let (long, short) = (run("20ms"), run("5000000"));
    assert_eq!(long["policy"]["tunables"]["quantum_ns"], 20_000_000);
    // One second of quanta, without any overhead.
    assert_eq!(
        (&long["totals"]["decisions"], &short["totals"]["decisions"]),
        (&json!(50), &json!(200))
    );
}

#[test]
fn a_source_file_is_compiled_and_described_by_its_own_tags() {
    let (tiny, include) = (fixture("tiny.bpf.c"), fixture("include"));
    let machine = ["--cpus", "1", "--ideal", "--duration", "80ms", "--json"];
    let arguments = ["sim", &tiny, SHARES, "--include", &include, "--set", "undocumented=7"];
    let run = rota(&[&arguments[..], &machine[..]].concat()).ok().json();
    assert_eq!((&run["policy"]["name"], &run["policy"]["source"]), (&json!("tiny"), &json!(tiny)));
    let tunables = json!({ "slice_ns": 8_000_000, "undocumented": 7 });
    assert_eq!(run["policy"]["tunables"], tunables);
    assert_eq!(run["totals"]["decisions"], 10);
}

#[test]
fn a_manifest_comes_before_set() {
    let scratch = Scratch::new();
    let manifest = "[set]\nslice_ns = \"=nr_cpus * 2000000\"\nundocumented = 8\n";
    let manifest = scratch.file("tiny.toml", manifest);
    let (tiny, include) = (fixture("tiny.bpf.c"), fixture("include"));
    let arguments = ["sim", &tiny, SHARES, "--include", &include, "--manifest", &manifest];
    let rest = ["--set", "undocumented=9", "--cpus", "2", "--duration", "1s", "--json"];
    let run = rota(&[&arguments[..], &rest[..]].concat()).ok().json();
    let tunables = json!({ "slice_ns": 4_000_000, "undocumented": 9 });
    assert_eq!(run["policy"]["tunables"], tunables);
}

#[test]
fn text_has_a_row_per_task_and_folds_many() {
    let text = rota(&["sim", "rr", HOGS, "--duration", "1s"]).ok().stdout;
    assert!(text.starts_with("rr, workloads/hogs.json: 4 CPUs at 250 Hz, 1s, seed 1\n"), "{text}");
    assert_eq!(text.lines().filter(|l| l.starts_with("meek-")).count(), 2);
    assert!(text.contains("EXIT: unregistered from user space"), "{text}");
    assert!(!text.contains('\u{1b}'), "no colours for a pipe");

    let many = ["sim", "rr", "workloads/mix64.json", "--duration", "100ms"];
    let folded = rota(&many).ok().stdout;
    let row = folded.lines().find(|l| l.starts_with("medium ")).expect("one row for all");
    assert_eq!(row.split_whitespace().nth(1), Some("16"), "{row}");
    let all = rota(&[&many[..], &["--all-tasks"]].concat()).ok().stdout;
    assert_eq!(all.lines().filter(|l| l.starts_with("medium-")).count(), 16);
}

#[test]
fn a_workload_from_standard_input_gives_the_numbers_of_its_file() {
    let machine = &["--duration", "200ms"];
    let file = rota(&[&["sim", "rr", "workloads/web.json"][..], machine].concat()).ok();
    let piped = Command::new(env!("CARGO_BIN_EXE_rota"))
        .args([&["sim", "rr", "-"][..], machine].concat())
        .current_dir(root())
        .stdin(std::fs::File::open(root().join("workloads/web.json")).expect("a workload"))
        .output()
        .expect("rota starts");
    let piped = String::from_utf8(piped.stdout).expect("output is UTF-8");
    assert_eq!(piped, file.stdout.replace("workloads/web.json", "standard input"));
}

#[test]
fn of_two_schedulers_in_one_object_one_has_to_be_chosen() {
    let two = fixture("two.bpf.c");
    let sim = |more: &[&str]| {
        let args = ["sim", &two, "workloads/shares321.json", "--cpus", "1", "--duration", "1s"];
        rota(&[&args[..], more].concat())
    };
    let names = "2 schedulers, first_ops, second_ops: expected a choice of one, --ops NAME";
    sim(&[]).refused(&[names]);
    sim(&["--ops", "third"]).refused(&["no scheduler third, expected first_ops or second_ops"]);
    sim(&["--ops", "first_ops"]).ok();
    let second = sim(&["--ops", "second_ops"]);
    assert_eq!(second.code, 3, "{}", second.stderr);
    assert!(second.stderr.contains("the second of them"), "{}", second.stderr);
    let every = sim(&["--ops", "second_ops", "--kernel", "all"]);
    assert_eq!(every.code, 3, "{}", every.stderr);

    let compare = |policy: &str, more: &[&str]| {
        let args = ["compare", policy, "workloads/shares321.json", "--cpus", "1", "--seeds", "1"];
        rota(&[&args[..], &["--duration", "100ms"], more].concat())
    };
    compare(&two, &[]).refused(&[names]);
    compare(&two, &["--ops", "third"]).refused(&["no scheduler third"]);
    compare("rr", &["--ops", "third"]).refused(&["--ops third: expected a policy file"]);
    compare(&two, &["--ops", "first_ops"]).ok();
}

#[test]
fn the_json_has_the_exit_of_every_scheduler_of_a_run() {
    let scratch = Scratch::new();
    let load = r#"{"tasks": {"t": {"run": 5000}}, "events": [
        {"at": "10ms", "scheduler": "unload"}, {"at": "20ms", "scheduler": "load"}]}"#;
    let load = scratch.file("loads.json", load);
    let json = rota(&["sim", "rr", &load, "--duration", "50ms", "--json"]).ok().stdout;
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let exits: Vec<_> = json["exits"].as_array().expect("exits").iter().collect();
    let of = |at: usize| (exits[at]["at_ns"].as_u64(), exits[at]["kind"].as_u64());
    // unregistered by the event, and at the end of the run (SCX_EXIT_UNREG)
    assert_eq!((of(0), of(1)), ((Some(10_000_000), Some(64)), (Some(50_000_000), Some(64))));
    assert_eq!(exits.len(), 2);
}

#[test]
fn a_partial_policy_leaves_tasks_to_the_fair_class() {
    let scratch = Scratch::new();
    let load = scratch.file(
        "two.json",
        r#"{"tasks": {"ext": {"policy": "SCHED_EXT", "run": 5000}, "other": {"run": 5000}}}"#,
    );
    let args = ["sim", "rr", &load, "--cpus", "2", "--duration", "1s", "--json", "--partial"];
    let run = rota(&args).ok().json();
    let class = |at: usize| run["tasks"][at]["class"].as_str().expect("a class").to_owned();
    assert_eq!((class(0), class(1)), ("ext".to_owned(), "fair".to_owned()));
    let late = rota(&["sim", "rr", &load, "--duration", "1s", "--attach-at", "1s"]);
    late.refused(&["--attach-at 1s", "two.json runs for 1s, expected less than that"]);
}
