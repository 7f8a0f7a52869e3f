// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a picture of a machine shows.

use super::machine::counts;
use rota_machine::hardware::parts::CoreType;
use rota_machine::topology::Topology;
use rota_machine_file::{cpu_list, Machine};
use rota_report::machine::{self as picture, Cache, Core, Kind, Node};

/// The machine as boxes in boxes.
pub(crate) fn picture(machine: &Machine) -> picture::Machine {
    let topology = &machine.topology;
    let name = |node| match topology.nodes() {
        1 => String::new(),
        _ => format!("node {node}"),
    };
    let nodes = (0..topology.nodes())
        .map(|node| Node { name: name(node), caches: caches(machine, node) })
        .collect();
    let kinds = machine.hardware.iter().flat_map(|of| of.core_types.iter().enumerate());
    let kinds = kinds.map(|(at, kind)| Kind {
        name: kind.name.clone(),
        speed: kind.speed,
        about: about(machine, kind, at),
    });
    picture::Machine {
        title: format!("{} ({})", machine.name, machine.source),
        about: counts(topology) + &distances(topology),
        nodes,
        kinds: kinds.collect(),
    }
}

/// The range of distances of nodes.
fn distances(topology: &Topology) -> String {
    let nodes = 0..topology.nodes();
    let pairs = nodes.clone().flat_map(|from| nodes.clone().map(move |to| (from, to)));
    let others: Vec<u32> = pairs
        .filter(|(from, to)| from != to)
        .map(|(from, to)| topology.distance(from, to))
        .collect();
    match (others.iter().min(), others.iter().max()) {
        (Some(least), Some(most)) if least == most => format!(", {least} apart"),
        (Some(least), Some(most)) => format!(", {least} to {most} apart"),
        _ => String::new(),
    }
}

/// Cores of each cluster, by its number.
type Clusters = Vec<(u32, Vec<Core>)>;

fn caches(machine: &Machine, node: u32) -> Vec<Cache> {
    let topology = &machine.topology;
    let hardware = machine.hardware.as_deref();
    let size = hardware.and_then(|of| of.cache.as_ref()).map(|cache| cache.llc_kib);
    let size = size.map_or_else(String::new, |kib| format!(", {}", kib_text(kib)));
    let mut caches: Vec<(u32, Clusters)> = Vec::new();
    let firsts = (0..topology.cpus()).filter(|cpu| {
        topology.node_of(*cpu) == node && topology.siblings(*cpu).first() == Some(*cpu)
    });
    for first in firsts {
        let kind = hardware.and_then(|of| of.type_of_cpu.get(first as usize).copied());
        let core =
            Core { kind: kind.unwrap_or(0), cpus: topology.siblings(first).iter().collect() };
        let clusters = of_group(&mut caches, topology.llc_of(first));
        of_group(clusters, topology.cluster_of(first)).push(core);
    }
    let cache = |(llc, clusters): (u32, Clusters)| Cache {
        name: format!("cache {llc}{size}"),
        clusters: clusters.into_iter().map(|(_, cores)| cores).collect(),
    };
    caches.into_iter().map(cache).collect()
}

/// The group of this number, made if it is new.
fn of_group<T>(groups: &mut Vec<(u32, Vec<T>)>, number: u32) -> &mut Vec<T> {
    let at = groups.iter().position(|(known, _)| *known == number).unwrap_or(groups.len());
    if at == groups.len() {
        groups.push((number, Vec::new()));
    }
    &mut groups[at].1
}

fn about(machine: &Machine, kind: &CoreType, at: usize) -> String {
    let hardware = machine.hardware.as_deref();
    let own = |cpu: &u32| hardware.is_some_and(|of| of.type_of_cpu.get(*cpu as usize) == Some(&at));
    let cpus: Vec<u32> = (0..machine.topology.cpus()).filter(own).collect();
    let mut parts = vec![
        format!("CPUs {}", shortened(&cpu_list(&cpus))),
        format!("speed {}, capacity {}", kind.speed, kind.capacity),
    ];
    if hardware.is_some_and(|of| of.cache.is_some()) {
        parts.push(format!("L2 {}", kib_text(kind.l2_kib)));
    }
    if let Some(clock) = &kind.clock {
        parts.push(format!("{} to {} MHz", clock.idle_mhz, clock.max_mhz));
    }
    let states: Vec<&str> = kind.idle.iter().map(|state| state.name.as_str()).collect();
    if !states.is_empty() {
        parts.push(format!("idle {}", states.join(" ")));
    }
    parts.join("; ")
}

/// Lists of many numbers end early.
fn shortened(list: &str) -> String {
    const LETTERS: usize = 40;
    match list.char_indices().nth(LETTERS) {
        Some((end, _)) => format!("{}…", &list[..end]),
        None => list.to_owned(),
    }
}

fn kib_text(kib: u32) -> String {
    match kib % 1024 {
        0 => format!("{} MiB", kib / 1024),
        _ => format!("{kib} KiB"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_has_the_groups_of_the_machine() {
        let of = |name| picture(&rota_machine_file::preset(name).expect("a preset"));
        let hybrid = of("hybrid");
        let clusters = &hybrid.nodes[0].caches[0].clusters;
        assert_eq!(clusters.iter().map(Vec::len).collect::<Vec<_>>(), [1, 1, 1, 1, 1, 1, 4, 4]);
        assert_eq!(clusters[1], [Core { kind: 0, cpus: vec![2, 3] }]);
        assert_eq!(hybrid.nodes[0].caches[0].name, "cache 0, 24 MiB");
        assert!(hybrid.kinds[1]
            .about
            .starts_with("CPUs 12-19; speed 624, capacity 1024; L2 2 MiB"));
        let two = of("two-socket");
        assert_eq!(two.nodes.iter().map(|node| node.caches.len()).collect::<Vec<_>>(), [2, 2]);
        assert_eq!(two.nodes[1].name, "node 1");
        let counts = "64 CPUs, 32 cores, 4 last-level caches, 2 nodes, 21 apart";
        assert_eq!(two.about, counts);
        assert_eq!(of("flat").kinds, []);
    }
}
