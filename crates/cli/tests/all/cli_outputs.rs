// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files that commands make: whole, or as they were before.

use crate::support::{root, rota, Scratch};
use std::process::Command;

const LOAD: &str = r#"{ "tasks": { "a": { "instance": 4, "run": 1000, "sleep": 1000 } } }"#;

#[test]
fn a_full_disk_leaves_earlier_files_as_they_were() {
    let scratch = Scratch::new();
    let (load, trace) = (scratch.file("load.json", LOAD), scratch.file("a.csv", "old\n"));
    let report = scratch.file("a.html", "old\n");
    let rota = env!("CARGO_BIN_EXE_rota");
    // Files end after 4 KiB, and writing more is an error, as it is where a disk is full.
    let limited = |args: &[&str]| {
        let mut shell = Command::new("/bin/sh");
        let script = "trap '' XFSZ; ulimit -f 8; exec \"$0\" \"$@\"";
        shell.args(["-c", script, rota]).args(args).current_dir(root());
        // Nothing but the files that are asked for.
        shell.env("XDG_STATE_HOME", "/dev/null").output().expect("sh starts")
    };
    let traced = limited(&["sim", "fifo", &load, "--duration", "5s", "--trace", &trace]);
    let reported = limited(&[
        "compare",
        &load,
        "fifo",
        "--seeds",
        "1",
        "--duration",
        "1s",
        "--report",
        &report,
    ]);
    for (output, file) in [(traced, &trace), (reported, &report)] {
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{stderr}");
        assert!(stderr.contains(&format!("cannot write {file}: ")), "{stderr}");
        assert_eq!(std::fs::read(file).expect("the file"), b"old\n");
    }
    let dir = std::fs::read_dir(scratch.path("")).expect("the directory");
    assert_eq!(dir.count(), 3, "nothing is left beside them");
}

#[test]
fn a_trace_goes_through_a_pipe() {
    let scratch = Scratch::new();
    let (load, fifo) = (scratch.file("load.json", LOAD), scratch.path("fifo.csv"));
    assert!(Command::new("mkfifo").arg(&fifo).status().expect("mkfifo starts").success());
    let from = fifo.clone();
    let reader = std::thread::spawn(move || std::fs::read_to_string(from));
    rota(&["sim", "fifo", &load, "--duration", "10ms", "--trace", &fifo]).ok();
    let text = reader.join().expect("read").expect("text");
    assert!(text.starts_with("time_ns,cpu,event,pid,task,detail\n"), "{text}");
}

#[test]
fn standard_output_may_be_named() {
    let scratch = Scratch::new();
    let (load, link) = (scratch.file("load.json", LOAD), scratch.path("out.csv"));
    std::os::unix::fs::symlink("/dev/stdout", &link).expect("a link");
    let mut options = std::fs::OpenOptions::new();
    let file = options.append(true).create(true).open(scratch.path("redirected")).expect("a file");
    let mut rota = Command::new(env!("CARGO_BIN_EXE_rota"));
    rota.args(["sim", "fifo", &load, "--duration", "10ms", "--trace", &link]).stdout(file);
    assert!(rota.status().expect("rota starts").success());
    // Whatever else is printed there, it is the same file.
    let text = std::fs::read_to_string(scratch.path("redirected")).expect("text");
    assert!(text.contains("switch_in") && text.contains("decisions "), "{text}");
}
