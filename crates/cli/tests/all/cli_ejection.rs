// SPDX-License-Identifier: MIT OR Apache-2.0
//! Policies that the kernel would eject: exit code 3, kind and reason as it prints them.

use crate::support::schema::fits;
use crate::support::{fixture, rota, Run, Scratch};

const SHARES: &str = "workloads/shares321.json";

/// Three tasks on one CPU, so that the policy is asked.
fn eject(policy: &str, more: &[&str]) -> Run {
    let policy = fixture(policy);
    let run = rota(&[&["sim", &policy, SHARES, "--cpus", "1"], more].concat());
    assert_eq!(run.code, 3, "{}", run.stderr);
    run
}

/// Kind and reason of the JSON.
fn exit_of(policy: &str, more: &[&str]) -> (u64, String) {
    let run = eject(policy, &[&["--json"], more].concat());
    let json = run.json();
    fits(&json);
    let exit = &json["exit"];
    let reason = exit["reason"].as_str().expect("reason");
    assert_eq!(run.stderr.lines().next(), Some(format!("EXIT: {reason}").as_str()));
    (exit["kind"].as_u64().expect("kind"), reason.to_owned())
}

#[test]
fn a_dropped_task_is_a_stall() {
    let (kind, reason) = exit_of("drop.bpf.c", &[]);
    assert_eq!(kind, 1026);
    assert!(reason.starts_with("runnable task stall (A-0[1001] failed to run for 0."), "{reason}");
}

#[test]
fn an_endless_loop_ends_with_its_budget() {
    let (kind, reason) = exit_of("endless.bpf.c", &["--budget", "5000"]);
    assert_eq!(kind, 1024);
    for part in ["runtime error", "5000 instructions", "endless_enqueue", "endless.bpf.c:1"] {
        assert!(reason.contains(part), "{part}: {reason}");
    }
}

#[test]
fn a_policy_that_computes_too_much_in_a_second_is_ejected() {
    // 249 ticks in the first second, each of 2,000 rounds of some instructions; no tick has more
    // than its own budget.
    let (kind, reason) = exit_of("busy.bpf.c", &["--budget-per-second", "1000000"]);
    assert_eq!(kind, 1024);
    for part in [
        "runtime error (executed 10",
        "between 0s and 1s of simulated time: at most 1000000 are allowed",
        "1000000 for each of 1 CPU",
        "--budget-per-second allows more",
    ] {
        assert!(reason.contains(part), "{part}: {reason}");
    }
    let busy = fixture("busy.bpf.c");
    rota(&["sim", &busy, SHARES, "--cpus", "1"]).ok();
}

#[test]
fn a_set_up_program_counts_for_the_first_second() {
    let scratch = Scratch::new();
    let manifest = scratch.file("busy.toml", "[[run]]\nprogram = \"busy_setup\"\n");
    let more = ["--manifest", &manifest, "--budget-per-second", "1000", "--duration", "1ms"];
    let (kind, reason) = exit_of("busy.bpf.c", &more);
    assert_eq!(kind, 1024);
    assert!(reason.contains("between 0s and 1s of simulated time: at most 1000 "), "{reason}");
}

#[test]
fn runs_with_another_budget_are_not_taken_over() {
    let scratch = Scratch::new();
    let file = scratch.path("runs.jsonl");
    let compare = |budget: &str| {
        let args = ["compare", SHARES, "fifo", "--baseline", "none", "--seeds", "1"];
        let more = ["--duration", "1s", "--resume", &file, "--budget-per-second", budget];
        rota(&[&args[..], &more].concat())
    };
    compare("1000000000").ok();
    compare("1000000000").ok();
    compare("999999999").refused(&["--budget-per-second was 1000000000, is 999999999"]);
}

#[test]
fn a_stray_access_names_the_source_line() {
    let (kind, reason) = exit_of("stray.bpf.c", &[]);
    assert_eq!(kind, 1024);
    for part in ["runtime error", "invalid write of 8 bytes", "stray.bpf.c:10", "table[place]"] {
        assert!(reason.contains(part), "{part}: {reason}");
    }
}

#[test]
fn a_policys_own_error_is_passed_on() {
    let expected = (1025, "scx_bpf_error (task 1001 came)".to_owned());
    assert_eq!(exit_of("quitter.bpf.c", &[]), expected);
}

#[test]
fn the_debug_dump_is_shown_when_asked_for() {
    let quiet = eject("quitter.bpf.c", &[]);
    assert!(quiet.stderr.starts_with("EXIT: scx_bpf_error (task 1001 came)\n"), "{}", quiet.stderr);
    assert_eq!(quiet.stderr.lines().count(), 3, "exit, code and task: {}", quiet.stderr);
    assert!(!quiet.stdout.contains("EXIT"), "said once");
    let verbose = eject("quitter.bpf.c", &["-v"]);
    for part in ["no tasks are wanted here", "CPU 0", "A-0[1001]"] {
        assert!(verbose.stderr.contains(part), "{part}: {}", verbose.stderr);
    }
}

#[test]
fn the_trace_ends_with_the_ejection() {
    let scratch = Scratch::new();
    let trace = scratch.path("run.csv");
    eject("drop.bpf.c", &["--trace", &trace]);
    let text = std::fs::read_to_string(trace).expect("trace");
    let last = text.lines().last().expect("a last line");
    assert!(last.contains(",policy_exit,") && last.contains("runnable task stall"), "{last}");
}

#[test]
fn the_fair_class_can_go_on_after_an_ejection_and_the_exit_code_stays() {
    let more = ["--json", "--duration", "5s"];
    let ends = |more: &[&str]| {
        let json = eject("drop.bpf.c", more).json();
        assert_eq!(json["exit"]["kind"], 1026);
        let cpu_ns = json["tasks"].as_array().expect("tasks").iter();
        let cpu_ns: u64 = cpu_ns.map(|task| task["cpu_ns"].as_u64().expect("a time")).sum();
        (json["duration_ns"].as_u64().expect("a time"), cpu_ns)
    };
    let (end_ns, _) = ends(&more);
    assert!(end_ns < 2_000_000_000, "{end_ns}");
    let (end_ns, cpu_ns) = ends(&[&more[..], &["--go-on"]].concat());
    assert_eq!(end_ns, 5_000_000_000);
    assert!(cpu_ns > 4_000_000_000, "{cpu_ns}");
}

const BELOW: &str = r#"{"tasks": {"a": {"run": 1000, "sleep": 1000},
    "b": {"taskgroup": "/web", "instance": 2, "run": 100000}}}"#;

/// One object as the policy and as the scheduler of `/web`, which fails as the manifest says.
fn below(scratch: &Scratch, manifest: &str, more: &[&str]) -> Run {
    let load = scratch.file("below.json", BELOW);
    let manifest = format!("/web={}", scratch.file("below.toml", manifest));
    let (policy, below) = (fixture("below.bpf.c"), format!("/web={}", fixture("below.bpf.c")));
    let args = ["sim", &policy, &load, "--cpus", "1", "--duration", "1s", "--sub", &below];
    rota(&[&args[..], &["--sub-manifest", &manifest], more].concat())
}

#[test]
fn a_sub_scheduler_that_is_ejected_ends_nothing_but_counts() {
    let scratch = Scratch::new();
    let run = below(&scratch, "[set]\nfails_after = 20\n", &["--json"]);
    fits(&run.json());
    assert_eq!(run.code, 3, "{}", run.stderr);
    let first = run.stderr.lines().next().unwrap_or_default();
    assert!(first.starts_with("/web: EXIT: scx_bpf_error (21 tasks are too many)"), "{first}");
    let json = run.json();
    // the policy goes on to the end, with the tasks of both
    assert_eq!(json["exit"]["kind"], 64);
    assert_eq!(json["duration_ns"], 1_000_000_000);
    let (gone, at_ns) = (&json["sub_exits"][0], json["sub_exits"][0]["at_ns"].as_u64());
    assert_eq!((&gone["cgroup"], &gone["kind"]), (&"/web".into(), &1025.into()), "{gone}");
    assert!(at_ns < Some(200_000_000), "{gone}");
    let cpu_ns = json["tasks"][1]["cpu_ns"].as_u64();
    assert!(cpu_ns > Some(200_000_000), "{}", json["tasks"]);
    let text = below(&scratch, "[set]\nfails_after = 20\n", &[]);
    assert_eq!(text.code, 3, "{}", text.stderr);
    assert!(text.stdout.contains("note: sub-scheduler of /web left at "), "{}", text.stdout);
}

#[test]
fn a_sub_scheduler_that_stays_leaves_the_exit_code_and_its_tracing_programs_are_named() {
    let scratch = Scratch::new();
    let run = below(&scratch, "", &["--json"]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    let never = &run.json()["never_called"];
    assert_eq!(never.as_array().map(Vec::len), Some(1), "{never}");
    assert_eq!((&never[0]["cgroup"], &never[0]["program"]), (&"/web".into(), &"on_switch".into()));
    let note =
        "note: never called, of /web: on_switch() (section tp_btf/sched_switch): the machine \
                runs no tracing programs of sub-schedulers";
    let text = below(&scratch, "", &[]);
    assert!(text.stdout.contains(note), "{}", text.stdout);
}
