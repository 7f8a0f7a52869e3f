// SPDX-License-Identifier: MIT OR Apache-2.0
//! Round robin [CAS §3.1].

use super::scene::{Scene, Scheduler, Socket};
use super::{details, formulas, ms, told, Parts, NS};
use crate::error::Error;
use crate::figure::{plain, Found};
use crate::pool;
use crate::Job;

const QUANTUM_US: u64 = 4_000;
const QUANTUM_MS: f64 = 4.0;
const CASES: [Parts<u32>; 5] = [
    Parts::Alone(1),
    Parts::Alone(2),
    Parts::Alone(5),
    Parts::WithService([1, 1, 1]),
    Parts::WithService([1, 2, 1]),
];
/// Which are set against the paper's numbers.
const JUDGED: [(usize, &str); 2] = [(2, "alone"), (4, "service")];

pub(super) fn run(job: &Job<'_>) -> Result<Vec<Found>, Error> {
    let cases: Vec<(Parts<u32>, u32)> =
        CASES.iter().flat_map(|parts| NS.map(|n| (*parts, n))).collect();
    job.progress.announce(cases.len() as u64);
    let waits = pool::map(job.threads, &cases, |(parts, n)| {
        let quantum_ns = (QUANTUM_US * 1_000).to_string();
        let set = [("quantum_ns", &*quantum_ns)];
        // 1 us after a quantum began.
        let arrivals_us = [100 * u64::from(n - 1) * QUANTUM_US + 1];
        let parts = parts.map(|z| u64::from(z) * QUANTUM_US);
        let scene = Scene { n: *n, parts, arrivals_us: &arrivals_us, socket: Socket::Unix };
        let found = scene.run(&Scheduler { policy: "rr", set: &set })?;
        job.progress.advance(1);
        Ok(found.mean)
    })?;
    let row = |((parts, n), found): (&(Parts<u32>, u32), &f64)| {
        let (of, z) = (f64::from(*n), parts.as_slice());
        vec![
            told(parts),
            n.to_string(),
            ms(formulas::rr_printed(of, QUANTUM_MS, z)),
            ms(formulas::rr(of, QUANTUM_MS, z)),
            ms(*found),
        ]
    };
    let header = ["Z", "N", "as printed (ms)", "by definition (ms)", "here (ms)"];
    let rows = cases.iter().zip(&waits).map(row).collect();
    let number = |(case, key): (usize, &'static str)| {
        let waits = NS.iter().zip(&waits[case * NS.len()..]);
        // Beside the formula by definition, and beside what is printed.
        waits.flat_map(move |(n, found)| {
            [(format!("{key}_{n}"), *found), (format!("{key}_printed_{n}"), *found)]
        })
    };
    Ok(vec![Found {
        id: "rr",
        ran: "Quanta of 4 ms. The request comes 1 us after a quantum of another task began.".into(),
        numbers: plain(JUDGED.into_iter().flat_map(number)),
        tables: vec![details("Unhappiness, by quanta that the request needs", &header, rows)],
        drawings: Vec::new(),
    }])
}
