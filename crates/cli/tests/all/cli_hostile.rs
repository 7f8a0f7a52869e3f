// SPDX-License-Identifier: MIT OR Apache-2.0
//! Names that hold what a terminal obeys: they are shown, and nothing else.

use crate::support::{fixture, rota, Run, Scratch};
use std::process::Command;

/// A name as JSON has it: a colour, a second line, a byte of C1, the other direction.
const NAME: &str = r"a\u001b[31m\nerror: b\u009b\u202e";

/// Nothing that a terminal obeys but the ends of lines, and no line begins inside the name.
fn is_harmless(run: &Run) {
    for text in [&run.stdout, &run.stderr] {
        let obeyed = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
        assert!(!text.contains(obeyed), "{text:?}");
        assert!(!text.lines().any(|line| line.starts_with("error: b")), "{text}");
    }
}

/// A workload of one task with that name; `task` is what it does.
fn load(task: &str) -> String {
    format!(r#"{{ "tasks": {{ "{NAME}": {{ {task} }} }} }}"#)
}

#[test]
fn a_hostile_name_of_a_task_is_escaped() {
    let scratch = Scratch::new();
    let task = r#""loop": 3, "run": 1000, "sleep": 1000"#;
    // Others than these are refused in a workload.
    let name = r"a\u2028\u202eb";
    let file = scratch.file("load.json", load(task).replace(NAME, name));
    let run = rota(&["sim", "fifo", &file]).ok();
    is_harmless(&run);
    assert_eq!(run.stdout.matches(r"a\u{2028}\u{202e}b").count(), 1, "{}", run.stdout);
    // JSON has escapes of its own, and nothing but the name.
    let json = rota(&["sim", "fifo", &file, "--json"]).ok().json();
    let name = json["tasks"][0]["name"].as_str().expect("a name").to_owned();
    assert!(name.starts_with("a\u{2028}\u{202e}b"), "{name:?}");
    let run = rota(&["sim", "fifo", &scratch.file("load.json", load(task))]);
    is_harmless(&run);
}

#[test]
fn a_hostile_name_is_escaped_in_notes() {
    let scratch = Scratch::new();
    let load = format!(
        r#"{{ "tasks": {{ "a": {{ "run": 1000, "sem_wait": "{NAME}" }},
        "b": {{ "delay": 9000000, "sem_post": "{NAME}", "run": 5 }} }} }}"#
    );
    let run = rota(&["sim", "fifo", &scratch.file("load.json", load), "--duration", "1s"]).ok();
    is_harmless(&run);
    assert!(run.stdout.contains("waited for another task at the end"), "{}", run.stdout);
}

#[test]
fn a_hostile_name_is_escaped_in_errors() {
    let scratch = Scratch::new();
    for task in [r#""rnu": 5"#, r#""cpus": [9], "run": 5"#] {
        let run = rota(&["sim", "fifo", &scratch.file("load.json", load(task))]);
        is_harmless(&run);
        run.refused(&["load.json", "error: b"]);
    }
    let key = format!(r#"{{ "tasks": {{ "a": {{ "{NAME}": 5 }} }} }}"#);
    let run = rota(&["sim", "fifo", &scratch.file("load.json", key)]);
    is_harmless(&run);
    run.refused(&["load.json"]);
}

#[test]
fn a_hostile_reason_of_a_policy_is_escaped() {
    let scratch = Scratch::new();
    let text = std::fs::read_to_string(fixture("quitter.bpf.c")).expect("a policy");
    let text = text.replace("\"task %llu came", "\"a\\x1b[31m\\nerror: b %llu");
    let policy = scratch.file("quitter.bpf.c", text.replace("wanted here", "\\x1b[31m here"));
    let load = "workloads/shares321.json";
    let run = rota(&["sim", &policy, load, "--cpus", "1"]);
    assert_eq!(run.code, 3, "{}", run.stderr);
    is_harmless(&run);
    assert!(run.stderr.contains("(a\\x1b[31m\\nerror: b 1001)\n"), "{}", run.stderr);
    // The debug dump has lines, also such as the policy makes; nothing else of it is obeyed.
    let run = rota(&["sim", &policy, load, "--cpus", "1", "-v"]);
    assert!(!run.stderr.contains(|c: char| c.is_control() && c != '\n'), "{:?}", run.stderr);
    assert!(run.stderr.contains(r"no tasks are \x1b[31m here"), "{}", run.stderr);
    let run = rota(&["compare", load, &policy, "--cpus", "1", "--seeds", "1"]);
    assert_eq!(run.code, 3, "{}", run.stderr);
    is_harmless(&run);
}

#[test]
fn a_hostile_file_name_is_escaped() {
    let scratch = Scratch::new();
    let file = scratch.path("a\u{1b}[31m\nerror: b.json");
    let run = rota(&["sim", "fifo", &file]);
    is_harmless(&run);
    run.refused(&[r"a\x1b[31m\nerror: b.json"]);
    scratch.file("a\u{1b}[31m\nerror: b.json", r#"{ "tasks": { "a": { "loop": 1, "run": 5 } } }"#);
    let run = rota(&["compare", &file, "fifo", "--baseline", "none", "--seeds", "1"]).ok();
    is_harmless(&run);
    assert!(run.stdout.contains(r"a\x1b[31m\nerror: b.json: "), "{}", run.stdout);
    // The messages of the compiler keep their lines.
    let broken = scratch.file("broken.bpf.c", "int x = ;\nint \u{1b}y = ;\n");
    let run = rota(&["sim", &broken, &file]);
    is_harmless(&run);
    assert!(run.stderr.lines().count() > 3, "{}", run.stderr);
}

#[test]
fn a_hostile_name_of_a_thread_is_escaped_in_recordings() {
    // The name of a running program is the first 15 bytes of its file's.
    let scratch = Scratch::new();
    let program = scratch.path("a\u{1b}[31m\nerror: b");
    std::fs::copy("/bin/sleep", &program).expect("a copy");
    for command in ["record", "trace"] {
        let run = rota(&[command, "--", &program, "0.02"]);
        is_harmless(&run);
        if run.code == 0 {
            assert!(run.stdout.contains(r"a\x1b[31m\nerror:"), "{}", run.stdout);
        }
    }
}

#[test]
fn own_colours_stay() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rota"));
    command.args(["sim", "fifo", "\u{1b}.json"]).env("CLICOLOR_FORCE", "1").env_remove("NO_COLOR");
    let output = command.output().expect("rota starts");
    let text = String::from_utf8(output.stderr).expect("messages are UTF-8");
    assert!(text.starts_with("\u{1b}[1m\u{1b}[31merror:\u{1b}[0m "), "{text:?}");
    assert!(text.contains(r"cannot read \x1b.json"), "{text:?}");
}
