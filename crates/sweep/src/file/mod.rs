// SPDX-License-Identifier: MIT OR Apache-2.0
//! The file that describes a sweep. `docs/sweeps.md` has its grammar.

mod axes;
mod document;
mod policies;
mod read;
#[cfg(test)]
mod tests;

pub(crate) use read::machine_from;

use crate::axis::Axis;
use rota_session::program::ProgramOptions;
use rota_session::Error;
use std::path::{Path, PathBuf};

/// Most runs of a sweep.
pub const MOST_RUNS: u64 = 10_000_000;
/// Most samples: the sequence of Sobol's points that is used has no more.
pub const MOST_SAMPLES: u32 = 1 << 16;

/// A sweep, as its file describes it.
#[derive(Clone, Debug, PartialEq)]
pub struct Sweep {
    /// The file, as the user named it.
    pub file: PathBuf,
    /// Workload files.
    pub workloads: Vec<WorkloadFile>,
    /// Policies, each with the tunables that are swept over.
    pub policies: Vec<Policy>,
    /// The place of the policy that others are compared with.
    pub baseline: Option<usize>,
    /// Seeds of the runs of each point.
    pub seeds: Vec<u64>,
    /// Which points there are.
    pub method: Method,
    /// How runs go.
    pub run: RunTable,
    /// Keys of the workload files.
    pub workload: Vec<Axis>,
    /// The machine: `machine`, `cpus`, `topology`, `hz`, `ideal`, or keys of machine files.
    pub machine: Vec<Axis>,
    /// What the sweep looks for, in the order of the file.
    pub aims: Sought,
}

/// A workload file of a sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkloadFile {
    /// As the sweep file has it.
    pub name: String,
    /// As seen from here.
    pub path: PathBuf,
    /// Where the file says so.
    pub line: usize,
}

/// A policy of a sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    /// What results call it.
    pub label: String,
    /// A shipped policy, or a file as seen from here; or a program with its arguments.
    pub policy: String,
    /// Of a program: its words. What stands in braces in an argument, as `{us}`, is a tunable.
    pub program: Option<Vec<String>>,
    /// Variables that are set in all runs.
    pub set: Vec<(String, String)>,
    /// What its own loader would set.
    pub manifest: Option<PathBuf>,
    /// Tunables that are swept over.
    pub axes: Vec<Axis>,
    /// It also runs without any of those values: others are compared with that.
    pub plain: bool,
    /// Where the file says so.
    pub line: usize,
}

/// Which points of the axes are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Every value with every other.
    Grid,
    /// So many at random; `draw` is their seed.
    Random {
        /// How many for each workload and policy.
        samples: u32,
        /// Another number gives other points.
        draw: u32,
    },
    /// So many that fill the space evenly: Sobol's sequence, scrambled.
    Sobol {
        /// As of random ones.
        samples: u32,
        /// As of random ones.
        draw: u32,
    },
    /// Points of Sobol's sequence with a few seeds or for a short time, then the best of them with
    /// more.
    Halving {
        /// As of random ones.
        samples: u32,
        /// As of random ones.
        draw: u32,
        /// What the first round has of what rounds have more and more of.
        first: Resource,
        /// One of so many goes on to the next round, which has as many times of that.
        keep: u32,
    },
}

/// What runs of a round of successive halving have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// So many seeds.
    Seeds(u32),
    /// So much simulated time, in nanoseconds.
    Duration(u64),
}

/// How runs go, if the axes say nothing else.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunTable {
    /// Simulated time.
    pub duration: Option<u64>,
    /// What happens before this time is in no statistics.
    pub warmup: Option<u64>,
    /// Release of the kernel to simulate.
    pub kernel: Option<String>,
    /// The machine by its name or file, as seen from here.
    pub machine: Option<String>,
    /// CPUs of a machine without a name.
    pub cpus: Option<u32>,
    /// What they share.
    pub topology: Option<String>,
    /// Ticks per second.
    pub hz: Option<u32>,
    /// Nothing that the kernel does takes time.
    pub ideal: bool,
    /// Sessions do not share as groups do.
    pub no_autogroup: bool,
    /// How programs run.
    pub program: ProgramOptions,
}

/// What the sweep looks for, as texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sought {
    /// Metrics of which less is wanted.
    pub minimise: Vec<String>,
    /// Metrics of which more is wanted.
    pub maximise: Vec<String>,
    /// What must hold.
    pub subject_to: Vec<String>,
}

impl Sweep {
    /// Reads a file; paths in it are seen from its folder.
    pub fn read(file: &Path) -> Result<Self, Error> {
        let text = std::fs::read_to_string(file).map_err(|e| Error::file("read", file, &e))?;
        Self::parse(file, &text)
    }

    /// Of the text of a file.
    pub fn parse(file: &Path, text: &str) -> Result<Self, Error> {
        read::sweep(file, text)
    }

    /// An error at a line of the file; 0: it is from nowhere there.
    pub fn error(&self, line: usize, why: impl std::fmt::Display) -> Error {
        if line == 0 {
            return Error::input(why.to_string());
        }
        Error::input(format!("{}:{line}: {why}", self.file.display()))
    }
}
