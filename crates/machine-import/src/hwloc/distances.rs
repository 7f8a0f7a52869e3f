// SPDX-License-Identifier: MIT OR Apache-2.0
//! How far nodes are from each other: what the firmware says (`NUMALatency`, ACPI SLIT), and latencies
//! in nanoseconds where it has them (`memattr` named `Latency`, ACPI HMAT).

use super::document::attribute;
use super::Object;
use crate::numbers::mask;
use roxmltree::Node;
use std::collections::BTreeMap;

/// Of a node to itself.
const LOCAL: u64 = 10;

/// Distances by numbers of nodes, from the first to the second. A latency counts more: ten times that of
/// the other node's memory over that of the own node's.
pub(super) fn distances(root: Node<'_, '_>, nodes: &[Object]) -> BTreeMap<(u32, u32), u32> {
    let mut distances = said(root);
    let latencies = latencies(root, nodes);
    for ((from, to), remote) in &latencies {
        let Some(local) = latencies.get(&(*from, *from)).filter(|_| from != to) else { continue };
        let tenfold = LOCAL.saturating_mul(*remote).saturating_add(local / 2);
        if let Some(distance) = tenfold.checked_div(*local) {
            distances.insert((*from, *to), u32::try_from(distance).unwrap_or(u32::MAX));
            distances.entry((*from, *from)).or_insert(LOCAL as u32);
        }
    }
    distances
}

/// `NUMALatency`: numbers of nodes, then a row of distances for each.
fn said(root: Node<'_, '_>) -> BTreeMap<(u32, u32), u32> {
    let mut tables = root.children().filter(|node| node.has_tag_name("distances2"));
    let is_latency = |node: &Node<'_, '_>| {
        node.attribute("type") == Some("NUMANode")
            && node.attribute("name") == Some("NUMALatency")
            && node.attribute("indexing") == Some("os")
    };
    let Some(table) = tables.find(is_latency) else { return BTreeMap::new() };
    let numbers = |tag: &str| -> Vec<u32> {
        let parts = table.children().filter(|node| node.has_tag_name(tag));
        let text: Vec<&str> = parts.filter_map(|node| node.text()).collect();
        text.join(" ").split_whitespace().map_while(|number| number.parse().ok()).collect()
    };
    let (nodes, values) = (numbers("indexes"), numbers("u64values"));
    let pairs = nodes.iter().flat_map(|from| nodes.iter().map(|to| (*from, *to)));
    pairs.zip(values).collect()
}

/// Nanoseconds from the CPUs of a node to the memory of another one.
fn latencies(root: Node<'_, '_>, nodes: &[Object]) -> BTreeMap<(u32, u32), u64> {
    let is_latency = |node: &Node<'_, '_>| {
        node.has_tag_name("memattr") && node.attribute("name") == Some("Latency")
    };
    let mut latencies = BTreeMap::new();
    let values = root.children().filter(is_latency).flat_map(|table| table.children());
    for value in values.filter(|node| node.has_tag_name("memattr_value")) {
        let target = attribute::<u64>(value, "target_obj_gp_index");
        let target = nodes.iter().find(|node| target.is_some() && node.gp_index == target);
        let Some(to) = target.and_then(|node| node.number) else { continue };
        let Some(ns) = attribute::<u64>(value, "value") else { continue };
        let Some(cpus) = value.attribute("initiator_cpuset").and_then(mask) else { continue };
        let starts = |node: &&Object| !node.cpus.is_empty() && node.cpus.is_subset(&cpus);
        for from in nodes.iter().filter(starts).filter_map(|node| node.number) {
            latencies.insert((from, to), ns);
        }
    }
    latencies
}
