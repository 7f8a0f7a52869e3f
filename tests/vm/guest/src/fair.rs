// SPDX-License-Identifier: MIT OR Apache-2.0
//! How the kernel's fair class is set.

use anyhow::{Context, Result};
use rota_guest::recorded::Fair;
use std::fs;
use std::path::Path;

const FOLDER: &str = "/sys/kernel/debug/sched";

/// Reads it from debugfs.
pub(crate) fn read() -> Result<Fair> {
    let slice = text("base_slice_ns")?;
    let base_slice_ns =
        slice.trim().parse().with_context(|| format!("base_slice_ns: {slice:?}"))?;
    let features = text("features")?.split_whitespace().map(str::to_owned).collect();
    let preempt = chosen(&text("preempt")?);
    Ok(Fair { base_slice_ns, features, preempt, newidle_cost_ns: newidle_cost_ns()? })
}

/// A CPU without others has no domain. They are shown while `verbose` is on.
fn newidle_cost_ns() -> Result<Option<u64>> {
    fs::write(Path::new(FOLDER).join("verbose"), "Y").context("verbose")?;
    let mut costs: Vec<u64> = Vec::new();
    for cpu in 0.. {
        let name = format!("domains/cpu{cpu}/domain0/max_newidle_lb_cost");
        if !Path::new(FOLDER).join(&name).exists() {
            break;
        }
        let cost = text(&name)?;
        costs.push(cost.trim().parse().with_context(|| format!("{name}: {cost:?}"))?);
    }
    Ok(costs.iter().sum::<u64>().checked_div(costs.len() as u64))
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
