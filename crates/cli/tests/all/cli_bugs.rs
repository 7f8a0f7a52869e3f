// SPDX-License-Identifier: MIT OR Apache-2.0
//! The policies of `tests/vm/bugs`: the simulator answers each bug as Linux 7.2 does.
//! What that said stands in their headers and is checked by the tests on a real kernel.

use crate::support::{rota, Scratch};

/// `a` and `b` compete for one CPU; `b` has the nice value that `lost_task` forgets.
const LOAD: &str = r#"{
    "tasks": {
        "a": { "loop": -1, "run": 20000, "sleep": 1000 },
        "b": { "loop": -1, "run": 20000, "priority": 7 }
    },
    "global": { "duration": 4 }
}"#;

/// Kind and reason of the exit.
fn exit_of(bug: &str) -> (u64, String) {
    let scratch = Scratch::new();
    let load = scratch.file("load.json", LOAD);
    let policy = format!("tests/vm/bugs/{bug}.bpf.c");
    let run = rota(&["sim", &policy, &load, "--cpus", "1", "--json"]);
    assert_eq!(run.code, 3, "{bug}: {}", run.stderr);
    let exit = &run.json()["exit"];
    let reason = exit["reason"].as_str().expect("reason").to_owned();
    (exit["kind"].as_u64().expect("kind"), reason)
}

#[test]
fn a_task_that_is_never_dispatched_is_named_by_the_watchdog() {
    let stall = "runnable task stall (b-1[1002] failed to run for 1.500s)";
    assert_eq!(exit_of("lost_task"), (1026, stall.to_owned()));
}

#[test]
fn dispatching_without_end_starves_everybody() {
    let (kind, reason) = exit_of("endless_dispatch");
    assert_eq!(kind, 1026);
    assert!(reason.starts_with("runnable task stall (a-0[1001] failed to run for 0."), "{reason}");
}

#[test]
fn enqueueing_without_end_is_cut_off() {
    let error = "runtime error (SCX_ENQ_REENQ on SCX_DSQ_LOCAL repeated 257 times)";
    assert_eq!(exit_of("endless_reenqueue"), (1024, error.to_owned()));
}

#[test]
fn a_queue_that_does_not_exist_is_named() {
    let error = "runtime error (non-existent DSQ 0x1267)";
    assert_eq!(exit_of("bad_dsq"), (1024, error.to_owned()));
}

#[test]
fn a_policys_own_words_are_the_message() {
    assert_eq!(exit_of("says_error"), (1025, "scx_bpf_error (enough after 3 tasks)".to_owned()));
}

#[test]
fn a_failing_init_is_told_with_its_errno() {
    let error = "runtime error (ops.init() failed (-12))";
    assert_eq!(exit_of("bad_init"), (1024, error.to_owned()));
}
