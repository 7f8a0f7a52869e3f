// SPDX-License-Identifier: MIT OR Apache-2.0
//! Charts as single SVG documents, drawn from plain numbers. They follow the reader's colour
//! scheme, and are narrow enough for a telephone.

mod areas;
mod bars;
mod heat;
mod lanes;
mod lines;
mod paper;
mod scale;

pub use areas::{Areas, Band};
pub use bars::{Bar, BarGroup, Bars};
pub use heat::HeatMap;
pub use lanes::{Lane, Lanes};
pub use lines::{Line, LineChart};
pub use scale::{Axis, Scale};

pub(crate) use paper::STYLE;

#[cfg(test)]
mod tests;
