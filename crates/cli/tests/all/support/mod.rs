// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs the `rota` command as a user does, from the top of the source tree.
// Every test file uses its own part of this.
#![allow(dead_code, unreachable_pub)]

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

pub mod schema;

/// Tasks that run and sleep for random times, more than two CPUs can take.
pub const RANDOM: &str = r#"{
    "tasks": {
        "hog":  { "instance": 2, "run": 10000 },
        "talk": { "instance": 6, "run": {"dist": "exp", "mean": 2000},
                  "sleep": {"dist": "exp", "mean": 6000} }
    }
}"#;

/// What a run of the command left.
pub struct Run {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

/// Runs `rota` with these words as arguments. Lines of progress, which come where a loaded machine
/// makes a run last, are left out of the messages.
pub fn rota(arguments: &[&str]) -> Run {
    let output = Command::new(env!("CARGO_BIN_EXE_rota"))
        .args(arguments)
        .current_dir(root())
        .output()
        .expect("rota starts");
    Run {
        code: output.status.code().expect("rota is not ended by a signal"),
        stdout: String::from_utf8(output.stdout).expect("output is UTF-8"),
        stderr: without_progress(&String::from_utf8(output.stderr).expect("messages are UTF-8")),
    }
}

fn without_progress(messages: &str) -> String {
    messages.split_inclusive('\n').filter(|line| !line.starts_with("progress: ")).collect()
}

/// Starts `rota`, sends it SIGINT as soon as it would heed it, and gives exit code, output and
/// messages.
pub fn interrupted(arguments: &[&str]) -> Run {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rota"));
    let command = command.args(arguments).current_dir(root());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let status = format!("/proc/{}/status", child.id());
    let heeds_signals = || {
        let status = std::fs::read_to_string(&status).expect("it still runs");
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).expect("a mask");
        // SIGINT is signal 2, so bit 1.
        u64::from_str_radix(caught.trim(), 16).expect("a mask") & 2 != 0
    };
    while !heeds_signals() {
        std::thread::sleep(Duration::from_millis(1));
    }
    let signal = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(signal.expect("kill starts").success());
    let output = child.wait_with_output().expect("rota ends");
    Run {
        code: output.status.code().expect("rota is not ended by a signal"),
        stdout: String::from_utf8(output.stdout).expect("output is UTF-8"),
        stderr: without_progress(&String::from_utf8(output.stderr).expect("messages are UTF-8")),
    }
}

/// Top of the source tree.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A BPF source of `fixtures/`.
pub fn fixture(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name);
    path.to_str().expect("path is UTF-8").to_owned()
}

impl Run {
    /// The run must have worked.
    pub fn ok(self) -> Self {
        assert_eq!(self.code, 0, "stderr: {}", self.stderr);
        assert_eq!(self.stderr, "");
        self
    }

    /// Standard output as one JSON object.
    pub fn json(&self) -> Value {
        assert_eq!(self.stdout.lines().count(), 1, "one object on one line");
        serde_json::from_str(&self.stdout).expect("standard output is JSON")
    }

    /// The run must have been refused for bad input with one message that holds all `parts`.
    pub fn refused(self, parts: &[&str]) {
        assert_eq!(self.code, 2, "exit code; stderr: {}", self.stderr);
        assert_eq!(self.stdout, "", "nothing on standard output");
        let messages = self.stderr.lines().filter(|line| line.starts_with("error:")).count();
        assert_eq!(messages, 1, "one message: {}", self.stderr);
        for part in parts {
            assert!(self.stderr.contains(part), "{part:?} is missing in: {}", self.stderr);
        }
    }
}

/// A directory of its own for files that a test needs.
pub struct Scratch(tempfile::TempDir);

impl Scratch {
    pub fn new() -> Self {
        Self(tempfile::tempdir().expect("temporary directory"))
    }

    /// Path of a file in it.
    pub fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().expect("path is UTF-8").to_owned()
    }

    /// Writes a file.
    pub fn file(&self, name: &str, contents: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        std::fs::write(&path, contents).expect("file is written");
        path
    }
}

/// Names of tasks in the order of their `pick` events, up to `most`.
pub fn picks(csv: &str, most: usize) -> String {
    let mut reader = csv::Reader::from_path(csv).expect("trace opens");
    let rows = reader.records().map(|row| row.expect("trace is CSV"));
    let picks = rows.filter(|row| &row[2] == "pick").take(most);
    picks.map(|row| row[4].chars().next().unwrap_or('?')).collect()
}
