// SPDX-License-Identifier: MIT OR Apache-2.0
//! CFS' time slices and weights [CAS eq. 14 to 16].

use super::{median, NS};
use crate::error::Error;
use crate::rig::{hogs_told, linked, Length, Rig};
use crate::runs::{received_ns, Run, Runs};

/// Nice levels to which priority elevation leads [CAS Table 1].
const NICE: [i32; 4] = [-1, -4, -7, -15];
const LATENCY: [(&str, &str); 2] =
    [("sched_latency_ns", "20800000"), ("sched_min_granularity_ns", "10000")];
/// Hundreds of periods.
const SECONDS: u64 = 4;

/// Tasks of these nice levels that only compute, under `cfs`.
fn runs(nice: &[i32]) -> Result<Vec<Run>, Error> {
    let settings = nice.iter().map(|nice| format!("\"priority\": {nice}"));
    let workload = hogs_told(settings, |at| format!("t{at}"))?;
    let (mut runs, end_ns) = (Runs::default(), SECONDS * 1_000_000_000);
    Rig::new(&linked("cfs", &LATENCY)?).run(&workload, Length::of(end_ns), &mut runs)?;
    Ok(runs.finish(end_ns))
}

/// CPU time of the first of two, and of both.
fn two(nice: i32) -> Result<[f64; 2], Error> {
    let had = received_ns(&runs(&[nice, 0])?, 2);
    Ok([had[0] as f64, (had[0] + had[1]) as f64])
}

/// By the keys of figure `cfs`.
pub(super) fn numbers() -> Result<Vec<(String, f64)>, Error> {
    let mut numbers = Vec::new();
    for n in NS {
        let runs = runs(&vec![0; n as usize])?;
        // Not the first ones, of who is new.
        let later = runs.iter().skip(runs.len() / 2);
        let turns = later.map(|run| (run.to_ns - run.from_ns) as f64 / 1e6);
        numbers.push((format!("slice_{n}"), median(turns.collect())));
    }
    for nice in NICE {
        let [first, both] = two(nice)?;
        numbers.push((format!("weight_{nice}"), first / (both - first)));
    }
    for (key, nice) in [("even", 0), ("better", -1)] {
        let [first, both] = two(nice)?;
        numbers.push((format!("{key}_a"), 100.0 * first / both));
    }
    Ok(numbers)
}
