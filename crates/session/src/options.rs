// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a user can ask of the simulated machine and the run.

use rota_machine::config::BUDGET_PER_SECOND;
use rota_sim::Engine;
use rota_trace::CpuList;

/// Instructions that one callback may execute, if the user says nothing.
pub const BUDGET: u64 = 10_000_000;

/// The simulated machine and the run.
#[derive(Clone, Debug)]
pub struct MachineOptions {
    /// A machine by its name, a file, or a folder.
    pub machine: Option<String>,
    /// CPUs per core, cache and node, of a machine that has no name.
    pub topology: Option<String>,
    /// Simulated time; `None`: the workload's own, or 10 s.
    pub duration: Option<u64>,
    /// What happens before this time is in no statistics.
    pub warmup: Option<u64>,
    /// Of all that is random.
    pub seed: u64,
    /// What happens at the same time is ordered at random.
    pub shuffle_ties: bool,
    /// Timer ticks per second; `None`: the machine's own.
    pub hz: Option<u32>,
    /// CPUs on which the tick can stop.
    pub nohz_full: Option<CpuList>,
    /// Time from finding nothing to run to being marked idle.
    pub idle_entry: Option<u64>,
    /// Nothing that the kernel does takes time.
    pub ideal: bool,
    /// Instructions that one callback may execute.
    pub budget: u64,
    /// Instructions that all callbacks may execute in a second, for each CPU.
    pub budget_per_second: u64,
    /// What runs the policy's code.
    pub engine: Engine,
}

impl Default for MachineOptions {
    fn default() -> Self {
        Self {
            machine: None,
            topology: None,
            duration: None,
            warmup: None,
            seed: 1,
            shuffle_ties: false,
            hz: None,
            nohz_full: None,
            idle_entry: None,
            ideal: false,
            budget: BUDGET,
            budget_per_second: BUDGET_PER_SECOND,
            engine: Engine::Auto,
        }
    }
}
