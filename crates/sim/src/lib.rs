// SPDX-License-Identifier: MIT OR Apache-2.0
//! A run of the simulated machine as a library: a policy, a workload and a machine put together,
//! and what came of it.
//!
//! Callers hand in bytes and values. Nothing here reads a file, a clock or the environment, starts
//! a thread or prints: warnings are in [`rota_workload::Workload::warnings`], errors are a type.
//!
//! ```
//! use rota_machine::config::Config;
//! use rota_machine::kernel::Kernel;
//! use rota_machine::topology::Topology;
//! use rota_sim::{Policy, Simulation, Watchers};
//! use std::sync::Arc;
//!
//! let object = rota_catalog::find("rr")?.object; // or the bytes of any sched_ext object
//! let mut policy = Policy::link("rr", object, &Kernel::default())?;
//! policy.set("quantum_ns", "5000000")?;
//!
//! let text = r#"{"tasks": {"worker": {"instance": 2, "run": 1000, "sleep": 1000}}}"#;
//! let workload = Arc::new(rota_workload::parse("load.json", text)?);
//!
//! let mut config = Config::new(Topology::flat(2)?, 1_000_000_000);
//! config.seed = 7;
//! let measured = Simulation::new(&policy, &workload, config).measure(Watchers::default())?;
//!
//! assert!(!measured.outcome.exit.kind.is_error());
//! assert_eq!(measured.numbers.tasks.len(), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod bundle;
mod described;
mod dump;
mod engine;
mod error;
mod globals;
mod heeds;
mod measured;
mod policy;
mod replay;
mod seen;
mod setup;
mod simulation;
mod stands_for;
mod statistics;
mod steps;

pub use bundle::{is_bundle, BundleError, Origin, BUNDLE_BEGINS};
pub use dump::{Dump, DumpedEntry, DumpedGlobal, DumpedMap};
pub use engine::Engine;
pub use error::SimError;
pub use globals::Global;
pub use heeds::{heeded, ignored, ignored_of, used, Feature, Ignored};
pub use measured::{Measured, Watchers};
pub use policy::Policy;
pub use setup::{encoded, facts, prepare, ForObject};
pub use simulation::{Loaded, Simulation, UserProgram};
pub use stands_for::stands_for;
pub use statistics::PolicyStat;
pub use steps::{steps, Place};
