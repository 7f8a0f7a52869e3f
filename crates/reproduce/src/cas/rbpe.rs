// SPDX-License-Identifier: MIT OR Apache-2.0
//! Request-based priority elevation [CAS §5.1], which is `appease` with mode=rbpe.

use super::formulas::{self, Elevated};
use super::scene::{Scene, Scheduler, Unhappiness};
use super::slices::{arrivals_us, LATENCY_MS};
use super::{details, ms, told, Parts, NS};
use crate::error::Error;
use crate::figure::Found;
use crate::pool;
use crate::Job;

/// Of a task that is not elevated.
const QUANTUM_MS: f64 = 1.0;
/// Nice levels of Table 1 (UNIX sockets) for a load average of N - 1: 2048, 6144, 14336 and 24576.
const NICE: [u32; NS.len()] = [1, 4, 7, 15];

/// CPU time in slices of the elevated task.
const CASES: [(Parts<u32>, &str); 3] = [
    (Parts::Alone(1), "slice"),
    (Parts::Alone(10), "alone"),
    (Parts::WithService([4, 4, 4]), "service"),
];

pub(super) const SET: [(&str, &str); 3] =
    [("mode", "rbpe"), ("quantum_ns", "1000000"), ("load_window_ns", "200000000")];

/// By eq. 19 the others' slices are a quantum long if sch_lat is this.
fn elevated(n: u32, nice: u32) -> Elevated {
    let n = f64::from(n);
    let latency = QUANTUM_MS * (n - 1.0 + libm::pow(1.25, f64::from(nice)));
    Elevated { n, latency, nice, decays: false }
}

/// CPU times of so many slices of the elevated task, in whole microseconds.
fn times_us(parts: &Parts<u32>, nice: u32) -> Parts<u64> {
    let slice_us = QUANTUM_MS * 1_000.0 * libm::pow(1.25, f64::from(nice));
    parts.map(|z| libm::round(f64::from(z) * slice_us) as u64)
}

pub(super) fn run(job: &Job<'_>) -> Result<Vec<Found>, Error> {
    let of = |parts: Parts<u32>| NS.into_iter().zip(NICE).map(move |(n, nice)| (parts, n, nice));
    let cases: Vec<(Parts<u32>, u32, u32)> = CASES.iter().flat_map(|(p, _)| of(*p)).collect();
    job.progress.announce(cases.len() as u64);
    let arrivals_us = arrivals_us();
    let waits: Vec<Unhappiness> = pool::map(job.threads, &cases, |(parts, n, nice)| {
        let parts = times_us(parts, *nice);
        let scene = Scene { n: *n, parts, arrivals_us: &arrivals_us };
        let found = scene.run(&Scheduler { policy: "appease", set: &SET })?;
        job.progress.advance(1);
        Ok(found)
    })?;
    let row = |((parts, n, nice), found): (&(Parts<u32>, u32, u32), &Unhappiness)| {
        let slice = QUANTUM_MS * libm::pow(1.25, f64::from(*nice));
        let taus = parts.map(|z| f64::from(z) * slice);
        let (tau, taus): (f64, &[f64]) = (taus.as_slice().iter().sum(), taus.as_slice());
        let of = elevated(*n, *nice);
        vec![
            told(parts),
            n.to_string(),
            format!("-{nice}"),
            format!("{tau:.1}"),
            ms(Elevated { decays: true, ..of }.printed(taus)),
            ms(Elevated { decays: true, ..of }.by_definition(taus)),
            ms(of.by_definition(taus)),
            ms(found.mean),
            format!("{:.1}–{:.1}", found.least, found.most),
            ms(formulas::cfs(of.n, LATENCY_MS, taus)),
        ]
    };
    let header = [
        "slices",
        "N",
        "nice",
        "tau (ms)",
        "as printed",
        "by definition, d = q (ms)",
        "by definition, d of Table 1 (ms)",
        "here (ms)",
        "from–to",
        "CFS by definition, sch_lat 20.8 ms (ms)",
    ];
    let rows = cases.iter().zip(&waits).map(row).collect();
    let mut numbers = Vec::new();
    for ((_, case), waits) in CASES.iter().zip(waits.chunks(NS.len())) {
        numbers.extend(
            NS.iter().zip(waits).map(|(n, found)| (format!("{case}_{n}"), found.measured())),
        );
    }
    Ok(vec![Found {
        id: "rbpe",
        ran:
            "appease with mode=rbpe and a quantum of 1 ms; requests at a UNIX socket, of which 16 \
              come a second and a little apart, and each is judged. The load average is of 200 ms, \
              so that it is N - 1 when they come: nice -1, -4, -7 and -15 by Table 1. The request \
              needs slices of 1.25^nice ms."
                .into(),
        numbers,
        tables: vec![details("Unhappiness, by slices that the request needs", &header, rows)],
        drawings: Vec::new(),
    }])
}
