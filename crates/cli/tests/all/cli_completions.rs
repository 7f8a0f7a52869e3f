// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the shell offers: policies, tunables, metrics, goals, papers, figures, files.

use crate::support::{root, rota, Scratch};
use std::process::Command;

/// What is offered for the last of these words.
fn offered(words: &[&str]) -> Vec<String> {
    let output = Command::new(env!("CARGO_BIN_EXE_rota"))
        .env("ROTA_COMPLETE", "fish")
        .args(["--", "rota"])
        .args(words)
        .current_dir(root())
        .output()
        .expect("rota starts");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let value = |line: &str| line.split('\t').next().unwrap_or_default().to_owned();
    text.lines().map(value).collect()
}

#[track_caller]
fn offers(words: &[&str], expected: &[&str]) {
    let found = offered(words);
    for value in expected {
        assert!(found.iter().any(|of| of == value), "{value} in {found:?}");
    }
}

#[test]
fn policies_are_offered_with_files_of_schedulers() {
    assert_eq!(offered(&["sim", "vt"]), ["vtrr"]);
    assert_eq!(offered(&["list", "ee"]), ["eevdf"]);
    offers(&["run", "w"], &["wfq", "wrr"]);
    let scratch = Scratch::new();
    let (source, other) = (scratch.file("mine.bpf.c", ""), scratch.file("mine.txt", ""));
    let found = offered(&["sim", source.trim_end_matches(".bpf.c")]);
    assert!(found.contains(&source) && !found.contains(&other), "{found:?}");
}

#[test]
fn tunables_are_those_of_the_policy() {
    assert_eq!(offered(&["sim", "wfq", "workloads/web.json", "--set", "qua"]), ["quantum_ns="]);
    assert_eq!(offered(&["run", "pbs", "--set", "alpha_"]), ["alpha_min=", "alpha_max="]);
    assert_eq!(offered(&["compare", "a.json", "--policies", "rr,wfq:ti"]), ["rr,wfq:tie="]);
    assert_eq!(offered(&["sim", "rr", "workloads/web.json", "--set", "alpha"]), [""; 0]);
}

#[test]
fn metrics_goals_papers_and_figures_are_offered() {
    offers(&["compare", "a.json", "--metrics", ""], &["latency", "all", "wakeup_p99"]);
    assert_eq!(offered(&["compare", "a.json", "--metrics", "jain,la"])[0], "jain,latency");
    offers(&["compare", "a.json", "--goal", ""], &["throughput", "response_p99"]);
    offers(&["tune", "pbs", "a.json", "--minimise", "resp"], &["response_p99"]);
    offers(&["reproduce", ""], &["vtrr", "pbs", "all"]);
    offers(&["reproduce", "vtrr", "fig"], &["fig3"]);
    offers(&["sim", "rr", "a.json", "--kernel", "6"], &["6.12"]);
    assert_eq!(offered(&["compare", "a.json", "--baseline", "non"]), ["none"]);
}

#[test]
fn workloads_are_files_that_end_in_json() {
    offers(&["sim", "rr", "workloads/we"], &["workloads/web.json", "workloads/webserver.json"]);
    offers(&["compare", "work"], &["workloads/"]);
}

#[test]
fn the_script_asks_this_program() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = rota(&["completions", shell]).ok().stdout;
        assert!(script.contains("ROTA_COMPLETE"), "{shell}: {script}");
    }
    rota(&["completions", "cmd"]).refused(&["cmd", "bash"]);
}
