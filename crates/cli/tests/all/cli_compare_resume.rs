// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota compare` that was interrupted, and goes on.

use crate::support::{fixture, root, rota, Scratch};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const LOAD: &str = r#"{ "tasks": {
    "talk": { "instance": 8, "run": {"dist": "exp", "mean": 1000},
              "sleep": {"dist": "exp", "mean": 1000} }
} }"#;

/// Runs kept in the file: all lines but the first.
fn kept(file: &str) -> usize {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    text.matches('\n').count().saturating_sub(1)
}

fn start(args: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rota"));
    let piped =
        command.args(args).current_dir(root()).stdout(Stdio::piped()).stderr(Stdio::piped());
    piped.spawn().expect("rota starts")
}

/// Interrupts it once some runs are done; its standard error.
fn interrupt(child: Child, file: &str) -> String {
    let patience = Instant::now() + Duration::from_secs(60);
    while kept(file) < 3 {
        assert!(Instant::now() < patience, "no run was kept");
        std::thread::sleep(Duration::from_millis(5));
    }
    let signal = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(signal.expect("kill starts").success());
    let output = child.wait_with_output().expect("rota ends");
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0));
    String::from_utf8(output.stderr).expect("messages are UTF-8")
}

#[test]
fn an_interrupted_comparison_goes_on_where_it_was() {
    let scratch = Scratch::new();
    let (load, file) = (scratch.file("talk.json", LOAD), scratch.path("runs.jsonl"));
    let args = [
        "compare",
        &load,
        "rr",
        "wfq",
        "--baseline",
        "rr",
        "--seeds",
        "400",
        "--duration",
        "3s",
        "-j",
        "1",
    ];
    let resume = [&args[..], &["--resume", &file]].concat();
    let message = interrupt(start(&resume), &file);
    let done = kept(&file);
    assert!((3..800).contains(&done), "{done} runs were kept");
    assert!(message.contains("of 800 runs are kept in"), "{message}");
    assert!(message.contains(&format!("--resume {file}")), "{message}");

    // What was being written when the end came does not count.
    let mut text = std::fs::read_to_string(&file).expect("the file");
    text.push_str("{\"workload\":\"ta");
    std::fs::write(&file, text).expect("written");
    // Less of the same is there in part; only the rest is done now.
    let short = |args: &[&str]| -> Vec<String> {
        args.iter().map(|arg| if *arg == "400" { "4".into() } else { (*arg).to_owned() }).collect()
    };
    let run = |args: &[&str]| {
        let args = short(args);
        rota(&args.iter().map(String::as_str).collect::<Vec<_>>()).ok().stdout
    };
    let whole = run(&args);
    let torn = short(&resume);
    let torn = rota(&torn.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!((torn.code, torn.stdout), (0, whole.clone()));
    let note = format!("note: {file}:{}: incomplete last line", done + 2);
    assert!(torn.stderr.starts_with(&note), "{}", torn.stderr);
    assert_eq!(torn.stderr.lines().count(), 1, "{}", torn.stderr);
    assert_eq!(kept(&file), done.max(8));
    // With all runs there, none is done: the file stays as it is, and so does the output.
    let before = std::fs::read(&file).expect("the file");
    assert_eq!(run(&resume), whole);
    assert_eq!(std::fs::read(&file).expect("the file"), before);
}

#[test]
fn runs_are_kept_without_being_asked_until_all_are_done() {
    let (scratch, state) = (Scratch::new(), Scratch::new());
    let load = scratch.file("talk.json", LOAD);
    let mut command = Command::new(env!("CARGO_BIN_EXE_rota"));
    command.args(["compare", &load, "rr", "--seeds", "2", "--duration", "100ms"]);
    let output = command.env("XDG_STATE_HOME", state.path("")).output().expect("rota starts");
    assert!(output.status.success(), "{output:?}");
    let dir = std::fs::read_dir(state.path("rota")).expect("the directory");
    assert_eq!(dir.count(), 0, "nothing is left");
}

#[test]
fn runs_of_something_else_are_refused() {
    let scratch = Scratch::new();
    let (load, file) = (scratch.file("talk.json", LOAD), scratch.path("runs.jsonl"));
    let args = ["compare", &load, "rr", "--seeds", "1", "--resume", &file];
    rota(&[&args[..], &["--duration", "100ms"]].concat()).ok();
    let other = [&args[..], &["--duration", "200ms"]].concat();
    rota(&other).refused(&["runs.jsonl", "--duration was 100000000ns, is 200000000ns"]);
    let more = [&args[..], &["--duration", "100ms", "--policies", "wfq"]].concat();
    rota(&more).refused(&["runs.jsonl", "policy wfq was not there"]);
    scratch.file("talk.json", LOAD.replace("8", "9"));
    rota(&[&args[..], &["--duration", "100ms"]].concat()).refused(&["talk.json was "]);
}

#[test]
fn runs_of_a_policy_from_source_are_not_done_again() {
    let scratch = Scratch::new();
    let (load, file) = (scratch.file("talk.json", LOAD), scratch.path("runs.jsonl"));
    let policy = fixture("drop.bpf.c");
    let args =
        ["compare", &load, &policy, "--seeds", "1", "--duration", "100ms", "--resume", &file];
    let first = rota(&args);
    let runs = kept(&file);

    let again = rota(&args);

    assert_eq!((again.stdout, again.code), (first.stdout, first.code), "{}", again.stderr);
    assert_eq!((runs, kept(&file)), (2, 2));
}

#[test]
fn files_of_others_are_refused_and_stay_as_they_are() {
    let scratch = Scratch::new();
    let load = scratch.file("talk.json", LOAD);
    let refused = |text: &[u8], told: &[&str]| {
        let file = scratch.file("other", text);
        rota(&["compare", &load, "rr", "--seeds", "1", "--resume", &file]).refused(told);
        assert_eq!(std::fs::read(&file).expect("the file"), text);
    };
    refused(b"hello\n", &["other: not a file of runs", "left unchanged"]);
    refused(b"without a last new line", &["other: not a file of runs"]);
    refused(b"\x7fELF\xff\xfe\n\0\n", &["other: not a file of runs"]);
    refused(LOAD.as_bytes(), &["other: not a file of runs"]);
    for version in ["rota.compare.runs/1", "rota.compare.runs/2"] {
        let old = format!("{{\"schema\":\"{version}\",\"inputs\":{{}}}}\n{{\"workload\":\"ta");
        let is_told = format!("other:1: \"{version}\" is of another version of rota");
        let what_to_do = "expected \"rota.compare.runs/3\"; give another file";
        refused(old.as_bytes(), &[&is_told, what_to_do]);
    }
}

#[test]
fn a_damaged_line_is_named_and_nothing_is_lost() {
    let scratch = Scratch::new();
    let (load, file) = (scratch.file("talk.json", LOAD), scratch.path("runs.jsonl"));
    let short = ["--seeds", "2", "--duration", "100ms", "--baseline", "none"];
    let args = [&["compare", &load, "rr", "--resume", &file][..], &short].concat();
    let whole = rota(&args).ok().stdout;
    let text = std::fs::read_to_string(&file).expect("the file");
    let damaged = |text: String, line: u32| {
        scratch.file("runs.jsonl", &text);
        rota(&args).refused(&[&format!("runs.jsonl:{line}: damaged")]);
        assert_eq!(std::fs::read_to_string(&file).expect("the file"), text);
    };
    let changed = text.replacen("\"duration_ns\":1000", "\"duration_ns\":1001", 1);
    assert_ne!(changed, text);
    damaged(changed, 2);
    damaged(text.replacen("\"--hz\":\"the default\"", "\"--hz\":\"350\"", 1), 1);
    let (before, last) = text.trim_end().rsplit_once('\n').expect("lines");
    damaged(format!("{}\n{last}\n", &before[..before.len() - 9]), 2);
    damaged(format!("{before}\n\n{last}\n"), 3);
    // Without the line its run is done again, as is one that is there in part.
    for (text, is_told) in [(format!("{before}\n"), false), (text[..text.len() - 5].into(), true)] {
        scratch.file("runs.jsonl", text);
        let run = rota(&args);
        assert_eq!((run.code, run.stdout), (0, whole.clone()));
        assert_eq!(run.stderr.contains("runs.jsonl:3: incomplete last line"), is_told);
        assert_eq!(kept(&file), 2);
    }
}

#[test]
fn a_run_copied_from_the_file_of_another_comparison_is_refused() {
    let scratch = Scratch::new();
    let load = scratch.file("talk.json", LOAD);
    let file = |name| scratch.path(name);
    let run = |duration: &str, file: &str| {
        let args = ["--seeds", "1", "--duration", duration, "--resume", file];
        rota(&[&["compare", &load, "rr", "--baseline", "none"][..], &args].concat())
    };
    run("200ms", &file("other.jsonl")).ok();
    run("100ms", &file("runs.jsonl")).ok();
    let read = |name| std::fs::read_to_string(file(name)).expect("the file");
    let (first, _) = read("runs.jsonl").split_once('\n').map(own).expect("lines");
    let (_, theirs) = read("other.jsonl").split_once('\n').map(own).expect("lines");
    scratch.file("runs.jsonl", format!("{first}\n{theirs}"));
    run("100ms", &file("runs.jsonl")).refused(&["runs.jsonl:2: damaged", "in this file"]);
}

fn own((one, two): (&str, &str)) -> (String, String) {
    (one.to_owned(), two.to_owned())
}

#[test]
fn what_is_no_regular_file_is_refused_at_once() {
    let scratch = Scratch::new();
    let (load, fifo) = (scratch.file("talk.json", LOAD), scratch.path("fifo"));
    assert!(Command::new("mkfifo").arg(&fifo).status().expect("mkfifo starts").success());
    for file in [fifo.as_str(), "/dev/null"] {
        rota(&["compare", &load, "rr", "--resume", file]).refused(&[file, "not a regular file"]);
    }
}

#[test]
fn two_comparisons_do_not_write_into_one_file() {
    let scratch = Scratch::new();
    let (load, file) = (scratch.file("talk.json", LOAD), scratch.path("runs.jsonl"));
    let args = ["compare", &load, "rr", "--seeds", "400", "--duration", "3s", "--resume", &file];
    let mut first = start(&args);
    let patience = Instant::now() + Duration::from_secs(60);
    while kept(&file) < 1 {
        assert!(Instant::now() < patience, "no run was kept");
        std::thread::sleep(Duration::from_millis(5));
    }
    let second = rota(&args);
    let is_alone = first.try_wait().expect("its state").is_none();
    interrupt(first, &file);
    assert!(is_alone, "the first one still runs");
    assert_eq!((second.code, second.stdout.as_str()), (1, ""), "{}", second.stderr);
    assert!(
        second.stderr.contains("runs.jsonl: the file is in use by another"),
        "{}",
        second.stderr
    );
}
