// SPDX-License-Identifier: MIT OR Apache-2.0
//! A multilevel feedback queue [CAS §3.2].

use super::scene::{Scene, Scheduler, Socket};
use super::{details, formulas, ms, told, Parts, NS};
use crate::error::Error;
use crate::figure::{plain, Found};
use crate::pool;
use crate::Job;

const QUANTUM_US: u64 = 4_000;
const QUANTUM_MS: f64 = 4.0;
const QUEUES: u32 = 4;

/// Quanta that the request needs, the queue that the others are in when it comes, and what its
/// numbers are called if they are set against the paper's.
const CASES: [(Parts<u32>, u32, Option<&str>); 9] = [
    (Parts::Alone(1), 0, None),
    (Parts::Alone(3), 0, None),
    (Parts::Alone(7), 0, Some("alone")),
    (Parts::WithService([1, 1, 1]), 0, None),
    (Parts::WithService([1, 3, 7]), 0, Some("service")),
    (Parts::WithService([7, 7, 7]), 0, None),
    (Parts::Alone(7), QUEUES - 1, Some("sunk")),
    (Parts::Alone(15), QUEUES - 1, Some("last")),
    (Parts::WithService([7, 7, 7]), QUEUES - 1, Some("sunk_service")),
];

pub(super) fn run(job: &Job<'_>) -> Result<Vec<Found>, Error> {
    let cases: Vec<(Parts<u32>, u32, u32)> =
        CASES.iter().flat_map(|(parts, from, _)| NS.map(|n| (*parts, *from, n))).collect();
    job.progress.announce(cases.len() as u64);
    let waits = pool::map(job.threads, &cases, |(parts, from, n)| {
        let (quantum_ns, levels) = ((QUANTUM_US * 1_000).to_string(), QUEUES.to_string());
        let set = [("quantum_ns", &*quantum_ns), ("levels", &*levels)];
        let others = u64::from(n - 1);
        // 1 us after the others came into that queue, or after the tenth of their rounds there.
        let sunk_us = ((1 << *from) - 1) * QUANTUM_US * others;
        let rounds = if *from == 0 { 0 } else { 10 * others * (QUANTUM_US << *from) };
        let arrivals_us = [sunk_us + rounds + 1];
        let parts = parts.map(|z| u64::from(z) * QUANTUM_US);
        let scene = Scene { n: *n, parts, arrivals_us: &arrivals_us, socket: Socket::Unix };
        let found = scene.run(&Scheduler { policy: "mlfq", set: &set })?;
        job.progress.advance(1);
        Ok(found.mean)
    })?;
    let row = |((parts, from, n), found): (&(Parts<u32>, u32, u32), &f64)| {
        let (of, z) = (f64::from(*n), parts.as_slice());
        vec![
            told(parts),
            format!("Q{from}"),
            n.to_string(),
            ms(formulas::mlfq_printed(of, QUANTUM_MS, z)),
            ms(formulas::mlfq(of - 1.0, *from, QUEUES, QUANTUM_MS, z)),
            ms(*found),
        ]
    };
    let header =
        ["Z", "others begin in", "N", "as printed (ms)", "by definition (ms)", "here (ms)"];
    let rows = cases.iter().zip(&waits).map(row).collect();
    let mut numbers = Vec::new();
    for ((_, _, key), waits) in CASES.iter().zip(waits.chunks(NS.len())) {
        let Some(key) = key else { continue };
        for (n, found) in NS.iter().zip(waits) {
            // Beside the formula by definition, and beside what is printed.
            numbers.push((format!("{key}_{n}"), *found));
            numbers.push((format!("{key}_printed_{n}"), *found));
        }
    }
    Ok(vec![Found {
        id: "mlfq",
        ran: "Four queues with quanta of 4, 8, 16 and 32 ms. The others come together, and the \
              request 1 us after them, so that all are in Q0; or they have computed for long, are in \
              the last queue, Q3, and it comes 1 us after one of their quanta began. As printed has \
              a = N in every queue."
            .into(),
        numbers: plain(numbers),
        tables: vec![details("Unhappiness, by quanta that the request needs", &header, rows)],
        drawings: Vec::new(),
    }])
}
