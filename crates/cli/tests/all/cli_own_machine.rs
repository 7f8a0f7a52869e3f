// SPDX-License-Identifier: MIT OR Apache-2.0
//! Workload files with a machine of their own, and those that end with their tasks.

use crate::support::{rota, Run};
use serde_json::Value;
use std::path::Path;

fn written(dir: &Path, text: &str) -> String {
    let file = dir.join("load.json");
    std::fs::write(&file, text).expect("a file");
    file.to_str().expect("a path").to_owned()
}

/// Runs a file with this machine under fifo.
fn run(machine: &str, args: &[&str]) -> Run {
    let dir = tempfile::tempdir().expect("a directory");
    let text = format!(
        "{{ \"global\" : {{ \"duration\" : 1 }},\n\"machine\" : {machine},\n\
         \"tasks\" : {{ \"a\" : {{ \"instance\" : 5, \"run\" : 1000 }} }} }}"
    );
    let file = written(dir.path(), &text);
    rota(&[&["sim", "fifo", &file, "--json"], args].concat())
}

fn cpus(run: &Run) -> u64 {
    assert_eq!(run.code, 0, "{}", run.stderr);
    let json: Value = serde_json::from_str(&run.stdout).expect("JSON");
    json["machine"]["cpus"].as_u64().expect("CPUs")
}

#[test]
fn a_workload_runs_on_its_own_machine_unless_another_is_asked_for() {
    let own = r#"{ "topology" : { "cpus" : 3 }, "cost_ns" : { "switch" : 700 } }"#;
    let plain = run(own, &[]);
    assert_eq!(cpus(&plain), 3);
    assert!(plain.stderr.contains("on its own machine, 3 CPUs"), "{}", plain.stderr);
    assert_eq!(cpus(&run(own, &["--cpus", "2"])), 2);
    assert_eq!(cpus(&run(own, &["--topology", "smt=2"])), 4);
    assert_eq!(cpus(&run(own, &["--machine", "cloud-2"])), 2);
    assert_eq!(cpus(&run("\"cloud-2\"", &[])), 2);
    // Without overheads, but as many CPUs.
    assert_eq!(cpus(&run(own, &["--ideal"])), 3);
}

#[test]
fn the_kernel_of_a_workload_s_own_machine_is_simulated_unless_another_one_is_asked_for() {
    let own = r#"{ "topology" : { "cpus" : 2 }, "kernel" : { "hz" : 1000, "preempt" : "full", "base_slice_ns" : 3000000 } }"#;
    let text = format!(
        r#"{{ "global" : {{ "duration" : 1 }}, "machine" : {own},
             "tasks" : {{ "a" : {{ "instance" : 5, "run" : 1000 }} }} }}"#
    );
    let dir = tempfile::tempdir().expect("a directory");
    let file = written(dir.path(), &text);
    let kernel = |args: &[&str]| {
        let ran = rota(&[&["sim", "eevdf", &file, "--json"], args].concat());
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let json: Value = serde_json::from_str(&ran.stdout).expect("JSON");
        let set = &json["policy"]["tunables"];
        let of = |name: &str| set[name].to_string();
        let hz = json["machine"]["hz"].to_string();
        let set =
            [hz, of("tick_ns"), of("preempt_full"), of("base_slice_ns"), of("tunable_scaling")];
        (set.join(" "), ran.stderr)
    };

    let (own, told) = kernel(&[]);

    // A tick each 1 s / 1000.
    assert_eq!(own, "1000 1000000 true 3000000 \"none\"");
    let note = "on its own machine, 2 CPUs, 1000 Hz, preempt full, base slice 3ms";
    assert!(told.contains(note), "{told}");
    let set = ["--hz", "500", "--set", "preempt_full=false", "--set", "base_slice_ns=1ms"];
    assert_eq!(kernel(&set).0, "500 2000000 false 1000000 \"none\"");
    assert_eq!(kernel(&["--cpus", "2"]).0, "250 4000000 false 700000 \"log\"");
}

#[test]
fn a_comparison_simulates_the_kernel_of_each_workload_s_own_machine() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = |hz: u32| {
        let text = format!(
            r#"{{ "machine" : {{ "topology" : {{ "cpus" : 1 }}, "kernel" : {{ "hz" : {hz} }} }},
                 "tasks" : {{ "a" : {{ "instance" : 2, "run" : 1000 }} }} }}"#
        );
        let path = dir.path().join(format!("{hz}.json"));
        std::fs::write(&path, text).expect("a file");
        path.to_str().expect("a path").to_owned()
    };
    let args = ["compare", &path(100), &path(1000), "--policies", "eevdf,cfs", "--json"];

    let ran = rota(&[&args[..], &["--duration", "1s", "--seeds", "1"]].concat());

    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let json: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let stages = json["comparisons"].as_array().or(json["stages"].as_array()).expect("stages");
    let hz: Vec<_> = stages.iter().map(|stage| stage["machine"]["hz"].as_u64()).collect();
    assert_eq!(hz, [Some(100), Some(1000)]);
}

#[test]
fn a_comparison_has_each_workload_on_its_own_machine() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = |name: &str| dir.path().join(name).to_str().expect("a path").to_owned();
    for (name, machine) in
        [("one", "\"machine\" : { \"topology\" : { \"cpus\" : 1 } },"), ("any", "")]
    {
        let text = format!("{{ {machine} \"tasks\" : {{ \"a\" : {{ \"run\" : 1000 }} }} }}");
        std::fs::write(path(name), text).expect("a file");
    }
    let args = ["compare", &path("one"), &path("any"), "--policies", "fifo,rr", "--json"];
    let ran = rota(&[&args[..], &["--duration", "10ms"]].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let json: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let stages = json["stages"].as_array().or(json["comparisons"].as_array());
    let stages = stages.unwrap_or_else(|| panic!("stages in {json}"));
    let cpus: Vec<_> = stages.iter().map(|stage| stage["machine"]["cpus"].as_u64()).collect();
    assert_eq!(cpus, [Some(1), Some(4)]);
}

#[test]
fn a_machine_that_is_none_is_refused_with_its_place() {
    for (machine, what) in [
        ("3", "load.json:2:"),
        ("\"hybird\"", "hybird"),
        (r#"{ "topology" : { "cpus" : 0 } }"#, "load.json:2: machine: cpus = 0: expected 1 to"),
        (
            r#"{ "topology" : { "cpus" : 1 }, "kernel" : { "preempt" : "often" } }"#,
            "expected \"none\", \"voluntary\", \"full\" or \"lazy\"",
        ),
        (
            r#"{ "topology" : { "cpus" : 1 }, "kernel" : { "hz" : 0 } }"#,
            "hz = 0: expected 1 to 100000",
        ),
        (r#"{ "topolgy" : { "cpus" : 2 } }"#, "did you mean topology?"),
        (r#"{ "topology" : { "cpus" : null } }"#, "load.json:2: machine: "),
    ] {
        let refused = run(machine, &[]);
        assert_eq!(refused.code, 2, "{machine}: {}", refused.stderr);
        assert!(refused.stderr.contains(what), "{machine}: {}", refused.stderr);
    }
}

#[test]
fn a_run_that_ends_with_its_tasks_is_as_long_as_they_are() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = written(
        dir.path(),
        r#"{ "global" : { "duration" : 5, "ends_with_tasks" : true },
             "tasks" : { "a" : { "instance" : 2, "loop" : 1, "run" : 10000, "fork" : "b" },
                         "b" : { "instance" : 0, "loop" : 1, "sleep" : 3000, "run" : 1000 } } }"#,
    );
    let ran = rota(&["sim", "fifo", &file, "--cpus", "1", "--ideal", "--json"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let json: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    // Two runs of 10 ms, then the first fork runs 1 ms, which has slept meanwhile. Only then the second
    // one begins: it sleeps 3 ms and runs 1 ms.
    assert_eq!(json["duration_ns"].as_u64(), Some(25_000_000));
}

#[test]
fn a_run_that_ends_with_its_tasks_does_not_wait_for_hogs() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = written(
        dir.path(),
        r#"{ "global" : { "duration" : 5, "ends_with_tasks" : true },
             "tasks" : { "a" : { "loop" : 1, "cpus" : [0], "run" : 10000 },
                         "hog" : { "loop" : -1, "cpus" : [1], "run" : 1000 } } }"#,
    );
    let ran = rota(&["sim", "fifo", &file, "--cpus", "2", "--ideal", "--json"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let json: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(json["duration_ns"].as_u64(), Some(10_000_000));
}
