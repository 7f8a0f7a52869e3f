// SPDX-License-Identifier: MIT OR Apache-2.0
//! Scheduling by unhappiness [CAS §4]: `appease`, for what §3 and §5.1 ask of the others.

use super::cfs::{arrivals_us, LATENCY_MS, LATENCY_US};
use super::scene::{Scene, Scheduler, Unhappiness};
use super::{formulas, ms, table, told, Parts, NS};
use crate::error::Error;
use crate::figure::Found;
use crate::pool;
use crate::Job;

/// The same CPU times as under CFS.
const CASES: [(Parts<u32>, &str); 2] =
    [(Parts::Alone(10), "alone"), (Parts::WithService([4, 4, 4]), "service")];

/// The paper has no reserve; ours is 5 % by default.
const SETS: [&[(&str, &str)]; 2] = [&[("reserve", "0")], &[]];

pub(super) fn run(job: &Job<'_>) -> Result<Vec<Found>, Error> {
    let cases: Vec<(Parts<u32>, u32)> =
        CASES.iter().flat_map(|(parts, _)| NS.map(|n| (*parts, n))).collect();
    job.progress.announce(cases.len() as u64);
    let arrivals_us = arrivals_us();
    let waits: Vec<[Unhappiness; 2]> = pool::map(job.threads, &cases, |(parts, n)| {
        let parts = parts.map(|z| u64::from(z) * LATENCY_US / u64::from(*n));
        let scene = Scene { n: *n, parts, arrivals_us: &arrivals_us };
        let [none, five] = SETS.map(|set| scene.run(&Scheduler { policy: "appease", set }));
        job.progress.advance(1);
        Ok([none?, five?])
    })?;
    let row = |((parts, n), found): (&(Parts<u32>, u32), &[Unhappiness; 2])| {
        let of = f64::from(*n);
        let taus = parts.map(|z| f64::from(z) * LATENCY_MS / of);
        let (tau, taus): (f64, &[f64]) = (taus.as_slice().iter().sum(), taus.as_slice());
        let [none, five] = found;
        vec![
            told(parts),
            n.to_string(),
            format!("{tau:.1}"),
            ms(none.most),
            ms(five.mean),
            format!("{:.1}–{:.1}", five.least, five.most),
            ms(formulas::cfs(of, LATENCY_MS, taus)),
        ]
    };
    let header = [
        "slices of CFS",
        "N",
        "tau (ms)",
        "at most, without reserve (ms)",
        "with 5 % (ms)",
        "from–to",
        "CFS by definition (ms)",
    ];
    let rows = cases.iter().zip(&waits).map(row).collect();
    let mut numbers = Vec::new();
    for ((_, case), waits) in CASES.iter().zip(waits.chunks(NS.len())) {
        for (n, [none, five]) in NS.iter().zip(waits) {
            numbers.push((format!("{case}_{n}"), none.most));
            numbers.push((format!("reserve_{case}_{n}"), five.most));
        }
    }
    Ok(vec![Found {
        id: "appease",
        ran: "The requests of CFS' scenario under appease, once without its reserve for those who \
              serve nobody, as the paper has none, and once with the default of 5 % and quanta of \
              4 ms. The longest wait of the 16 requests counts."
            .into(),
        numbers,
        tables: vec![table("Unhappiness", &header, rows)],
        drawings: Vec::new(),
    }])
}
