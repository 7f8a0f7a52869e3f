// SPDX-License-Identifier: MIT OR Apache-2.0
//! Real programs that measure the scheduler of a live kernel, whichever it has: processes that
//! compute ([`fairness`]), programs of many threads ([`threads`]), encoders ([`encoders`]), tasks
//! that come and go ([`shares`]) or that somebody waits for ([`interactivity`]), servers
//! ([`servers`]). Only the last needs root.

mod busy;
mod children;
mod clock;
mod cpus;
pub mod encoders;
mod error;
pub mod fairness;
pub mod interactivity;
pub mod servers;
pub mod shares;
mod spread;
pub mod threads;

pub use cpus::Cpus;
pub use error::Error;
pub use spread::Spread;
