// SPDX-License-Identifier: MIT OR Apache-2.0
//! Readers of traces that are not ours: Perfetto's trace processor and DuckDB.

use crate::command::root;
use crate::fetch::fetch;
use anyhow::{bail, Context, Result};
use serde_json::{Map, Value};
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// A row of an answer: values by column.
pub type Row = Map<String, Value>;

/// Has Perfetto's trace processor load a file and answer queries.
pub fn perfetto(trace: &Path, queries: &[&str]) -> Result<Vec<Vec<Row>>> {
    let directory = trace.parent().context("a trace in a directory")?;
    ask(&["perfetto".as_ref(), trace.as_os_str()], directory, queries)
}

/// Has DuckDB answer queries about the files in a directory.
pub fn duckdb(directory: &Path, queries: &[&str]) -> Result<Vec<Vec<Row>>> {
    ask(&["duckdb".as_ref()], directory, queries)
}

fn ask(
    arguments: &[&std::ffi::OsStr],
    directory: &Path,
    queries: &[&str],
) -> Result<Vec<Vec<Row>>> {
    let mut child = Command::new("python3")
        .arg(root().join("tests/trace-readers/query.py"))
        .args(arguments)
        .current_dir(directory)
        .env("PYTHONPATH", fetch("tests/trace-readers/fetch", "trace-readers")?)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .context("python3")?;
    let mut input = child.stdin.take().context("standard input")?;
    input.write_all(&serde_json::to_vec(queries)?)?;
    drop(input);
    let output = child.wait_with_output()?;
    if !output.status.success() {
        bail!("{}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}
