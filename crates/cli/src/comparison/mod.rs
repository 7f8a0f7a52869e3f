// SPDX-License-Identifier: MIT OR Apache-2.0
//! What `rota compare` found: the numbers of single runs, and what is said of a policy by all of them.
//! The command fills it, the output prints it.

mod aggregate;
mod run;

pub(crate) use run::{Exit, Run, Tasks};

use crate::load::Load;
use rota_machine::config::Config;
use rota_measure::baseline::Relative;
use rota_measure::catalogue::{self, Measure};
use rota_measure::statistics::Estimate;
use rota_object::image::Image;
use rota_sim::Origin;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Everything that is printed.
pub(crate) struct Comparison<'a> {
    pub(crate) measures: &'static [Measure],
    pub(crate) policies: &'a [Policy],
    pub(crate) baseline: Option<Baseline>,
    pub(crate) seeds: &'a [u64],
    pub(crate) stages: Vec<Stage<'a>>,
}

/// A workload on a machine.
pub(crate) struct Stage<'a> {
    pub(crate) load: &'a Load,
    pub(crate) config: &'a Config,
    /// One for each policy.
    pub(crate) columns: Vec<Column<'a>>,
    /// All seeds gave the same numbers, and there were several.
    pub(crate) is_alike: bool,
}

/// A policy there.
pub(crate) struct Column<'a> {
    pub(crate) policy: &'a Policy,
    pub(crate) image: &'a Image,
    /// The program that set it up, of a bundle.
    pub(crate) origin: Option<&'a Origin>,
    /// One for each seed.
    pub(crate) runs: Vec<&'a Run>,
    /// One for each measure, of runs that were not ejected.
    pub(crate) cells: Vec<Option<Cell>>,
    /// Of instances of one task together.
    pub(crate) tasks: Vec<(&'a str, BTreeMap<&'a str, Estimate>)>,
}

/// A measure of a policy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Cell {
    pub(crate) estimate: Estimate,
    /// Significantly the best of all policies.
    pub(crate) best: bool,
    /// Beside the baseline; `None`: this is it, or there is none, or one of the two has no number.
    pub(crate) relative: Option<Relative>,
}

/// A policy with its settings.
#[derive(Clone)]
pub(crate) struct Policy {
    /// Unlike that of any other policy: with its settings, if there are any.
    pub(crate) label: String,
    /// Short name.
    pub(crate) name: String,
    /// Where it is from.
    pub(crate) source: String,
    /// What names it on the command line, without settings.
    pub(crate) argument: String,
    /// The manifest file that goes with it.
    pub(crate) manifest: Option<PathBuf>,
    /// Variables that were set.
    pub(crate) set: Vec<(String, String)>,
    /// What it was made from, settings included, as hexadecimal digits.
    pub(crate) hash: String,
    /// SHA-256 of its object, or of its program's file.
    pub(crate) sha256: String,
    /// Of one that its own program brings.
    pub(crate) program: Option<ProgramOf>,
}

/// How a policy's program runs.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ProgramOf {
    pub(crate) arguments: Vec<String>,
    /// What it says of itself.
    pub(crate) version: Option<String>,
    /// CPU time of each of its system calls.
    pub(crate) cost_ns: u64,
}

/// The policy that all others are set against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Baseline {
    /// Its place among the policies.
    pub(crate) at: usize,
    /// Nobody named it: it is there to be compared with.
    pub(crate) is_added: bool,
}

impl Column<'_> {
    /// How many samples a run has of the metric of this key, if one of them has few.
    pub(crate) fn few_samples(&self, key: &str) -> Option<u64> {
        let whole = self.runs.iter().filter(|run| !run.exit.ejected);
        let samples = whole.filter_map(|run| run.samples.get(key).copied());
        let fewest = samples.filter(|samples| *samples > 0).min();
        fewest.filter(|samples| catalogue::is_few(key, *samples))
    }

    /// Runs from which the policy was thrown out.
    pub(crate) fn ejected(&self) -> impl Iterator<Item = &Run> {
        self.runs.iter().filter(|run| run.exit.ejected).copied()
    }
}
