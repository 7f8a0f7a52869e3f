// SPDX-License-Identifier: MIT OR Apache-2.0
//! Measures the shares of the hogs.

use crate::hogs::Hogs;
use crate::records::now;
use crate::sysfs::online_cpus;
use anyhow::{bail, Result};
use rota_guest::shares::{due, Claim};
use rota_guest::step::Measure;
use serde_json::{json, Map, Value};
use std::thread::sleep;

/// What was measured, and what was wrong with it in words.
pub(crate) fn measure(step: &Measure, hogs: &Hogs) -> Result<(Value, Option<String>)> {
    let claims = claims(step, hogs)?;
    sleep(step.settle.duration());
    let before = cpu_times(hogs)?;
    let start = now();
    sleep(step.time.duration());
    let took = now() - start;
    let after = cpu_times(hogs)?;

    let cpus = online_cpus()?;
    let had: Vec<f64> = before.iter().zip(&after).map(|(b, a)| (a - b) as f64).collect();
    let all: f64 = had.iter().sum();
    let threads: u32 = claims.iter().map(|claim| claim.most).sum();
    let usable = took.as_nanos() as f64 * (threads as usize).min(cpus) as f64;
    // Of the CPUs; what the hogs got together is divided in the same proportions.
    let due = due(&claims, cpus);
    let due_to_all: f64 = due.iter().sum();
    let mut saw = Map::new();
    let mut problems = Vec::new();
    for (i, name) in hogs.names().enumerate() {
        let due_ns = all * due[i] / due_to_all;
        saw.insert(name.to_owned(), json!({ "cpu_ns": had[i] as u64, "due_ns": due_ns as u64 }));
        let allowed = due_ns * step.within + step.slack.duration().as_nanos() as f64;
        if !step.weights.is_empty() && (had[i] - due_ns).abs() > allowed {
            problems.push(format!(
                "'{name}' had {:.1} ms instead of {:.1} ms ({:+.1} %)",
                had[i] / 1e6,
                due_ns / 1e6,
                (had[i] / due_ns - 1.0) * 100.0
            ));
        }
    }
    if all < usable * step.busy {
        let (all, usable) = (all / 1e6, usable / 1e6);
        problems
            .push(format!("the hogs had {all:.1} ms of the {usable:.1} ms that they could use"));
    }
    let saw = json!({ "cpus": cpus, "took_ns": took.as_nanos() as u64, "hogs": saw });
    Ok((saw, (!problems.is_empty()).then(|| problems.join("; "))))
}

/// The weight of each hog and how many CPUs it can use, in the order of their names.
fn claims(step: &Measure, hogs: &Hogs) -> Result<Vec<Claim>> {
    for name in step.weights.keys() {
        hogs.matching(name)?;
    }
    let mut claims = Vec::new();
    for name in hogs.names() {
        let group = name.split('.').next().unwrap_or(name);
        let weight = match step.weights.get(name).or_else(|| step.weights.get(group)) {
            Some(weight) => *weight,
            None if step.weights.is_empty() => 1.0,
            None => bail!("the measurement says nothing of the weight of '{name}'"),
        };
        claims.push(Claim { weight, most: hogs.threads(name)? });
    }
    Ok(claims)
}

fn cpu_times(hogs: &Hogs) -> Result<Vec<u64>> {
    hogs.names().map(|name| hogs.cpu_ns(name)).collect()
}
