// SPDX-License-Identifier: MIT OR Apache-2.0
//! Schedulers with their own programs: arguments, and programs that bring none.

use crate::support::{rota, Run, Scratch};
use std::os::unix::fs::PermissionsExt;

const HOGS: &str = "workloads/hogs.json";

/// A run of the program, unless this computer cannot play a kernel to it.
fn played(run: Run) -> Option<Run> {
    let cannot = run.stderr.contains("is not run, as this computer");
    if cannot {
        eprintln!("skipped: {}", run.stderr);
    }
    (!cannot).then_some(run)
}

/// A script that can be executed.
fn script(scratch: &Scratch, text: &str) -> String {
    let path = scratch.path("scx_script");
    std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).expect("written");
    let executable = PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&path, executable).expect("changed");
    path
}

#[test]
fn a_program_that_ends_without_a_scheduler_is_named_with_its_status() {
    for (program, status) in [("true", "exit status: 0"), ("false", "exit status: 1")] {
        let Some(run) = played(rota(&["sim", HOGS, "--", program])) else { return };
        run.refused(&[program, "ended before it attached a scheduler", status]);
        let Some(run) = played(rota(&["compare", HOGS, program])) else { return };
        run.refused(&[program, "ended before it attached a scheduler", status]);
    }
}

#[test]
fn what_a_failing_program_printed_is_shown_unless_it_went_to_a_file() {
    let scratch = Scratch::new();
    let program = script(&scratch, "echo looked at $1; echo cannot >&2; exit 7");
    let Some(run) = played(rota(&["sim", HOGS, "--", &program, "-v"])) else { return };
    run.refused(&[&program, "exit status: 7", "looked at -v", "cannot"]);

    let log = scratch.path("log.txt");
    let run = rota(&["sim", HOGS, "--program-log", &log, "--", &program, "two words"]);
    run.refused(&["exit status: 7"]);
    let log = std::fs::read_to_string(log).expect("it is there");
    assert_eq!(log, "looked at two words\ncannot\n");
}

#[test]
fn a_program_that_hangs_is_ended_after_its_time() {
    let scratch = Scratch::new();
    let program = script(&scratch, "while :; do :; done");
    let begin = std::time::Instant::now();
    let timed = ["sim", HOGS, "--program-timeout", "300ms", "--", &program];
    let Some(run) = played(rota(&timed)) else { return };
    assert_ne!(run.code, 0);
    assert!(run.stderr.contains("--program-timeout"), "{}", run.stderr);
    assert!(begin.elapsed().as_millis() >= 300);
}

#[test]
fn what_cannot_be_run_is_refused_before_anything_runs() {
    let sim = |program: &str| rota(&["sim", HOGS, "--", program]);
    sim("no_such_program_at_all").refused(&["no program no_such_program_at_all in PATH"]);
    sim("flase").refused(&["no program flase in PATH (did you mean"]);
    sim("./no/such").refused(&["cannot run ./no/such: No such file"]);
    sim("./README.md").refused(&["cannot run ./README.md: Permission denied"]);
    sim("./docs").refused(&["cannot run ./docs: it is a folder"]);
    rota(&["compare", HOGS, "no_such_program -f"]).refused(&["no program no_such_program in PATH"]);
    rota(&["compare", HOGS, "scx_simple 'f"]).refused(&["a quote has no end"]);

    let scratch = Scratch::new();
    let object = scratch.path("mine.bpf.o");
    std::fs::write(&object, rota_catalog::find("fifo").expect("ships").object).expect("written");
    let executable = PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&object, executable).expect("changed");
    sim(&object).refused(&["a BPF object, expected the program that loads it"]);
}

#[test]
fn options_that_a_program_decides_itself_are_refused() {
    let cases: [(&[&str], &str); 8] = [
        (&["--set", "slice_us=5"], "--set: not with a program"),
        (&["--manifest", "m.toml"], "--manifest: not with a program"),
        (&["--ops", "simple"], "--ops: not with a program"),
        (&["--include", "docs"], "--include: not with a program"),
        (&["--partial"], "--partial: not with a program"),
        (&["--kernel", "all"], "--kernel all: not with a program"),
        (&["--help-tunables"], "--help-tunables: not with a program"),
        (&["more.json"], "a policy and a program: expected one of them"),
    ];
    for (options, expected) in cases {
        let arguments = [&["sim", HOGS], options, &["--", "true"]].concat();
        rota(&arguments).refused(&[expected]);
    }
}

#[test]
fn options_of_programs_need_one() {
    for option in [
        ["--program-cost", "2us"],
        ["--program-timeout", "1s"],
        ["--program-log", "f"],
        ["--then", "1s true"],
    ] {
        let run = rota(&[&["sim", "fifo", HOGS], &option[..]].concat());
        run.refused(&[option[0], "expected a program"]);
    }
    let run = rota(&["compare", HOGS, "fifo", "--program-cost", "2us"]);
    run.refused(&["--program-cost: expected a program among the policies"]);
    let run = rota(&["sim", HOGS, "--program-cost", "0", "--", "true"]);
    run.refused(&["--program-cost", "expected a time of 1ns or more"]);
}

#[test]
fn programs_that_follow_need_a_time_before_the_end_in_their_order() {
    let sim = |then: &[&str]| {
        let then: Vec<&str> = then.iter().flat_map(|text| ["--then", text]).collect();
        rota(&[&["sim", HOGS, "--duration", "4s"], &then[..], &["--", "true"]].concat())
    };
    sim(&["true"]).refused(&["--then", "expected a time and a program"]);
    sim(&["soon true"]).refused(&["--then", "soon"]);
    sim(&["1s no_such_program"]).refused(&["no program no_such_program in PATH"]);
    sim(&["4s true"]).refused(&["--then", "less than the run's 4.00s"]);
    sim(&["2s true", "1s true"]).refused(&["1s true", "times in their order"]);
}

/// A process is over, or only its status is left.
fn is_over(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')')
        .next()
        .is_none_or(|rest| rest.trim().is_empty() || rest.trim().starts_with('Z'))
}

#[test]
fn a_program_dies_with_the_process_that_runs_it() {
    let scratch = Scratch::new();
    let program = script(&scratch, "while :; do :; done");
    let mut rota = std::process::Command::new(env!("CARGO_BIN_EXE_rota"))
        .args(["sim", "../../workloads/hogs.json", "--program-timeout", "100s", "--", &program])
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("starts");
    let until = |mut done: Box<dyn FnMut() -> bool>| {
        let begin = std::time::Instant::now();
        while !done() && begin.elapsed().as_secs() < 60 {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        done()
    };
    let threads = format!("/proc/{}/task", rota.id());
    let children = move || {
        let threads = std::fs::read_dir(&threads).into_iter().flatten().flatten();
        let of =
            |thread: std::fs::DirEntry| std::fs::read_to_string(thread.path().join("children"));
        let all: Vec<String> = threads.filter_map(|thread| of(thread).ok()).collect();
        all.join(" ").split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    // as a script it shows once it executes the shell
    let is_shell = |pid: &String| {
        let exe = std::fs::read_link(format!("/proc/{pid}/exe"));
        exe.is_ok_and(|exe| exe != std::fs::canonicalize(env!("CARGO_BIN_EXE_rota")).unwrap())
    };
    let all = children.clone();
    if !until(Box::new(move || all().iter().any(is_shell))) {
        // this computer plays no kernel
        assert!(rota.wait().is_ok_and(|status| status.code() == Some(1)));
        return;
    }
    let program = children();
    rota.kill().expect("killed");
    rota.wait().expect("over");
    assert!(until(Box::new(move || program.iter().all(|pid| is_over(pid)))));
}
