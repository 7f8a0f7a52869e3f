// SPDX-License-Identifier: MIT OR Apache-2.0
//! Durations: microseconds, or a distribution of them.

use libfuzzer_sys::arbitrary::{Result, Unstructured};

/// Up to `most` microseconds, but for the tails of distributions. Short ones are as likely, so that
/// much happens.
pub(super) fn span(u: &mut Unstructured<'_>, most: u32) -> Result<String> {
    let most = most / *u.choose(&[1, 10, 100])?;
    if u.ratio(2, 3)? {
        return Ok(u.int_in_range(0..=most)?.to_string());
    }
    let mean = f64::from(u.int_in_range(1..=most.max(1) * 4)?) / 4.0;
    let max = if u.arbitrary()? { format!(r#", "max": {}"#, mean * 3.0) } else { String::new() };
    let shape = f64::from(u.int_in_range(1..=40)?) / 10.0;
    Ok(match u.int_in_range(0..=5)? {
        0 => format!(r#"{{"dist": "exp", "mean": {mean}{max}}}"#),
        1 => format!(r#"{{"dist": "uniform", "max": {mean}}}"#),
        2 => format!(r#"{{"dist": "uniform", "min": {}, "max": {mean}}}"#, mean / 2.0),
        3 if shape > 1.0 => {
            format!(r#"{{"dist": "pareto", "shape": {shape}, "mean": {mean}{max}}}"#)
        }
        3 | 4 => format!(r#"{{"dist": "pareto", "shape": {shape}, "scale": {mean}{max}}}"#),
        _ if u.arbitrary()? => {
            format!(r#"{{"dist": "lognormal", "sigma": {shape}, "mean": {mean}{max}}}"#)
        }
        _ => format!(r#"{{"dist": "lognormal", "sigma": {shape}, "median": {mean}{max}}}"#),
    })
}
