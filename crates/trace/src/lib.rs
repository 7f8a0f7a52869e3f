// SPDX-License-Identifier: MIT OR Apache-2.0
//! The event stream of a run and its exporters.

pub mod event;

pub use event::{Event, EventKind, OffCpu, Sink};
