// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tracing programs of an object: where the machine calls them, and with what.
//!
//! A scheduler without any costs one test of a bit at each place.

mod context;
mod pass;
mod places;
mod programs;

pub(crate) use context::Contexts;
pub(crate) use pass::run;
pub use pass::Stopped;
pub use places::{Place, Places};
pub(crate) use programs::{attached, Attached};
pub use programs::{never_called, never_called_in_sub, Moment, NeverCalled};
