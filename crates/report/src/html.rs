// SPDX-License-Identifier: MIT OR Apache-2.0
//! One HTML file that shows policies side by side: tables, timelines, shares, lag, latencies.
//!
//! [`render`] makes it from a [`Comparison`]. The file has all that it needs: style, scripts
//! and data are in it, and its content security policy forbids everything else.

mod assets;
mod collect;
mod cut;
mod data;
mod encode;
pub mod experiments;
mod figures;
mod groups;
mod markup;
pub mod model;
mod numbers;
mod page;
mod series;
mod summary;
mod tables;

#[cfg(test)]
mod tests;

pub use collect::SliceSink;
pub use cut::MOST_SLICES;
pub use model::Comparison;

/// The report as one HTML document.
pub fn render(comparison: &Comparison) -> String {
    page::render(comparison)
}
