// SPDX-License-Identifier: MIT OR Apache-2.0
//! Measures the shares of the hogs.

use crate::hogs::Hogs;
use crate::machine::online_cpus;
use crate::report::now;
use anyhow::{bail, Result};
use rota_guest::shares::due;
use rota_guest::step::Measure;
use serde_json::{json, Map, Value};
use std::thread::sleep;

/// What was measured, and the greatest violation in words, if there is one.
pub(crate) fn measure(step: &Measure, hogs: &Hogs) -> Result<(Value, Option<String>)> {
    let weights = weights(step, hogs)?;
    sleep(step.settle.duration());
    let before = cpu_times(hogs)?;
    let start = now();
    sleep(step.time.duration());
    let took = now() - start;
    let after = cpu_times(hogs)?;

    let cpus = online_cpus()?;
    let capacity = took.as_nanos() as f64 * cpus as f64;
    let due = due(&weights, cpus);
    let mut saw = Map::new();
    let mut worst: Option<(f64, String)> = None;
    for (i, name) in hogs.names().enumerate() {
        let cpu_ns = after[i] - before[i];
        let share = cpu_ns as f64 / capacity;
        let mut row = json!({ "cpu_ns": cpu_ns, "share": rounded(share) });
        if !step.weights.is_empty() {
            row["due"] = json!(rounded(due[i]));
            let error = (share - due[i]).abs();
            if error > step.within && worst.as_ref().is_none_or(|(most, _)| error > *most) {
                let text = format!("'{name}' had {share:.4} of the machine, due is {:.4}", due[i]);
                worst = Some((error, text));
            }
        }
        saw.insert(name.to_owned(), row);
    }
    let problem =
        worst.map(|(error, text)| format!("{text}: off by {error:.4}, allowed {}", step.within));
    Ok((json!({ "cpus": cpus, "took_ns": took.as_nanos() as u64, "hogs": saw }), problem))
}

/// The weight of each hog, in the order of their names.
fn weights(step: &Measure, hogs: &Hogs) -> Result<Vec<f64>> {
    for name in step.weights.keys() {
        hogs.matching(name)?;
    }
    let mut weights = Vec::new();
    for name in hogs.names() {
        let group = name.split('.').next().unwrap_or(name);
        match step.weights.get(name).or_else(|| step.weights.get(group)) {
            Some(weight) => weights.push(*weight),
            None if step.weights.is_empty() => weights.push(1.0),
            None => bail!("the measurement says nothing of the weight of '{name}'"),
        }
    }
    Ok(weights)
}

fn cpu_times(hogs: &Hogs) -> Result<Vec<u64>> {
    hogs.names().map(|name| hogs.cpu_ns(name)).collect()
}

fn rounded(share: f64) -> f64 {
    (share * 1e6).round() / 1e6
}
