// SPDX-License-Identifier: MIT OR Apache-2.0
//! The CSV trace of `rota sim --trace FILE.csv`.

use anyhow::{Context, Result};
use serde::Deserialize;
use std::path::Path;

/// One row.
#[derive(Debug, Clone, Deserialize)]
pub struct Row {
    /// Time since the start.
    pub time_ns: u64,
    /// CPU, where the event has one.
    pub cpu: Option<u32>,
    /// `pick`, `switch_in`, …
    pub event: String,
    /// Task, where the event has one.
    pub pid: Option<u32>,
    /// Task by name.
    pub task: String,
    /// What the event adds, e.g. why a task was switched out.
    pub detail: String,
}

/// Reads a trace and checks that time never goes backwards.
pub fn read(path: &Path) -> Result<Vec<Row>> {
    let mut rows: Vec<Row> = Vec::new();
    let mut reader = csv::Reader::from_path(path).with_context(|| path.display().to_string())?;
    for row in reader.deserialize() {
        let row: Row = row.with_context(|| path.display().to_string())?;
        if let Some(last) = rows.last().filter(|last| last.time_ns > row.time_ns) {
            anyhow::bail!("{}: {} ns after {} ns", path.display(), row.time_ns, last.time_ns);
        }
        rows.push(row);
    }
    Ok(rows)
}
