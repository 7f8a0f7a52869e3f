// SPDX-License-Identifier: MIT OR Apache-2.0
//! The measures that runs are compared by: one number of a run each, with its name, its unit, and
//! its definition in a sentence. `docs/measures.md` has formulas and sources.

mod deadlines;
mod locks;
mod parts;
mod requests;
mod samples;
mod table;
mod tasks;

pub use samples::{is_few, samples};
pub use tasks::{find_of_tasks, of_tasks, TaskMeasure};

use crate::numbers::Numbers;
use crate::requests::RequestsNumbers;
use crate::statistics::Better;
use table::MEASURES;

/// What a measure is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Nanoseconds.
    Ns,
    /// A part of 1.
    Fraction,
    /// A number without a unit.
    Number,
    /// How many.
    Count,
    /// How many a second.
    PerSecond,
    /// Instructions of the policy.
    Instructions,
    /// Joules.
    Joules,
    /// Watts.
    Watts,
}

impl Unit {
    /// As JSON and CSV have it.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Ns => "ns",
            Unit::Fraction => "fraction",
            Unit::Number => "number",
            Unit::Count => "count",
            Unit::PerSecond => "per_second",
            Unit::Instructions => "instructions",
            Unit::Joules => "J",
            Unit::Watts => "W",
        }
    }
}

/// What a measure is taken from.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// The run's numbers.
    pub numbers: &'a Numbers,
    /// What became of its requests.
    pub requests: &'a RequestsNumbers,
    /// CPUs of the machine.
    pub cpus: u32,
}

/// One number of a run.
#[derive(Clone, Copy, Debug)]
pub struct Measure {
    /// Name in JSON and CSV.
    pub key: &'static str,
    /// Name for people, the same on the terminal and in reports; the key is this name in other
    /// letters.
    pub name: &'static str,
    /// Other words for it, by which it is found.
    pub also: &'static str,
    /// What it says something about.
    pub group: &'static str,
    /// What it is counted in.
    pub unit: Unit,
    /// Which of two values is the better one.
    pub better: Better,
    /// Whether a table shows it that nobody asked for more.
    pub shown: bool,
    /// What it is.
    pub definition: &'static str,
    of: fn(Run<'_>) -> Option<f64>,
}

impl Measure {
    /// Its value; `None`: this run has no such number.
    pub fn of(&self, run: Run<'_>) -> Option<f64> {
        (self.of)(run)
    }

    /// What there must be for it; `None`: any run can have it.
    pub fn needs(&self) -> Option<Needs> {
        match self.group {
            table::REQUESTS => Some(Needs::Requests),
            table::DEADLINES => Some(Needs::Jobs),
            table::LOCKS => Some(Needs::Locks),
            table::ENERGY => Some(Needs::Power),
            _ if self.key.starts_with("work_") => Some(Needs::Speeds),
            _ => None,
        }
    }
}

/// What there must be for a run to have a measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Requests.
    Requests,
    /// Jobs of tasks with a timer or a reservation.
    Jobs,
    /// Mutexes.
    Locks,
    /// The power of the machine's CPUs.
    Power,
    /// A model of how fast they are.
    Speeds,
}

/// All of them, in the order in which they are shown.
pub fn measures() -> &'static [Measure] {
    MEASURES
}

/// The measure of this key.
pub fn find(key: &str) -> Option<&'static Measure> {
    MEASURES.iter().find(|measure| measure.key == key)
}

/// Those that a narrow table shows, the most telling first: of each line the first that is there.
const HEADLINES: [&[&str]; 10] = [
    &["response_p99"],
    &["wakeup_p99"],
    &["answered_per_s", "bursts_per_s"],
    &["lag_max"],
    &["miss_rate"],
    &["slowdown_mean"],
    &["instructions_mean"],
    &["wakeup_p50"],
    &["jain"],
    &["context_switches"],
];

/// At most so many measures that tell most of runs in which `is_there` holds for them, in the
/// order in which they are shown.
pub fn headlines(most: usize, is_there: impl Fn(&Measure) -> bool) -> Vec<&'static Measure> {
    let first = |keys: &&[&str]| keys.iter().filter_map(|key| find(key)).find(|m| is_there(m));
    let keys: Vec<&str> = HEADLINES.iter().filter_map(first).take(most).map(|m| m.key).collect();
    MEASURES.iter().filter(|measure| keys.contains(&measure.key)).collect()
}

/// Names of the groups, in the order in which they are shown.
pub fn groups() -> Vec<&'static str> {
    let mut groups: Vec<&str> = MEASURES.iter().map(|measure| measure.group).collect();
    groups.dedup();
    groups
}

#[cfg(test)]
mod tests;
