// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the kernel's scheduler does, as numbers that BPF programs (`bpf/count.bpf.c`) add up: a
//! [`Counter`] looks at them a few times a second. An event costs its reader nothing, unlike one of a
//! [recording](crate::events).

mod clock;
mod counter;
mod cpu;
mod raw;
mod task;

pub use counter::{CountOptions, Counter, Look};
pub use cpu::Step;
pub use task::{About, Does, TaskCounts};

/// A step of the timeline.
pub const STEP_NS: u64 = 10_000_000;
