// SPDX-License-Identifier: MIT OR Apache-2.0
//! Pictures of runs and machines, each one file that needs nothing else.

pub mod chart;
pub mod html;
pub mod machine;
mod svg;
pub mod timeline;

pub use timeline::{Caption, Timeline, TimelineSink};
