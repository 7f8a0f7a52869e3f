// SPDX-License-Identifier: MIT OR Apache-2.0
//! Table 1, the column of UNIX sockets: the nice level of who receives a request, by the load
//! [CAS §6]. It is seen in how long the others have the CPU beside it.

use super::rbpe::SET;
use super::scene::{Scene, Scheduler};
use super::{table, Parts};
use crate::error::Error;
use crate::figure::{plain, Found};
use crate::pool;
use crate::Job;

/// Tasks beside the request's, which are the load; CPU time of the request, so that all of it is
/// done before the level's first delay is over, in ms.
const ROWS: [(u32, u64); 6] = [(1, 80), (2, 120), (3, 160), (5, 200), (7, 220), (12, 300)];
/// The request comes when the load average has settled.
const ARRIVAL_US: u64 = 3_000_123;
/// A level is a factor of 1.25 [§5.1].
const STEP: f64 = 1.25;

pub(super) fn run(job: &Job<'_>) -> Result<Vec<Found>, Error> {
    job.progress.announce(ROWS.len() as u64);
    let waits = pool::map(job.threads, &ROWS, |(others, served_ms)| {
        let parts = Parts::Alone(served_ms * 1_000);
        let scene = Scene { n: others + 1, parts, arrivals_us: &[ARRIVAL_US] };
        let found = scene.run(&Scheduler { policy: "appease", set: &SET })?;
        job.progress.advance(1);
        Ok(found.mean)
    })?;
    let (mut numbers, mut rows) = (Vec::new(), Vec::new());
    for ((others, served_ms), wait) in ROWS.iter().zip(&waits) {
        let level = level(*others, *served_ms as f64, *wait);
        numbers.push((format!("nice_{others}"), level));
        let avenrun = others * 2048;
        rows.push(vec![
            others.to_string(),
            avenrun.to_string(),
            served_ms.to_string(),
            format!("{wait:.1}"),
            format!("{level:.2}"),
        ]);
    }
    let header = ["other tasks", "avenrun", "served (ms)", "waited (ms)", "nice"];
    Ok(vec![Found {
        id: "table1",
        ran: "appease with mode=rbpe and a quantum of 1 ms: a request at a UNIX socket beside 1, 2, \
              3, 5, 7 and 12 tasks that compute, an avenrun of 2048 for each. While it is served for \
              S the others have the CPU for W, so that its weight is (N - 1) S / W, and its nice \
              level that weight's logarithm to the base 1.25. It ends before the first delay."
            .into(),
        numbers: plain(numbers),
        tables: vec![table("Levels", &header, rows)],
        drawings: Vec::new(),
    }])
}

/// The nice level at which others have the CPU for so long.
fn level(others: u32, served_ms: f64, waited_ms: f64) -> f64 {
    -libm::log(f64::from(others) * served_ms / waited_ms) / libm::log(STEP)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_level_is_that_of_the_weight() {
        // Four others have 4 parts of 4 + 1.25² while the request has 1.25².
        assert!((level(4, 1.5625 * 8.0, 4.0 * 8.0) + 2.0).abs() < 1e-9);
        assert!(level(3, 10.0, 30.0).abs() < 1e-9);
    }
}
