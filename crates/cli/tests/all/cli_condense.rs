// SPDX-License-Identifier: MIT OR Apache-2.0
//! Small workloads have the statistics of the long ones that they are made of.

use crate::support::{rota, Scratch};
use serde_json::Value;

/// A player with a period, a task that never sleeps, and six that talk.
const PERIODIC: &str = r#"{ "global": {"duration": 30}, "machine": {"topology": {"cpus": 2}}, "tasks": {
"player": {"priority": -5, "run": {"dist": "lognormal", "mean": 4000, "sigma": 0.3},
    "timer": {"ref": "unique", "period": 16667}},
"hog": {"run": 100000},
"talk": {"instance": 6, "cpus": [0], "run": {"dist": "exp", "mean": 700}, "sleep": {"dist": "exp", "mean": 9000}} } }"#;

/// Two clients that each ask a server of their own and wait for the answer.
const CLIENTS: &str = r#"{ "global": {"duration": 10}, "machine": {"topology": {"cpus": 2}}, "tasks": {
"client-7": {"run": {"dist": "exp", "mean": 300}, "sem_post": "q1", "sem_wait": "a1", "sleep": {"dist": "exp", "mean": 2000}},
"client-8": {"run": {"dist": "exp", "mean": 300}, "sem_post": "q2", "sem_wait": "a2", "sleep": {"dist": "exp", "mean": 2000}},
"server-9": {"sem_wait": "q1", "run": {"dist": "exp", "mean": 800}, "sem_post": "a1"},
"server-10": {"sem_wait": "q2", "run": {"dist": "exp", "mean": 800}, "sem_post": "a2"} } }"#;

/// make forks a compiler for each file, eight at a time, and each forks an assembler.
const BUILD: &str = r#"{ "global": {"duration": 20}, "machine": {"topology": {"cpus": 4}}, "tasks": {
"make": {"loop": 1, "phases": { "slots": {"loop": 8, "sem_post": "slots"},
    "files": {"loop": 1000, "sem_wait": "slots", "run": 300, "fork": "cc"}}},
"cc": {"instance": 0, "loop": 1, "run": {"dist": "lognormal", "mean": 40000, "sigma": 0.8}, "fork": "as"},
"as": {"instance": 0, "loop": 1, "run": {"dist": "exp", "mean": 8000}, "sem_post": "slots"} } }"#;

/// The report of a workload.
fn condensed(text: &str) -> Value {
    let scratch = Scratch::new();
    let run = rota(&["condense", &scratch.file("load.json", text), "--json"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    run.json()
}

/// Asserts that measures of all kinds are off by no more than these parts.
fn assert_fits(report: &Value, kinds: usize, cpu: f64, wakeups: f64) {
    let rows = report["kinds"].as_array().expect("kinds");
    assert_eq!(rows.len(), kinds, "{report}");
    for row in rows {
        let number = |key: &str, side: usize| row[key][side].as_f64().expect("a number");
        for (key, most) in [("cpu", cpu), ("wakeups_per_s", wakeups), ("alive", 0.25)] {
            let (long, small) = (number(key, 0), number(key, 1));
            // Fewer than one in a second are none.
            let off = (small - long).abs() - if key == "wakeups_per_s" { 1.0 } else { 0.0 };
            assert!(off <= most * long, "{key} of {}: {long} and {small}", row["name"]);
        }
    }
}

#[test]
fn a_periodic_load_keeps_its_shares_and_its_wakeups() {
    let report = condensed(PERIODIC);
    assert_fits(&report, 3, 0.03, 0.05);
    assert_eq!(report["grade"], "good", "{report}");
    // 4 ms of every 16.667 ms, and all that is left to the hog.
    let of = |name: &str| {
        let rows = report["kinds"].as_array().expect("kinds");
        let row = rows.iter().find(|row| row["name"] == name).expect("a row");
        row["cpu"][1].as_f64().expect("a number")
    };
    assert!((of("player") - 0.24).abs() < 0.01, "{}", of("player"));
}

#[test]
fn clients_and_servers_keep_their_rates() {
    let report = condensed(CLIENTS);
    assert_fits(&report, 2, 0.05, 0.06);
}

#[test]
fn a_build_keeps_its_forks() {
    let report = condensed(BUILD);
    assert_fits(&report, 3, 0.06, 0.15);
}

#[test]
fn the_small_file_is_small_and_keeps_machine_and_settings() {
    let scratch = Scratch::new();
    let (long, small) = (scratch.file("load.json", PERIODIC), scratch.path("small.json"));
    let run = rota(&["condense", &long, "--duration", "3s", "-o", &small, "--seed", "5"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stdout.contains("\nplayer ") && run.stdout.contains("\ngrade: "), "{}", run.stdout);
    let text = std::fs::read_to_string(&small).expect("a workload");
    assert!(text.len() < 100_000, "{} bytes", text.len());
    for part in ["\"duration\" : 3", "\"priority\" : -5", "\"cpus\" : [0]", "\"cpus\":2"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let again = scratch.path("again.json");
    rota(&["condense", &long, "--duration", "3s", "-o", &again, "--seed", "5"]).ok();
    assert_eq!(std::fs::read_to_string(&again).expect("a workload"), text);
    let other = scratch.path("other.json");
    rota(&["condense", &long, "--duration", "3s", "-o", &other, "--seed", "6"]).ok();
    assert_ne!(std::fs::read_to_string(&other).expect("a workload"), text);
}

#[test]
fn what_cannot_be_condensed_is_said() {
    let scratch = Scratch::new();
    let refused = |text: &str, part: &str| {
        let run = rota(&["condense", &scratch.file("w.json", text)]);
        assert!(run.code == 2 && run.stderr.contains(part), "{} {}", run.code, run.stderr);
    };
    refused(
        r#"{"global": {"duration": 1}, "tasks": {"a": {"delay": 2000000, "run": 1}}}"#,
        "no task works: nothing to condense",
    );
    refused("{\"tasks\": {\"a\": {\"rnu\": 1000}}}", "did you mean \"run\"?");
    refused("# tracer: nop\n", "not a workload: rota import");
    refused(
        r#"{"tasks": {"a": {"run": 1}}, "events": [{"at": 1, "scheduler": "load"}]}"#,
        "events load the scheduler",
    );
    let file = scratch.file("w.json", CLIENTS);
    rota(&["condense", &file, "--policy", "eevfd"]).refused(&["did you mean", "eevdf"]);
    rota(&["condense", "none.json"]).refused(&["none.json"]);
    let run = rota(&["condense", &file, "-o", "/dev/full"]);
    assert_eq!(run.code, 1, "{}", run.stderr);
}
