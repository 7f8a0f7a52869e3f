// SPDX-License-Identifier: MIT OR Apache-2.0
//! Writes a machine as a file, with every value that a run uses.

use crate::cpu_list::cpu_list;
use crate::read::SCHEMA;
use crate::Machine;
use rota_machine::hardware::parts::{ByDistance, Clock, CoreType, Governor, Ipi, SmtSpeed};
use rota_machine::hardware::Hardware;
use rota_machine::kernel::Settings;
use rota_machine::topology::Topology;
use std::fmt::Write as _;

impl Machine {
    /// The text of a machine file that describes the same machine.
    pub fn to_toml(&self) -> String {
        let mut text = format!(
            "schema = {SCHEMA}\nname = {}\nsource = {}\n",
            quoted(&self.name),
            quoted(&self.source)
        );
        for assumed in &self.assumed {
            let (key, value, from) = (&assumed.key, &assumed.value, &assumed.from);
            let _ = writeln!(text, "# assumed: {key} = {value} ({from})");
        }
        for note in &self.notes {
            let _ = writeln!(text, "# note: {}", note);
        }
        topology(&mut text, &self.topology, self.hardware.is_none());
        kernel(&mut text, &self.kernel);
        let costs = &self.costs;
        text += "\n[cost_ns]\n";
        for (key, value) in [
            ("switch", costs.context_switch_ns),
            ("wakeup", costs.wakeup_ns),
            ("tick", costs.tick_ns),
            ("idle_exit", costs.idle_exit_ns),
            ("migration", costs.migration_ns),
            ("llc_migration", costs.llc_migration_ns),
            ("fork", costs.fork_ns),
            ("exit", costs.exit_ns),
        ] {
            let _ = writeln!(text, "{key} = {value}");
        }
        let _ = writeln!(text, "instruction = {}", costs.insn_ps as f64 / 1000.0);
        let Some(hardware) = &self.hardware else { return text };
        if let Some(Ipi { llc_ns, other_llc_ns, send_ns, receive_ns }) = hardware.ipi {
            let _ = writeln!(
                text,
                "ipi = {{ llc = {llc_ns}, other_llc = {other_llc_ns}, send = {send_ns}, receive = \
                 {receive_ns} }}"
            );
        }
        parts(&mut text, hardware, &self.topology);
        text
    }
}

/// What is known of its kernel.
fn kernel(text: &mut String, settings: &Settings) {
    let Settings { release, hz, preempt, base_slice_ns } = settings;
    let lines = [
        release.map(|release| format!("release = \"{release}\"\n")),
        hz.map(|hz| format!("hz = {hz}\n")),
        preempt.map(|mode| format!("preempt = \"{mode}\"\n")),
        base_slice_ns.map(|ns| format!("base_slice_ns = {ns}\n")),
    ];
    let lines: String = lines.into_iter().flatten().collect();
    if !lines.is_empty() {
        text.push_str("\n[kernel]\n");
        text.push_str(&lines);
    }
}

fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}

fn lists(groups: impl Iterator<Item = Vec<u32>>) -> String {
    let lists: Vec<String> = groups.map(|cpus| format!("\"{}\"", cpu_list(&cpus))).collect();
    format!("[{}]", lists.join(", "))
}

/// Each group's CPUs, in order of groups.
fn groups(topology: &Topology, of: impl Fn(u32) -> u32) -> Vec<Vec<u32>> {
    let mut all: Vec<Vec<u32>> = Vec::new();
    for cpu in 0..topology.cpus() {
        let number = of(cpu) as usize;
        all.resize_with(all.len().max(number + 1), Vec::new);
        all[number].push(cpu);
    }
    all
}

fn topology(text: &mut String, topology: &Topology, with_cores: bool) {
    let _ = writeln!(text, "\n[topology]\ncpus = {}", topology.cpus());
    if with_cores && topology.has_smt() {
        // Without kinds of cores all are alike.
        let _ = writeln!(text, "smt = {}", topology.siblings(0).len());
    }
    let clusters = groups(topology, |cpu| topology.cluster_of(cpu));
    let of_several = clusters
        .into_iter()
        .filter(|cpus| cpus.iter().any(|cpu| topology.core_of(*cpu) != topology.core_of(cpus[0])));
    let of_several: Vec<_> = of_several.collect();
    if !of_several.is_empty() {
        let _ = writeln!(text, "cluster = {}", lists(of_several.into_iter()));
    }
    for (key, of) in [
        ("llc", groups(topology, |cpu| topology.llc_of(cpu))),
        ("node", groups(topology, |cpu| topology.node_of(cpu))),
    ] {
        let _ = writeln!(text, "{key} = {}", lists(of.into_iter()));
    }
    if topology.has_packages() {
        let packages = groups(topology, |cpu| topology.package_of(cpu));
        let _ = writeln!(text, "package = {}", lists(packages.into_iter()));
    }
    if !topology.distances().is_empty() {
        let _ = writeln!(text, "distance = {:?}", topology.distances());
    }
}

fn parts(text: &mut String, hardware: &Hardware, topology: &Topology) {
    let class = hardware.work.0.name();
    let set = hardware.cache.as_ref().map(|cache| cache.working_set_kib);
    let set = set.map_or_else(String::new, |kib| format!("working_set_kib = {kib}\n"));
    let (share, slack) = (hardware.work.1, hardware.timer_slack_ns / 1000);
    let _ = writeln!(
        text,
        "\n[task]\n{set}class = \"{class}\"\ndram_share = {share}\ntimer_slack_us = {slack}"
    );
    if let Some(cache) = &hardware.cache {
        let by = |of: &ByDistance| {
            let ByDistance { sibling, llc, other_llc, node } = of;
            format!(
                "{{ sibling = {sibling}, llc = {llc}, other_llc = {other_llc}, node = {node} }}"
            )
        };
        let _ = writeln!(
            text,
            "\n[cache]\nllc_kib = {}\nmlp = {}\nline_bytes = {}\nrefill_ns = {}\nc2c_ns = {}\n\
             reuse_ns = {}\nhandoff_lines = {}",
            cache.llc_kib,
            cache.mlp,
            cache.line_bytes,
            by(&cache.refill_ns),
            by(&cache.c2c_ns),
            cache.reuse_ns,
            cache.handoff_lines,
        );
    }
    for (at, kind) in hardware.core_types.iter().enumerate() {
        let own = |cpu: &u32| hardware.type_of_cpu.get(*cpu as usize) == Some(&at);
        let cpus: Vec<u32> = (0..topology.cpus()).filter(own).collect();
        if cpus.is_empty() {
            continue;
        }
        let cores = groups(topology, |cpu| topology.core_of(cpu));
        let cores = cores.into_iter().filter(|core| core.first().is_some_and(own));
        let _ = writeln!(
            text,
            "\n[[core_type]]\nname = {}\ncpus = \"{}\"\ncores = {}",
            quoted(&kind.name),
            cpu_list(&cpus),
            lists(cores)
        );
        core_type(text, kind);
    }
}

fn core_type(text: &mut String, kind: &CoreType) {
    let CoreType { speed, capacity, rank, l2_kib, .. } = kind;
    let _ =
        writeln!(text, "speed = {speed}\ncapacity = {capacity}\nrank = {rank}\nl2_kib = {l2_kib}");
    if let Some(SmtSpeed { compute, mixed, memory }) = &kind.smt {
        let _ = writeln!(
            text,
            "smt_speed = {{ compute = {compute:?}, mixed = {mixed:?}, memory = {memory:?} }}"
        );
    }
    if let Some(clock) = &kind.clock {
        frequencies(text, clock);
    }
    if kind.poll_ns > 0 {
        let _ = writeln!(text, "poll_us = {}", kind.poll_ns / 1000);
    }
    if !kind.idle.is_empty() {
        text.push_str("idle = [\n");
        for state in &kind.idle {
            let _ = writeln!(
                text,
                "    {{ name = {}, exit_us = {}, residency_us = {}, flush = {} }},",
                quoted(&state.name),
                state.exit_ns / 1000,
                state.residency_ns / 1000,
                state.flush
            );
        }
        text.push_str("]\n");
    }
}

fn frequencies(text: &mut String, clock: &Clock) {
    let Clock { idle_mhz, base_mhz, max_mhz, domain_cores, .. } = clock;
    let _ = write!(text, "mhz = {{ idle = {idle_mhz}, base = {base_mhz}, max = {max_mhz}");
    if !clock.turbo.is_empty() {
        let steps: Vec<[u32; 2]> = clock.turbo.iter().map(|(n, mhz)| [*n, *mhz]).collect();
        let _ = write!(text, ", turbo = {steps:?}");
    }
    if !clock.opps_mhz.is_empty() {
        let _ = write!(text, ", opps = {:?}", clock.opps_mhz);
    }
    let _ = writeln!(text, ", domain_cores = {domain_cores} }}");
    let governor = match clock.governor {
        Governor::Performance => "name = \"performance\"".to_owned(),
        Governor::Hardware { ramp_ns, cool_ns } => {
            let (ramp, cool) = (ramp_ns / 1000, cool_ns / 1000);
            format!("name = \"hardware\", ramp_us = {ramp}, cool_us = {cool}")
        }
        Governor::Schedutil { transition_ns } => {
            format!("name = \"schedutil\", transition_us = {}", transition_ns / 1000)
        }
    };
    let _ = writeln!(text, "governor = {{ {governor} }}");
    if !clock.power_uw.is_empty() {
        let _ = writeln!(text, "power = {{ microwatts = {:?} }}", clock.power_uw);
    }
}
