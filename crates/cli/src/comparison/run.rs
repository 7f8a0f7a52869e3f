// SPDX-License-Identifier: MIT OR Apache-2.0
//! The numbers that are kept of one run.

use rota_machine::exit::ExitKind;
use rota_measure::Curve;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Numbers by the keys of their measures; those that a run does not have are missing.
pub(crate) type Numbers = BTreeMap<String, f64>;

/// What is kept of a run, in memory and in the file of finished runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Run {
    pub(crate) workload: String,
    pub(crate) cpus: u32,
    pub(crate) policy: String,
    pub(crate) seed: u64,
    pub(crate) exit: Exit,
    pub(crate) duration_ns: u64,
    pub(crate) measures: Numbers,
    pub(crate) tasks: Vec<Tasks>,
    /// How many samples its numbers are taken from, by the keys of metrics.
    #[serde(default)]
    pub(crate) samples: BTreeMap<String, u64>,
    /// Distributions, if they were asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) curves: Vec<Curve>,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Exit {
    pub(crate) kind: u32,
    pub(crate) code: i64,
    pub(crate) reason: String,
    pub(crate) ejected: bool,
}

impl Exit {
    /// After its whole time, as asked.
    pub(crate) fn is_whole(&self) -> bool {
        self.kind == ExitKind::Unreg as u32 && !self.ejected
    }
}

/// Instances of one task together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Tasks {
    pub(crate) name: String,
    pub(crate) measures: Numbers,
}
