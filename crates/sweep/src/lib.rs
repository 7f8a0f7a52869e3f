// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sweeps: runs over axes of values. A file says which ([`Sweep`]), [`Runs`] does them, and a
//! [`Table`] has the results, which are the same whatever was done first, or in several parts.
//!
//! Nothing here prints, and only files that a sweep names are read.

mod axis;
mod file;
mod journal;
mod machine;
mod plan;
mod runs;
mod stage;
mod table;
mod value;

pub use axis::{Axis, Range, Values};
pub use file::{Aims, Method, Policy, RunTable, Sweep, WorkloadFile, MOST_RUNS, MOST_SAMPLES};
pub use journal::{Journal, JournalError};
pub use plan::Point;
pub use runs::{Cell, Done, Runs};
pub use table::{
    column_of, read, write, DatasetError, Key, Row, Table, OF_MACHINE, OF_SET, OF_WORKLOAD,
};
pub use value::Value;
