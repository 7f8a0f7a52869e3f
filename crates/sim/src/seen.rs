// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a scheduler's program can have seen of a machine's hardware: what `/sys` and
//! `scx_bpf_cpuperf_cap()` say of each CPU. True speeds, costs and refill times are in neither.

use rota_machine::hardware::parts::Governor;
use rota_machine::hardware::Hardware;
use serde::{Deserialize, Serialize};

/// Of one CPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Seen {
    capacity: u32,
    rank: u32,
    /// Second-level and last-level cache; without a model of caches the last one is as by default.
    l2_kib: u32,
    llc_kib: Option<u32>,
    /// Lowest, base and highest frequency.
    mhz: Option<[u32; 3]>,
    governor: Option<String>,
    /// Name, exit and residency in microseconds.
    idle: Vec<(String, u64, u64)>,
}

impl Seen {
    /// Of each CPU; a machine without a description of its hardware has nothing to see.
    pub(crate) fn of(hardware: Option<&Hardware>) -> Option<Vec<Self>> {
        let hardware = hardware?;
        let cpus = 0..u32::try_from(hardware.type_of_cpu.len()).unwrap_or(u32::MAX);
        Some(cpus.map(|cpu| Self::of_cpu(hardware, cpu)).collect())
    }

    fn of_cpu(hardware: &Hardware, cpu: u32) -> Self {
        let core = hardware.core_type(cpu);
        let clock = core.clock.as_ref();
        let lowest = |of: &rota_machine::hardware::parts::Clock| {
            of.opps_mhz.first().copied().unwrap_or(of.idle_mhz)
        };
        let governor = clock.map(|of| match of.governor {
            Governor::Performance => "performance".to_owned(),
            Governor::Hardware { .. } => "hardware".to_owned(),
            Governor::Schedutil { transition_ns } => {
                format!("schedutil with {transition_ns} ns to a change")
            }
        });
        let idle = core.idle.iter();
        Self {
            capacity: core.capacity,
            rank: core.rank,
            l2_kib: core.l2_kib,
            llc_kib: hardware.cache.as_ref().map(|cache| cache.llc_kib),
            mhz: clock.map(|of| [lowest(of), of.base_mhz, of.max_mhz]),
            governor,
            idle: idle
                .map(|of| (of.name.clone(), of.exit_ns / 1000, of.residency_ns / 1000))
                .collect(),
        }
    }

    /// What of it is another one: what was seen, and what is there.
    fn differs(&self, now: &Self) -> Option<(String, String)> {
        let numbers = |name: &str, unit: &str, then: u32, now: u32| {
            (then != now).then(|| (format!("{name} {then}{unit}"), format!("{now}{unit}")))
        };
        let shown = |name: &str, then: String, now: String| {
            (then != now).then(|| (format!("{name} {then}"), now))
        };
        let maybe = |kib: Option<u32>| kib.map_or_else(|| "none".to_owned(), |kib| kib.to_string());
        let mhz = |of: &Self| {
            of.mhz.map_or_else(
                || "none".to_owned(),
                |[min, base, max]| format!("{min} to {max} (base {base})"),
            )
        };
        let governor = |of: &Self| of.governor.clone().unwrap_or_else(|| "none".to_owned());
        let idle = |of: &Self| {
            let state = |(name, exit, residency): &(String, u64, u64)| {
                format!("{name} {exit}/{residency} us")
            };
            let states: Vec<String> = of.idle.iter().map(state).collect();
            if states.is_empty() {
                "none".to_owned()
            } else {
                states.join(", ")
            }
        };
        numbers("capacity", "", self.capacity, now.capacity)
            .or_else(|| numbers("rank", "", self.rank, now.rank))
            .or_else(|| numbers("a second-level cache of", " KiB", self.l2_kib, now.l2_kib))
            .or_else(|| {
                shown("a last-level cache in KiB of", maybe(self.llc_kib), maybe(now.llc_kib))
            })
            .or_else(|| shown("MHz of", mhz(self), mhz(now)))
            .or_else(|| shown("governor", governor(self), governor(now)))
            .or_else(|| shown("idle states", idle(self), idle(now)))
    }
}

/// What a machine lacks of that which a program saw: the first difference, in words.
pub(crate) fn difference(seen: Option<&[Seen]>, now: Option<&Hardware>) -> Option<String> {
    match (seen, Seen::of(now)) {
        (None, None) => None,
        (Some(_), None) => Some("a machine with described hardware, not for a flat one".into()),
        (None, Some(_)) => Some("a flat machine, not for one with described hardware".into()),
        (Some(then), Some(now)) => {
            let pairs = then.iter().zip(&now).enumerate();
            pairs
                .filter_map(|(cpu, (then, now))| {
                    let (then, now) = then.differs(now)?;
                    Some(format!("a CPU {cpu} with {then}, not {now}"))
                })
                .next()
        }
    }
}
