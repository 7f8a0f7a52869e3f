// SPDX-License-Identifier: MIT OR Apache-2.0
//! A computer by what `/sys` says (`drivers/base/topology.c`, `drivers/base/cacheinfo.c`,
//! `drivers/base/node.c`, `drivers/cpufreq`, `drivers/cpuidle/sysfs.c`).

mod clocks;
mod kinds;
mod places;
#[cfg(test)]
mod tests;
mod tree;

use crate::found::Found;
use crate::numbers::{list, Numbers};
use crate::text::machine;
use rota_machine::cpuset::MAX_CPUS;
use rota_machine_file::{cpu_list, Machine, MachineError};
use std::path::Path;
use tree::Tree;

/// Where CPUs are.
const CPUS: &str = "sys/devices/system/cpu";

/// The machine that `sys/devices/system/{cpu,node}` below a folder describe: `/` for the computer
/// that this runs on, or a copied tree (as of hwloc's `hwloc-gather-topology`).
///
/// # Errors
/// No CPUs there, or more than a machine can have.
pub fn sysfs(root: &Path) -> Result<Machine, MachineError> {
    let tree = Tree::new(root);
    let file = root.display().to_string();
    let refuse = |what: String| MachineError { file: file.clone(), line: None, what };
    let present = present(&tree);
    if present.is_empty() {
        return Err(refuse(format!("no CPUs: expected {CPUS} in it, as Linux has it in /sys")));
    }
    let online = online(&tree, &present);
    if online.len() > MAX_CPUS as usize {
        return Err(refuse(format!("{} CPUs, expected at most {MAX_CPUS}", online.len())));
    }
    let mut notes = Vec::new();
    let offline: Vec<u32> = present.difference(&online).copied().collect();
    if !offline.is_empty() {
        notes.push(format!("CPUs {} are offline, and left out", cpu_list(&offline)));
    }
    let mut places = places::places(&tree, &online, &mut notes);
    kinds::kinds(&tree, &mut places.cpus, &mut notes);
    let name = match root.file_name() {
        Some(name) => name.to_string_lossy().into_owned(),
        None => "this".into(),
    };
    machine(Found {
        file: file.clone(),
        name,
        source: model(&tree).map_or_else(|| "sysfs".into(), |model| format!("sysfs, {model}")),
        cpus: places.cpus,
        distances: places.distances,
        line_bytes: places.line_bytes,
        notes,
    })
}

/// What its CPUs are called, if `/proc` is there and says so.
fn model(tree: &Tree) -> Option<String> {
    let text = tree.whole("proc/cpuinfo")?;
    let line = text.lines().find_map(|line| line.strip_prefix("model name"))?;
    let name =
        line.trim_start().strip_prefix(':')?.split_whitespace().collect::<Vec<_>>().join(" ");
    (!name.is_empty()).then_some(name)
}

/// CPUs that are plugged in.
fn present(tree: &Tree) -> Numbers {
    let mut all = tree.numbered(CPUS, "cpu");
    if let Some(more) = tree.text(&format!("{CPUS}/online")).and_then(|text| list(&text)) {
        all.extend(more);
    }
    all
}

/// Those of them that run: old kernels say so for each, and a CPU without a file cannot be offline.
fn online(tree: &Tree, present: &Numbers) -> Numbers {
    let listed = tree.text(&format!("{CPUS}/online")).and_then(|text| list(&text));
    let runs = |cpu: &u32| {
        let file = tree.text(&format!("{CPUS}/cpu{cpu}/online"));
        file.is_none_or(|text| text != "0")
    };
    listed
        .filter(|all| !all.is_empty())
        .unwrap_or_else(|| present.iter().copied().filter(runs).collect())
}
