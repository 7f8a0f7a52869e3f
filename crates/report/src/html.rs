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
mod provenance;
mod row;
mod series;
mod summary;
mod tables;

#[cfg(test)]
mod tests;

pub use collect::SliceSink;
pub use cut::MOST_SLICES;
pub use model::Comparison;

/// The report as one HTML document. The baseline comes first everywhere.
pub fn render(comparison: &Comparison) -> String {
    let is_baseline = |policy: &model::PolicyResult| policy.name == comparison.baseline;
    let place = |workload: &model::Workload| workload.policies.iter().position(is_baseline);
    if comparison.workloads.iter().all(|workload| place(workload).unwrap_or(0) == 0) {
        return page::render(comparison);
    }
    let mut ordered = comparison.clone();
    for workload in &mut ordered.workloads {
        if let Some(at) = place(workload) {
            workload.policies[..=at].rotate_right(1);
        }
    }
    page::render(&ordered)
}
