// SPDX-License-Identifier: MIT OR Apache-2.0
//! Options of the simulated machine and of how a run goes on it.

use super::values::{cpu_list, duration, hz, instructions, seed};
use crate::complete;
use clap::{Args, ValueEnum};
use rota_machine::config::BUDGET_PER_SECOND;
use rota_session::{MachineOptions, BUDGET};
use rota_sim::Engine;
use rota_trace::CpuList;

/// The simulated machine and the run.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Machine")]
pub(crate) struct MachineArgs {
    /// Simulate this machine: flat, server, two-socket, hybrid, phone, cloud-2, this (the computer
    /// that Rota runs on), a machine file, hwloc's XML (lstopo --of xml), or a folder with a copy of
    /// a computer's /sys (docs/machines.md). It says how many CPUs there are, what they share and what work costs
    #[arg(long, value_name = "NAME|FILE|DIR", add = complete::machines())]
    #[arg(conflicts_with_all = ["topology", "cpus", "ideal"])]
    pub(crate) machine: Option<String>,

    /// CPUs per core, per last-level cache and per node [default: 1 per core, one cache and node]
    #[arg(long, value_name = "smt=N,llc=N,node=N")]
    pub(crate) topology: Option<String>,

    /// Simulated time, as 10s or 1.5ms [default: the workload's own, else 10s]
    #[arg(long, value_name = "TIME", value_parser = duration, allow_hyphen_values = true)]
    pub(crate) duration: Option<u64>,

    /// Discard statistics before this time
    #[arg(long, value_name = "TIME", value_parser = duration, allow_hyphen_values = true)]
    pub(crate) warmup: Option<u64>,

    /// Seed of all random draws: the same seed gives the same run
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(value_parser = seed, allow_negative_numbers = true)]
    pub(crate) seed: u64,

    /// Order what happens at the same time at random (from the seed), in place of
    /// the documented order: shows which results depend on it
    #[arg(long)]
    pub(crate) shuffle_ties: bool,

    /// Timer ticks per second [default: the machine's own, else 250]
    #[arg(long, value_name = "N", value_parser = hz)]
    pub(crate) hz: Option<u32>,

    /// CPUs on which the tick stops while nothing needs it, as with the kernel's nohz_full=
    #[arg(long, value_name = "CPUS", value_parser = cpu_list)]
    pub(crate) nohz_full: Option<CpuList>,

    /// Time from finding nothing to run to being marked idle: shows which wakeups get lost there
    #[arg(long, value_name = "TIME", value_parser = duration, allow_hyphen_values = true)]
    pub(crate) idle_entry: Option<u64>,

    /// No overheads: switches, migrations, wakeups and callbacks take no time, and a slice
    /// ends when it is used up, not at the next tick
    #[arg(long)]
    pub(crate) ideal: bool,

    /// Instructions that one callback of the policy may execute
    #[arg(long, value_name = "N", default_value_t = BUDGET)]
    #[arg(value_parser = instructions)]
    pub(crate) budget: u64,

    /// Instructions that all callbacks, timers and programs of the policy may execute in a second
    /// of simulated time, for each CPU
    #[arg(long, value_name = "N", default_value_t = BUDGET_PER_SECOND)]
    #[arg(value_parser = instructions)]
    pub(crate) budget_per_second: u64,

    /// What runs the policy's code. Results are the same with each: auto interprets until compiling
    /// to machine code pays
    #[arg(long, value_name = "ENGINE", value_enum, default_value_t)]
    pub(crate) engine: EngineName,
}

impl MachineArgs {
    /// As values.
    pub(crate) fn options(&self) -> MachineOptions {
        MachineOptions {
            machine: self.machine.clone(),
            topology: self.topology.clone(),
            duration: self.duration,
            warmup: self.warmup,
            seed: self.seed,
            shuffle_ties: self.shuffle_ties,
            hz: self.hz,
            nohz_full: self.nohz_full.clone(),
            idle_entry: self.idle_entry,
            ideal: self.ideal,
            budget: self.budget,
            budget_per_second: self.budget_per_second,
            engine: self.engine.into(),
        }
    }
}

/// An [`Engine`] by its name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum EngineName {
    #[default]
    Auto,
    Interpreter,
    Compiled,
}

impl From<EngineName> for Engine {
    fn from(name: EngineName) -> Self {
        match name {
            EngineName::Auto => Self::Auto,
            EngineName::Interpreter => Self::Interpreter,
            EngineName::Compiled => Self::Compiled,
        }
    }
}
