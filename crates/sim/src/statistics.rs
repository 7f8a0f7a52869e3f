// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a simulated policy counted itself, read from its memory at the end of a run.

use rota_machine::policy::BpfOps;
use rota_machine::system::System;
use rota_object::statistics::{Place, Statistics};
use rota_vm::host::Host;
use serde_json::Number;

/// One number that the policy counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyStat {
    /// Its name in the policy.
    pub name: String,
    /// The number.
    pub value: Number,
    /// `ns` for times.
    pub unit: Option<String>,
}

/// Reads all of them; none if the object has none.
pub(crate) fn read(ops: &mut BpfOps, system: &mut System) -> Vec<PolicyStat> {
    let Some(statistics) = ops.runtime().image().statistics() else { return Vec::new() };
    let sums = statistics.sum(|entry| copies(&statistics, entry, ops, system));
    let counters = statistics.counters.iter().zip(sums);
    let stat = |(c, sum): (&rota_object::statistics::Counter, i128)| PolicyStat {
        name: c.name.clone(),
        value: u64::try_from(sum).map_or_else(|_| Number::from(sum as i64), Number::from),
        unit: c.unit.clone(),
    };
    counters.map(stat).collect()
}

fn copies(statistics: &Statistics, entry: u32, ops: &mut BpfOps, system: &mut System) -> Vec<u8> {
    match statistics.place {
        Place::Global(map, offset) => {
            let Some(base) = ops.runtime().map_base(map) else { return Vec::new() };
            let bytes = system.memory().bytes(base + u64::from(offset), statistics.size);
            bytes.map(<[u8]>::to_vec).unwrap_or_default()
        }
        Place::Array(map, _) | Place::PerCpu(map, _) => {
            ops.runtime().map_get(system, map, &entry.to_le_bytes()).unwrap_or_default()
        }
    }
}
