// SPDX-License-Identifier: MIT OR Apache-2.0
//! The examples and tutorial files of rt-app run unchanged, and so do files in the form in which
//! LISA (Arm's kernel test suite) generates them. `rt_app/fetch` brings the former.

use super::ALONE;
use anyhow::{bail, ensure, Context, Result};
use rota_e2e::command::{root, rota, Outcome};
use std::path::{Path, PathBuf};
use std::process::Command;

fn fetched() -> Result<PathBuf> {
    let output = Command::new(root().join("tests/rt_app/fetch")).output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let cache = std::env::var_os("ROTA_CACHE").map(PathBuf::from);
    Ok(cache.unwrap_or(root().join(".cache")).join("rt-app"))
}

/// Every JSON file below a directory.
fn files(directory: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut open = vec![directory.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in std::fs::read_dir(&directory).context("examples")? {
            let path = entry?.path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|ending| ending == "json") {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

fn simulate(file: &Path) -> Result<Outcome> {
    let file = file.to_str().context("path")?;
    rota(["sim", "wfq", file, "--duration", "3s", "--json"])
}

#[test]
fn the_examples_of_rt_app_run_unchanged() -> Result<()> {
    let _alone = ALONE.lock();
    let directory = fetched()?;
    // Parts of one file in a grammar that rt-app itself gave up long ago.
    let (parts, whole): (Vec<_>, Vec<_>) =
        files(&directory)?.into_iter().partition(|file| file.starts_with(directory.join("merge")));
    ensure!(whole.len() >= 18, "only {} examples", whole.len());
    for file in whole {
        let outcome = simulate(&file)?;
        if outcome.code != Some(0) {
            bail!("{}: {:?}: {}", file.display(), outcome.code, outcome.stderr);
        }
        let summary: serde_json::Value = serde_json::from_slice(&outcome.stdout)?;
        let tasks = summary["tasks"].as_array().context("tasks")?;
        let used: u64 = tasks.iter().filter_map(|task| task["cpu_ns"].as_u64()).sum();
        ensure!(used > 100_000, "{}: {used} ns of CPU time", file.display());
    }
    for file in parts {
        let outcome = simulate(&file)?;
        let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let placed = outcome.stderr.contains(&format!("{name}:"));
        ensure!(outcome.code == Some(2) && placed, "{name}: {:?} {}", outcome.code, outcome.stderr);
    }
    Ok(())
}

#[test]
fn files_as_lisa_writes_them_run_unchanged() -> Result<()> {
    let _alone = ALONE.lock();
    let directory = root().join("tests/rt_app/lisa");
    let cpu_ms = |file: &str| -> Result<Vec<u64>> {
        let outcome = rota([
            "sim",
            "fifo",
            directory.join(file).to_str().context("path")?,
            "--ideal",
            "--json",
        ])?;
        ensure!(outcome.code == Some(0), "{file}: {}", outcome.stderr);
        let summary: serde_json::Value = serde_json::from_slice(&outcome.stdout)?;
        let tasks = summary["tasks"].as_array().context("tasks")?;
        Ok(tasks.iter().filter_map(|task| Some(task["cpu_ns"].as_u64()? / 1_000_000)).collect())
    };
    // 10 * (1.6 + 4.8 + 8) ms
    ensure!(cpu_ms("ramp.json")? == [144], "{:?}", cpu_ms("ramp.json"));
    // 20 rounds: 1 ms of the waker, 2 of the other
    ensure!(cpu_ms("wakers.json")? == [40, 20], "{:?}", cpu_ms("wakers.json"));
    Ok(())
}
