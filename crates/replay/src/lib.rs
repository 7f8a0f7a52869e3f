// SPDX-License-Identifier: MIT OR Apache-2.0
//! Recordings as workloads: what each task did, and what its waits waited for.
//!
//! A recording says when a task ran, slept and woke, and who woke it. That a task slept for 3 ms
//! holds for the scheduler and the machine of the recording only; that it waited until another
//! one had done so much work holds anywhere. So a wait that a recorded task ended becomes a
//! semaphore that this task posts at the same point of its own work. Posts are counted: it does not
//! matter which of several wakers comes first, nor whether the post comes before the wait.
//!
//! A workload made so cannot deadlock of itself. In the order of the recording each wait comes after
//! its post. Of the tasks that are stuck, take the one with the wait that ended first there: all posts
//! before it are made, as who makes them is stuck later or not at all. So it is not stuck.

mod balance;
mod bounds;
mod cause;
mod doubt;
mod flows;
mod gather;
mod groups;
mod layout;
mod life;
mod load;
mod select;
mod settings;
mod text;
mod timing;

pub use doubt::Doubt;
pub use gather::Gatherer;
pub use load::{Charges, Facts, Replay, Taken, Waits};

#[cfg(test)]
mod tests;
