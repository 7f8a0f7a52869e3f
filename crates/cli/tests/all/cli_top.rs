// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota top`: a screen as text, a trace played on a terminal, and how both end. What looks at a kernel
//! needs root and bpf(2): elsewhere the message is tested.

use crate::support::{rota, Scratch};
use std::io::Write;
use std::process::{Command, Stdio};

/// Two CPUs for a second: `web` wakes at 0.2 s, runs from 0.3 s to 0.8 s on CPU 0; CPU 1 idles.
const TRACE: &str = "\
time_ns,cpu,event,pid,task,detail
0,,task,7,web,weight=100
200000000,1,wakeup,7,web,waker_pid=0
300000000,0,switch_in,7,web,
800000000,0,switch_out,7,web,why=sleep
1000000000,1,idle,,,
";

#[test]
fn one_screen_of_a_trace_is_text() {
    let scratch = Scratch::new();
    let file = scratch.file("run.csv", TRACE);
    let run = rota(&["top", &file, "--once"]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    let lines: Vec<&str> = run.stdout.lines().collect();
    assert_eq!(lines.len(), 23, "{}", run.stdout);
    assert!(lines[0].starts_with("rota top  run.csv, 2 CPUs  "), "{}", lines[0]);
    assert!(lines[0].ends_with("ENDED  1.0s"), "{}", lines[0]);
    // Half a second of two CPUs. From 0.2 s to 0.3 s both idle while it waits: 2 of 20 columns.
    let sums = "busy 25.0%  wasted idle 10.0%  waiting 0  wakeup p99 100ms  1 switches/s";
    assert_eq!(lines[1], sums);
    assert_eq!(lines[3].split_whitespace().last(), Some("....!!AAAAAAAAAA...."));
    assert_eq!(lines[4].split_whitespace().last(), Some("....!!.............."));
    let row: Vec<&str> = lines[7].split_whitespace().collect();
    assert_eq!(row, ["A", "web", "7", "50.0%", "10.0%", "100ms", "100ms", "1.0", "-"]);
}

#[test]
fn a_screen_is_of_the_time_that_was_asked_for() {
    let scratch = Scratch::new();
    let file = scratch.file("run.csv", TRACE);
    let run = rota(&["top", &file, "--once", "--after", "250ms"]);
    // It has been waiting for 50 ms.
    assert!(run.stdout.contains("waiting 1 "), "{}", run.stdout);
    let row = run.stdout.lines().find(|line| line.contains(" web ")).expect("a row");
    assert!(row.ends_with("50.0ms"), "{row}");
}

#[test]
fn what_cannot_be_shown_is_told() {
    let scratch = Scratch::new();
    let file = scratch.file("run.csv", TRACE);
    let wrong = scratch.file("wrong.csv", "time_ns,cpu,event,pid,task,detail\n0,,task,x,,\n");
    for (args, told) in [
        (&["top", &file][..], "expected a terminal; --once"),
        (&["top", &wrong, "--once"], "wrong.csv"),
        (&["top", "/nonexistent", "--once"], "/nonexistent"),
        (&["top", &file, "--speed", "0"], "from 0.001 to 1000"),
        (&["top", "--speed", "2"], "<TRACE>"),
        (&["top", &file, "--pid", "1"], "cannot be used with"),
        (&["top", &file, "--after", "1s"], "--once"),
    ] {
        let ran = rota(args);
        assert_eq!(ran.code, 2, "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(told), "{args:?}: {}", ran.stderr);
    }
}

/// Runs a line of a shell on a terminal of its own, and types into that.
fn on_terminal(line: &str, keys: &str) -> (Option<i32>, String) {
    let mut script = Command::new("script");
    script.args(["-qec", line, "/dev/null"]).env("TERM", "xterm").env("SHELL", "/bin/sh");
    script.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut script = script.spawn().expect("script of util-linux starts");
    let mut input = script.stdin.take().expect("a pipe");
    for key in keys.chars() {
        // One after the other, as somebody types.
        std::thread::sleep(std::time::Duration::from_millis(300));
        write!(input, "{key}").and_then(|()| input.flush()).expect("typed");
    }
    let output = script.wait_with_output().expect("it ends");
    drop(input);
    (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The alternate screen of a terminal, and that it is left last.
fn was_given_back(text: &str) -> bool {
    let (taken, given) = (text.find("\u{1b}[?1049h"), text.rfind("\u{1b}[?1049l"));
    taken.is_some() && given > taken && text.contains("\u{1b}[?25h")
}

#[test]
fn a_terminal_shows_the_trace_until_q_and_is_given_back() {
    let scratch = Scratch::new();
    let file = scratch.file("run.csv", TRACE);
    let sized = format!("stty cols 80 rows 24; {} top {file}", env!("CARGO_BIN_EXE_rota"));
    let (code, text) = on_terminal(&sized, "?xq");
    assert_eq!(code, Some(0), "{text}");
    assert!(was_given_back(&text), "{text:?}");
    assert!(text.contains("Ctrl-C"), "the help was open: {text:?}");
}

#[test]
fn a_signal_gives_the_terminal_back() {
    let scratch = Scratch::new();
    let file = scratch.file("run.csv", TRACE);
    let rota = env!("CARGO_BIN_EXE_rota");
    // It listens once SIGTERM, bit 14, is caught.
    let line = format!(
        "stty cols 80 rows 24; {rota} top {file} < /dev/tty & \
         while ! grep -q 'SigCgt:.*[4-7c-f]...$' /proc/$!/status; do sleep 0.1; done; \
         sleep 2; kill -TERM $!; wait $!; echo ended $?; stty -a | tr ' ' '\\n' | grep icanon"
    );
    let (_, text) = on_terminal(&line, "");
    assert!(was_given_back(&text), "{text:?}");
    assert!(text.contains("ended 0"), "{text:?}");
    // Lines are put together by the terminal again.
    assert!(text.contains("icanon") && !text.contains("-icanon"), "{text:?}");
}
