// SPDX-License-Identifier: MIT OR Apache-2.0
//! The JSON summary of `rota sim --json`, as far as the tests read it.

use serde::Deserialize;

/// One run.
#[derive(Debug, Deserialize)]
pub struct Summary {
    /// `rota.sim/1`.
    pub schema: String,
    /// The simulated machine.
    pub machine: Machine,
    /// Simulated time.
    pub duration_ns: u64,
    /// Every task that ever was.
    pub tasks: Vec<Task>,
    /// Sums over the run.
    pub totals: Totals,
    /// Kernel fields that the scheduler read and the machine does not fill.
    pub unfilled_reads: Vec<UnfilledRead>,
}

/// Reads of a kernel field that nothing filled.
#[derive(Debug, Deserialize)]
pub struct UnfilledRead {
    /// As `task_struct.rt_priority`.
    pub field: String,
}

/// The simulated machine.
#[derive(Debug, Deserialize)]
pub struct Machine {
    /// Number of CPUs.
    pub cpus: u32,
}

/// One task.
#[derive(Debug, Deserialize)]
pub struct Task {
    /// `<task>-<index>`.
    pub name: String,
    /// Process id in the simulation.
    pub pid: u32,
    /// CPU time.
    pub cpu_ns: u64,
    /// When it came to be.
    pub started_ns: u64,
    /// When it ended, if it did.
    pub finished_ns: Option<u64>,
}

/// Sums over the run.
#[derive(Debug, Deserialize)]
pub struct Totals {
    /// Time of all CPUs in which they ran no task.
    pub idle_ns: u64,
}
