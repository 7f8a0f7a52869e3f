// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a test needs and the repository does not hold.

use crate::command::root;
use anyhow::{bail, Context, Result};
use std::path::PathBuf;
use std::process::Command;

/// Runs a script that brings something, and returns where it is: `name` in `$ROTA_CACHE`, else
/// in `.cache`. Such scripts do nothing where all is there.
pub fn fetch(script: &str, name: &str) -> Result<PathBuf> {
    let output = Command::new(root().join(script)).output().context(script.to_owned())?;
    if !output.status.success() {
        bail!("{}", String::from_utf8_lossy(&output.stderr));
    }
    let cache = std::env::var_os("ROTA_CACHE").map(PathBuf::from);
    Ok(cache.unwrap_or(root().join(".cache")).join(name))
}
