// SPDX-License-Identifier: MIT OR Apache-2.0
//! Schedulers of several files: `rota link`, and several files for `rota sim`.

use crate::support::{rota, Scratch};

/// Two tasks on one CPU: each gets the slice that the other file names.
const MAIN: &str = r#"/* SPDX-License-Identifier: GPL-2.0-only */
#include "rota.bpf.h"

u64 slice_of(struct task_struct *p);

void BPF_STRUCT_OPS(two_enqueue, struct task_struct *p, u64 enq_flags)
{
	dsq_insert(p, SCX_DSQ_GLOBAL, slice_of(p), enq_flags);
}

SCX_OPS_DEFINE(two_ops) = {.enqueue = (void *)two_enqueue, .name = "two"};
"#;
const PART: &str = r#"/* SPDX-License-Identifier: GPL-2.0-only */
#include "kernel.bpf.h"

u64 asked;

__attribute__((noinline)) u64 slice_of(struct task_struct *p)
{
	asked++;
	return 3000000;
}
"#;
const LOAD: &str = r#"{ "tasks": { "a": { "instance": 2, "run": 1000000 } } }"#;

/// 60 ms of slices of 3 ms: 20 decisions.
fn decisions(arguments: &[&str]) -> u64 {
    let more = ["--cpus", "1", "--ideal", "--duration", "60ms", "--json"];
    let run = rota(&[arguments, &more].concat()).ok().json();
    run["totals"]["decisions"].as_u64().expect("a number")
}

#[test]
fn several_files_are_one_scheduler() {
    let scratch = Scratch::new();
    let (main, part) = (scratch.file("main.bpf.c", MAIN), scratch.file("part.bpf.c", PART));
    let (load, whole) = (scratch.file("load.json", LOAD), scratch.path("whole.bpf.o"));
    assert_eq!(decisions(&["sim", &main, &part, &load]), 20);
    rota(&["link", "-o", &whole, &main, &part]).ok();
    assert_eq!(decisions(&["sim", &whole, &load]), 20);
    // an object and a source, linked once more
    let object = scratch.path("part.bpf.o");
    rota(&["link", &part, "-o", &object]).ok();
    assert_eq!(decisions(&["sim", &main, &object, &load]), 20);
}

#[test]
fn what_cannot_be_linked_is_refused_by_name() {
    let scratch = Scratch::new();
    let (main, part) = (scratch.file("main.bpf.c", MAIN), scratch.file("part.bpf.c", PART));
    let other = scratch.file("other.bpf.c", PART);
    let whole = scratch.path("whole.bpf.o");
    rota(&["link", "-o", &whole, &main, &part, &other]).refused(&["other.bpf.c", "slice_of"]);
    rota(&["link", "-o", &whole, &main, "gone.bpf.o"]).refused(&["gone.bpf.o"]);
    assert!(!std::path::Path::new(&whole).exists(), "nothing is left of a failure");
    // a comparison takes one file for each policy
    let load = scratch.file("load.json", LOAD);
    rota(&["compare", &load, &main, &part]).refused(&["slice_of", "rota link -o"]);
    rota(&["compare", &load, &part]).refused(&["part.bpf.c", "not a scheduler", "rota link -o"]);
    rota(&["sim", &main, &part]).refused(&["no workload", "WORKLOAD.json"]);
}
