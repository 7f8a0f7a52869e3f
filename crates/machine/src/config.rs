// SPDX-License-Identifier: MIT OR Apache-2.0
//! What kind of machine is simulated.

use crate::hardware::Hardware;
use crate::kernel::Rules;
use crate::lab::{self, Lab};
use crate::topology::Topology;
use rota_choice::{Choices, Seeded};
use std::sync::Arc;

/// Ticks per second of Debian's kernels.
pub const DEFAULT_HZ: u32 = 250;

/// More instructions than a CPU executes of such code in a second: five in a nanosecond, where
/// [`Costs::typical`] has two. A scheduler that needs more cannot keep up in a kernel either.
pub const BUDGET_PER_SECOND: u64 = 5_000_000_000;

/// Time that the machine itself takes, on top of what tasks do. A cost delays the
/// progress of the task that runs next (or now) on the CPU that pays it; the time
/// counts as that task's CPU time, as it would on a real machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Costs {
    /// Switching from one task to another.
    pub context_switch_ns: u64,
    /// First run on another CPU of the same last-level cache.
    pub migration_ns: u64,
    /// First run behind another last-level cache.
    pub llc_migration_ns: u64,
    /// Delivering a wakeup, paid by the CPU whose timer or task does it.
    pub wakeup_ns: u64,
    /// Leaving idle.
    pub idle_exit_ns: u64,
    /// From asking another CPU to reschedule to its doing so. 0 by default: on a real machine it is
    /// about as long as what a task takes to block, and either can come first.
    pub ipi_ns: u64,
    /// From finding nothing to run to being marked idle. Nobody pays it, but a task that is
    /// enqueued in between sees no idle CPU. 0 by default: it shows races, by making them
    /// more likely than they are.
    pub idle_entry_ns: u64,
    /// Making a task, before that comes. 0 by default: work is all that a task does.
    pub fork_ns: u64,
    /// The end of a task, after its last step. 0 by default: its work is all that it does.
    pub exit_ns: u64,
    /// The interrupt of a timer tick, during which no task runs.
    pub tick_ns: u64,
    /// One BPF instruction of a callback, in 1/1000 ns.
    pub insn_ps: u64,
}

impl Costs {
    /// Round figures of a current x86 server: 1.2 us switch, 2 us and 5 us to refill
    /// caches, 0.8 us wakeup, 1.5 us to leave a shallow idle state; 1 us for a tick, 0.5 ns per
    /// instruction.
    pub fn typical() -> Self {
        Self {
            context_switch_ns: 1_200,
            migration_ns: 2_000,
            llc_migration_ns: 5_000,
            wakeup_ns: 800,
            idle_exit_ns: 1_500,
            ipi_ns: 0,
            idle_entry_ns: 0,
            fork_ns: 0,
            exit_ns: 0,
            tick_ns: 1_000,
            insn_ps: 500,
        }
    }

    /// Nothing takes time but the tasks themselves.
    pub fn none() -> Self {
        Self {
            context_switch_ns: 0,
            migration_ns: 0,
            llc_migration_ns: 0,
            wakeup_ns: 0,
            idle_exit_ns: 0,
            ipi_ns: 0,
            idle_entry_ns: 0,
            fork_ns: 0,
            exit_ns: 0,
            tick_ns: 0,
            insn_ps: 0,
        }
    }
}

/// A machine and a run on it.
#[derive(Clone, Debug)]
pub struct Config {
    /// CPUs.
    pub topology: Topology,
    /// Ticks per second.
    pub hz: u32,
    /// What the simulated kernel does otherwise than others.
    pub rules: Rules,
    /// CPUs whose tick stops while nothing needs it (`nohz_full=`); one CPU at least is none of
    /// them.
    pub nohz_full: Vec<u32>,
    /// Time costs.
    pub costs: Costs,
    /// What work costs on its CPUs; `None`: the machine is flat, each CPU has the same speed at all
    /// times.
    pub hardware: Option<Arc<Hardware>>,
    /// Slices end exactly when they are used up, as with an infinitely fine tick.
    /// Otherwise a slice ends at the first tick at which it is used up, as in the kernel.
    pub exact_slices: bool,
    /// Seed of [`Config::choices`].
    pub seed: u64,
    /// Whether the order of what is due at one instant, and of the CPUs that pick then, is random,
    /// too, in place of the documented one: shows what depends on it.
    pub shuffle_ties: bool,
    /// When schedulers are loaded (true) and unloaded, in a machine with a fair class. A load at 0
    /// comes before everything else. Without a fair class one is attached at the beginning.
    pub lifecycle: Vec<(u64, bool)>,
    /// When the run ends.
    pub duration_ns: u64,
    /// Decisions before this time, and their instructions, are not counted.
    pub warmup_ns: u64,
    /// Whether the watchdog ejects a scheduler that lets a task wait for longer than its timeout,
    /// 30 s at most, as every kernel does. Without it a schedule can be followed for longer.
    pub watchdog: bool,
    /// Instructions one callback may take before it counts as endless.
    pub budget: u64,
    /// Instructions that all programs of the scheduler may execute in a second of simulated time,
    /// for each CPU.
    pub budget_per_second: u64,
    /// Whether events of single callbacks and queue moves are wanted.
    pub detail: bool,
    /// Whether the machine checks its own books at every instant and ends the run with an
    /// error if they disagree. For tests: it takes time.
    pub audit: bool,
    /// What a recorded machine had besides that this one is compared with.
    pub lab: Option<Lab>,
}

impl Config {
    /// A flat machine with typical costs.
    pub fn new(topology: Topology, duration_ns: u64) -> Self {
        Self {
            topology,
            hz: DEFAULT_HZ,
            rules: Rules::default(),
            nohz_full: Vec::new(),
            costs: Costs::typical(),
            hardware: None,
            exact_slices: false,
            seed: 1,
            shuffle_ties: false,
            lifecycle: vec![(0, true)],
            duration_ns,
            warmup_ns: 0,
            watchdog: true,
            budget: 10_000_000,
            budget_per_second: BUDGET_PER_SECOND,
            detail: false,
            audit: false,
            lab: None,
        }
    }

    /// Removes every overhead and makes slices exact.
    #[must_use]
    pub fn ideal(mut self) -> Self {
        self.costs = Costs::none();
        self.exact_slices = true;
        self
    }

    /// [`Config::lab`], or what a machine has of itself.
    #[inline]
    pub(crate) fn lab(&self) -> &Lab {
        self.lab.as_ref().unwrap_or(&lab::NONE)
    }

    /// All that is left to choice, from the seed.
    pub fn choices(&self) -> Choices {
        let seeded = Seeded::new(self.seed);
        match self.shuffle_ties {
            true => Choices::by(seeded.with_shuffled_ties()),
            false => Choices::by(seeded),
        }
    }

    /// Nanoseconds between ticks.
    pub fn tick_ns(&self) -> u64 {
        1_000_000_000 / u64::from(self.hz.max(1))
    }
}
