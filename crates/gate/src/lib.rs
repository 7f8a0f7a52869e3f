// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is expected of policies, as users write it: conditions, of the command line and of suites
//! ([`Condition`]), the metrics that they name ([`Metric`]), and the suites ([`Suite`]). Whether they
//! hold is for whoever has runs.

mod condition;
mod metric;
pub mod schema;
mod suite;

pub use condition::{Condition, Ending, Sign, Way, What};
pub use metric::{tasks_of, Metric};
pub use suite::{Expected, Named, Options, Suite, Test};
