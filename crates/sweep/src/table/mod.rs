// SPDX-License-Identifier: MIT OR Apache-2.0
//! The results of a sweep: a row for each run. Files of it are the same bytes in whatever order the
//! runs were done, and those of parts of a sweep can be merged.

mod column;
mod parquet;
mod read;
#[cfg(test)]
mod tests;

pub use self::parquet::write;
pub use column::{Cells, Filled};
pub use read::{read, DatasetError};

use crate::value::Value;
use rota_measure::catalogue::{self, Unit};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// Names an axis of workload files in a dataset: `workload.tasks.ui.run`.
pub const OF_WORKLOAD: &str = "workload.";
/// Of machines: `machine.cpus`.
pub const OF_MACHINE: &str = "machine.";
/// Of tunables: `set.alpha`.
pub const OF_SET: &str = "set.";

/// A run and its results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Identifies what was run, by which version of Rota.
    pub run: String,
    /// That version.
    pub rota: String,
    /// The workload file, as the sweep names it.
    pub workload: String,
    /// The policy's label.
    pub policy: String,
    /// Values by the names of their axes.
    pub axes: BTreeMap<String, Value>,
    /// CPUs of the machine.
    pub cpus: u32,
    /// The seed.
    pub seed: u64,
    /// Simulated time that was asked for.
    pub duration_ns: u64,
    /// When the run ended.
    pub end_ns: u64,
    /// Why.
    pub exit: String,
    /// The policy was thrown out.
    pub ejected: bool,
    /// Metrics by their keys; those that a run does not have are missing.
    pub metrics: Metrics,
}

/// Values of metrics by their keys. Of a run that was just done, the keys are the catalogue's own:
/// copies of them would be most of what a row is.
pub type Metrics = BTreeMap<Cow<'static, str>, f64>;

/// What a row is called: its workload, policy, values and seed.
pub type Key = (String, String, BTreeMap<String, String>, u64);

impl Row {
    /// What it is called.
    pub fn key(&self) -> Key {
        let values = self.axes.iter();
        let values = values.map(|(name, of)| (name.clone(), of.clone().canonical().to_string()));
        (self.workload.clone(), self.policy.clone(), values.collect(), self.seed)
    }
}

/// Results of a sweep.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    rows: Vec<Row>,
}

impl Table {
    /// Of some rows, in any order; those that are there twice count once.
    pub fn new(mut rows: Vec<Row>) -> Self {
        for row in &mut rows {
            row.axes.values_mut().for_each(|value| *value = value.clone().canonical());
        }
        rows.sort_by_cached_key(order);
        rows.dedup_by(|one, other| one.run == other.run && order(one) == order(other));
        Self { rows }
    }

    /// The rows, in the order in which they are written.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// All rows of both.
    #[must_use]
    pub fn merge(self, other: Self) -> Self {
        Self::new(self.rows.into_iter().chain(other.rows).collect())
    }

    /// Names of the axes: those of workloads first, then of machines and tunables.
    pub fn axes(&self) -> Vec<&str> {
        let mut names: Vec<&str> =
            self.rows.iter().flat_map(|row| row.axes.keys()).map(String::as_str).collect();
        names.sort_unstable_by_key(|name| (rank(name), *name));
        names.dedup();
        names
    }

    /// Keys of the metrics: those that this version knows, in their order, then others.
    pub fn metrics(&self) -> Vec<&str> {
        let mut keys: Vec<&str> = catalogue::measures().iter().map(|measure| measure.key).collect();
        let known: BTreeSet<&str> = keys.iter().copied().collect();
        let all = self.rows.iter().flat_map(|row| row.metrics.keys()).map(AsRef::as_ref);
        let others: BTreeSet<&str> = all.filter(|key| !known.contains(key)).collect();
        keys.extend(others);
        keys
    }
}

fn rank(axis: &str) -> usize {
    let kinds = [OF_WORKLOAD, OF_MACHINE, OF_SET];
    kinds.iter().position(|kind| axis.starts_with(kind)).unwrap_or(kinds.len())
}

/// By what is run; the hash tells apart what is called the same.
fn order(row: &Row) -> impl Ord {
    let values = row.axes.iter().map(|(name, value)| (rank(name), name.clone(), value.clone()));
    let mut values: Vec<(usize, String, Value)> = values.collect();
    values.sort();
    let what = (row.workload.clone(), values, row.policy.clone());
    (what, row.seed, row.duration_ns, row.run.clone())
}

/// The name of a metric's column: its key, with its unit where the key does not say it.
pub fn column_of(key: &str) -> String {
    let ending = match catalogue::find(key).map(|measure| measure.unit) {
        Some(Unit::Ns) => "_ns",
        Some(Unit::Joules) => "_j",
        Some(Unit::Watts) => "_w",
        _ => "",
    };
    format!("{key}{ending}")
}

/// The key of a metric's column.
fn key_of(column: &str) -> Cow<'static, str> {
    let known = catalogue::measures().iter().find(|measure| column_of(measure.key) == column);
    known.map_or_else(|| Cow::Owned(column.to_owned()), |measure| Cow::Borrowed(measure.key))
}
