// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an author learns of a scheduler that leaves: callback, function, line, instruction, task
//! and its CPUs; and what it had in memory.

use crate::support::{fixture, rota, Run, Scratch};

/// One task that may use CPU 0 of two.
const PINNED: &str = r#"{"tasks": {"one": {"cpus": [0], "run": 3000, "sleep": 1000}}}"#;

/// The same, on any: only of such a task is ops.select_cpu() asked.
const FREE: &str = r#"{"tasks": {"one": {"run": 3000, "sleep": 1000}}}"#;

fn sim(way: u32, more: &[&str]) -> Run {
    let scratch = Scratch::new();
    let load = scratch.file("load.json", if way == 5 { FREE } else { PINNED });
    let (policy, way) = (fixture("exits.bpf.c"), format!("way={way}"));
    let args = ["sim", &policy, &load, "--cpus", "2", "--duration", "3s", "--set", &way];
    rota(&[&args[..], more].concat())
}

/// The line of the fixture that has this comment.
fn line(comment: &str) -> String {
    let text = std::fs::read_to_string(fixture("exits.bpf.c")).expect("fixture");
    let at = text.lines().position(|line| line.contains(comment)).expect("a line");
    format!("exits.bpf.c:{}: ", at + 1)
}

/// The message has the kernel's words first, then a line for the code and one for the task.
fn ejected(way: u32, reason: &str, code: &[&str], task: &str) {
    let run = sim(way, &[]);
    assert_eq!(run.code, 3, "{}", run.stderr);
    let lines: Vec<&str> = run.stderr.lines().collect();
    assert!(lines[0].starts_with("EXIT: ") && lines[0].contains(reason), "{}", run.stderr);
    for part in code {
        assert!(lines[1].contains(part), "{part}: {}", run.stderr);
    }
    assert_eq!(lines.get(2).copied().unwrap_or(""), task, "{}", run.stderr);
    assert!(!run.stdout.contains("EXIT"), "said once");
}

const TASK: &str = "  task one-0[1001], cpus=0";

#[test]
fn a_local_queue_of_a_cpu_that_the_task_must_not_use_names_the_insertion() {
    let reason = "SCX_DSQ_LOCAL[_ON] target CPU 1 not allowed for one-0[1001]";
    let line = line("/* wrong CPU */");
    ejected(1, reason, &["in ops.enqueue(): exits_enqueue() at instruction ", &line], TASK);
}

#[test]
fn a_queue_that_does_not_exist_names_the_insertion() {
    let line = line("/* no queue */");
    let code = ["in ops.enqueue(): exits_enqueue() at instruction ", &line];
    ejected(2, "non-existent DSQ 0x63", &code, TASK);
}

#[test]
fn a_mistake_in_dispatch_names_the_call() {
    let line = line("/* from nowhere */");
    let code = ["in ops.dispatch(): exits_dispatch() at instruction ", &line];
    ejected(3, "invalid DSQ ID 0x0000000000000062", &code, "");
}

#[test]
fn what_a_callback_returned_names_the_callback() {
    ejected(4, "ops.init() failed (-5)", &["in ops.init(): exits_init() at instruction 0"], "");
    let code = ["in ops.select_cpu(): exits_select_cpu() at instruction 0"];
    ejected(5, "invalid CPU 512 from ops.select_cpu()", &code, "  task one-0[1001], cpus=0-1");
}

#[test]
fn a_stall_says_where_the_task_waits() {
    let task =
        format!("{TASK}, waits in no DSQ: ops.enqueue() was called, and nothing dispatched it");
    let code = ["in ops.enqueue(): exits_enqueue() at instruction 0"];
    ejected(6, "one-0[1001] failed to run for ", &code, &task);
    let line = line("/* own queue */");
    let code = ["in ops.enqueue(): exits_enqueue() at instruction ", &line];
    ejected(7, "one-0[1001] failed to run for ", &code, &format!("{TASK}, waits on DSQ 0x5"));
}

#[test]
fn json_has_the_parts() {
    let json = sim(2, &["--json"]).json();
    let exit = &json["exit"];
    assert_eq!(exit["callback"], "ops.enqueue()");
    assert_eq!(exit["function"], "exits_enqueue");
    assert!(exit["instruction"].as_u64().is_some_and(|insn| insn > 0), "{exit}");
    let source = exit["source"].as_str().expect("a line");
    assert!(source.contains(&line("/* no queue */")), "{source}");
    assert_eq!(exit["task"]["pid"], 1001);
    assert_eq!(exit["task"]["cpus"], "0");
}

#[test]
fn an_exit_that_is_no_error_is_printed_once() {
    let run = sim(8, &[]).ok();
    assert_eq!(run.stdout.matches("EXIT:").count(), 1, "{}", run.stdout);
    assert!(run.stdout.contains("EXIT: unregistered from BPF (enough)"), "{}", run.stdout);
    assert!(run.stdout.contains(&line("/* leaves */")), "{}", run.stdout);
}

#[test]
fn globals_and_maps_are_printed_by_their_types() {
    // the first slice ends the run: one call of ops.enqueue()
    let run = sim(8, &["--dump-globals"]).ok();
    for part in [
        "globals at the end\n",
        "    counts = {calls: [0, 1, 0], name: x, seen: false}\n",
        "    way = 8\n",
        "  by_pid (hash, 1 of 16 entries)\n    [1001] = {calls: [0, 0, 1001], name: , seen: false}\n",
        "  slots (array, 1 of 8 entries not 0)\n    [3] = 77\n",
    ] {
        assert!(run.stdout.contains(part), "{part}: {}", run.stdout);
    }
    let json = sim(8, &["--dump-globals", "--json"]).json();
    assert_eq!(json["globals"]["counts"]["calls"], serde_json::json!([0, 1, 0]));
    assert_eq!(json["globals"]["counts"]["seen"], false);
    let entries = &json["maps"]["by_pid"]["entries"];
    assert_eq!(entries[0]["key"], 1001);
    assert_eq!(entries[0]["value"]["calls"][2], 1001);
    assert_eq!(json["maps"]["slots"]["entries"], serde_json::json!([{"key": 3, "value": 77}]));
    assert!(sim(8, &["--json"]).json().get("globals").is_none(), "not asked for");
}

#[test]
fn a_failing_program_of_the_manifest_shows_what_it_printed() {
    let scratch = Scratch::new();
    let manifest = scratch.file("m.toml", "[[run]]\nprogram = \"exits_set_up\"\n");
    let printed = "no such device: 12";
    let verbose = sim(0, &["--manifest", &manifest, "-v"]);
    assert!(verbose.stderr.contains(printed), "{}", verbose.stderr);
    verbose.refused(&["program exits_set_up: returned 3, expected 0"]);
    let quiet = sim(0, &["--manifest", &manifest]);
    assert!(!quiet.stderr.contains(printed), "{}", quiet.stderr);
}

#[test]
fn a_run_without_a_decision_is_warned_of() {
    let scratch = Scratch::new();
    let load =
        scratch.file("rt.json", r#"{"tasks": {"rt": {"policy": "SCHED_FIFO", "run": 1000}}}"#);
    let run = rota(&["sim", "fifo", &load, "--cpus", "1", "--duration", "1s"]);
    assert_eq!(run.code, 0);
    assert!(
        run.stderr.contains("warning: 0 decisions: the policy ran no task in the measured time"),
        "{}",
        run.stderr
    );
    assert_eq!(rota(&["sim", "fifo", "workloads/hogs.json", "--duration", "1s"]).ok().stderr, "");
}

#[test]
fn the_debug_dump_has_the_form_of_the_kernels() {
    // scx_dump_state(), scx_dump_cpu(), scx_dump_task(). The task waits from 0 s on, its scheduler
    // has a timeout of 1 s and is looked at every 0.5 s: 1 s is not more than that, 1.5 s is. It
    // has the default slice, and may use the first of two CPUs.
    let run = sim(6, &["-v"]);
    let parts = [
        "exits: root\nswapper/0[0] triggered exit kind 1026 on CPU 0:\n  \
         runnable task stall (one-0[1001] failed to run for 1.500s)\n\nBacktrace:\n",
        "\n\nCPU states\n----------\n\nCPU 0   : nr_run=1 flags=0x1 cpu_rel=0 ksync=0\n          \
         curr=swapper/0[0] class=idle_sched_class\n\n  R one-0[1001] *root -1500ms\n      \
         scx_state/flags=4/0x",
        " dsq_flags=0x0 ops_state/qseq=2/1\n      sticky/holding_cpu=-1/-1 dsq_id=(n/a)\n      \
         dsq_vtime=0 slice=20000000 weight=100\n      cpus=1 no_mig=0\n\nEvent counters\n",
    ];
    for part in parts {
        assert!(run.stderr.contains(part), "{part}\n---\n{}", run.stderr);
    }
    assert!(!run.stderr.contains("CPU 1"), "it has nothing to do: {}", run.stderr);
}
