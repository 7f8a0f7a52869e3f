// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota import`, and traces where a workload is expected.

use crate::support::schema::fits;
use crate::support::{rota, Scratch};

/// Two tasks on one CPU, as tracefs writes them: 2 ms and 1 ms on the CPU.
const TRACE: &str = "\
# tracer: nop
          <idle>-0       [000] d.h2.   100.000000: sched_waking: comm=one pid=7 prio=120 target_cpu=000
          <idle>-0       [000] dNh3.   100.000001: sched_wakeup: comm=one pid=7 prio=120 target_cpu=000
          <idle>-0       [000] d..2.   100.000010: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=one next_pid=7 next_prio=120
             one-7       [000] d..3.   100.001000: sched_waking: comm=two pid=8 prio=130 target_cpu=000
             one-7       [000] d..4.   100.001001: sched_wakeup: comm=two pid=8 prio=130 target_cpu=000
             one-7       [000] d..2.   100.002010: sched_switch: prev_comm=one prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=two next_pid=8 next_prio=130
             two-8       [000] d..2.   100.003010: sched_switch: prev_comm=two prev_pid=8 prev_prio=130 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120
";

#[test]
fn a_trace_is_printed_as_a_recording_with_what_it_lacks() {
    let scratch = Scratch::new();
    let file = scratch.file("trace.txt", TRACE);
    let run = rota(&["import", &file]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stdout.contains("a trace as text (ftrace), 1 CPU, 3.01ms"), "{}", run.stdout);
    let row = |name: &str| run.stdout.lines().find(|line| line.starts_with(name)).expect("a row");
    assert!(row("one").contains("2.00ms"), "{}", run.stdout);
    // Nice 10 is weight 110 of 1024: 11 of 100. It waits from 1.000 to 2.010.
    assert!(row("two").contains("  11    1.00ms"), "{}", run.stdout);
    assert!(row("two").contains("1.01ms"), "{}", run.stdout);
    assert!(run.stdout.contains("note: no sched_process_fork: "), "{}", run.stdout);
}

#[test]
fn the_json_has_the_records_and_the_consequences() {
    let scratch = Scratch::new();
    let file = scratch.file("trace.txt", TRACE);
    let run = rota(&["import", &file, "--json"]);
    let json: serde_json::Value = serde_json::from_str(&run.stdout).expect("JSON");
    assert_eq!(json["schema"], "rota.import/1");
    fits(&json);
    assert_eq!(json["trace"]["records"]["sched_switch"], 3);
    assert_eq!(
        (&json["duration_ns"], &json["begin_ns"]),
        (&3_010_000.into(), &100_000_000_000u64.into())
    );
    let missing: Vec<&str> = json["missing"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|m| m["what"].as_str())
        .collect();
    assert_eq!(missing, ["sched_process_fork", "sched_process_exit"]);
}

#[test]
fn a_trace_is_no_workload_and_a_message_says_what_to_do() {
    let scratch = Scratch::new();
    let text = scratch.file("trace.txt", TRACE);
    let expected = |file: &str, kind: &str| {
        format!(
            "error: {file} is a {kind}, not a workload: rota import {file} -o load.json makes one \
             of it\n"
        )
    };
    let run = rota(&["sim", "fifo", &text]);
    assert_eq!((run.code, run.stderr), (2, expected(&text, "trace as text (ftrace)")));
    let perf = scratch.file("perf.data", "PERFILE2\u{68}\0\0\0\0\0\0\0");
    let run = rota(&["compare", &perf]);
    assert_eq!((run.code, run.stderr), (2, expected(&perf, "perf.data trace")));
    let run = rota(&["import", &perf]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("perf.data: byte 16: "), "{}", run.stderr);
}

#[test]
fn a_trace_becomes_a_workload_that_does_the_same() {
    let scratch = Scratch::new();
    let file = scratch.file("trace.txt", TRACE);
    let made = scratch.path("load.json");
    let run = rota(&["import", &file, "-o", &made, "--json"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let json: serde_json::Value = serde_json::from_str(&run.stdout).expect("JSON");
    // One was woken by an interrupt, at the beginning; two by one, after 0.99 ms of its work.
    assert_eq!(json["workload"]["waits"]["tasks"], 1);
    let text = std::fs::read_to_string(&made).expect("a workload");
    assert!(text.contains("\"sem_post2\" : \"two-8 wait\""), "{text}");
    let played = rota(&["sim", "fifo", &made, "--json"]);
    assert_eq!(played.code, 0, "{}", played.stderr);
    let played: serde_json::Value = serde_json::from_str(&played.stdout).expect("JSON");
    assert_eq!(played["machine"]["cpus"], 1);
    for (task, ns) in played["tasks"].as_array().expect("tasks").iter().zip([2e6, 1e6]) {
        let cpu_ns = task["cpu_ns"].as_f64().expect("a time");
        assert!((cpu_ns - ns).abs() < 0.01 * ns, "{cpu_ns} is not {ns}: {played}");
    }
}

/// Two hogs share a CPU. Under first come, first served the second one waits for the first one's end;
/// Linux's own scheduler lets them take turns.
#[test]
fn a_trace_is_compared_under_the_scheduler_that_was_recorded() {
    let scratch = Scratch::new();
    let load = scratch.file(
        "load.json",
        r#"{"tasks": {"a": {"loop": 1, "run": 300000}, "b": {"loop": 1, "run": 300000}}}"#,
    );
    let trace = scratch.path("run.csv");
    rota(&["sim", "fifo", &load, "--cpus", "1", "--ideal", "--trace", &trace]).ok();
    let made = scratch.path("made.json");
    let import = |policy: &[&str]| rota(&[&["import", &trace, "-o", &made][..], policy].concat());
    let hint = "--policy NAME if it was not Linux's own";

    let by_default = import(&[]).ok().stdout;
    assert!(by_default.contains("replayed by eevdf:"), "{by_default}");
    assert!(!by_default.contains("grade: good"), "{by_default}");
    assert!(by_default.contains(hint), "{by_default}");

    let named = import(&["--policy", "fifo"]).ok().stdout;
    assert!(named.contains("replayed by fifo:"), "{named}");
    assert!(named.contains("grade: good"), "{named}");
    assert!(!named.contains(hint), "{named}");

    let foreign = import(&["--policy", "scx_none"]).ok().stdout;
    let reason = "scx_none was recorded, and the kernel's own scheduler replayed it";
    assert!(foreign.contains(reason), "{foreign}");
}

/// A trace of the importer's own tests, unpacked.
fn trace_of_one_run(scratch: &Scratch, name: &str) -> String {
    let folder = format!("{}/../trace-import/tests/fixtures", env!("CARGO_MANIFEST_DIR"));
    let packed = std::fs::read(format!("{folder}/{name}.zst")).expect("a fixture");
    let mut from = packed.as_slice();
    let mut decoder = ruzstd::decoding::StreamingDecoder::new(&mut from).expect("zstd");
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut decoder, &mut bytes).expect("zstd");
    scratch.file(name, bytes)
}

/// What the workload of a trace does when it is played: its end, and CPU time by kind of task.
fn replayed(scratch: &Scratch, name: &str) -> (f64, Vec<(String, f64)>) {
    let trace = trace_of_one_run(scratch, name);
    let run = rota(&["import", &trace, "-o", &scratch.path("load.json"), "--json"]);
    assert_eq!(run.code, 0, "{name}: {}", run.stderr);
    let json = run.json();
    let ns = |pair: &serde_json::Value| pair["replayed_ns"].as_f64().expect("a time");
    let kinds = json["workload"]["kinds"].as_array().expect("kinds").iter();
    let kinds = kinds.map(|kind| (kind["name"].as_str().expect("a name").into(), ns(&kind["cpu"])));
    (ns(&json["workload"]["completion"]), kinds.collect())
}

/// Within three percent.
fn agree(a: f64, b: f64) -> bool {
    (a - b).abs() <= 0.03 * a.max(b)
}

#[test]
fn traces_of_one_run_become_workloads_that_do_the_same() {
    let scratch = Scratch::new();
    let (end, kinds) = replayed(&scratch, "trace-v7.dat");
    let large = kinds.iter().filter(|(_, ns)| *ns > 5e6);
    let large: Vec<&(String, f64)> = large.collect();
    assert_eq!(large.len(), 3, "{kinds:?}");
    for name in ["ftrace.txt", "trace-cmd-report.txt", "pingpong.pftrace", "compact.pftrace"] {
        let (other_end, others) = replayed(&scratch, name);
        assert!(agree(end, other_end), "{name}: {end} and {other_end}");
        for (kind, ns) in &large {
            let other = others.iter().find(|(other, _)| other == kind).expect("the same kind").1;
            assert!(agree(*ns, other), "{name}: {kind}: {ns} and {other}");
        }
    }
    // perf began 5 ms before ftrace: what ran meanwhile is in its file only.
    let (_, others) = replayed(&scratch, "perf.data");
    let of =
        |kinds: &[(String, f64)]| kinds.iter().find(|kind| kind.0 == "pingpong").expect("it").1;
    assert!(agree(of(&kinds), of(&others)), "{kinds:?} {others:?}");
}
