// SPDX-License-Identifier: MIT OR Apache-2.0
//! Priority-based blind scheduling (PBS) on one processor with infinitely short slices.
//!
//! H. Feng, V. Misra, D. Rubenstein's policy serves the task with the highest T / S^alpha, T the
//! time since it arrived and S its processing time. With infinitely short slices the tasks that
//! are served at a time, the scheduled set, keep equal priorities, and what each has received is
//! known in closed form [PBS Appendix A.1]. This crate follows the set from event to event:
//! arrivals, ends, tasks that fall out of it and tasks that come back. Nothing is simulated in
//! steps, and nothing is drawn by chance.
//!
//! Times are seconds. Those of events are found to within [`RESOLUTION`] of the time at hand.

mod crossing;
mod engine;
mod error;
mod level;
mod pbs;
mod sessions;
mod set;
mod solution;
mod source;
mod task;

pub use crossing::RESOLUTION;
pub use engine::solve;
pub use error::Error;
pub use pbs::{Beta, Inactive, Pbs};
pub use solution::{Activation, Change, ChangeKind, Curve, Solution};
pub use source::{Next, Script, Tasks};
