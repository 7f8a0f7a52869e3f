// SPDX-License-Identifier: MIT OR Apache-2.0
//! Simulates the same file, and finds the loops of its tasks in the trace.

use anyhow::{ensure, Context, Result};
use rota_e2e::command::rota;
use rota_e2e::trace::{self, Row};
use std::path::Path;

/// The trace of a file in a directory, on a machine without costs and with CPUs to spare.
pub(crate) fn trace(directory: &Path, file: &str) -> Result<Vec<Row>> {
    let (path, trace) = (directory.join(file), directory.join("trace.csv"));
    let (path, written) = (path.to_str().context("path")?, trace.to_str().context("path")?);
    let outcome = rota(["sim", "fifo", path, "--cpus", "8", "--ideal", "--trace", written])?;
    ensure!(outcome.code == Some(0), "{}", outcome.stderr);
    trace::read(&trace)
}

/// When a task began each of its loops, all of which need the same CPU time: that is when
/// it ran on after a whole number of them. The last is that of its end.
pub(crate) fn loop_starts_ns(rows: &[Row], task: &str, busy_ns: u64) -> Result<Vec<u64>> {
    let (mut starts, mut since_ns, mut cpu_ns, mut ended) = (Vec::new(), 0, 0, None);
    for row in rows.iter().filter(|row| row.task == task) {
        match row.event.as_str() {
            "switch_in" => since_ns = row.time_ns,
            "switch_out" => {
                let now_ns = cpu_ns + row.time_ns - since_ns;
                while starts.len() as u64 * busy_ns < now_ns {
                    starts.push(since_ns + starts.len() as u64 * busy_ns - cpu_ns);
                }
                cpu_ns = now_ns;
            }
            // Before it leaves the CPU.
            "exit" => ended = Some(row.time_ns),
            _ => {}
        }
    }
    ensure!(cpu_ns % busy_ns == 0, "{task} used {cpu_ns} ns, not n x {busy_ns} ns");
    starts.push(ended.with_context(|| format!("{task} came to no end"))?);
    Ok(starts)
}

/// CPU time of the only task of a file.
pub(crate) fn cpu_ns(directory: &Path, file: &str) -> Result<u64> {
    let path = directory.join(file);
    let path = path.to_str().context("path")?;
    let outcome = rota(["sim", "fifo", path, "--ideal", "--json"])?;
    ensure!(outcome.code == Some(0), "{}", outcome.stderr);
    let summary: serde_json::Value = serde_json::from_slice(&outcome.stdout)?;
    summary["tasks"][0]["cpu_ns"].as_u64().context("cpu_ns")
}
