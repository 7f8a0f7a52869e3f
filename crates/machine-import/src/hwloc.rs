// SPDX-License-Identifier: MIT OR Apache-2.0
//! A computer by hwloc's XML (`lstopo --of xml`), of versions 2 and 3.
//!
//! Each object has the set of its CPUs, so nesting need not be followed: of objects of one type
//! that hold a CPU, the last one in the file counts, which is the innermost.

mod distances;
mod document;
mod kinds;
#[cfg(test)]
mod tests;

use crate::found::{Cpu, Found, Kind};
use crate::numbers::{mask, Numbers, BEYOND};
use crate::text::machine;
use document::{attribute, open};
use rota_machine_file::{cpu_list, Machine, MachineError};
use roxmltree::Node;
use std::collections::BTreeMap;

/// Most bytes of a file: one of 512 CPUs with all devices has a tenth of that.
pub const LARGEST_XML: usize = 4 << 20;

/// The machine that a text of hwloc's XML describes; `file` is what errors call it.
///
/// # Errors
/// Text that is no XML of hwloc 2 or 3, is larger than [`LARGEST_XML`], or has no CPUs or more than
/// a machine can have.
pub fn hwloc_xml(file: &str, text: &str) -> Result<Machine, MachineError> {
    let document = open(file, text)?;
    let root = document.root_element();
    let mut notes = Vec::new();
    let objects = Objects::read(root);
    let allowed = objects.allowed(&mut notes);
    let mut cpus = places(&objects, &allowed, &mut notes);
    kinds::kinds(root, &mut cpus, &mut notes);
    let stem = std::path::Path::new(file).file_stem();
    let name = stem.map_or_else(|| file.to_owned(), |stem| stem.to_string_lossy().into_owned());
    let model = objects.model.map(|model| model.split_whitespace().collect::<Vec<_>>().join(" "));
    let model = model.filter(|model| !model.is_empty());
    machine(Found {
        file: file.to_owned(),
        name,
        source: model.map_or_else(|| "hwloc".into(), |model| format!("hwloc, {model}")),
        cpus,
        distances: distances::distances(root, &objects.nodes),
        line_bytes: objects.line_bytes,
        notes,
    })
}

/// Levels of caches that hwloc knows.
const LEVELS: u32 = 5;

/// An object that holds CPUs.
struct Object {
    cpus: Numbers,
    /// `os_index`, where the system has a number for it.
    number: Option<u32>,
    /// `gp_index`, by which other parts of the file name it.
    gp_index: Option<u64>,
    kib: Option<u32>,
}

/// Objects by their types, in the order of the file.
#[derive(Default)]
struct Objects {
    /// Numbers of all PUs, and of the node that each says to be in.
    pus: Numbers,
    node_of_pu: BTreeMap<u32, u32>,
    cores: Vec<Object>,
    packages: Vec<Object>,
    dies: Vec<Object>,
    /// Groups that the kernel calls a cluster.
    clusters: Vec<Object>,
    nodes: Vec<Object>,
    /// Caches of data, by level.
    caches: BTreeMap<u32, Vec<Object>>,
    line_bytes: Option<u32>,
    memory_caches: usize,
    allowed: Option<Numbers>,
    complete: Option<Numbers>,
    model: Option<String>,
}

impl Objects {
    fn read(root: Node<'_, '_>) -> Self {
        let mut all = Self::default();
        for node in root.descendants().filter(|node| node.has_tag_name("object")) {
            let Some(kind) = node.attribute("type") else { continue };
            let cpus = node.attribute("cpuset").and_then(mask).unwrap_or_default();
            let number = attribute(node, "os_index");
            let bytes: Option<u64> = attribute(node, "cache_size");
            let kib = bytes.and_then(|bytes| u32::try_from(bytes / 1024).ok());
            let gp_index = attribute(node, "gp_index");
            let object = Object { cpus, number, gp_index, kib };
            match kind {
                "Machine" => {
                    all.allowed = node.attribute("allowed_cpuset").and_then(mask);
                    all.complete = node.attribute("complete_cpuset").and_then(mask);
                }
                "PU" => {
                    let Some(number) = number.filter(|number| *number < BEYOND) else { continue };
                    let nodes = node.attribute("complete_nodeset").and_then(mask);
                    let own = nodes.and_then(|nodes| nodes.first().copied());
                    all.node_of_pu.extend(own.map(|own| (number, own)));
                    all.pus.insert(number);
                }
                "Core" => all.cores.push(object),
                "Die" => all.dies.push(object),
                "Package" => {
                    let info = |name| info(node, name).map(str::to_owned);
                    all.model = all.model.take().or_else(|| info("CPUModel"));
                    all.packages.push(object);
                }
                "Group" if node.attribute("subtype") == Some("Cluster") => {
                    all.clusters.push(object);
                }
                "NUMANode" => all.nodes.push(object),
                "MemCache" => all.memory_caches += 1,
                // L1iCache and the like hold no data
                _ => {
                    let level = kind.strip_prefix('L').and_then(|kind| kind.strip_suffix("Cache"));
                    let level = level.and_then(|level| level.parse().ok());
                    if let Some(level) = level.filter(|level| (1..=LEVELS).contains(level)) {
                        let bytes = attribute(node, "cache_linesize").filter(|bytes| *bytes > 0);
                        all.line_bytes = all.line_bytes.or(bytes);
                        all.caches.entry(level).or_default().push(object);
                    }
                }
            }
        }
        all
    }

    /// CPUs that may run tasks.
    fn allowed(&self, notes: &mut Vec<String>) -> Numbers {
        let mut tell = |cpus: Numbers, what: &str| {
            let cpus: Vec<u32> = cpus.into_iter().collect();
            if !cpus.is_empty() {
                notes.push(format!("CPUs {} are {what}, and left out", cpu_list(&cpus)));
            }
        };
        if let Some(complete) = &self.complete {
            tell(complete - &self.pus, "offline or not allowed");
        }
        match &self.allowed {
            Some(allowed) => {
                tell(&self.pus - allowed, "not allowed");
                &self.pus & allowed
            }
            None => self.pus.clone(),
        }
    }
}

/// The value of an `info` of an object or a kind.
fn info<'a>(of: Node<'a, '_>, name: &str) -> Option<&'a str> {
    let mut all = of.children().filter(|node| node.has_tag_name("info"));
    all.find(|node| node.attribute("name") == Some(name))?.attribute("value")
}

/// The place of the innermost of these objects that holds each CPU.
fn innermost(objects: &[Object]) -> BTreeMap<u32, usize> {
    let mut of_cpu = BTreeMap::new();
    for (at, object) in objects.iter().enumerate() {
        of_cpu.extend(object.cpus.iter().map(|cpu| (*cpu, at)));
    }
    of_cpu
}

fn places(objects: &Objects, allowed: &Numbers, notes: &mut Vec<String>) -> Vec<Cpu> {
    let (cores, dies) = (innermost(&objects.cores), innermost(&objects.dies));
    let packages = innermost(&objects.packages);
    let clusters = innermost(&objects.clusters);
    let caches = objects.caches.iter().map(|(level, all)| (*level, innermost(all), all));
    let caches: Vec<_> = caches.collect();
    let nodes = nodes(objects, allowed, notes);
    let (mut without_cores, mut without_caches) = (0, 0);
    // Labels of different types of objects must differ where they stand for one another.
    let label = |kind: u32, at: usize| kind << 24 | (at as u32 & 0xff_ffff);
    let mut cpus = Vec::new();
    for cpu in allowed {
        let core = cores.get(cpu).map(|at| label(1, *at));
        without_cores += usize::from(core.is_none());
        let core = core.unwrap_or(*cpu);
        let mut own = caches.iter().rev().filter_map(|(level, of_cpu, all)| {
            let at = *of_cpu.get(cpu)?;
            Some((label(1 + level, at), all.get(at)?))
        });
        let last = own.next();
        without_caches += usize::from(last.is_none());
        let below = own.next();
        let die = || dies.get(cpu).map(|at| label(0xfe, *at));
        let package = packages.get(cpu).map(|at| label(0xff, *at));
        let llc = last.map(|(label, _)| label).or_else(die).or(package).unwrap_or_default();
        let cluster = clusters.get(cpu).map(|at| label(0xfd, *at));
        cpus.push(Cpu {
            number: *cpu,
            core,
            cluster: cluster.or(below.map(|(label, _)| label)).unwrap_or(core),
            llc,
            node: nodes.get(cpu).copied().unwrap_or_default(),
            package,
            domain: None,
            llc_kib: last.and_then(|(_, cache)| cache.kib),
            kind: Kind { l2_kib: below.and_then(|(_, cache)| cache.kib), ..Kind::default() },
        });
    }
    if without_cores > 0 {
        notes.push(format!("{without_cores} CPUs without a core are taken to be cores of one CPU"));
    }
    if without_caches > 0 {
        notes.push(format!(
            "{without_caches} CPUs without caches are taken to share one with those of their die"
        ));
    }
    if objects.memory_caches > 0 {
        notes.push(format!("{} caches of memory are left out", objects.memory_caches));
    }
    cpus
}

/// The node of each CPU: of those that hold it, the one of the fewest CPUs, and of these the lowest
/// number, which is where Linux has its CPUs. Other ones are memory without CPUs.
fn nodes(objects: &Objects, allowed: &Numbers, notes: &mut Vec<String>) -> BTreeMap<u32, u32> {
    let mut by_size: Vec<&Object> = objects.nodes.iter().collect();
    by_size.sort_by_key(|node| (node.cpus.len(), node.number));
    let mut of_cpu = BTreeMap::new();
    for node in by_size {
        let number = node.number.unwrap_or_default();
        for cpu in &node.cpus & allowed {
            of_cpu.entry(cpu).or_insert(number);
        }
    }
    // A node may not be allowed where its CPUs are.
    for cpu in allowed {
        if let (false, Some(own)) = (of_cpu.contains_key(cpu), objects.node_of_pu.get(cpu)) {
            of_cpu.insert(*cpu, *own);
        }
    }
    let used: Numbers = of_cpu.values().copied().collect();
    let unused = objects.nodes.iter().filter_map(|node| node.number);
    let unused: Numbers = unused.filter(|number| !used.contains(number)).collect();
    let lost = allowed.iter().filter(|cpu| !of_cpu.is_empty() && !of_cpu.contains_key(cpu));
    let lost: Numbers = lost.copied().collect();
    for (numbers, before, after) in [
        (unused, "nodes", "have no CPUs of their own, and are left out"),
        (lost, "CPUs", "are in no node: they are taken to be in node 0"),
    ] {
        let numbers: Vec<u32> = numbers.into_iter().collect();
        if !numbers.is_empty() {
            notes.push(format!("{before} {} {after}", cpu_list(&numbers)));
        }
    }
    of_cpu
}
