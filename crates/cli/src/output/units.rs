// SPDX-License-Identifier: MIT OR Apache-2.0
//! Numbers for people.

pub(crate) use rota_measure::units::{percent, time};
pub(crate) use rota_session::time::duration;

/// A time that may be missing.
pub(crate) fn time_or_dash(ns: Option<u64>) -> String {
    ns.map_or("-".into(), time)
}

/// A mean with one digit after the point, if there is one.
pub(crate) fn mean_or_dash(mean: Option<f64>) -> String {
    mean.map_or("-".into(), |mean| format!("{mean:.1}"))
}

/// Jain's index, if there is one.
pub(crate) fn index_or_dash(index: Option<f64>) -> String {
    index.map_or("-".into(), |index| format!("{index:.4}"))
}
