// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota compare` that was interrupted, and goes on.

use crate::support::{root, rota, Scratch};
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
    assert_eq!(run(&resume), whole);
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
    let text = scratch.file("text.txt", "hello\n");
    rota(&["compare", &load, "rr", "--resume", &text]).refused(&["text.txt", "not a file of runs"]);
}
