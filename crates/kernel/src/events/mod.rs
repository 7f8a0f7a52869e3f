// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the kernel's scheduler does, as the events that the simulator gives: BPF programs
//! (`bpf/`) write records into a ring buffer, a [`Recorder`] makes events of them.
//!
//! Works with and without sched_ext, and with policies that anybody loaded.

pub(crate) mod attach;
mod call_cost;
mod callbacks;
mod calls;
mod cgroup;
mod convert;
pub(crate) mod cpus;
mod error;
mod facts;
pub(crate) mod groups;
pub(crate) mod hooks;
mod order;
mod raw;
pub(crate) mod recorder;
mod rings;
mod settings;
mod taken;
mod traits;

pub use cgroup::Cgroup;
pub use cpus::count_online;
pub use error::RecordError;
pub use facts::{Counts, Facts, Lost, PickSource};
pub use recorder::{RecordOptions, Recorder, Scope};
pub use taken::Taken;
pub use traits::Traits;
