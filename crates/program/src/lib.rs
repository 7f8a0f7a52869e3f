// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs a scheduler's own program, unmodified, against a kernel that is played here: its BPF object
//! is hosted by the simulated machine, its clocks and sleeps are those of the machine, and what it
//! does takes effect there. Needs neither root nor sched_ext.
//!
//! The program is a process whose system calls that matter stop it until they are answered (seccomp
//! user notification). It and the machine take turns: one of them always stands still.

mod auxv;
mod begin;
pub mod bpf;
mod cgroups;
mod computer;
mod confine;
mod cpulist;
mod errno;
mod error;
mod files;
mod filter;
mod half;
mod hardware_files;
mod kept;
mod launch;
mod listener;
mod log;
mod others;
mod play;
mod processors;
mod program;
mod relay;
mod remote;
mod report;
mod shared;
mod shown;
mod spawn;
mod threads;
mod time;
mod vdso;
mod version;

pub use errno::Errno;
pub use error::ProgramError;
pub use launch::Launch;
pub use program::Program;
pub use relay::{Relay, Switch};
pub use report::Report;
pub use version::version;
