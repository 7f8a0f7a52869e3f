// SPDX-License-Identifier: MIT OR Apache-2.0
//! The parts of a machine's hardware, as a machine file describes them.

use rota_workload::WorkClass;

/// One kind of cores. What is true and what the kernel is told are two things: the kernel of a
/// hybrid x86 machine with SMT says that all its CPUs have the same capacity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoreType {
    /// Its name, as `p` and `e`.
    pub name: String,
    /// Speed at the highest frequency, 1 to 1024; at least one kind has 1024.
    pub speed: u32,
    /// `arch_scale_cpu_capacity()`, 1 to 1024: what the kernel believes the speed to be.
    pub capacity: u32,
    /// How a scheduler's program ranks such CPUs by what `/sys` says (`acpi_cppc/highest_perf`);
    /// the larger one is faster. 0: `/sys` says nothing.
    pub rank: u32,
    /// Size of the second-level cache in KiB, and how many cores of this kind share one.
    pub l2_kib: u32,
    /// How fast a CPU is while others of its core are busy; `None`: as if they were not.
    pub smt: Option<SmtSpeed>,
    /// Frequencies; `None`: always the highest one.
    pub clock: Option<Clock>,
    /// Idle states, the shallowest first; empty: leaving idle costs
    /// [`Costs::idle_exit_ns`](crate::config::Costs::idle_exit_ns).
    pub idle: Vec<IdleState>,
    /// Nanoseconds for which an idle CPU watches for work before it enters an idle state.
    pub poll_ns: u64,
}

/// Speed of a CPU, 1 to 1024, by the number of its siblings that are busy: the first entry is for
/// one; more busy siblings than entries count as the last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SmtSpeed {
    /// Of [`WorkClass::Compute`].
    pub compute: Vec<u32>,
    /// Of [`WorkClass::Mixed`].
    pub mixed: Vec<u32>,
    /// Of [`WorkClass::Memory`].
    pub memory: Vec<u32>,
}

impl SmtSpeed {
    /// Speeds of tasks of this class.
    pub fn of(&self, class: WorkClass) -> &[u32] {
        match class {
            WorkClass::Compute => &self.compute,
            WorkClass::Mixed => &self.mixed,
            WorkClass::Memory => &self.memory,
        }
    }
}

/// Something by distance of two CPUs, in the unit that the field which has it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByDistance {
    /// SMT siblings.
    pub sibling: u64,
    /// Cores of one last-level cache.
    pub llc: u64,
    /// Last-level caches of one node.
    pub other_llc: u64,
    /// Different nodes.
    pub node: u64,
}

/// Caches: what a task has to fetch again after a move or after others had its core.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cache {
    /// Size of each last-level cache in KiB.
    pub llc_kib: u32,
    /// Misses that are under way at one time; a task that chases pointers has one.
    pub mlp: u32,
    /// Bytes of a cache line.
    pub line_bytes: u32,
    /// Nanoseconds to fetch a line from there, that of `sibling` is not used.
    pub refill_ns: ByDistance,
    /// Nanoseconds for a line to get from one CPU's cache to another's.
    pub c2c_ns: ByDistance,
    /// Nanoseconds of work between two uses of a task's lines (one pass of its working set has as
    /// many times this as it has lines).
    pub reuse_ns: u64,
    /// Lines that come along when a task wakes another one on another CPU.
    pub handoff_lines: u64,
    /// Working set of tasks that say nothing, in KiB.
    pub working_set_kib: u32,
}

/// Frequencies of one kind of cores.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clock {
    /// MHz of a CPU that has been idle for long.
    pub idle_mhz: u32,
    /// MHz without turbo.
    pub base_mhz: u32,
    /// MHz at most.
    pub max_mhz: u32,
    /// "Up to n active cores: MHz", n ascending and MHz descending; empty: always `max_mhz`.
    pub turbo: Vec<(u32, u32)>,
    /// Frequencies that can be chosen, ascending; empty: any.
    pub opps_mhz: Vec<u32>,
    /// Cores of this kind that have one clock together; 1: each its own; 0: all of the kind.
    pub domain_cores: u32,
    /// Who chooses the frequency.
    pub governor: Governor,
    /// Microwatts of a busy core at each of `opps_mhz`, or at `max_mhz` alone if there are none;
    /// empty: nothing is known of its energy.
    pub power_uw: Vec<u32>,
}

/// Who chooses a frequency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Governor {
    /// The highest one that turbo allows.
    Performance,
    /// The hardware: from `idle_mhz` to what turbo allows in eight equal steps while a core is busy.
    Hardware {
        /// Nanoseconds from idle to full frequency.
        ramp_ns: u64,
        /// Nanoseconds of idleness after which it begins anew.
        cool_ns: u64,
    },
    /// `schedutil`: by utilization, no more often than once in `transition_ns`.
    Schedutil {
        /// Nanoseconds from one change to the next (`rate_limit_us`).
        transition_ns: u64,
    },
}

/// An idle state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdleState {
    /// Its name, as `C6`.
    pub name: String,
    /// Nanoseconds from the interrupt to the first instruction.
    pub exit_ns: u64,
    /// Shortest idle time in nanoseconds for which the state is worth it (`target_residency`).
    pub residency_ns: u64,
    /// The core's caches lose what they hold.
    pub flush: bool,
}

/// What it takes to ask another CPU to reschedule, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ipi {
    /// Until a CPU of the same last-level cache is interrupted.
    pub llc_ns: u64,
    /// Until one of another is.
    pub other_llc_ns: u64,
    /// What the CPU that asks spends on it.
    pub send_ns: u64,
    /// What the interrupt takes of the task that runs on the other one.
    pub receive_ns: u64,
}
