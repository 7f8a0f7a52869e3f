// SPDX-License-Identifier: MIT OR Apache-2.0
//! What work costs on a machine's CPUs: how fast each is, what it shares, what a move and a wakeup
//! cost there. A machine without a description of its hardware is flat: all CPUs have the same
//! speed at all times.

pub(crate) mod clock;
mod energy;
pub(crate) mod idle;
pub(crate) mod lru;
mod messages;
pub(crate) mod pace;
pub mod parts;
mod pelt;
pub(crate) mod speed;
mod view;
pub(crate) mod warmth;

use crate::cpuset::CpuSet;
use crate::topology::Topology;
use parts::{Cache, CoreType, Ipi};
use rota_workload::WorkClass;

/// Speed of the fastest CPU at its highest frequency, alone on its core, with warm caches; factors
/// that leave a speed as it is.
pub const FULL_SPEED: u32 = 1024;

/// The hardware of a machine. Each model is off where its part is missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hardware {
    /// Kinds of cores.
    pub core_types: Vec<CoreType>,
    /// The kind of each CPU's core, an index of [`Hardware::core_types`].
    pub type_of_cpu: Vec<usize>,
    /// Caches and what it takes to fill them; `None`: a first run on another CPU costs what
    /// [`Costs`](crate::config::Costs) says.
    pub cache: Option<Cache>,
    /// Interrupts from CPU to CPU; `None`: [`Costs::ipi_ns`](crate::config::Costs::ipi_ns).
    pub ipi: Option<Ipi>,
    /// What a task's work is made of that says nothing: its class and `dram_share`, in 1/1024; its
    /// working set is [`Cache::working_set_kib`].
    pub work: (WorkClass, u32),
    /// How late timers of normal tasks may be, in nanoseconds; those of real-time tasks are exact.
    pub timer_slack_ns: u64,
}

impl Hardware {
    /// Whether each CPU of a machine has a kind, and each core one only.
    pub fn check(&self, topology: &Topology) -> Result<(), String> {
        let (kinds, cpus) = (self.type_of_cpu.len(), topology.cpus());
        if kinds != cpus as usize {
            return Err(format!("hardware has {kinds} CPUs, but the machine has {cpus}"));
        }
        for cpu in 0..cpus {
            let kind = self.type_of_cpu[cpu as usize];
            if kind >= self.core_types.len() {
                return Err(format!("hardware says nothing of the core type of CPU {cpu}"));
            }
            let differs = |other: &u32| self.type_of_cpu[*other as usize] != kind;
            if let Some(other) = topology.siblings(cpu).iter().find(differs) {
                return Err(format!("CPUs {cpu} and {other} of one core have two core types"));
            }
        }
        Ok(())
    }

    /// CPUs that have one clock together (`struct cpufreq_policy`), in order of their first ones;
    /// those without a clock are in none.
    pub fn clock_domains(&self, topology: &Topology) -> Vec<CpuSet> {
        clock::Clocks::of(self, topology).domains_cpus()
    }

    /// The kind of a CPU's core.
    ///
    /// # Panics
    /// If the machine has no such CPU.
    pub fn core_type(&self, cpu: u32) -> &CoreType {
        &self.core_types[self.type_of_cpu[cpu as usize]]
    }
}
