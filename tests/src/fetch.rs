// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a test needs and the repository does not hold.

use crate::command::root;
use anyhow::{bail, Context, Result};
use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Command;

/// Runs a script that brings something, and returns where it is: `name` in `$ROTA_CACHE`, else
/// in `.cache`. Such scripts do nothing where all is there.
pub fn fetch(script: &str, name: &str) -> Result<PathBuf> {
    fetch_with(script, name, &[])
}

/// As [`fetch`], with variables of the environment that the script heeds.
pub fn fetch_with(script: &str, name: &str, variables: &[(&str, &OsStr)]) -> Result<PathBuf> {
    let mut command = Command::new(root().join(script));
    command.envs(variables.iter().copied());
    let output = command.output().context(script.to_owned())?;
    if !output.status.success() {
        bail!("{}", String::from_utf8_lossy(&output.stderr));
    }
    let cache = std::env::var_os("ROTA_CACHE").map(PathBuf::from);
    Ok(cache.unwrap_or(root().join(".cache")).join(name))
}
