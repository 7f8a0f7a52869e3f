// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota run` up to the kernel: what can be told without one.

use crate::support::{rota, Scratch};
use std::path::Path;

#[test]
fn what_can_be_set_is_told_without_a_kernel() {
    let told = rota(&["run", "wfq", "--help-tunables"]).ok().stdout;
    assert!(told.contains("quantum_ns=10000000"), "{told}");
    assert_eq!(told, rota(&["sim", "wfq", "--help-tunables"]).ok().stdout);
}

#[test]
fn bad_arguments_are_refused_before_anything_happens() {
    rota(&["run", "wfg"]).refused(&["'wfg'", "did you mean 'wfq'"]);
    rota(&["run", "./wfq"]).refused(&["cannot read ./wfq"]);
    rota(&["run", "wfq", "--share", "12"]).refused(&["12", "PID=N"]);
    rota(&["run", "wfq", "--share", "12=0"]).refused(&["share of 0"]);
    rota(&["run", "wfq", "--share", "0=12"]).refused(&["pid 0"]);
    rota(&["run", "wfq", "--set", "tie"]).refused(&["NAME=VALUE"]);
    rota(&["run", "wfq", "--duration", "0s"]).refused(&["more than 0"]);
    rota(&["run", "wfq", "--exit-dump-len", "0"]).refused(&["--exit-dump-len"]);
}

#[test]
fn a_source_that_does_not_compile_is_refused() {
    let scratch = Scratch::new();
    let file = scratch.file("broken.bpf.c", b"this is no policy");
    rota(&["run", &file]).refused(&["broken.bpf.c"]);
}

#[test]
fn a_machine_that_cannot_run_policies_is_told_what_it_lacks() {
    if Path::new("/sys/kernel/sched_ext/state").exists() {
        return; // the tests in a virtual machine look at such kernels
    }
    let run = rota(&["run", "wfq", "--duration", "1s"]);
    assert_eq!((run.code, run.stdout.as_str()), (1, ""));
    let errors = run.stderr.lines().filter(|line| line.starts_with("error:")).count();
    assert_eq!(errors, 1, "{}", run.stderr);
    assert!(run.stderr.contains("sched_ext"), "{}", run.stderr);
    assert!(run.stderr.contains("kernel"), "{}", run.stderr);
}
