// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a report shows: policies side by side on one or more workloads.
//!
//! Plain data, filled by whoever ran the policies. Times are nanoseconds since a run began.
//! A list that is shorter than it should be, or a task number that names nothing, leaves
//! something out of the report; it is no error.

use crate::machine::Machine;
use serde::{Deserialize, Serialize};

/// A whole report.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Heading; empty: made from the names of the workloads.
    pub title: String,
    /// Program and version, as `rota 0.2.0`.
    pub version: String,
    /// Command line that gives this report again; empty: not shown.
    pub command: String,
    /// What the simulated machine is like, as name and value: `("tick", "250 Hz")`.
    pub machine: Vec<(String, String)>,
    /// Its nodes, caches and cores, to draw; `None`: not shown.
    #[serde(default)]
    pub hardware: Option<Machine>,
    /// Where all of it comes from.
    #[serde(default)]
    pub provenance: Provenance,
    /// The policy that others are compared with; empty: none. It is the first column.
    #[serde(default)]
    pub baseline: String,
    /// Rows of the summary tables, in this order.
    pub measures: Vec<Measure>,
    /// What follows from all workloads' findings; at the top of the report, too.
    #[serde(default)]
    pub advice: Option<Finding>,
    /// A section for each.
    pub workloads: Vec<Workload>,
}

/// Something that was found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// What it is about, in a word or two.
    pub about: String,
    /// A sentence.
    pub text: String,
}

/// What one needs to know to trust a report, and to make it again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provenance {
    /// When it was made; empty: not said.
    pub date: String,
    /// The computer on which it was made, in a line; empty: not said.
    pub host: String,
    /// Files that went into it.
    pub inputs: Vec<Input>,
}

/// A file that went into a report.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Input {
    /// What it is, as `policy`.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// SHA-256 of its bytes, in hexadecimal digits.
    pub sha256: String,
}

/// A number that was taken of every run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measure {
    /// Name in JSON and CSV, as `wakeup_p99`.
    pub key: String,
    /// Name for people, as `wakeup p99`.
    pub name: String,
    /// Measures of one group follow each other below its name; empty: no heading.
    pub group: String,
    /// What it is counted in.
    pub unit: Unit,
    /// Which of two values is the better one.
    pub better: Better,
    /// One of those that a first look is for; the others are folded away.
    pub main: bool,
    /// Its definition in a sentence or two.
    pub definition: String,
}

/// What a number is counted in, and so how it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Nanoseconds, written in the unit that fits: `1.23 ms`.
    Ns,
    /// A part of 1, written in percent.
    Fraction,
    /// A number without a unit, as an index between 0 and 1: four decimals.
    Number,
    /// How many: no decimals from 100 on.
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

/// Which direction of a measure is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// Less is better.
    Lower,
    /// More is better.
    Higher,
    /// Neither.
    None,
}

/// One workload under every policy.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Workload {
    /// Name, as the file is called.
    pub name: String,
    /// What it is, in a few sentences; may be empty.
    pub description: String,
    /// What was found. All workloads' findings are at the top of the report.
    #[serde(default)]
    pub findings: Vec<Finding>,
    /// CPUs of the machine.
    pub cpus: u32,
    /// Length of a run.
    pub duration_ns: u64,
    /// Time at the beginning that the measures leave out.
    pub warmup_ns: u64,
    /// Seeds of the runs.
    pub seeds: Vec<u64>,
    /// All tasks of all policies' runs. Figures name a task by its place here, so a task has
    /// the same number, and colour, under every policy.
    pub tasks: Vec<Task>,
    /// What came of it, in the order of columns.
    pub policies: Vec<PolicyResult>,
}

/// A task of a workload.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// Name.
    pub name: String,
    /// The task that it is an instance of; its own name if of none.
    pub instance_of: String,
    /// Its share if it was given one, else its weight.
    pub weight: u64,
    /// How many tasks there are of it at the start: more than one where all instances share a
    /// place; 0: it is only forked.
    #[serde(default = "one")]
    pub instances: u64,
}

fn one() -> u64 {
    1
}

/// One policy on one workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PolicyResult {
    /// Name, unlike that of any other column: with its settings if they tell columns apart.
    pub name: String,
    /// Tunables that were set, as name and value.
    pub settings: Vec<(String, String)>,
    /// How its runs ended.
    pub outcome: Outcome,
    /// One for each of [`Comparison::measures`]; `None`: this workload has no such number.
    pub cells: Vec<Option<Cell>>,
    /// Pictures of one run; `None`: there are none.
    pub figures: Option<Figures>,
}

/// How the runs of a policy ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// All of them as they should.
    Finished,
    /// Some did not: the policy was ejected, or it could not be run.
    Ejected {
        /// Why, in the words of the first one.
        reason: String,
        /// How many.
        runs: u32,
    },
}

/// A measure of all seeds of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Arithmetic mean.
    pub mean: f64,
    /// Half the width of the mean's 95 % confidence interval; `None`: one seed has none.
    pub half_width: Option<f64>,
    /// How many seeds gave a value.
    pub n: u32,
    /// The best of all policies, and significantly so.
    pub best: bool,
    /// Compared with the baseline, where there is one and this is another.
    #[serde(default)]
    pub relative: Option<Relative>,
    /// How many samples a run has of it, if these are so few that it says little.
    #[serde(default)]
    pub few_samples: Option<u64>,
}

/// A metric compared with that of the baseline.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Relative {
    /// Ratio to the baseline's mean; `None`: there is no ratio.
    pub ratio: Option<f64>,
    /// Mean difference to it.
    pub difference: f64,
    /// Whether the difference is not significant.
    pub noise: bool,
}

/// Pictures of one run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// Its seed.
    pub seed: u64,
    /// Which task ran where.
    pub timeline: Slices,
    /// Part of the machine over time.
    pub shares: Shares,
    /// Lag over time.
    pub lags: Lags,
    /// Distributions of times: wakeup latency, turnaround, response time. Of all seeds.
    pub latencies: Vec<Distribution>,
}

/// Times of tasks on CPUs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slices {
    /// From when on they are here.
    pub from_ns: u64,
    /// Up to when: before the end of the run if there was no room for more.
    pub to_ns: u64,
    /// Of each CPU, in order of time, without overlaps.
    pub cpus: Vec<Vec<Slice>>,
}

/// A time that one task was on a CPU without a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slice {
    /// First nanosecond.
    pub start_ns: u64,
    /// First nanosecond after it.
    pub end_ns: u64,
    /// Place in [`Workload::tasks`].
    pub task: u32,
}

/// CPU time over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Shares {
    /// Start of the first bucket.
    pub from_ns: u64,
    /// Length of each.
    pub bucket_ns: u64,
    /// Of each of [`Workload::tasks`], CPU time in every bucket over the bucket's length times
    /// the number of CPUs: all tasks and idle time add up to 1. An empty list: never ran.
    pub tasks: Vec<Vec<f32>>,
}

/// Lag over time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lags {
    /// Start of the first bucket.
    pub from_ns: u64,
    /// Length of each.
    pub bucket_ns: u64,
    /// Of each of [`Workload::tasks`], the least and greatest lag in every bucket; `None`: it
    /// has none there. An empty list: it never has one.
    pub tasks: Vec<Vec<Option<Band>>>,
}

/// Least and greatest value in a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Band {
    /// Least.
    pub min_ns: i64,
    /// Greatest.
    pub max_ns: i64,
}

/// A distribution of times.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Distribution {
    /// What it is of, as `wakeup latency`: those of one name are drawn together.
    pub name: String,
    /// How many seeds it is of.
    #[serde(default = "one")]
    pub seeds: u64,
    /// How many times, of all seeds together.
    pub count: u64,
    /// How many of them were still open at the end, counted with their length so far.
    pub waiting: u64,
    /// Points of its curve, percentiles rising.
    pub points: Vec<Point>,
}

/// A point of a distribution.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Percentile from 0 to 100; 100 is the greatest value.
    pub percentile: f64,
    /// Its value: the mean of the seeds, if there are several.
    pub value_ns: u64,
    /// Of several seeds, the least and the greatest value.
    #[serde(default)]
    pub range_ns: Option<(u64, u64)>,
}
