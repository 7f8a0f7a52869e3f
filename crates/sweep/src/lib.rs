// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sweeps: runs over axes of values. A file says which ([`Sweep`]), [`Runs`] does them, and a
//! [`Table`] has the results, which are the same whatever was done first, or in several parts.
//!
//! Nothing here prints, and only files that a sweep names are read.

mod aim;
mod axis;
mod file;
mod journal;
mod machine;
mod output;
mod plan;
mod rounds;
mod runs;
pub mod schema;
mod source;
mod stage;
mod swept;
mod table;
mod value;

pub use aim::{Aims, Bound, Constraint, Sign};
pub use axis::{Axis, Range, Values};
pub use file::{
    Method, Policy, Resource, RunTable, Sought, Sweep, WorkloadFile, MOST_RUNS, MOST_SAMPLES,
};
pub use journal::{Journal, JournalError};
pub use output::{add, dataset, Output};
pub use plan::Point;
pub use rounds::Rounds;
pub use runs::{Cell, Counts, Done, Runs};
pub use swept::{Fit, Objective, Setting, Swept};
pub use table::{
    column_of, read, write, Cells, DatasetError, Filled, Key, Metrics, Row, Table, OF_MACHINE,
    OF_SET, OF_WORKLOAD,
};
pub use value::Value;
