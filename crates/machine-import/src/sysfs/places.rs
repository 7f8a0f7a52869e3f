// SPDX-License-Identifier: MIT OR Apache-2.0
//! What CPUs share: cores, caches, nodes.

use super::tree::Tree;
use super::CPUS;
use crate::found::{Cpu, Kind};
use crate::numbers::Numbers;
use rota_machine_file::cpu_list;
use std::collections::BTreeMap;

const NODES: &str = "sys/devices/system/node";

/// Names of each group, the newest first: lists since 2.6.26, masks before.
const CORE: [&str; 4] = ["core_cpus_list", "thread_siblings_list", "core_cpus", "thread_siblings"];
const CLUSTER: [&str; 2] = ["cluster_cpus_list", "cluster_cpus"];
const DIE: [&str; 2] = ["die_cpus_list", "die_cpus"];
const PACKAGE: [&str; 4] =
    ["package_cpus_list", "core_siblings_list", "package_cpus", "core_siblings"];
const SHARED: [&str; 2] = ["shared_cpu_list", "shared_cpu_map"];

/// What was found of all CPUs.
pub(super) struct Places {
    pub(super) cpus: Vec<Cpu>,
    pub(super) distances: BTreeMap<(u32, u32), u32>,
    pub(super) line_bytes: Option<u32>,
}

/// A cache of data.
struct Cache {
    kib: Option<u32>,
    line_bytes: Option<u32>,
    shared: Numbers,
}

/// The places of these CPUs.
pub(super) fn places(tree: &Tree, online: &Numbers, notes: &mut Vec<String>) -> Places {
    let (nodes, distances) = nodes(tree, online, notes);
    let mut line_bytes = None;
    let (mut without_cores, mut without_caches) = (0, 0);
    let mut cpus = Vec::new();
    for cpu in online {
        let folder = format!("{CPUS}/cpu{cpu}/topology");
        let alone = || Numbers::from([*cpu]);
        let core = tree.cpus(&folder, &CORE);
        without_cores += usize::from(core.is_none());
        let core = core.unwrap_or_else(alone);
        let mut caches = caches(tree, *cpu);
        let last = caches.pop();
        without_caches += usize::from(last.is_none());
        line_bytes = line_bytes.or(last.as_ref().and_then(|cache| cache.line_bytes));
        let shared = match &last {
            Some(cache) => Some(cache.shared.clone()),
            None => tree.cpus(&folder, &DIE).or_else(|| tree.cpus(&folder, &PACKAGE)),
        };
        // The kernel's cluster, else whatever shares the cache below the last one.
        let below = caches.last();
        let of_several = |cpus: &Numbers| cpus.len() > core.len();
        let cluster = tree.cpus(&folder, &CLUSTER).filter(of_several);
        let cluster =
            cluster.or_else(|| below.map(|cache| cache.shared.clone()).filter(of_several));
        let first = |cpus: &Numbers| cpus.first().copied().unwrap_or(*cpu);
        cpus.push(Cpu {
            number: *cpu,
            core: first(&core),
            cluster: first(&cluster.unwrap_or_else(|| core.clone())),
            // without caches, packages or dies: all of the node
            llc: shared.as_ref().map_or(0, first),
            node: nodes.get(cpu).copied().unwrap_or_default(),
            package: tree.cpus(&folder, &PACKAGE).as_ref().map(first),
            domain: None,
            llc_kib: last.and_then(|cache| cache.kib),
            kind: Kind { l2_kib: below.and_then(|cache| cache.kib), ..Kind::default() },
        });
    }
    if without_cores > 0 {
        notes.push(format!(
            "{without_cores} CPUs without topology are taken to be cores of one CPU"
        ));
    }
    if without_caches > 0 {
        notes.push(format!(
            "{without_caches} CPUs without caches are taken to share one with those of their die"
        ));
    }
    Places { cpus, distances, line_bytes }
}

/// Caches of data from the nearest to the last one. A level may be there twice: the last counts.
fn caches(tree: &Tree, cpu: u32) -> Vec<Cache> {
    let folder = format!("{CPUS}/cpu{cpu}/cache");
    let mut by_level = BTreeMap::new();
    for index in tree.numbered(&folder, "index") {
        let file = |name: &str| format!("{folder}/index{index}/{name}");
        let kind = tree.text(&file("type"));
        let Some(level) = tree.number::<u32>(&file("level")) else { continue };
        if kind.is_some_and(|kind| kind == "Instruction") {
            continue;
        }
        let mut shared = tree.cpus(&format!("{folder}/index{index}"), &SHARED).unwrap_or_default();
        shared.insert(cpu);
        let kib = tree.text(&file("size")).and_then(|size| kib(&size));
        let line_bytes = tree.number(&file("coherency_line_size"));
        by_level.insert(level, Cache { kib, line_bytes, shared });
    }
    by_level.into_values().collect()
}

/// `32768K`.
fn kib(size: &str) -> Option<u32> {
    let (digits, factor) = match (size.strip_suffix('K'), size.strip_suffix('M')) {
        (Some(digits), _) => (digits, 1),
        (_, Some(digits)) => (digits, 1024),
        _ => return None,
    };
    digits.parse::<u32>().ok()?.checked_mul(factor).filter(|kib| *kib > 0)
}

/// The node of each CPU, and distances of nodes with CPUs.
fn nodes(
    tree: &Tree,
    online: &Numbers,
    notes: &mut Vec<String>,
) -> (BTreeMap<u32, u32>, BTreeMap<(u32, u32), u32>) {
    let all = tree.numbered(NODES, "node");
    let (mut of_cpu, mut rows) = (BTreeMap::new(), Vec::new());
    let (mut empty, mut twice) = (Vec::new(), Numbers::new());
    for node in &all {
        let folder = format!("{NODES}/node{node}");
        let mut own = tree.cpus(&folder, &["cpulist", "cpumap"]).unwrap_or_default();
        own.retain(|cpu| online.contains(cpu));
        if own.is_empty() {
            empty.push(*node);
        }
        twice.extend(own.into_iter().filter(|cpu| of_cpu.insert(*cpu, *node).is_some()));
        let row = tree.text(&format!("{folder}/distance"));
        rows.push(row.as_deref().and_then(row_of).unwrap_or_default());
    }
    let lost = |cpu: &&u32| !all.is_empty() && !of_cpu.contains_key(cpu);
    let lost: Vec<u32> = online.iter().filter(lost).copied().collect();
    for (numbers, before, after) in [
        (empty, "nodes", "have no CPUs that run, and are left out"),
        (twice.into_iter().collect(), "CPUs", "are in several nodes: the last one counts"),
        (lost, "CPUs", "are in no node: they are taken to be in node 0"),
    ] {
        if !numbers.is_empty() {
            notes.push(format!("{before} {} {after}", cpu_list(&numbers)));
        }
    }
    let mut distances = BTreeMap::new();
    for (from, row) in all.iter().zip(&rows) {
        if row.len() == all.len() {
            distances.extend(all.iter().zip(row).map(|(to, value)| ((*from, *to), *value)));
        }
    }
    (of_cpu, distances)
}

/// `10 21`: a number for each node, in their order.
fn row_of(text: &str) -> Option<Vec<u32>> {
    text.split_whitespace().map(|value| value.parse().ok()).collect()
}
