// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a scheduler's own loader would set, as a file.
//!
//! A sched_ext object usually comes with a program that fills in its options, sizes
//! its arrays and runs some of its programs before it attaches the scheduler. A
//! manifest says the same in TOML, so that any object runs with no code for it.
//! This crate reads manifests and works out their values for one machine and one object; it
//! knows nothing of eBPF. `docs/third-party.md` is the user's description of the format.

mod document;
mod error;
mod expand;
mod expr;
mod facts;
mod model;
mod read;
mod scope;

pub use error::ManifestError;
pub use expand::{Entry, Run, Setup, Step, Timed, Value};
pub use facts::CpuFacts;
pub use model::{Manifest, Match, Timing};
pub use scope::Object;
