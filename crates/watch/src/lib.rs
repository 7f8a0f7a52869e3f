// SPDX-License-Identifier: MIT OR Apache-2.0
//! For recordings that wait for something: [`Last`] keeps the last seconds of an event stream,
//! [`Watch`] says when a [`Condition`] holds.
//!
//! `Last` and `Watch` need the memory of these seconds, however long the stream is.

mod condition;
mod counts;
mod last;
mod part;
mod states;
mod watch;

pub use condition::{Comparison, Condition, ConditionError, Metric, Statistic, Subject};
pub use counts::Longest;
pub use last::{Kept, Last};
pub use watch::{Seen, Watch, WINDOW_NS};
