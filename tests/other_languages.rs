// SPDX-License-Identifier: MIT OR Apache-2.0
//! Schedulers' programs that are neither in C nor in Rust, as a user runs them: in Go with cilium's
//! library, and in Python, which calls libbpf. `third-party/fetch-languages` builds them.

use anyhow::{ensure, Context, Result};
use rota_e2e::command::{root, rota};
use rota_e2e::fetch::fetch;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Two tasks that never sleep, on one CPU.
const HOGS: &str = r#"{"tasks": {"hog": {"instance": 2, "run": 100000}}}"#;

fn languages() -> &'static Path {
    static LANGUAGES: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let fetch = || fetch("tests/third-party/fetch-languages", "languages");
    let folder = LANGUAGES.get_or_init(|| fetch().map_err(|e| format!("{e:#}")));
    folder.as_deref().unwrap_or_else(|e| panic!("{e}"))
}

/// Runs it for two seconds; its output and the trace.
fn run(program: &[&Path]) -> Result<(String, Vec<u8>)> {
    let folder = tempfile::tempdir()?;
    let [load, trace, log] = ["load.json", "trace.csv", "log"].map(|name| folder.path().join(name));
    std::fs::write(&load, HOGS)?;
    let text = |path: &Path| path.to_str().context("text").map(str::to_owned);
    let mut words: Vec<String> =
        ["sim", "--kernel", "6.16", "--cpus", "1", "--duration", "2s"].map(str::to_owned).to_vec();
    words.push(text(&load)?);
    words.extend(["--trace".to_owned(), text(&trace)?, "--program-log".to_owned(), text(&log)?]);
    words.push("--".to_owned());
    for word in program {
        words.push(text(word)?);
    }
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let outcome = rota(&words)?;
    ensure!(outcome.code == Some(0), "{}", outcome.stderr);
    Ok((std::fs::read_to_string(log)?, std::fs::read(trace)?))
}

/// Both halves take part, at the same instants in each run.
fn check(program: &[&Path]) {
    let (log, trace) = run(program).unwrap();
    let again = run(program).unwrap();
    assert!((&log, &trace) == (&again.0, &again.1), "two runs differ: {log}\n{}", again.0);

    assert!(log.contains("attached\n"), "{log}");
    let count = |line: &str| line.rsplit(' ').nth(1)?.parse::<u64>().ok();
    let looks = log.lines().filter(|line| line.starts_with("look "));
    let counts: Vec<u64> = looks.map(|line| count(line).unwrap()).collect();
    assert!(counts.len() >= 10, "{log}");
    let between: Vec<u64> = counts.windows(2).map(|pair| pair[1] - pair[0]).collect();
    // Slices of 20 ms end at a tick, each 4 ms: after 24 ms where they begin just behind one. It looks
    // each 100 ms, and waits for up to two of them: four to seven slices, and its own turns.
    assert!(between[..4].iter().all(|count| (4..=12).contains(count)), "{log}");
    // From the sixth look on slices of 1 ms are over at the next tick: 25 in 100 ms, and two more.
    assert!(between[6..].iter().all(|count| (25..=32).contains(count)), "{log}");
}

#[test]
#[ignore = "builds programs for some minutes: make schedulers-test"]
fn a_program_in_go_and_its_scheduler_see_each_other() {
    let folder = languages();
    check(&[&folder.join("go-program"), &folder.join("counting.bpf.o")]);
}

#[test]
#[ignore = "builds programs for some minutes: make schedulers-test"]
fn a_program_in_python_and_its_scheduler_see_each_other() {
    let folder = languages();
    let loader = root().join("tests/python-program/loader.py");
    let (library, object) = (folder.join("libbpf.so"), folder.join("counting.bpf.o"));
    check(&[Path::new("python3"), &loader, &library, &object]);
}
