// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota record` and `rota trace`. What looks at a kernel needs root and bpf(2): elsewhere the
//! tests say that they were skipped.

use crate::support::schema::fits;
use crate::support::{rota, Run};
use serde_json::Value;
use std::io::Write;

/// Five rounds of work and sleep, with a child that works beside the last one.
const LOAD: &str = "work() { i=0; while [ $i -lt $1 ]; do i=$((i+1)); done; }
for n in 1 2 3 4 5; do work 60000; sleep 0.01; done
(work 150000) & work 100000; wait";

/// Runs a command that looks at the kernel; `None` where that is not allowed.
fn live(args: &[&str]) -> Option<Run> {
    let ran = rota(args);
    let refused = ["needs root", "cannot read the kernel's types"];
    if ran.code == 1 && refused.iter().any(|why| ran.stderr.contains(why)) {
        let name = std::thread::current().name().unwrap_or_default().to_owned();
        // Unlike what print macros write, this is shown of tests that pass, too.
        let _ = writeln!(std::io::stderr(), "{name}: skipped: {}", ran.stderr.trim());
        return None;
    }
    Some(ran)
}

/// CPU time of each task by name.
fn cpu_times(report: &Value) -> Vec<(String, f64)> {
    let tasks = report["tasks"].as_array().expect("tasks");
    let time = |t: &Value| t["cpu_ns"].as_f64().expect("a time");
    tasks.iter().map(|t| (t["name"].as_str().expect("a name").into(), time(t))).collect()
}

#[test]
fn a_recorded_command_plays_back_with_its_cpu_times() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("load.json");
    let file = file.to_str().expect("a path");
    let args = ["record", "--json", "--workload", file, "--", "/bin/sh", "-c", LOAD];
    let Some(recorded) = live(&args) else { return };
    assert_eq!(recorded.code, 0, "{}", recorded.stderr);
    let report: Value = serde_json::from_str(&recorded.stdout).expect("JSON");
    fits(&report);
    assert_eq!(report["schema"], "rota.record/1");
    assert_eq!(report["recording"]["lost"], 0);
    assert_eq!(report["target"]["command"][0], "/bin/sh");
    assert!(report["totals"]["decisions"].as_u64() > Some(10), "{report}");

    let grade = report["workload"]["grade"].as_str().expect("a grade");
    assert!(["good", "fair", "poor"].contains(&grade), "{report}");

    // On the machine that the file names: its costs are not in the file's work.
    let played = rota(&["sim", "eevdf", file, "--json"]);
    assert_eq!(played.code, 0, "{}", played.stderr);
    let played = cpu_times(&serde_json::from_str(&played.stdout).expect("JSON"));
    for (task, pid) in report["tasks"].as_array().expect("tasks").iter().map(|t| (t, &t["pid"])) {
        let name = format!("{}-{pid}-", task["name"].as_str().expect("a name"));
        let (_, again) = played.iter().find(|(n, _)| n.starts_with(&name)).expect("played");
        let first = task["cpu_ns"].as_f64().expect("a time");
        assert!((again - first).abs() / first < 0.03, "{name}: {first} ns, then {again} ns");
    }
}

#[test]
fn what_a_recorded_task_waited_for_is_done_by_the_same_task_again() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("load.json");
    let file = file.to_str().expect("a path");
    let pipe = "work() { i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; }
for n in 1 2 3; do work; echo $n; done | while read n; do work; done";
    let args = ["record", "--json", "--workload", file, "--", "/bin/sh", "-c", pipe];
    let Some(recorded) = live(&args) else { return };
    assert_eq!(recorded.code, 0, "{}", recorded.stderr);
    let report: Value = serde_json::from_str(&recorded.stdout).expect("JSON");
    fits(&report);

    // The reader waits for the writer at least once, the shell for both.
    let waits = report["workload"]["waits"]["tasks"].as_u64();
    assert!(waits >= Some(2), "{report}");
    let text = std::fs::read_to_string(file).expect("a workload");
    for event in ["\"fork", "\"sem_wait", "\"exit", " wait4\"", "\"streams", "\"take", "\"put"] {
        assert!(text.contains(event), "no {event} in {text}");
    }
    let played = rota(&["sim", "eevdf", file, "--json"]);
    assert_eq!(played.code, 0, "{}", played.stderr);
    let played: Value = serde_json::from_str(&played.stdout).expect("JSON");
    let tasks = played["tasks"].as_array().expect("tasks");
    assert!(tasks.iter().all(|task| task["finished_ns"].is_u64()), "{played}");
    assert!(played["duration_ns"].as_u64() < Some(20_000_000_000), "it ends with its tasks");
}

#[test]
fn a_command_runs_as_often_as_plain_says_before_it_is_recorded() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = |name: &str| dir.path().join(name).to_str().expect("a path").to_owned();
    let (file, runs) = (path("load.json"), path("runs"));
    let command = format!("echo run >> {runs}; seq 1 50000 | gzip | wc -c");
    let args = ["record", "--json", "--workload", &file, "--plain", "2", "--"];
    let Some(recorded) = live(&[&args[..], &["sh", "-c", &command]].concat()) else { return };

    assert_eq!(recorded.code, 0, "{}", recorded.stderr);
    let report: Value = serde_json::from_str(&recorded.stdout).expect("JSON");
    fits(&report);
    let runs = std::fs::read_to_string(&runs).expect("a file");
    assert_eq!(runs.lines().count(), 3);
    assert!(report["recording"]["plain"]["plain_work_ns"].as_u64() > Some(0), "{report}");
    // At calls nothing can be taken off but what they cost, so that no task works more.
    let played = rota(&["sim", "eevdf", &file, "--json"]);
    let played = cpu_times(&serde_json::from_str(&played.stdout).expect("JSON"));
    let [played, first] =
        [played, cpu_times(&report)].map(|times| times.iter().map(|(_, time)| time).sum::<f64>());
    assert!(played > 0.0 && played < 1.03 * first, "{first} ns, then {played} ns");
}

#[test]
fn plain_runs_are_of_a_command_of_which_a_workload_is_made() {
    for (args, why) in [
        (&["--plain", "1", "--", "true"][..], "--workload"),
        (&["--plain", "1", "--workload", "w.json"], "COMMAND"),
        (&["--plain", "101", "--workload", "w.json", "--", "true"], "0..=100"),
    ] {
        let ran = rota(&[&["record"], args].concat());
        assert_eq!(ran.code, 2, "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(why), "{args:?}: {}", ran.stderr);
    }
}

#[test]
fn a_recording_gives_a_table_and_files_as_a_simulation_does() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = |name: &str| dir.path().join(name).to_str().expect("a path").to_owned();
    let (csv, json, svg) = (file("a.csv"), file("a.json"), file("a.svg"));
    let mut args = vec!["record"];
    for trace in [&csv, &json, &svg] {
        args.extend(["--trace", trace]);
    }
    args.extend(["--", "/bin/sh", "-c", "echo words; sleep 0.05; sleep 0.05"]);
    let Some(ran) = live(&args) else { return };
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert!(lines[0].contains("/bin/sh: ") && lines[0].contains("Linux"), "{}", ran.stdout);
    assert!(lines[2].starts_with("task") && lines[2].ends_with("migrations"), "{}", ran.stdout);
    assert_eq!(lines.iter().filter(|line| line.starts_with("sleep ")).count(), 2, "{}", ran.stdout);
    // What the command says is no result.
    assert!(ran.stderr.contains("words") && !ran.stdout.contains("words"), "{}", ran.stderr);

    let text = |path: &str| std::fs::read_to_string(path).expect("a file");
    let events = text(&csv);
    assert!(events.starts_with("time_ns,cpu,event,pid,task,detail\n"), "{events}");
    for event in ["fork", "wakeup", "switch_in", "pick", "switch_out", "exit"] {
        assert!(events.contains(&format!(",{event},")), "no {event}: {events}");
    }
    serde_json::from_str::<Vec<Value>>(&text(&json)).expect("trace events");
    assert!(text(&svg).starts_with("<svg"), "a picture");
}

#[test]
fn a_condition_ends_a_recording_and_the_last_part_of_it_is_kept() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("load.json");
    let file = file.to_str().expect("a path");
    // A wakeup takes some time. The first second has none that counts.
    let load = "timeout 1.2 tail -f /dev/null; while :; do sleep 0.01; done";
    let kept = ["record", "--json", "--last", "300ms", "--when", "max wakeup of sleep > 1ns"];
    let rest = ["--duration", "30s", "--workload", file, "--", "/bin/sh", "-c", load];
    let Some(ran) = live(&[&kept[..], &rest].concat()) else { return };
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let report: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    fits(&report);
    let condition = &report["last"]["condition"];
    assert_eq!(condition["text"], "max wakeup of sleep > 1ns");
    assert_eq!(condition["met"], true);
    assert_eq!(condition["longest"]["name"], "sleep");
    assert_eq!(condition["longest"]["wait_ns"], condition["value_ns"]);
    assert_eq!(report["duration_ns"], 300_000_000);
    assert!(report["last"]["from_ns"].as_u64() > Some(700_000_000), "{report}");
    // Times are those of the kept part, and what it did is a workload.
    let tasks = report["tasks"].as_array().expect("tasks");
    assert!(tasks.iter().all(|task| task["cpu_ns"].as_u64() <= Some(300_000_000)), "{report}");
    assert!(tasks.iter().any(|task| task["name"] == "sleep"), "{report}");
    assert_eq!(rota(&["sim", "eevdf", file, "--json"]).code, 0);
}

#[test]
fn a_condition_that_is_not_met_is_said_and_the_last_part_is_there() {
    let when = "p99 wakeup of nobody > 1h";
    let args = ["record", "--last", "100ms", "--when", when, "--duration", "1500ms", "--", "sleep"];
    let Some(ran) = live(&[&args[..], &["9"]].concat()) else { return };
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("of nobody > 3600s: not met, and no such wait"), "{}", ran.stdout);
    assert!(ran.stdout.lines().next().is_some_and(|line| line.contains(", 100ms")));
}

#[test]
fn a_condition_that_is_none_is_refused_with_what_is_nearest() {
    let refused = |when: &str, parts: &[&str]| {
        rota(&["record", "--last", "1s", "--when", when]).refused(parts);
    };
    refused("p98 wakeup > 1ms", &["\"p98\" is no statistic", "did you mean p95?"]);
    refused("p99 wakeups > 1ms", &["\"wakeups\" is no metric", "did you mean wakeup?"]);
    refused("p99 wakeup > 20", &["the unit is missing"]);
    rota(&["record", "--when", "p99 wakeup > 1ms"]).refused(&["--last"]);
}

/// A cgroup v2 of a test's own; `None` where none can be made.
struct OwnCgroup(std::path::PathBuf);

impl OwnCgroup {
    fn new() -> Option<Self> {
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
        let line = mounts.lines().find(|line| line.contains(" - cgroup2 "))?;
        let root = std::path::Path::new(line.split(' ').nth(4)?);
        let folder = root.join(format!("rota-test-{}", std::process::id()));
        std::fs::create_dir(&folder).ok()?;
        std::fs::create_dir(folder.join("below")).ok()?;
        Some(Self(folder))
    }
}

impl Drop for OwnCgroup {
    fn drop(&mut self) {
        // Tasks that were killed may be there a moment longer.
        for folder in [self.0.join("below"), self.0.clone()] {
            for _ in 0..100 {
                if std::fs::remove_dir(&folder).is_ok() {
                    break;
                }
                std::thread::sleep(std::time::Duration::from_millis(20));
            }
        }
    }
}

#[test]
fn tasks_of_a_cgroup_are_recorded_wherever_below_it_they_are_and_whenever_they_come() {
    let Some(cgroup) = OwnCgroup::new() else { return };
    let folder = cgroup.0.to_str().expect("a path");
    // One is there from the beginning, one comes later and further down, one never.
    let script = |place: &str, before: &str| {
        let enter = format!("echo $$ > {folder}{place}/cgroup.procs");
        format!("{before}; {enter}; while :; do sleep 0.01; done")
    };
    let start = |name: &str, script: &str| {
        let mut shell = std::process::Command::new("/bin/bash");
        let rename = format!("printf %s {name} > /proc/self/comm; {script}");
        shell.args(["-c", &rename]).spawn().expect("a shell")
    };
    let mut shells = [
        start("present", &script("", "true")),
        start("comes", &script("/below", "sleep 1")),
        start("stranger", "while :; do sleep 0.01; done"),
    ];
    std::thread::sleep(std::time::Duration::from_millis(200));
    let ran = live(&["record", "--json", "--cgroup", folder, "--duration", "2s"]);
    for shell in &mut shells {
        shell.kill().expect("killed");
        shell.wait().expect("waited");
    }
    let Some(ran) = ran else { return };
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let report: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    fits(&report);
    assert_eq!(report["target"]["cgroup"], folder);
    let tasks = report["tasks"].as_array().expect("tasks");
    let named = |name: &str| tasks.iter().find(|task| task["name"] == name);
    assert!(named("present").is_some() && named("comes").is_some(), "{}", ran.stdout.len());
    assert!(named("stranger").is_none());
    let sleeps = tasks.iter().filter(|task| task["name"] == "sleep").count();
    assert!(sleeps > 50, "children are in it, too: {sleeps}");
}

#[test]
fn what_is_no_cgroup_is_refused() {
    rota(&["record", "--cgroup", "/no/such/cgroup", "--duration", "1s"])
        .refused(&["/no/such/cgroup: "]);
    rota(&["record", "--cgroup", "/a", "--pid", "1"]).refused(&["cannot be used with"]);
}

#[test]
fn a_trace_prints_a_line_for_each_event() {
    let Some(ran) = live(&["trace", "--", "/bin/sh", "-c", "sleep 0.05; true"]) else { return };
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let mut lines = ran.stdout.lines();
    let header: Vec<&str> = lines.next().expect("a header").split_whitespace().collect();
    assert_eq!(header, ["time", "[s]", "cpu", "task", "pid", "event"]);
    assert!(lines.any(|line| line.contains("sleep") && line.ends_with("why=sleep")));
    assert!(lines.any(|line| line.contains("wakeup      waker_pid=")), "{}", ran.stdout);
}

#[test]
fn a_trace_comes_in_every_format() {
    let command = ["--", "/bin/sh", "-c", "sleep 0.05; true"];
    let trace = |format| live(&[&["trace", "--format", format][..], &command].concat());
    let Some(csv) = trace("csv") else { return };
    assert!(csv.stdout.starts_with("time_ns,cpu,event,pid,task,detail\n"), "{}", csv.stdout);
    assert!(csv.stdout.contains(",sleep,"), "{}", csv.stdout);
    let json = trace("json").expect("allowed a moment ago");
    let events: Vec<Value> = serde_json::from_str(&json.stdout).expect("an array of events");
    assert!(events.iter().any(|event| event["name"] == "sleep"), "{}", json.stdout);
    // Perfetto: packets, each field 1 with a length. Parquet: its name at both ends.
    let bytes = |format: &str| {
        let mut rota = std::process::Command::new(env!("CARGO_BIN_EXE_rota"));
        let output = rota.args(["trace", "--format", format]).args(command).output();
        let output = output.expect("rota starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    };
    let perfetto = bytes("pftrace");
    assert!(perfetto[0] == 0x0a && perfetto.windows(5).any(|w| w == b"sleep"));
    let parquet = bytes("parquet");
    assert!(parquet.starts_with(b"PAR1") && parquet.ends_with(b"PAR1"));
}

#[test]
fn what_cannot_be_recorded_is_told() {
    for (args, told) in [
        (&["record", "--buffer", "3M"][..], "power of two"),
        (&["record", "--duration", "0s"], "more than 0"),
        (&["trace", "--pid", "1", "--", "true"], "cannot be used with"),
        (&["trace", "--format", "svg"], "[possible values: lines, csv, json, pftrace, parquet]"),
        (&["record", "--trace-window", "0..1s"], "--trace FILE.svg"),
        (&["record", "--trace", "a.txt"], ".pftrace, .json, .csv, .parquet, .svg"),
    ] {
        let ran = rota(args);
        assert_eq!(ran.code, 2, "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(told), "{args:?}: {}", ran.stderr);
    }
    let Some(ran) = live(&["record", "--", "/nonexistent/command"]) else { return };
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("cannot run /nonexistent/command"), "{}", ran.stderr);
}

#[test]
fn the_commands_exit_code_is_ours_where_that_is_asked_for() {
    let record = |option: &[&str], script| {
        live(&[&["record"], option, &["--", "/bin/sh", "-c", script]].concat())
    };
    let Some(asked) = record(&["--exit-code"], "exit 7") else { return };
    assert_eq!(asked.code, 7, "{}", asked.stderr);
    assert!(asked.stderr.contains("the command ended with exit status: 7"), "{}", asked.stderr);
    let killed = record(&["--exit-code"], "kill -TERM $$").expect("as before");
    assert_eq!(killed.code, 128 + 15, "{}", killed.stderr);
    assert_eq!(record(&["--exit-code"], "true").expect("as before").code, 0);
    assert_eq!(record(&[], "exit 7").expect("as before").code, 0);
}

#[test]
fn an_exit_code_without_a_command_is_refused() {
    rota(&["record", "--exit-code"]).refused(&["--exit-code", "COMMAND"]);
}

#[test]
fn what_cannot_be_written_is_told_before_plain_runs() {
    let dir = tempfile::tempdir().expect("a directory");
    let (runs, load) = (dir.path().join("runs"), dir.path().join("load.json"));
    let command = format!("echo run >> {}", runs.display());
    let [nowhere, load] =
        [dir.path().join("none/load.json"), load].map(|path| path.display().to_string());
    for files in [&["--workload", &nowhere][..], &["--workload", &load, "--trace", "/none/run.csv"]]
    {
        let args = [&["record", "--plain", "2"], files, &["--", "sh", "-c", &command]].concat();

        let ran = rota(&args);

        assert_eq!(ran.code, 2, "{files:?}: {}", ran.stderr);
        assert!(ran.stderr.contains("cannot create"), "{files:?}: {}", ran.stderr);
        assert!(!runs.exists(), "{files:?}");
    }
}
