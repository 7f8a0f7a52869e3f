// SPDX-License-Identifier: MIT OR Apache-2.0
//! Plays a workload file on this computer: what the simulator's tasks do, done by threads.
//!
//! All tasks are threads of one process and take their steps from the [`Runner`](rota_workload::Runner)
//! that the simulator uses, so that both do the same. `run` counts the CPU time of the thread, its
//! own steps between two runs included: a file that says 1 ms of work for each round gets a thread
//! that uses 1 ms of CPU time for each round. The tasks start together at a tick, as the
//! simulator's do.
//!
//! A session has processes, so a workload with several takes a player for each ([`Part`]).
//!
//! [`play()`] plays, in a process of its own, after which [`remove_groups()`] removes its cgroups;
//! [`Filtered`] is what a recording of the computer says of the tasks that were played.

mod account;
mod clock;
mod crossing;
mod error;
mod filter;
mod groups;
mod outside;
mod play;
mod played;
mod stage;
mod start;
mod task;

pub use account::Account;
pub use clock::{monotonic_ns, sleep_until, thread_ns};
pub use error::PlayError;
pub use filter::{Filtered, Interruption, Tape};
pub use groups::remove_groups;
pub use play::{play, Options, Part};
pub use played::{Played, PlayedTask};

/// Rounds of a busy loop between two pause instructions. An emulator whose virtual CPUs take turns
/// takes a pause as the end of a turn; without, one busy CPU can keep the others waiting for 100 ms.
pub const PAUSE_EVERY: u64 = 512;
