// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads the totals of a running policy.

use super::{kernel_counters, number, run_stats, Callback, Counter, Sample};
use crate::{sysfs, Attached};
use libbpf_rs::{MapCore, MapFlags};
use rota_object::image::{Image, OpsField};
use rota_object::statistics::{Place, Statistics};
use rustix::time::{clock_gettime, ClockId};
use std::collections::BTreeMap;
use std::os::fd::AsFd;
use std::path::Path;

/// Reads the totals of one policy.
#[derive(Clone, Debug)]
pub struct Sampler {
    policy: String,
    statistics: Option<Statistics>,
    /// Member of the ops table by the name of its function.
    ops: BTreeMap<String, String>,
}

impl Sampler {
    /// For the policy of this name and object.
    pub fn new(policy: &str, image: &Image) -> Self {
        let members = image.struct_ops.iter().flat_map(|table| &table.fields);
        let ops = members.filter_map(|(member, value)| match value {
            OpsField::Func(id) => {
                Some((image.functions.get(id.0 as usize)?.name.clone(), member.clone()))
            }
            _ => None,
        });
        Self { policy: policy.into(), statistics: image.statistics(), ops: ops.collect() }
    }

    /// The totals at this moment.
    pub fn sample(&self, attached: &Attached) -> Sample {
        Sample {
            policy: self.policy.clone(),
            enable_seq: sysfs::enable_seq().unwrap_or(0),
            time_ns: now_ns(),
            counters: self.counters(attached),
            callbacks: self.callbacks(attached),
            kernel: kernel_counters::read(Path::new(sysfs::SCHED_EXT)),
        }
    }

    fn counters(&self, attached: &Attached) -> Vec<Counter> {
        let Some(statistics) = &self.statistics else { return Vec::new() };
        let values = statistics.sum(|entry| copies(statistics.place, entry, attached));
        let counters = statistics.counters.iter().zip(values);
        counters
            .map(|(counter, value)| Counter {
                name: counter.name.clone(),
                value: number(value),
                bits: counter.bits(),
                gauge: counter.gauge,
                unit: counter.unit.clone(),
                help: counter.help.clone(),
            })
            .collect()
    }

    fn callbacks(&self, attached: &Attached) -> Vec<Callback> {
        let programs = attached.programs().filter_map(|program| {
            let (runs, time_ns) = run_stats::of(program.as_fd())?;
            let name = program.name().to_string_lossy().into_owned();
            let op = self.ops.get(&name).cloned().unwrap_or(name);
            Some(Callback { op, runs, time_ns })
        });
        let mut callbacks: Vec<Callback> = programs.collect();
        callbacks.sort_by(|a, b| a.op.cmp(&b.op));
        callbacks
    }
}

/// All copies of a map's entry, or of a global, one after the other.
fn copies(place: Place, entry: u32, attached: &Attached) -> Vec<u8> {
    let (id, per_cpu) = match place {
        Place::Global(..) => return attached.read_variable("stats").unwrap_or_default(),
        Place::Array(id, _) => (id, false),
        Place::PerCpu(id, _) => (id, true),
    };
    let name = attached.image().maps.get(id.0 as usize).map_or("", |m| m.name.as_str());
    let Some(map) = attached.object().maps().find(|m| m.name() == name) else { return Vec::new() };
    let key = entry.to_le_bytes();
    if !per_cpu {
        return map.lookup(&key, MapFlags::ANY).ok().flatten().unwrap_or_default();
    }
    map.lookup_percpu(&key, MapFlags::ANY).ok().flatten().unwrap_or_default().concat()
}

fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
