// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the host and the guest of a machine test say to each other: jobs go in as JSON, records
//! come out as JSON lines.

pub mod cores;
pub mod job;
pub mod record;
pub mod recorded;
pub mod shares;
pub mod span;
pub mod step;
pub mod visits;

/// Where the guest finds its jobs.
pub const JOBS_FILE: &str = "/jobs.json";
/// The serial line that carries records; the console, with the kernel's messages, is the other.
pub const RECORDS_PORT: &str = "/dev/ttyS1";
