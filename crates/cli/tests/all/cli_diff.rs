// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota diff`: where two runs part.

use crate::support::{rota, Scratch};

const SHARES: &str = "workloads/shares321.json";

/// A trace of tasks with shares 3, 2 and 1, in quanta of 10 ms, on a machine without costs.
fn trace(scratch: &Scratch, name: &str, policy: &str, words: &[&str]) -> String {
    let path = scratch.path(name);
    let common = ["sim", policy, SHARES, "--ideal", "--duration", "120ms", "--trace", &path];
    rota(&[&common[..], words].concat()).ok();
    path
}

/// WRR gives each task all of its quanta at once, A A A B B C (VTRR paper, §2.1); VTRR takes one
/// quantum of each in turn, A B C, and skips those that are ahead (§2.2). The second decision is
/// the first that differs, after A's first quantum of 10 ms.
#[test]
fn the_first_decision_that_differs_is_shown_with_what_each_saw() {
    let scratch = Scratch::new();
    let cpu = ["--cpus", "1"];
    let a = trace(&scratch, "a.parquet", "vtrr", &cpu);
    let b = trace(&scratch, "b.csv", "wrr", &cpu);
    let run = rota(&["diff", &a, &b, "--json"]).ok().json();
    assert_eq!(run["schema"], "rota.diff/1");
    let first = &run["first_decision"];
    assert_eq!((&first["cpu"], &first["decision"]), (&0.into(), &2.into()), "{first}");
    assert_eq!(
        (&first["a"]["task"], &first["b"]["task"]),
        (&"B-1".into(), &"A-0".into()),
        "{first}"
    );
    assert_eq!(first["a"]["time_ns"], 10_000_000);
    let saw = run["a"]["saw"].as_array().expect("tasks");
    let ran: Vec<(&str, u64)> = saw
        .iter()
        .map(|task| (task["name"].as_str().expect("name"), task["cpu_ns"].as_u64().expect("time")))
        .collect();
    assert_eq!(ran, [("A-0", 10_000_000), ("B-1", 0), ("C-2", 0)]);
    let waits: Vec<Option<u64>> = saw.iter().map(|task| task["waits_since_ns"].as_u64()).collect();
    assert_eq!(waits, [Some(10_000_000), Some(0), Some(0)], "B-1 is not taken yet");

    let text = rota(&["diff", &a, &b]).ok().stdout;
    for part in [
        "first decision that differs: number 2 of CPU 0\n  a: at 10ms B-1 (1002)",
        "\na saw 3 tasks that could run\n",
        "\nlag max  ",
        "2.00x worse",
    ] {
        assert!(text.contains(part), "{part:?}: {text}");
    }
}

/// FIFO has one slice, without an end; RR's second is after a quantum of 10 ms. By then A has had
/// these 10 ms in both, and still runs under FIFO.
#[test]
fn a_run_without_the_decision_is_shown_at_the_time_of_the_other() {
    let scratch = Scratch::new();
    let words = ["--cpus", "1", "--set", "quantum_ns=10ms"];
    let a = trace(&scratch, "a.parquet", "fifo", &words[..2]);
    let b = trace(&scratch, "b.parquet", "rr", &words);
    let run = rota(&["diff", &a, &b, "--json"]).ok().json();
    assert_eq!(run["first_decision"]["a"], serde_json::Value::Null);
    assert_eq!(run["first_decision"]["b"]["time_ns"], 10_000_000);
    let saw = |side: &str| {
        let tasks = run[side]["saw"].as_array().expect("tasks").iter();
        let of =
            |task: &serde_json::Value| (task["cpu_ns"].as_u64(), task["waits_since_ns"].as_u64());
        tasks.map(of).collect::<Vec<_>>()
    };
    assert_eq!(saw("a"), [(Some(10_000_000), None), (Some(0), Some(0)), (Some(0), Some(0))]);
    assert_eq!(saw("b")[0], (Some(10_000_000), Some(10_000_000)));
    let text = rota(&["diff", &a, &b]).ok().stdout;
    assert!(text.contains("\n  a: at 0ns A-0 (1001) without an end\n"), "{text}");
}

/// Both runs done here say what their traces say, and have the metrics that no trace has.
#[test]
fn two_policies_on_a_workload_differ_as_their_traces_do() {
    let scratch = Scratch::new();
    let words = ["--cpus", "2", "--seed", "3"];
    let a = trace(&scratch, "a.parquet", "vtrr", &words);
    let b = trace(&scratch, "b.parquet", "wrr", &words);
    let of_traces = rota(&["diff", &a, &b, "--json"]).ok().json();
    let runs = ["diff", SHARES, "vtrr", "wrr", "--ideal", "--duration", "120ms"];
    let run = rota(&[&runs[..], &words, &["--json"]].concat()).ok().json();
    for key in ["first_decision", "first_slice"] {
        assert_eq!(run[key], of_traces[key]);
    }
    assert_ne!(run["first_decision"], serde_json::Value::Null);
    for (side, policy) in [("a", "vtrr"), ("b", "wrr")] {
        assert_eq!(run[side]["saw"], of_traces[side]["saw"]);
        assert_eq!((&run[side]["policy"], &run[side]["file"]), (&policy.into(), &().into()));
        let lag = |of: &serde_json::Value| of[side]["measures"]["lag_max"].clone();
        assert_eq!(lag(&run), lag(&of_traces));
        assert!(lag(&run).is_number(), "{run}");
        assert!(run[side]["measures"]["instructions_mean"].is_number(), "{run}");
    }
    assert_eq!((&run["workload"], &run["seed"]), (&SHARES.into(), &3.into()));

    // The other way round, with labels and a setting.
    let words = ["slow=wfq:quantum_ns=20ms", SHARES, "wfq", "--duration", "500ms"];
    let text = rota(&[&["diff"], &words[..]].concat()).ok().stdout;
    assert!(
        text.starts_with("a: slow, workloads/shares321.json, seed 1: 4 CPUs, 500ms, "),
        "{text}"
    );
    assert!(text.contains("\nb: wfq, workloads/shares321.json, seed 1: 4 CPUs"), "{text}");
    let text = rota(&["diff", SHARES, "wfq", "wfq", "--duration", "500ms"]).ok().stdout;
    assert!(
        text.contains("\nno decision differs: ") && text.ends_with("\nno metric differs\n"),
        "{text}"
    );
}

#[test]
fn a_run_that_is_ejected_is_told_behind_what_differs() {
    let drop = "crates/cli/tests/fixtures/drop.bpf.c";
    let run = rota(&["diff", SHARES, "fifo", drop, "--cpus", "1", "--duration", "2s"]);
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert!(run.stdout.contains("first decision that differs"), "{}", run.stdout);
    assert!(
        run.stderr.contains("drop (workloads/shares321.json, 1 CPU, seed 1): EXIT: "),
        "{}",
        run.stderr
    );
}

#[test]
fn what_is_neither_two_traces_nor_two_policies_and_a_workload_is_refused() {
    for (words, expected) in [
        (&["diff", SHARES, "wfq"][..], "workloads/shares321.json: no trace, expected two traces"),
        (&["diff", "wfq", "vtrr"], "wfq: no trace, expected two traces, or a workload and two"),
        (&["diff", SHARES, SHARES, "wfq"], "2 workloads, expected two traces, or a workload and"),
        (&["diff", SHARES, "wfq", "rr", "pbs"], "4 words, expected two traces"),
        (&["diff", "a.parquet", "b.parquet", "--seed", "2"], "--seed: not with traces"),
        (&["diff", "a.parquet", "b.parquet", "--program-cost", "2us"], "--program-cost: not with"),
        (&["diff", SHARES, "wfq:x", "rr"], "policy \"wfq:x\": \"x\": expected NAME=VALUE"),
        (&["diff", SHARES, "wfqq", "rr"], "wfqq"),
    ] {
        rota(words).refused(&[expected]);
    }
}

#[test]
fn two_traces_of_one_run_do_not_differ() {
    let scratch = Scratch::new();
    let (a, b) =
        (trace(&scratch, "a.parquet", "wfq", &[]), trace(&scratch, "b.parquet", "wfq", &[]));
    let text = rota(&["diff", &a, &b]).ok().stdout;
    assert!(text.contains("\nno decision differs: "), "{text}");
    assert!(text.ends_with("\nno metric differs\n"), "{text}");
}

#[test]
fn another_machine_or_workload_is_a_warning_that_names_it() {
    let scratch = Scratch::new();
    let a = trace(&scratch, "a.parquet", "fifo", &["--cpus", "1"]);
    let b = trace(&scratch, "b.parquet", "fifo", &["--cpus", "2"]);
    let run = rota(&["diff", &a, &b]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let warning =
        format!("warning: the number of CPUs is 1 in {a} and 2 in {b}: another machine\n");
    assert_eq!(run.stderr, warning);
    let load = scratch.file("load.json", r#"{ "tasks": { "D": { "run": 1000, "sleep": 1000 } } }"#);
    let c = scratch.path("c.parquet");
    rota(&["sim", "fifo", &load, "--cpus", "1", "--duration", "50ms", "--trace", &c]).ok();
    let run = rota(&["diff", &a, &c]);
    let warning =
        format!("{a} has task A-0 (1001) and 2 more, which {c} has not: another workload");
    assert!(run.stderr.contains(&warning), "{}", run.stderr);
    rota(&["diff", &a, &load]).refused(&[&load]);
}
