// SPDX-License-Identifier: MIT OR Apache-2.0
//! What policies count themselves, as `rota sim` shows it, and tunables that are live.

use crate::support::{fixture, rota, Scratch};
use serde_json::{json, Value};

const HOGS: &str = "workloads/hogs.json";
const SHARES: &str = "workloads/shares321.json";

#[test]
fn policy_and_machine_count_the_same_decisions() {
    for policy in ["wfq", "vtrr", "wrr"] {
        for cpus in ["1", "3"] {
            let run = rota(&["sim", policy, SHARES, "--cpus", cpus, "--json"]).ok().json();
            let (picks, decisions) = (&run["policy_stats"]["picks"], &run["totals"]["decisions"]);
            assert_eq!(picks, decisions, "{policy} on {cpus} CPUs");
            assert!(picks.as_u64() > Some(500), "{picks}");
        }
    }
}

#[test]
fn counts_of_all_cpus_are_added_up() {
    let policy = fixture("counts.bpf.c");
    // ideal: else ticks take time that no task is charged for
    let run = rota(&["sim", &policy, HOGS, "--duration", "1s", "--cpus", "4", "--ideal", "--json"]);
    let run = run.ok().json();
    let stats = &run["policy_stats"];
    let names: Vec<&String> = stats.as_object().expect("an object").keys().collect();
    assert_eq!(names, ["slices", "used_ns", "running"]);
    assert_eq!(stats["slices"], run["totals"]["decisions"]);
    assert_eq!(stats["running"], 0, "everybody has been stopped at the end");
    let ns = |value: &Value| value.as_u64().expect("nanoseconds");
    let tasks = run["tasks"].as_array().expect("tasks").iter();
    assert_eq!(ns(&stats["used_ns"]), tasks.map(|task| ns(&task["cpu_ns"])).sum::<u64>());
}

#[test]
fn text_has_a_line_of_what_the_policy_counted() {
    let policy = fixture("counts.bpf.c");
    let text = rota(&["sim", &policy, SHARES, "--cpus", "1", "--duration", "1s", "--ideal"]);
    let text = text.ok().stdout;
    let line = text.lines().find(|l| l.starts_with("counted by the policy: ")).expect(&text);
    let expected = "counted by the policy: slices 250, used_ns 1.00s, running 0";
    assert_eq!(line, expected, "times have units");
}

/// Counts in the second of three numbers.
const NUMBERS: &str = r#"/* SPDX-License-Identifier: GPL-2.0-only */
#include "rota.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__type(key, u32);
	__type(value, u64);
	__uint(max_entries, 3);
} stats SEC(".maps");

void BPF_STRUCT_OPS(count_enqueue, struct task_struct *p, u64 enq_flags)
{
	u32 key = 1;
	u64 *count = bpf_map_lookup_elem(&stats, &key);

	if (count)
		*count += 1;
	dsq_insert(p, SCX_DSQ_GLOBAL, 20000000, enq_flags);
}

SCX_OPS_DEFINE(count_ops) = {.enqueue = (void *)count_enqueue, .name = "count"};
"#;

#[test]
fn numbers_without_a_name_that_stayed_0_are_left_out_of_the_text() {
    let scratch = Scratch::new();
    let policy = scratch.file("count.bpf.c", NUMBERS);
    let load = r#"{ "tasks": { "a": { "loop": 1, "run": 1000 } } }"#;
    let load = scratch.file("load.json", load);
    let args = ["sim", &policy, &load, "--cpus", "1", "--duration", "10ms", "--ideal"];
    let text = rota(&args).ok().stdout;
    let line = text.lines().find(|l| l.starts_with("counted by the policy: ")).expect(&text);
    assert_eq!(line, "counted by the policy: stats[1] 1");
    let run = rota(&[&args[..], &["--json"]].concat()).ok().json();
    assert_eq!(run["policy_stats"], json!({"stats[0]": 0, "stats[1]": 1, "stats[2]": 0}));
}

#[test]
fn policy_that_counts_nothing_has_no_line() {
    let policy = fixture("tiny.bpf.c");
    let include = fixture("include");
    let args = ["sim", &policy, HOGS, "--duration", "100ms", "--include", &include];
    assert!(!rota(&args).ok().stdout.contains("counted by the policy"));
    let run = rota(&[&args[..], &["--json"]].concat()).ok().json();
    assert_eq!(run["policy_stats"], json!({}));
}

#[test]
fn live_tunable_is_set_and_marked_like_any_other() {
    let policy = fixture("counts.bpf.c");
    let help = rota(&["sim", &policy, "--help-tunables"]).ok().stdout;
    assert!(help.starts_with("slice_ns=4000000") && help.contains("(live)"), "{help}");
    let decisions = |slice: &str| {
        let args = ["sim", &policy, SHARES, "--cpus", "1", "--ideal", "--duration", "1s", "--json"];
        let run = rota(&[&args[..], &["--set", slice]].concat()).ok().json();
        assert_eq!(run["policy"]["tunables"].as_object().map(|t| t.len()), Some(1));
        run["totals"]["decisions"].as_u64().expect("decisions")
    };
    // One second in slices of 4 ms and of 10 ms.
    assert_eq!(decisions("slice_ns=4ms"), 250);
    assert_eq!(decisions("slice_ns=10ms"), 100);
    let args = ["sim", &policy, SHARES, "--set", "slice_ns=1s"];
    rota(&args).refused(&["slice_ns", "1s", "1000000 to 20000000"]);
}
