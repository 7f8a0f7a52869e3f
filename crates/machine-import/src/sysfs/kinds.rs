// SPDX-License-Identifier: MIT OR Apache-2.0
//! How fast cores are, and what the kernel says of that.

use super::clocks::{clock, idle};
use super::tree::Tree;
use super::CPUS;
use crate::found::Cpu;
use crate::numbers::{list, Numbers};
use rota_machine::hardware::FULL_SPEED;

/// What schedulers' programs rank CPUs by, in their order (scx_utils).
const RANKS: [&str; 3] =
    ["cpufreq/amd_pstate_prefcore_ranking", "cpufreq/amd_pstate_highest_perf", HIGHEST];
const HIGHEST: &str = "acpi_cppc/highest_perf";
const CAPACITY: &str = "cpu_capacity";

/// PMUs that only CPUs with two kinds of cores have, and what these are called.
const HYBRID: [(&str, &str); 3] = [
    ("sys/devices/cpu_core/cpus", "p"),
    ("sys/devices/cpu_atom/cpus", "e"),
    ("sys/devices/cpu_lowpower/cpus", "lp"),
];

/// Fills in the kinds of CPUs whose places are known.
pub(super) fn kinds(tree: &Tree, cpus: &mut [Cpu], notes: &mut Vec<String>) {
    let numbers: Vec<u32> = cpus.iter().map(|cpu| cpu.number).collect();
    // A number for each CPU; `None` if some have none.
    let all = |name: &str| -> Option<Vec<u32>> {
        let of = |cpu: &u32| tree.number(&format!("{CPUS}/cpu{cpu}/{name}"));
        numbers.iter().map(of).collect()
    };
    let listed = |file: &str| tree.text(file).and_then(|text| list(&text)).unwrap_or_default();
    let hybrid = HYBRID.map(|(file, name)| (listed(file), name));
    let mut of_clocks = Vec::new();
    for cpu in cpus.iter_mut() {
        let own =
            |(of, name): &(Numbers, &str)| of.contains(&cpu.number).then(|| (*name).to_owned());
        cpu.kind.name = hybrid.iter().find_map(own);
        (cpu.kind.clock, cpu.domain) = clock(tree, cpu.number, &mut of_clocks);
        cpu.kind.idle = idle(tree, cpu.number, &mut of_clocks);
    }
    for note in of_clocks {
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    let differs = |values: &Vec<u32>| values.iter().any(|value| *value != values[0]);
    let ranks = RANKS.iter().find_map(|name| all(name).filter(differs)).or_else(|| all(HIGHEST));
    let capacities = all(CAPACITY);
    let speeds = speeds(&all, &capacities, cpus, notes);
    let has_smt = (1..cpus.len()).any(|at| cpus[..at].iter().any(|cpu| cpu.core == cpus[at].core));
    let is_hybrid = cpus.iter().any(|cpu| cpu.kind.name.as_deref() == Some("e"));
    let fastest = speeds.iter().copied().max().unwrap_or(1).max(1);
    for (at, cpu) in cpus.iter_mut().enumerate() {
        cpu.kind.speed = speeds[at].max(1);
        cpu.kind.rank = ranks.as_ref().map_or(0, |ranks| ranks[at]);
        cpu.kind.capacity = match &capacities {
            Some(capacities) => capacities[at],
            // hybrid_init_cpu_capacity_scaling() of intel_pstate.c: not where SMT is possible
            None if is_hybrid && !has_smt => {
                (cpu.kind.speed * u64::from(FULL_SPEED) / fastest) as u32
            }
            None => FULL_SPEED,
        };
    }
}

/// By the first source that tells CPUs apart. AMD's preferred cores rank in `highest_perf` cores
/// that are equally fast but for their frequency, so there that one counts.
fn speeds(
    all: &dyn Fn(&str) -> Option<Vec<u32>>,
    capacities: &Option<Vec<u32>>,
    cpus: &[Cpu],
    notes: &mut Vec<String>,
) -> Vec<u64> {
    let is_amd = all(RANKS[0]).or_else(|| all(RANKS[1])).is_some();
    let differs = |values: &Vec<u32>| values.iter().any(|value| *value != values[0]);
    let perf = || all(HIGHEST).filter(|_| !is_amd).filter(differs);
    if let Some(values) = capacities.clone().filter(differs).or_else(perf) {
        return values.into_iter().map(u64::from).collect();
    }
    let max = |cpu: &Cpu| cpu.kind.clock.as_ref().map(|clock| clock.max);
    let by_clock: Option<Vec<u32>> = cpus.iter().map(max).collect();
    if let Some(values) = by_clock.filter(differs) {
        notes.push("speeds are by highest frequency: work per MHz is taken to be equal".into());
        return values.into_iter().map(u64::from).collect();
    }
    vec![u64::from(FULL_SPEED); cpus.len()]
}
