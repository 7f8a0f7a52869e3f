// SPDX-License-Identifier: MIT OR Apache-2.0
//! Pictures of a run, each one file that needs nothing else.

mod svg;
pub mod timeline;

pub use timeline::{Caption, Timeline, TimelineSink};
