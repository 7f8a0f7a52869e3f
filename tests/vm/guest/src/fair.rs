// SPDX-License-Identifier: MIT OR Apache-2.0
//! How the kernel's fair class is set.

use anyhow::{Context, Result};
use rota_guest::recorded::Fair;
use std::fs;

const FOLDER: &str = "/sys/kernel/debug/sched";

/// Reads it from debugfs.
pub(crate) fn read() -> Result<Fair> {
    let slice = text("base_slice_ns")?;
    let base_slice_ns =
        slice.trim().parse().with_context(|| format!("base_slice_ns: {slice:?}"))?;
    let features = text("features")?.split_whitespace().map(str::to_owned).collect();
    Ok(Fair { base_slice_ns, features, preempt: chosen(&text("preempt")?) })
}

fn text(name: &str) -> Result<String> {
    let path = format!("{FOLDER}/{name}");
    fs::read_to_string(&path).context(path)
}

/// Of a list of modes the one in parentheses; the only one if there is no choice.
fn chosen(modes: &str) -> String {
    let mut words = modes.split_whitespace();
    let marked = words.clone().find_map(|word| word.strip_prefix('(')?.strip_suffix(')'));
    marked.or(words.next()).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mode_in_parentheses_is_chosen() {
        assert_eq!(chosen("full (lazy) \n"), "lazy");
        assert_eq!(chosen("full\n"), "full");
    }
}
