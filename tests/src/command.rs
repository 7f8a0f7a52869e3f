// SPDX-License-Identifier: MIT OR Apache-2.0
//! Builds the release `rota` once and runs it.

use anyhow::{bail, Context, Result};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Top of the source tree.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."))
}

/// What a run of the command left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// Exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    /// Standard output.
    pub stdout: Vec<u8>,
    /// Standard error, for messages.
    pub stderr: String,
}

/// Runs `rota` with these arguments in the top of the source tree.
pub fn rota<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> Result<Outcome> {
    let output = Command::new(binary()?).args(arguments).current_dir(root()).output()?;
    Ok(Outcome {
        code: output.status.code(),
        stdout: output.stdout,
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}

/// The program that [`rota`] runs.
pub fn built() -> Result<&'static Path> {
    binary()
}

/// `$ROTA`, or the release binary, built on first use.
fn binary() -> Result<&'static Path> {
    static BINARY: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let built = BINARY.get_or_init(|| match std::env::var_os("ROTA") {
        Some(path) => Ok(path.into()),
        None => build().map_err(|e| format!("{e:#}")),
    });
    built.as_deref().map_err(|e| anyhow::anyhow!("{e}"))
}

fn build() -> Result<PathBuf> {
    let output = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--release", "--package", "rota"])
        .args(["--message-format", "json-render-diagnostics"])
        .current_dir(root())
        .output()
        .context("cargo build of rota")?;
    if !output.status.success() {
        bail!("cargo build of rota failed:\n{}", String::from_utf8_lossy(&output.stderr));
    }
    let messages = String::from_utf8_lossy(&output.stdout);
    messages
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter(|message| message["target"]["name"] == "rota")
        .find_map(|message| message["executable"].as_str().map(PathBuf::from))
        .context("cargo named no executable rota")
}
