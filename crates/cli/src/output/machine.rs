// SPDX-License-Identifier: MIT OR Apache-2.0
//! A machine as text: a drawing of its nodes, caches and cores, then what they are.

use super::units::time;
use rota_machine::config::Costs;
use rota_machine::hardware::parts::{Clock, CoreType, Governor};
use rota_machine::hardware::Hardware;
use rota_machine::topology::Topology;
use rota_machine_file::{cpu_list, models, Machine};
use rota_session::machine::set_as;
use std::fmt::Write as _;

/// Columns of a drawing.
const WIDTH: usize = 78;

/// All that a machine is.
pub(crate) fn text(machine: &Machine) -> String {
    let topology = &machine.topology;
    let mut text = format!("{} ({}): {}\n\n", machine.name, machine.source, counts(topology));
    let hardware = machine.hardware.as_deref();
    (0..topology.nodes()).for_each(|node| draw_node(&mut text, topology, hardware, node));
    if topology.nodes() > 1 {
        text.push_str("distances of nodes\n");
        for from in 0..topology.nodes() {
            let row = (0..topology.nodes()).map(|to| format!("{:4}", topology.distance(from, to)));
            let _ = writeln!(text, "  {from:3} {}", row.collect::<String>());
        }
    }
    packages(&mut text, topology);
    for (at, kind) in hardware.iter().flat_map(|of| of.core_types.iter().enumerate()) {
        describe(&mut text, machine, kind, at);
    }
    if let Some(kernel) = set_as(&machine.kernel) {
        let _ = writeln!(text, "\nthe kernel\n  {kernel}");
    }
    let _ = writeln!(text, "\nthe kernel's own costs\n  {}", costs(&machine.costs));
    text.push_str("\nmodels\n");
    for model in models(topology, hardware) {
        let state = match model.is_on {
            true => "on".to_owned(),
            false => format!("off (needs {})", model.needs),
        };
        let _ = writeln!(text, "  {:<12} {state}", model.name);
    }
    if !machine.notes.is_empty() {
        text.push_str("\nnotes\n");
    }
    for note in &machine.notes {
        let _ = writeln!(text, "  {note}");
    }
    if !machine.assumed.is_empty() {
        text.push_str("\nassumed, as the file does not say\n");
    }
    for assumed in &machine.assumed {
        let _ = writeln!(text, "  {} = {} ({})", assumed.key, assumed.value, assumed.from);
    }
    text
}

/// How many of each it has.
pub(crate) fn counts(topology: &Topology) -> String {
    let count = |n: u32, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    [
        count(topology.cpus(), "CPU"),
        count(topology.cores(), "core"),
        count(topology.llcs(), "last-level cache"),
        count(topology.nodes(), "node"),
    ]
    .join(", ")
}

/// A node: each of its caches with a box for each core.
fn draw_node(text: &mut String, topology: &Topology, hardware: Option<&Hardware>, node: u32) {
    let _ = writeln!(text, "node {node}");
    let all = || (0..topology.cpus()).filter(|cpu| topology.node_of(*cpu) == node);
    let mut llcs: Vec<u32> = all().map(|cpu| topology.llc_of(cpu)).collect();
    llcs.sort_unstable();
    llcs.dedup();
    for llc in llcs {
        let size = hardware.and_then(|of| of.cache.as_ref()).map(|cache| cache.llc_kib);
        let size = size.map_or_else(String::new, |kib| format!(", {kib} KiB"));
        let _ = writeln!(text, "  cache {llc}{size}");
        let firsts = all().filter(|cpu| {
            topology.llc_of(*cpu) == llc && topology.siblings(*cpu).first() == Some(*cpu)
        });
        let mut line = String::from("   ");
        for first in firsts {
            let kind = hardware.map_or("", |of| of.core_type(first).name.as_str());
            let cpus: Vec<String> =
                topology.siblings(first).iter().map(|c| c.to_string()).collect();
            let space = if kind.is_empty() { "" } else { " " };
            let core = format!(" [{kind}{space}{}]", cpus.join(" "));
            if line.len() + core.len() > WIDTH {
                let _ = writeln!(text, "{line}");
                line = String::from("   ");
            }
            line += &core;
        }
        let _ = writeln!(text, "{line}");
    }
}

/// Packages, where they are not the nodes.
fn packages(text: &mut String, topology: &Topology) {
    if !topology.has_packages() {
        return;
    }
    text.push_str("packages\n");
    let firsts =
        (0..topology.cpus()).filter(|cpu| topology.package_cpus(*cpu).first() == Some(*cpu));
    for first in firsts {
        let cpus: Vec<u32> = topology.package_cpus(first).iter().collect();
        let _ = writeln!(text, "  {:3}  CPUs {}", topology.package_of(first), cpu_list(&cpus));
    }
}

/// What the kernel takes, of what it takes any.
fn costs(costs: &Costs) -> String {
    let named = [
        ("switch", costs.context_switch_ns),
        ("wakeup", costs.wakeup_ns),
        ("tick", costs.tick_ns),
        ("leaving idle", costs.idle_exit_ns),
        ("fork", costs.fork_ns),
        ("exit", costs.exit_ns),
    ];
    let named = named.iter().filter(|(_, ns)| *ns > 0);
    let named: Vec<String> = named.map(|(name, ns)| format!("{name} {}", time(*ns))).collect();
    format!("{}, instruction {} ns", named.join(", "), costs.insn_ps as f64 / 1000.0)
}

fn describe(text: &mut String, machine: &Machine, kind: &CoreType, at: usize) {
    let topology = &machine.topology;
    let Some(hardware) = machine.hardware.as_deref() else { return };
    let own = |cpu: &u32| hardware.type_of_cpu.get(*cpu as usize) == Some(&at);
    let cpus: Vec<u32> = (0..topology.cpus()).filter(own).collect();
    let CoreType { name, speed, capacity, rank, l2_kib, .. } = kind;
    let rank = if *rank == 0 { String::new() } else { format!(", rank {rank}") };
    let _ = writeln!(
        text,
        "\n{name}: CPUs {}\n  speed {speed}, capacity {capacity} (of 1024){rank}; L2 {l2_kib} KiB",
        cpu_list(&cpus)
    );
    if let Some(smt) = &kind.smt {
        let _ = writeln!(
            text,
            "  speed with busy siblings: compute {:?}, mixed {:?}, memory {:?}",
            smt.compute, smt.mixed, smt.memory
        );
    }
    if let Some(clock) = &kind.clock {
        let _ = writeln!(text, "  {}", frequencies(clock));
    }
    for state in &kind.idle {
        let (exit, residency) = (state.exit_ns / 1000, state.residency_ns / 1000);
        let flush = if state.flush { ", empties caches" } else { "" };
        let _ = writeln!(
            text,
            "  idle {}: exit {exit} us, worth it from {residency} us{flush}",
            state.name
        );
    }
}

fn frequencies(clock: &Clock) -> String {
    let Clock { idle_mhz, base_mhz, max_mhz, .. } = clock;
    let governor = match clock.governor {
        Governor::Performance => "performance".to_owned(),
        Governor::Hardware { ramp_ns, .. } => {
            format!("hardware, {} us from idle to full", ramp_ns / 1000)
        }
        Governor::Schedutil { transition_ns } => {
            format!("schedutil, a change in {} us", transition_ns / 1000)
        }
    };
    let steps = clock.turbo.iter().map(|(cores, mhz)| format!("{mhz} up to {cores} cores"));
    let steps: Vec<String> = steps.collect();
    let turbo = if steps.is_empty() { String::new() } else { format!("; {}", steps.join(", ")) };
    format!("MHz: idle {idle_mhz}, base {base_mhz}, most {max_mhz}{turbo}; governor {governor}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drawing_has_each_core_with_its_kind_and_cpus() {
        let machine = rota_machine_file::preset("hybrid").expect("a preset");
        let text = text(&machine);
        assert!(
            text.starts_with("hybrid (preset): 20 CPUs, 14 cores, 1 last-level cache, 1 node\n")
        );
        assert!(text.contains("\n  cache 0, 24576 KiB\n    [p 0 1] [p 2 3]"), "{text}");
        assert!(text.contains("e: CPUs 12-19\n  speed 624, capacity 1024 (of 1024), rank 39"));
        assert!(text.contains("NUMA         off (needs nodes"), "{text}");
    }
}
