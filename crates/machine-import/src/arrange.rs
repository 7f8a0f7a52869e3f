// SPDX-License-Identifier: MIT OR Apache-2.0
//! Groups that nest, from labels that need not, and CPUs numbered from 0.
//!
//! Where groups do not nest, the outer one counts: a last-level cache that spans nodes is one for
//! each node, as in the kernel's `match_llc()` with sub-NUMA clusters.

use crate::found::{Cpu, Found, Kind};
use rota_machine_file::cpu_list;
use std::collections::{BTreeMap, BTreeSet};

/// CPUs by their numbers in the machine: the place in [`Found::cpus`].
pub(crate) type Group = Vec<u32>;

/// What a machine file says of the arrangement.
#[derive(Debug)]
pub(crate) struct Arranged {
    pub(crate) cores: Vec<Group>,
    /// Of several cores, and not the whole last-level cache.
    pub(crate) clusters: Vec<Group>,
    pub(crate) llcs: Vec<Group>,
    /// In the order of their numbers.
    pub(crate) nodes: Vec<Group>,
    /// `None`: as nodes.
    pub(crate) packages: Option<Vec<Group>>,
    /// A row for each node; empty: none that can be used.
    pub(crate) distances: Vec<Vec<u32>>,
    pub(crate) kinds: Vec<OfKind>,
}

/// Cores of one kind.
#[derive(Debug)]
pub(crate) struct OfKind {
    pub(crate) kind: Kind,
    pub(crate) cpus: Group,
    /// How many cores have one clock together, if that is known.
    pub(crate) domain_cores: Option<u32>,
}

/// Groups of CPUs with equal keys, in the order of the keys.
fn grouped<K: Ord>(cpus: &[Cpu], key: impl Fn(usize) -> K) -> Vec<Group> {
    let mut groups: BTreeMap<K, Group> = BTreeMap::new();
    for at in 0..cpus.len() {
        groups.entry(key(at)).or_default().push(at as u32);
    }
    groups.into_values().collect()
}

/// Arranges the CPUs, and notes what had to be cut.
pub(crate) fn arrange(found: &mut Found) -> Arranged {
    let cpus = &found.cpus;
    let cores = grouped(cpus, |at| (cpus[at].node, cpus[at].core));
    // A core is in the cache and in the cluster that its first CPU says.
    let mut first_of = vec![0; cpus.len()];
    for core in &cores {
        core.iter().for_each(|cpu| first_of[*cpu as usize] = core[0] as usize);
    }
    let llc = |at: usize| (cpus[at].node, cpus[first_of[at]].llc);
    let (llcs, nodes) = (grouped(cpus, llc), grouped(cpus, |at| cpus[at].node));
    let packages = packages(cpus, &first_of).filter(|packages| !are_equal(packages, &nodes));
    let clusters = grouped(cpus, |at| (llc(at), cpus[first_of[at]].cluster));
    let of_several = clusters.into_iter().filter(|cluster| {
        let first = |cpu: &u32| first_of[*cpu as usize];
        cluster.iter().any(|cpu| first(cpu) != first(&cluster[0])) && !llcs.contains(cluster)
    });
    let clusters = of_several.collect();
    let mut notes = Vec::new();
    for (what, label, whole) in [
        ("core", (|cpu| cpu.core) as fn(&Cpu) -> u32, &cores),
        ("last-level cache", |cpu| cpu.llc, &llcs),
    ] {
        let labels: BTreeSet<u32> = cpus.iter().map(label).collect();
        let (said, made) = (labels.len(), whole.len());
        if said < made {
            notes.push(format!(
                "CPUs that share a {what} are in several nodes: {said} became {made}"
            ));
        }
        if said > made {
            notes.push(format!("CPUs of one core do not share a {what}: {said} became {made}"));
        }
    }
    let numbers: Vec<u32> = nodes.iter().map(|node| cpus[node[0] as usize].node).collect();
    let distances = distances(found, &numbers, &mut notes);
    let kinds = kinds(&found.cpus, &first_of, &mut notes);
    if let Some(note) = renumbered(&found.cpus) {
        notes.push(note);
    }
    found.notes.append(&mut notes);
    Arranged { cores, clusters, llcs, nodes, packages, distances, kinds }
}

/// A core is in the package that its first CPU says; `None`: some are in none.
fn packages(cpus: &[Cpu], first_of: &[usize]) -> Option<Vec<Group>> {
    let labels: Option<Vec<u32>> = first_of.iter().map(|first| cpus[*first].package).collect();
    labels.map(|labels| grouped(cpus, |at| labels[at]))
}

/// Whether these are the same groups, in any order.
fn are_equal(some: &[Group], others: &[Group]) -> bool {
    some.len() == others.len() && some.iter().all(|group| others.contains(group))
}

/// What is told where numbers have holes.
fn renumbered(cpus: &[Cpu]) -> Option<String> {
    let numbers: Vec<u32> = cpus.iter().map(|cpu| cpu.number).collect();
    let last = cpus.len().checked_sub(1)?;
    numbers.iter().zip(0..).any(|(number, at)| *number != at).then(|| {
        format!("CPUs 0-{last} of the machine are CPUs {} of the computer", cpu_list(&numbers))
    })
}

/// A row for each node with CPUs.
fn distances(found: &Found, nodes: &[u32], notes: &mut Vec<String>) -> Vec<Vec<u32>> {
    if found.distances.is_empty() {
        return Vec::new();
    }
    let mut rows = Vec::new();
    for from in nodes {
        let mut row = Vec::new();
        for to in nodes {
            // ACPI SLIT: 10 is that of a node to itself, 255 is unreachable.
            let fits = |value: &u32| match from == to {
                true => *value == 10,
                false => (11..255).contains(value),
            };
            match found.distances.get(&(*from, *to)) {
                Some(value) if fits(value) => row.push(*value),
                given => {
                    let given = given.map_or_else(|| "not given".into(), u32::to_string);
                    notes.push(format!(
                        "distances of nodes are left out: that of node {from} to node {to} is {given}"
                    ));
                    return Vec::new();
                }
            }
        }
        rows.push(row);
    }
    rows
}

/// Kinds in the order of their first CPUs. All CPUs of a core are of the kind of its first one.
fn kinds(cpus: &[Cpu], first_of: &[usize], notes: &mut Vec<String>) -> Vec<OfKind> {
    let mut kinds: Vec<OfKind> = Vec::new();
    for at in 0..cpus.len() {
        let kind = &cpus[first_of[at]].kind;
        if cpus[at].kind != *kind {
            notes.push(format!("CPU {} is not as others of its core", cpus[at].number));
        }
        match kinds.iter_mut().find(|known| known.kind == *kind) {
            Some(known) => known.cpus.push(at as u32),
            None => {
                let (kind, cpus) = (kind.clone(), vec![at as u32]);
                kinds.push(OfKind { kind, cpus, domain_cores: None });
            }
        }
    }
    for of in &mut kinds {
        let firsts = of.cpus.iter().filter(|cpu| first_of[**cpu as usize] == **cpu as usize);
        let domains: Option<Vec<u32>> = firsts.map(|cpu| cpus[*cpu as usize].domain).collect();
        let Some(domains) = domains else { continue };
        // Neighbours have one clock together: so many of each.
        let runs: Vec<&[u32]> = domains.chunk_by(|a, b| a == b).collect();
        let most = runs.iter().map(|run| run.len()).max().unwrap_or(1);
        let different: BTreeSet<&u32> = domains.iter().collect();
        if different.len() != runs.len() || runs.iter().any(|run| run.len() != most) {
            let cpus = cpu_list(&of.cpus);
            notes.push(format!(
                "clocks of CPUs {cpus} are taken to be for {most} cores each: not all are"
            ));
        }
        of.domain_cores = Some(most as u32);
    }
    kinds
}
