// SPDX-License-Identifier: MIT OR Apache-2.0
//! Policies that stand for a class of the kernel itself: what their instructions cost, and what is
//! said of it.

use crate::support::{rota, Scratch};
use serde_json::Value;

/// Two tasks that wake each other, on one CPU.
const PING_PONG: &str = r#"{"tasks": {
    "ping": {"run": 100, "sem_post": "b", "sem_wait": "a"},
    "pong": {"sem_wait": "b", "run": 100, "sem_post": "a"}}}"#;

/// All on a machine where an instruction takes so long.
fn sim(policy: &str, instruction_ns: &str) -> Value {
    let scratch = Scratch::new();
    let load = scratch.file("load.json", PING_PONG);
    let cost = format!("cost_ns = {{ instruction = {instruction_ns} }}\n");
    let text = format!("schema = 1\ntopology = {{ cpus = 1 }}\n{cost}");
    let machine = scratch.file("machine.toml", &text);
    let arguments = ["sim", policy, &load, "--duration", "100ms", "--machine", &machine, "--json"];
    rota(&arguments).ok().json()
}

#[test]
fn instructions_of_a_kernels_own_class_are_counted_and_take_no_time() {
    for policy in ["eevdf", "cfs", "o1"] {
        let (free, charged) = (sim(policy, "0"), sim(policy, "50"));
        assert_eq!(free["totals"], charged["totals"], "{policy}");
        assert!(
            charged["totals"]["instructions_per_decision"]["mean"].as_f64() > Some(100.0),
            "{charged}"
        );
    }
    let (free, charged) = (sim("wfq", "0"), sim("wfq", "50"));
    assert_ne!(free["totals"], charged["totals"]);
}

#[test]
fn sim_compare_and_list_name_the_policies_that_stand_for_a_class_of_the_kernel() {
    let scratch = Scratch::new();
    let load = scratch.file("load.json", PING_PONG);
    let note = "instructions take no time: eevdf stands for Linux's fair class";
    let run = ["sim", "eevdf", &load, "--duration", "100ms"];
    let text = rota(&run).ok().stdout;
    assert!(text.contains(&format!("note: {note}\n")), "{text}");
    let ideal = rota(&[&run[..], &["--ideal"]].concat()).ok().stdout;
    assert!(!ideal.contains("take no time"), "{ideal}");
    let json = rota(&[&run[..], &["--json"]].concat()).ok().json();
    assert_eq!(json["policy"]["stands_for"], "Linux's fair class");

    let compare = ["compare", &load, "wfq", "eevdf", "cfs", "--duration", "100ms", "--seeds", "1"];
    let words = rota(&compare).ok().stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = format!("{note}, cfs stands for Linux 2.6.24's fair class");
    assert!(words.ends_with(&line), "{words}");

    let list = rota(&["list", "eevdf"]).ok().stdout;
    assert!(list.contains("stands for: Linux's fair class\n"), "{list}");
}
