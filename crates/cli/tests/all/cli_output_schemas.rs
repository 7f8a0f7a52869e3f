// SPDX-License-Identifier: MIT OR Apache-2.0
//! What every command prints with `--json` fits its schema. Those that need root or another program are
//! held against theirs where they are tested: `cli_bench.rs`, `cli_control.rs`, `cli_record.rs` …

use crate::support::schema::{fits, validator, with_a_key_more};
use crate::support::{rota, Scratch};
use serde_json::Value;

const WEB: &str = "workloads/web.json";
const SHARES: &str = "workloads/shares321.json";

/// Requests, locks, a deadlock, timers, groups and events on a machine with all models.
const MUCH: &str = r#"{
    "machine": "hybrid",
    "sockets": { "http": "tcp" },
    "customers": { "all": { "to": "http", "rate": 300, "demand": { "dist": "exp", "mean": 2000 } } },
    "tasks": {
        "server": { "instance": 4, "recv": "http", "run": { "request": 1 }, "reply": "http" },
        "a": { "loop": 100, "lock": "m", "run": 500, "unlock": "m", "sleep": 100 },
        "b": { "instance": 2, "loop": 50, "lock": "m", "run": 1500, "unlock": "m", "sleep": 100,
               "taskgroup": { "path": "/g", "cpu.weight": 50 } },
        "frames": { "run": 4000, "timer": { "ref": "unique", "period": 10000 } },
        "left": { "lock": "x", "run": 100, "sleep": 100, "lock": "y", "run": 1 },
        "right": { "lock": "y", "run": 100, "sleep": 100, "lock": "x", "run": 1 }
    },
    "events": [ { "at": "10ms", "task": "frames", "nice": 5 },
                { "at": "290ms", "task": "a", "nice": 5 } ]
}"#;

/// What a command printed, whatever its exit code is.
fn printed(arguments: &[&str]) -> Value {
    rota(&[arguments, &["--json"]].concat()).json()
}

#[test]
fn lists() {
    fits(&printed(&["list"]));
    fits(&printed(&["list", "--third-party"]));
}

#[test]
fn check() {
    fits(&printed(&["check"]));
}

#[test]
fn simulated_runs() {
    let scratch = Scratch::new();
    let much = scratch.file("much.json", MUCH);
    let run = printed(&["sim", "eevdf", &much, "--duration", "300ms", "--dump-globals"]);
    for part in ["deadlocks", "locks", "events", "maps"] {
        assert!(run[part].as_array().is_none_or(|list| !list.is_empty()), "no {part}: {run}");
    }
    fits(&run);
    fits(&printed(&["sim", "wfq", WEB, "--duration", "100ms", "--nohz-full", "2-3"]));
}

#[test]
fn a_key_that_a_schema_does_not_have_is_found_everywhere() {
    let run = printed(&["sim", "wfq", WEB, "--duration", "50ms"]);
    let validator = validator("sim");
    assert!(validator.is_valid(&run));
    let places = ["", "/policy", "/machine", "/exit", "/tasks/0", "/tasks/0/wakeup_latency_ns"];
    for at in places.into_iter().chain(["/totals", "/cpus/0", "/callbacks/0", "/requests"]) {
        assert!(!validator.is_valid(&with_a_key_more(&run, at)), "{at}");
    }
}

#[test]
fn a_run_on_every_kernel() {
    fits(&printed(&["sim", "wfq", WEB, "--duration", "50ms", "--kernel", "all"]));
}

#[test]
fn comparisons() {
    let scratch = Scratch::new();
    let much = scratch.file("much.json", MUCH);
    let goals = ["--fail-if", "p99_wakeup worse by 5%", "--metrics", "all"];
    let words = ["compare", &much, SHARES, "eevdf", "wfq", "--seeds", "3", "--duration", "300ms"];
    fits(&printed(&[&words[..], &goals].concat()));
    let words = ["compare", WEB, "wfq", "--baseline", "none", "--seeds", "1"];
    fits(&printed(&[&words[..], &["--duration", "100ms", "--cpus", "2,4"]].concat()));
}

#[test]
fn suites() {
    fits(&printed(&["test", "tests/suites/shares.toml", "--keep-nothing"]));
}

#[test]
fn tuning() {
    let words = ["tune", "pbs", WEB, "--minimise", "wakeup_p99", "--seeds", "2"];
    fits(&printed(&[&words[..], &["--duration", "100ms"]].concat()));
}

#[test]
fn fluid_models() {
    fits(&printed(&["fluid", "pbs", SHARES]));
}

#[test]
fn condensed_workloads() {
    fits(&printed(&["condense", WEB, "--duration", "1s"]));
}

#[test]
fn reproductions() {
    fits(&printed(&["reproduce", "vtrr", "fig3", "--quick"]));
}

#[test]
fn differences() {
    let scratch = Scratch::new();
    let trace = |policy: &str| {
        let file = scratch.path(&format!("{policy}.parquet"));
        rota(&["sim", policy, SHARES, "--cpus", "1", "--duration", "200ms", "--trace", &file]);
        file
    };
    let (wfq, vtrr) = (trace("wfq"), trace("vtrr"));
    fits(&printed(&["diff", &wfq, &vtrr]));
    fits(&printed(&["diff", SHARES, "wfq", "vtrr", "--duration", "200ms"]));
    let same = printed(&["diff", &wfq, &wfq]);
    assert_eq!(same["first_decision"], Value::Null);
    fits(&same);
}

#[test]
fn calibrations() {
    fits(&printed(&["calibrate", "--duration", "5s"]));
}
