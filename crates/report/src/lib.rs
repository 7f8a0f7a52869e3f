// SPDX-License-Identifier: MIT OR Apache-2.0
//! Pictures of runs, each one file that needs nothing else.

pub mod chart;
pub mod html;
mod svg;
pub mod timeline;

pub use timeline::{Caption, Timeline, TimelineSink};
