// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kinds of cores, as hwloc's `cpukind`s have them.

use super::document::attribute;
use super::info;
use crate::found::{Clock, Cpu};
use crate::numbers::{mask, Numbers};
use rota_machine::hardware::FULL_SPEED;
use roxmltree::Node;

/// What a `cpukind` says.
struct Said {
    cpus: Numbers,
    name: Option<String>,
    efficiency: Option<u64>,
    capacity: Option<u32>,
    max_mhz: Option<u32>,
    base_mhz: Option<u32>,
}

/// Fills in the kinds of CPUs whose places are known.
pub(super) fn kinds(root: Node<'_, '_>, cpus: &mut [Cpu], notes: &mut Vec<String>) {
    let all: Vec<Said> =
        root.children().filter(|node| node.has_tag_name("cpukind")).map(said).collect();
    // The last one that names a CPU counts.
    let mut at_of = std::collections::BTreeMap::new();
    for (at, said) in all.iter().enumerate() {
        at_of.extend(said.cpus.iter().map(|cpu| (*cpu, at)));
    }
    let of: Vec<Option<&Said>> =
        cpus.iter().map(|cpu| at_of.get(&cpu.number).and_then(|at| all.get(*at))).collect();
    let each = |value: fn(&Said) -> Option<u32>| -> Option<Vec<u32>> {
        of.iter().map(|said| said.and_then(value).filter(|value| *value > 0)).collect()
    };
    let differs = |values: &Vec<u32>| values.iter().any(|value| *value != values[0]);
    let capacities = each(|said| said.capacity);
    let by_clock = || each(|said| said.max_mhz).filter(differs);
    let speeds = match (capacities.clone().filter(differs), by_clock()) {
        (Some(speeds), _) => Some(speeds),
        (None, Some(speeds)) => {
            notes.push("speeds are by highest frequency: work per MHz is taken to be equal".into());
            Some(speeds)
        }
        (None, None) => None,
    };
    let efficiency = of.iter().map(|said| said.and_then(|said| said.efficiency));
    let efficiencies: std::collections::BTreeSet<_> = efficiency.flatten().collect();
    if speeds.is_none() && efficiencies.len() > 1 {
        notes.push(
            "kinds of cores differ in efficiency, but the file does not say by how much: they are \
             taken to be equally fast"
                .into(),
        );
    }
    for (at, cpu) in cpus.iter_mut().enumerate() {
        cpu.kind.speed = speeds.as_ref().map_or(u64::from(FULL_SPEED), |all| u64::from(all[at]));
        cpu.kind.capacity = capacities.as_ref().map_or(FULL_SPEED, |all| all[at]);
        let Some(said) = of[at] else { continue };
        cpu.kind.name.clone_from(&said.name);
        cpu.kind.clock = said.max_mhz.filter(|max| *max > 0).map(|max| Clock {
            min: None,
            base: said.base_mhz.filter(|base| *base > 0),
            max,
            opps: Vec::new(),
            governor: None,
        });
    }
}

fn said(node: Node<'_, '_>) -> Said {
    let number = |name: &str| info(node, name).and_then(|value| value.parse().ok());
    let name = info(node, "CoreType").map(|kind| match kind {
        "IntelCore" => "p".to_owned(),
        "IntelAtom" => "e".to_owned(),
        "IntelLowPowerAtom" => "lp".to_owned(),
        other => other.replace(char::is_control, " ").chars().take(MOST_NAME).collect(),
    });
    Said {
        cpus: node.attribute("cpuset").and_then(mask).unwrap_or_default(),
        name: name.filter(|name| !name.is_empty()),
        efficiency: attribute(node, "forced_efficiency"),
        capacity: number("LinuxCapacity"),
        max_mhz: number("FrequencyMaxMHz"),
        base_mhz: number("FrequencyBaseMHz"),
    }
}

/// Letters of a name.
const MOST_NAME: usize = 16;
