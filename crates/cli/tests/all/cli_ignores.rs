// SPDX-License-Identifier: MIT OR Apache-2.0
//! What `rota sim`, `rota compare` and `rota list` say of what a policy heeds and ignores.

use crate::support::{rota, Scratch};
use serde_json::json;

/// Groups, one of them with a limit, nice values, and a slice.
const LOAD: &str = r#"{"tasks": {
    "a": {"taskgroup": {"path": "/a", "cpu.weight": 300, "cpu.max": "50000 100000"}, "run": 1000,
        "sleep": 1000},
    "b": {"taskgroup": "/b", "priority": 5, "dl-runtime": 500, "run": 1000, "sleep": 1000}}}"#;

/// An object that says nothing of itself.
const SILENT: &str = r#"/* SPDX-License-Identifier: GPL-2.0-only */
#include "rota.bpf.h"

SCX_OPS_DEFINE(silent_ops) = {.name = "silent"};
"#;

#[test]
fn sim_names_what_the_policy_ignores_in_one_line() {
    let scratch = Scratch::new();
    let load = scratch.file("load.json", LOAD);
    let sim = |policy: &str, more: &[&str]| {
        rota(&[&["sim", policy, &load, "--duration", "100ms"], more].concat()).ok()
    };
    let text = sim("wfq", &[]).stdout;
    assert!(text.contains("note: wfq ignores: slice, cpu.weight, cpu.max\n"), "{text}");
    let run = sim("las", &["--json"]).json();
    assert_eq!(run["ignores"], json!(["nice", "slice", "cpu.weight", "cpu.max"]));
    let text = sim("las", &["--topology", "smt=2,llc=2"]).stdout;
    assert!(text.contains("note: las ignores: nice, slice, cpu.weight, cpu.max\n"), "{text}");
}

#[test]
fn nothing_is_said_where_nothing_is_ignored() {
    let scratch = Scratch::new();
    let load = scratch.file("load.json", r#"{"tasks": {"a": {"run": 1000, "sleep": 1000}}}"#);
    let sim = rota(&["sim", "las", &load, "--duration", "100ms"]).ok().stdout;
    assert!(!sim.contains("ignores"), "{sim}");
}

#[test]
fn of_other_objects_the_callbacks_that_they_lack_are_known() {
    let scratch = Scratch::new();
    let (load, silent) = (scratch.file("load.json", LOAD), scratch.file("silent.bpf.c", SILENT));
    let text = rota(&["sim", &silent, &load, "--duration", "100ms"]).ok().stdout;
    let note = "note: silent does not implement cgroup cpu.weight, cpu.max\n";
    assert!(text.contains(note), "{text}");
}

#[test]
fn compare_has_a_line_for_each_policy_that_ignores_something() {
    let scratch = Scratch::new();
    let load = scratch.file("load.json", LOAD);
    let arguments = [
        "compare",
        &load,
        "wfq",
        "las",
        "--seeds",
        "2",
        "--duration",
        "100ms",
        "--baseline",
        "none",
    ];
    let text = rota(&arguments).ok().stdout;
    let lines: Vec<&str> = text.lines().filter(|line| line.contains(" ignores: ")).collect();
    assert_eq!(
        lines,
        [
            "wfq ignores: slice, cpu.weight, cpu.max",
            "las ignores: nice, slice, cpu.weight, cpu.max"
        ]
    );
    let json = rota(&[&arguments[..], &["--json"]].concat()).ok().json();
    let column = &json["comparisons"][0]["policies"][0];
    assert_eq!(column["ignores"], json!(["slice", "cpu.weight", "cpu.max"]));
}

#[test]
fn list_prints_what_each_policy_heeds() {
    let text = rota(&["list", "wfq"]).ok().stdout;
    assert!(text.contains("heeds: nice, share, SCHED_IDLE, SMT, LLC, NUMA\n"), "{text}");
    let list = rota(&["list", "wfq", "--json"]).ok().json();
    let heeds = json!(["nice", "share", "SCHED_IDLE", "SMT", "LLC", "NUMA"]);
    assert_eq!(list["policies"][0]["heeds"], heeds);
}
