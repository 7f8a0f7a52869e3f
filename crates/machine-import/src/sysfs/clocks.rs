// SPDX-License-Identifier: MIT OR Apache-2.0
//! Frequencies and idle states of a CPU.

use super::tree::Tree;
use super::CPUS;
use crate::found::{Clock, Idle};
use crate::numbers::list;

/// Drivers of hardware that chooses its frequency by itself: their `powersave` is no fixed
/// frequency.
const CHOOSING: [&str; 3] = ["intel_pstate", "amd-pstate-epp", "amd_pstate_epp"];

/// No idle state has times as long as this.
const LONGEST_US: u64 = 10_000_000;

/// Frequencies, and the label of the CPUs that have one clock together.
pub(super) fn clock(
    tree: &Tree,
    cpu: u32,
    notes: &mut Vec<String>,
) -> (Option<Clock>, Option<u32>) {
    let folder = format!("{CPUS}/cpu{cpu}");
    let mhz = |name: &str| {
        let khz = tree.number::<u64>(&format!("{folder}/cpufreq/{name}"));
        khz.and_then(|khz| u32::try_from(khz / 1000).ok()).filter(|mhz| *mhz > 0)
    };
    let Some(max) = mhz("cpuinfo_max_freq") else { return (None, None) };
    let text = |name: &str| tree.text(&format!("{folder}/cpufreq/{name}"));
    let driver = text("scaling_driver").unwrap_or_default();
    let governor = text("scaling_governor").map(|name| governor(&driver, &name, notes));
    let opps = text("scaling_available_frequencies").unwrap_or_default();
    let opps = opps.split_whitespace().filter_map(|khz| khz.parse::<u64>().ok());
    let opps = opps.filter_map(|khz| u32::try_from(khz / 1000).ok()).collect();
    let nominal = || tree.number(&format!("{folder}/acpi_cppc/nominal_freq"));
    let base = mhz("base_frequency").or_else(|| nominal().filter(|mhz| *mhz > 0));
    let clock = Clock { min: mhz("cpuinfo_min_freq"), base, max, opps, governor };
    let related = text("related_cpus").and_then(|cpus| list(&cpus));
    (Some(clock), related.and_then(|cpus| cpus.first().copied()))
}

/// The governor that is modelled in place of this one.
fn governor(driver: &str, name: &str, notes: &mut Vec<String>) -> &'static str {
    match name {
        "powersave" if CHOOSING.contains(&driver) => "hardware",
        "performance" => "performance",
        "schedutil" => "schedutil",
        "ondemand" | "conservative" => {
            notes.push(format!("governor {name} is modelled as schedutil"));
            "schedutil"
        }
        _ => {
            // Where a frequency never changes, it is the unit of all speeds.
            notes.push(format!("governor {name} is modelled as performance: no frequency changes"));
            "performance"
        }
    }
}

/// Idle states that are enabled. `POLL` is none: the CPU runs.
pub(super) fn idle(tree: &Tree, cpu: u32, notes: &mut Vec<String>) -> Vec<Idle> {
    let folder = format!("{CPUS}/cpu{cpu}/cpuidle");
    let mut all = Vec::new();
    for number in tree.numbered(&folder, "state") {
        let file = |name: &str| format!("{folder}/state{number}/{name}");
        let Some(name) = tree.text(&file("name")).filter(|name| name != "POLL") else { continue };
        if name.starts_with("haltpoll") {
            notes.push(
                "idle states are left off: the host of a virtual machine chooses them (haltpoll)"
                    .into(),
            );
            return Vec::new();
        }
        let (exit, residency) = (tree.number(&file("latency")), tree.number(&file("residency")));
        let Some(exit_us) = exit else { continue };
        if tree.text(&file("disable")).is_some_and(|text| text != "0") {
            notes.push(format!("idle state {name} is disabled, and left out"));
            continue;
        }
        if exit_us > LONGEST_US {
            notes.push(format!("idle state {name} is left out: an exit takes {exit_us} us"));
            continue;
        }
        let residency_us = residency.map_or(exit_us, |us: u64| us.min(LONGEST_US));
        all.push(Idle { name, exit_us, residency_us });
    }
    all
}
