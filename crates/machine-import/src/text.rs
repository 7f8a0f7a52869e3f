// SPDX-License-Identifier: MIT OR Apache-2.0
//! A computer as a machine file, which is then read like any other.

use crate::arrange::{arrange, Arranged, Group, OfKind};
use crate::found::{Clock, Found, Idle};
use rota_machine::cpuset::MAX_CPUS;
use rota_machine::hardware::FULL_SPEED;
use rota_machine_file::{cpu_list, parse, Assumed, Machine, MachineError};
use std::fmt::Write as _;

/// Sizes and MHz that a machine file may have.
const MOST_KIB: u32 = 1 << 30;
const MOST_MHZ: u32 = 100_000;

/// Reads what was found as a machine.
pub(crate) fn machine(mut found: Found) -> Result<Machine, MachineError> {
    let refuse = |what: String| MachineError { file: found.file.clone(), line: None, what };
    let count = found.cpus.len();
    if count == 0 {
        return Err(refuse("no CPU that can run tasks".into()));
    }
    if count > MAX_CPUS as usize {
        return Err(refuse(format!("{count} CPUs, expected at most {MAX_CPUS}")));
    }
    let arranged = arrange(&mut found);
    let (mut text, mut assumed) = (String::new(), Vec::new());
    let (name, source) = (quoted(&found.name), quoted(&found.source));
    let _ = writeln!(text, "schema = 1\nname = {name}\nsource = {source}");
    topology(&mut text, &arranged, count);
    cache(&mut text, &mut found);
    let names = names(&arranged.kinds);
    let fastest = arranged.kinds.iter().map(|of| of.kind.speed).max().unwrap_or(1).max(1);
    for (of, name) in arranged.kinds.iter().zip(&names) {
        core_type(&mut text, of, name, &arranged.cores, fastest);
        assumed.extend(flushing(of, name));
    }
    let mut machine = parse(&found.file, &text)?;
    machine.assumed.extend(assumed);
    machine.notes = found.notes;
    Ok(machine)
}

fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}

fn lists(groups: &[Group]) -> String {
    let lists: Vec<String> = groups.iter().map(|cpus| format!("\"{}\"", cpu_list(cpus))).collect();
    format!("[{}]", lists.join(", "))
}

fn topology(text: &mut String, arranged: &Arranged, cpus: usize) {
    let _ = writeln!(text, "\n[topology]\ncpus = {cpus}");
    if !arranged.clusters.is_empty() {
        let _ = writeln!(text, "cluster = {}", lists(&arranged.clusters));
    }
    let (llcs, nodes) = (lists(&arranged.llcs), lists(&arranged.nodes));
    let _ = writeln!(text, "llc = {llcs}\nnode = {nodes}");
    if let Some(packages) = &arranged.packages {
        let _ = writeln!(text, "package = {}", lists(packages));
    }
    if !arranged.distances.is_empty() {
        let _ = writeln!(text, "distance = {:?}", arranged.distances);
    }
}

/// All last-level caches of a machine have one size: the largest.
fn cache(text: &mut String, found: &mut Found) {
    let sizes = || found.cpus.iter().filter_map(|cpu| cpu.llc_kib.filter(|kib| *kib > 0));
    let Some(largest) = sizes().max() else { return };
    if let Some(smallest) = sizes().min().filter(|smallest| *smallest < largest) {
        found.notes.push(format!(
            "last-level caches of {smallest} to {largest} KiB are all taken to have {largest}"
        ));
    }
    let _ = writeln!(text, "\n[cache]\nllc_kib = {}", largest.min(MOST_KIB));
    if let Some(bytes) = found.line_bytes.filter(|bytes| (1..=4096).contains(bytes)) {
        let _ = writeln!(text, "line_bytes = {bytes}");
    }
}

/// A name for each kind; those that share one get numbers.
fn names(kinds: &[OfKind]) -> Vec<String> {
    let own = |of: &OfKind| of.kind.name.clone().unwrap_or_else(|| "core".into());
    let mut names = Vec::new();
    for (of, at) in kinds.iter().zip(0..) {
        let name = own(of);
        let alike = |to: usize| kinds.iter().take(to).filter(|other| own(other) == name).count();
        names.push(match alike(kinds.len()) {
            1 => name,
            _ => format!("{name}{}", alike(at)),
        });
    }
    names
}

fn core_type(text: &mut String, of: &OfKind, name: &str, cores: &[Group], fastest: u64) {
    let kind = &of.kind;
    let own = cores.iter().filter(|core| of.cpus.binary_search(&core[0]).is_ok());
    let own: Vec<Group> = own.cloned().collect();
    let full = u64::from(FULL_SPEED);
    let speed = (u128::from(kind.speed) * u128::from(full) / u128::from(fastest)).max(1);
    let capacity = kind.capacity.clamp(1, FULL_SPEED);
    let _ = writeln!(
        text,
        "\n[[core_type]]\nname = {}\ncpus = \"{}\"\ncores = {}\nspeed = {speed}\ncapacity = {capacity}",
        quoted(name),
        cpu_list(&of.cpus),
        lists(&own)
    );
    if kind.rank > 0 {
        let _ = writeln!(text, "rank = {}", kind.rank);
    }
    if let Some(kib) = kind.l2_kib.filter(|kib| *kib > 0) {
        let _ = writeln!(text, "l2_kib = {}", kib.min(MOST_KIB));
    }
    if let Some(clock) = &kind.clock {
        frequencies(text, clock, of.domain_cores);
    }
    idle_states(text, &kind.idle);
}

fn frequencies(text: &mut String, clock: &Clock, domain_cores: Option<u32>) {
    let max = clock.max.clamp(1, MOST_MHZ);
    let _ = write!(text, "mhz = {{ max = {max}");
    let base = clock.base.map(|base| base.clamp(1, max));
    if let Some(base) = base {
        let _ = write!(text, ", base = {base}");
    }
    if let Some(min) = clock.min {
        let _ = write!(text, ", idle = {}", min.clamp(1, base.unwrap_or(max)));
    }
    let mut opps: Vec<u32> = clock.opps.iter().copied().filter(|f| (1..max).contains(f)).collect();
    if !opps.is_empty() {
        opps.push(max);
        opps.sort_unstable();
        opps.dedup();
        let _ = write!(text, ", opps = {opps:?}");
    }
    if let Some(cores) = domain_cores {
        let _ = write!(text, ", domain_cores = {cores}");
    }
    text.push_str(" }\n");
    if let Some(governor) = clock.governor {
        let _ = writeln!(text, "governor = {{ name = \"{governor}\" }}");
    }
}

/// Firmware may say that a state is worth it before it is left: it is not, and a deeper one is
/// worth it no earlier than the one before.
fn idle_states(text: &mut String, states: &[Idle]) {
    if states.is_empty() {
        return;
    }
    text.push_str("idle = [\n");
    let mut least = 0;
    for state in states {
        let (name, exit) = (quoted(&state.name), state.exit_us);
        let residency = state.residency_us.max(exit).max(least);
        least = residency;
        let flush = empties_caches(&state.name);
        let _ = writeln!(
            text,
            "    {{ name = {name}, exit_us = {exit}, residency_us = {residency}, flush = {flush} }},"
        );
    }
    text.push_str("]\n");
}

/// Intel's C6 and deeper ones, which power the core's caches down.
fn empties_caches(name: &str) -> bool {
    let digits = name.strip_prefix('C').unwrap_or_default();
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    digits[..end].parse().is_ok_and(|depth: u32| depth >= 6)
}

/// That is nowhere written of a state.
fn flushing(of: &OfKind, name: &str) -> Vec<Assumed> {
    let assumed = |state: &Idle| Assumed {
        key: format!("core_type.{name}.idle.{}.flush", state.name),
        value: empties_caches(&state.name).to_string(),
        from: "by its name: C6 and deeper ones empty the core's caches".into(),
    };
    of.kind.idle.iter().map(assumed).collect()
}
