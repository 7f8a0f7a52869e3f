// SPDX-License-Identifier: MIT OR Apache-2.0
//! What `rota sim` tells of a workload: warnings, deadlocks, slices that tasks ask for.

use crate::support::{fixture, rota, Scratch};

#[test]
fn a_deadlock_is_named_with_its_circle() {
    let scratch = Scratch::new();
    let load = br#"{"global": {"duration": 1}, "tasks": {
        "a": {"lock": "m", "run": 2000, "lock": "n"},
        "b": {"lock": "n", "run": 1000, "lock": "m"}}}"#;
    let file = scratch.file("lock.json", load);
    let text = rota(&["sim", "fifo", &file, "--cpus", "2"]).ok().stdout;
    let expected = "note: deadlock: a-0 holds mutex \"m\" and waits for mutex \"n\"; \
                    b-1 holds mutex \"n\" and waits for mutex \"m\"\n";
    assert!(text.contains(expected), "{text}");
    let json = rota(&["sim", "fifo", &file, "--cpus", "2", "--json"]).ok().json();
    let circle = &json["deadlocks"][0];
    assert_eq!(circle[0]["task"], "a-0");
    assert_eq!((&circle[0]["holds"][0], &circle[0]["on"]), (&"m".into(), &"mutex \"n\"".into()));
    assert_eq!(circle[1]["task"], "b-1");
}

#[test]
fn what_a_file_hardly_means_is_warned_of() {
    let scratch = Scratch::new();
    let load = b"{\"tasks\": {\n\"a\": {\"run\": 5, \"resume\": \"bb\"},\n\
                 \"b\": {\"run\": 5}}}";
    let file = scratch.file("load.json", load);
    let run = rota(&["sim", "fifo", &file, "--duration", "10ms"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let lines: Vec<&str> = run.stderr.lines().collect();
    assert_eq!(lines.len(), 1, "{}", run.stderr);
    assert!(
        lines[0].contains("load.json:2:27: task \"a\": \"resume\" wakes no task"),
        "{}",
        lines[0]
    );
    assert!(lines[0].contains("did you mean \"b\"?"), "{}", lines[0]);
}

#[test]
fn tasks_above_the_policy_are_shown_with_their_class_and_take_what_they_want() {
    // One CPU: 3 of each 10 ms are reserved, the real-time task runs for 10 ms of each 50 in what
    // is left, and the policy has the rest: 100 - 30 - 20 ms
    let scratch = Scratch::new();
    let load = br#"{"tasks": {"busy": {"run": 100000},
        "rt": {"policy": "SCHED_FIFO", "run": 10000, "timer": {"ref": "unique", "period": 50000}},
        "dl": {"policy": "SCHED_DEADLINE", "dl-runtime": 3000, "dl-period": 10000, "run": 100000}}}"#;
    let file = scratch.file("classes.json", load);
    let trace = scratch.path("trace.csv");
    let options = ["--ideal", "--cpus", "1", "--duration", "100ms"];
    let sim = |more: &[&str]| {
        let run = rota(&[&["sim", "wfq", &file], &options[..], more].concat());
        run.ok().stdout.clone()
    };
    let json: serde_json::Value = serde_json::from_str(&sim(&["--json"])).unwrap();
    let rows = json["tasks"].as_array().unwrap();
    let told: Vec<_> = rows
        .iter()
        .map(|t| (t["class"].as_str().unwrap(), t["cpu_ns"].as_u64().unwrap()))
        .collect();
    assert_eq!(told, [("ext", 50_000_000), ("rt", 20_000_000), ("deadline", 30_000_000)]);
    // what the others take is not the policy's to give: the busy task has all of the rest
    assert_eq!(
        (&json["tasks"][0]["lag_ns"]["max"], &json["tasks"][1]["lag_ns"]),
        (&0.into(), &().into())
    );
    let table = sim(&["--trace", &trace]);
    let row = table.lines().find(|line| line.contains("rt-1")).unwrap();
    assert!(row.split_whitespace().nth(2) == Some("rt"), "{row}");
    let events = std::fs::read_to_string(trace).unwrap();
    assert!(events.lines().any(|row| row.contains("sched_class=deadline")), "{events}");
}

#[test]
fn a_policy_sees_the_slice_a_task_asks_for() {
    // One CPU: 0.7 ms where none is asked for, and the fixture doubles that.
    let scratch = Scratch::new();
    let load = br#"{"tasks": {"asks": {"dl-runtime": 3000, "run": 100000},
        "phases": {"phases": {"p": {"loop": -1, "dl-runtime": 500, "run": 100000}}},
        "plain": {"run": 100000}}}"#;
    let file = scratch.file("slices.json", load);
    let trace = scratch.path("trace.csv");
    let policy = fixture("asked.bpf.c");
    let options = ["--ideal", "--cpus", "1", "--duration", "20ms", "--trace", &trace];
    rota(&[&["sim", &policy, &file], &options[..]].concat()).ok();
    let rows = std::fs::read_to_string(trace).expect("trace");
    for (task, slice_ns) in [("asks-0", 3_000_000), ("phases-1", 500_000), ("plain-2", 1_400_000)] {
        let picks: Vec<&str> =
            rows.lines().filter(|r| r.contains(",pick,") && r.contains(task)).collect();
        let wanted = format!("slice_ns={slice_ns}");
        assert!(!picks.is_empty() && picks.iter().all(|r| r.contains(&wanted)), "{picks:?}");
    }
}
