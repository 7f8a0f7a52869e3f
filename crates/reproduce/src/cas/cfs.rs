// SPDX-License-Identifier: MIT OR Apache-2.0
//! Linux' completely fair scheduler [CAS §3.3].

use super::scene::{Scene, Scheduler, Unhappiness};
use super::{formulas, ms, table, told, Parts, NS};
use crate::error::Error;
use crate::figure::Found;
use crate::pool;
use crate::Job;

/// Divided by any of `NS` these are whole microseconds.
pub(super) const LATENCY_US: u64 = 20_800;
pub(super) const LATENCY_MS: f64 = 20.8;

/// CPU time in slices q(N) = sch_lat / N.
const CASES: [(Parts<u32>, &str); 4] = [
    (Parts::Alone(1), "slice"),
    (Parts::Alone(4), "few"),
    (Parts::Alone(10), "alone"),
    (Parts::WithService([4, 4, 4]), "service"),
];

/// As §3.3 counts: who wakes up is leftmost, at the least virtual time, and has no credit.
const PLAIN: [(&str, &str); 4] = [
    ("sched_latency_ns", "20800000"),
    ("sched_min_granularity_ns", "10000"),
    ("no_new_fair_sleepers", "true"),
    ("sched_wakeup_granularity_ns", "0"),
];
/// As Linux 2.6.24 has it, but that slices are sch_lat / N for every N.
const CREDIT: [(&str, &str); 2] =
    [("sched_latency_ns", "20800000"), ("sched_min_granularity_ns", "10000")];

/// So many requests, at times that have nothing to do with slices.
const REQUESTS: u64 = 16;

pub(super) fn arrivals_us() -> Vec<u64> {
    (1..=REQUESTS).map(|at| at * 1_000_000 + at * 1_237).collect()
}

pub(super) fn run(job: &Job<'_>) -> Result<Vec<Found>, Error> {
    let cases: Vec<(Parts<u32>, u32)> =
        CASES.iter().flat_map(|(parts, _)| NS.map(|n| (*parts, n))).collect();
    job.progress.announce(cases.len() as u64);
    let arrivals_us = arrivals_us();
    let waits: Vec<[Unhappiness; 2]> = pool::map(job.threads, &cases, |(parts, n)| {
        let parts = parts.map(|z| u64::from(z) * LATENCY_US / u64::from(*n));
        let scene = Scene { n: *n, parts, arrivals_us: &arrivals_us };
        let plain = scene.run(&Scheduler { policy: "cfs", set: &PLAIN })?;
        let credit = scene.run(&Scheduler { policy: "cfs", set: &CREDIT })?;
        job.progress.advance(1);
        Ok([plain, credit])
    })?;
    let row = |((parts, n), found): (&(Parts<u32>, u32), &[Unhappiness; 2])| {
        let of = f64::from(*n);
        let taus = parts.map(|z| f64::from(z) * LATENCY_MS / of);
        let (tau, taus): (f64, &[f64]) = (taus.as_slice().iter().sum(), taus.as_slice());
        let mut row = vec![
            told(parts),
            n.to_string(),
            format!("{tau:.1}"),
            ms(formulas::cfs_printed(of, LATENCY_MS, taus)),
            ms(formulas::cfs(of, LATENCY_MS, taus)),
        ];
        for found in found {
            row.push(ms(found.mean));
            row.push(format!("{:.1}–{:.1}", found.least, found.most));
        }
        row.push(match parts {
            Parts::Alone(_) => ms(formulas::cfs_with_credit(of, LATENCY_MS, tau)),
            Parts::WithService(_) => "–".into(),
        });
        row
    };
    let header = [
        "slices",
        "N",
        "tau (ms)",
        "as printed",
        "by definition (ms)",
        "no credit (ms)",
        "from–to",
        "2.6.24 (ms)",
        "from–to",
        "fluid with credit (ms)",
    ];
    let rows = cases.iter().zip(&waits).map(row).collect();
    let mut numbers = Vec::new();
    for ((_, case), waits) in CASES.iter().zip(waits.chunks(NS.len())) {
        for (n, [plain, credit]) in NS.iter().zip(waits) {
            match *case {
                "slice" => numbers.push((format!("least_{n}"), credit.mean)),
                "alone" => {
                    numbers.push((format!("alone_{n}"), plain.mean));
                    numbers.push((format!("alone_2624_{n}"), credit.mean));
                    numbers.push((format!("credit_{n}"), credit.mean));
                }
                "service" => {
                    numbers.push((format!("service_{n}"), plain.mean));
                    numbers.push((format!("service_2624_{n}"), credit.mean));
                }
                _ => {}
            }
        }
    }
    Ok(vec![Found {
        id: "cfs",
        ran: format!(
            "sch_lat is 20.8 ms, and the least granularity 10 us, so that q(N) = sch_lat / N; \
             {REQUESTS} requests, a second and a little apart, of which the mean counts. Once as §3.3 \
             counts (who slept begins at the least virtual time and preempts: no_new_fair_sleepers, \
             a wakeup granularity of 0: “no credit”), and once with the sleeper's credit and the \
             wakeup granularity of Linux 2.6.24."
        ),
        numbers,
        tables: vec![table("Unhappiness, by slices q(N) that the request needs", &header, rows)],
        drawings: Vec::new(),
    }])
}
