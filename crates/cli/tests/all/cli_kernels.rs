// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernels to simulate: one by name, one by its types, all of them.

use crate::support::{rota, Scratch};

const LOAD: &str = r#"{ "tasks": { "a": { "instance": 4, "run": 1000, "sleep": 1000 } } }"#;

/// A scheduler by the names of Linux 6.12, which 6.13 to 6.16 have, too.
const OLD: &str = r#"/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "rota.bpf.h"

void scx_bpf_dispatch(struct task_struct *p, u64 dsq_id, u64 slice, u64 enq_flags) __ksym;

void BPF_STRUCT_OPS(old_enqueue, struct task_struct *p, u64 enq_flags)
{
	scx_bpf_dispatch(p, SCX_DSQ_GLOBAL, 5000000, enq_flags);
}

SCX_OPS_DEFINE(old_ops) = {
	.enqueue = (void *)old_enqueue,
	.name = "old",
};
"#;

const RUN: [&str; 2] = ["--duration", "100ms"];

#[test]
fn each_kernel_has_a_line_with_its_verdict() {
    let scratch = Scratch::new();
    let (old, load) = (scratch.file("old.bpf.c", OLD), scratch.file("load.json", LOAD));
    let run = rota(&[&["sim", &old, &load, "--kernel", "all"][..], &RUN].concat());
    assert_eq!(run.code, 2, "{}", run.stderr);
    let lines: Vec<_> = run.stdout.lines().collect();
    assert!(lines[0].ends_with("4 CPUs at 250 Hz, 100ms, seed 1"), "{}", lines[0]);
    assert!(lines[2].starts_with("kernel") && lines[2].ends_with("verdict"), "{}", lines[2]);
    let of = |release: &str| lines.iter().find(|line| line.starts_with(release)).expect("a line");
    for release in ["6.12", "6.16"] {
        assert!(of(release).ends_with("  runs"), "{}", of(release));
    }
    for release in ["6.19", "7.0", "7.2", "7.3"] {
        assert!(of(release).contains("  refused: "), "{}", of(release));
        assert!(of(release).contains("but scx_bpf_dsq_insert in its place"), "{}", of(release));
    }
    assert_eq!(lines.len(), 9, "{}", run.stdout);
}

#[test]
fn the_verdicts_are_there_as_json() {
    let scratch = Scratch::new();
    let (old, load) = (scratch.file("old.bpf.c", OLD), scratch.file("load.json", LOAD));
    let run = rota(&[&["sim", &old, &load, "--kernel", "all", "--json"][..], &RUN].concat());
    let json = run.json();
    assert_eq!(json["schema"], "rota.sim-kernels/1");
    let kernels = json["kernels"].as_array().expect("a list");
    let verdicts: Vec<_> =
        kernels.iter().map(|k| format!("{} {}", k["kernel"], k["verdict"])).collect();
    assert_eq!(verdicts[0], r#""6.12" "runs""#);
    assert_eq!(verdicts[4], r#""7.2" "refused""#);
    assert!(kernels[0]["totals"]["decisions"].as_u64() > Some(0), "{}", kernels[0]);
    assert!(kernels[4]["totals"].is_null() && kernels[0]["reason"].is_null());
}

#[test]
fn a_shipped_policy_runs_on_all_and_what_none_takes_is_an_error() {
    let scratch = Scratch::new();
    let load = scratch.file("load.json", LOAD);
    let on_all =
        |more: &[&str]| rota(&[&["sim", "rr", &load, "--kernel", "all"][..], &RUN, more].concat());
    let run = on_all(&[]).ok();
    assert_eq!(run.stdout.matches("  runs\n").count(), 6, "{}", run.stdout);
    on_all(&["--set", "quantum=5"]).refused(&["'quantum'", "did you mean 'quantum_ns'"]);
    on_all(&["--trace", &scratch.path("t.csv")]).refused(&["--trace", "--kernel all"]);
}

#[test]
fn the_kernel_that_was_simulated_is_named_unless_it_is_the_usual_one() {
    let scratch = Scratch::new();
    let load = scratch.file("load.json", LOAD);
    let sim = |more: &[&str]| rota(&[&["sim", "rr", &load][..], &RUN, more].concat());
    let first = |more: &[&str]| sim(more).ok().stdout.lines().next().unwrap_or_default().to_owned();
    assert!(first(&["--kernel", "6.16"]).contains("load.json: Linux 6.16, 4 CPUs"));
    assert_eq!(first(&["--kernel", "7.2"]), first(&[]));
    assert!(first(&[]).contains("load.json: 4 CPUs"));
    assert_eq!(sim(&["--kernel", "6.19", "--json"]).ok().json()["kernel"], "6.19");
}

#[test]
fn kernels_that_are_not_bundled_are_refused_with_those_that_are() {
    let scratch = Scratch::new();
    let load = scratch.file("load.json", LOAD);
    let known = "6.12, 6.16, 6.19, 7.0, 7.2, 7.3";
    rota(&["sim", "rr", &load, "--kernel", "6.11"]).refused(&["--kernel 6.11", known, "--btf"]);
    rota(&["compare", &load, "rr", "--kernel", "all"]).refused(&["--kernel all", "rota sim"]);
    let both = ["sim", "rr", &load, "--kernel", "7.0", "--btf", "vmlinux"];
    rota(&both).refused(&["--btf", "--kernel"]);
}
