// SPDX-License-Identifier: MIT OR Apache-2.0
//! Table 1 row by row: the nice level of a task that receives a request at a UNIX or a network
//! socket, by the load, and the time until it is one less [CAS §6]. Seen in the slices, which
//! have the ratio of the weights [eq. 19].

use super::scene::{Scene, Scheduler, Socket};
use super::{details, median, Parts};
use crate::error::Error;
use crate::figure::{plain, Found};
use crate::pool;
use crate::runs::Run;
use crate::Job;

/// A row of the table: its bound, and the other tasks, which are the load.
const ROWS: [(&str, u32); 7] = [
    ("≤ 1600", 0),
    ("≤ 3000", 1),
    ("≤ 5000", 2),
    ("≤ 8000", 3),
    ("≤ 12000", 5),
    ("≤ 16000", 7),
    ("> 16000", 12),
];
/// The request comes when the load average has settled, and needs more than any first delay.
const ARRIVAL_US: u64 = 4_000_123;
const SERVED_US: u64 = 600_000;
/// Before the least delay of the table is over.
const FIRST_MS: f64 = 150.0;
/// The row whose level is followed until it is 0, and the middles of its three delays.
const FALLS: u32 = 2;
const FALLS_AT_MS: [f64; 3] = [150.0, 450.0, 750.0];
/// A level is a factor of 1.25 [§5.1].
const STEP: f64 = 1.25;

/// How fast the load average follows: it may not leave its row while a level lasts.
const SECOND: &str = "1000000000";
const FOUR_SECONDS: &str = "4000000000";
/// In which others who began 4 s ago are hardly a load.
const MINUTES: &str = "1000000000000";

/// Turns of a request that is served among `others` + 1.
fn turns(others: u32, socket: Socket, load_window_ns: &str, after_us: u64) -> Result<Turns, Error> {
    let set = [
        ("sched_latency_ns", "4000000"),
        ("sched_min_granularity_ns", "10000"),
        ("sched_wakeup_granularity_ns", "0"),
        ("no_new_fair_sleepers", "true"),
        ("load_window_ns", load_window_ns),
    ];
    let arrivals_us = [after_us];
    let parts = Parts::Alone(SERVED_US);
    let scene = Scene { n: others + 1, parts, arrivals_us: &arrivals_us, socket };
    Ok(Turns(scene.turns(&Scheduler { policy: "rbpe", set: &set })?))
}

/// Times on the CPU since the request came; client 0 serves it.
struct Turns(Vec<Run>);

impl Turns {
    /// How long turns are that lie between these times.
    fn length_ms(&self, serves: bool, from_ms: f64, to_ms: f64) -> f64 {
        let ms = |ns: u64| ns as f64 / 1e6;
        let within = self.0.iter().filter(|run| {
            (run.client == 0) == serves && ms(run.from_ns) >= from_ms && ms(run.to_ns) <= to_ms
        });
        median(within.map(|run| ms(run.to_ns - run.from_ns)).collect())
    }

    /// The nice level whose weight is that ratio of slices.
    fn level(&self, from_ms: f64, to_ms: f64) -> f64 {
        let length_ms = |serves| self.length_ms(serves, from_ms, to_ms);
        let level = -libm::log(length_ms(true) / length_ms(false)) / libm::log(STEP);
        // No minus before 0.
        level + 0.0
    }

    /// From when it reads the request until its first shorter slice: a level less makes 7 % at least.
    fn delay_ms(&self) -> f64 {
        let full_ns = self.length_ms(true, 0.0, FIRST_MS) * 1e6;
        let shorter = |run: &&Run| ((run.to_ns - run.from_ns) as f64) < 0.97 * full_ns;
        let mut serves = self.0.iter().filter(|run| run.client == 0).peekable();
        let read_ns = serves.peek().map_or(0, |run| run.from_ns);
        let end_ns = serves.find(shorter).map(|run| run.from_ns - read_ns);
        end_ns.map_or(f64::NAN, |ns| ns as f64 / 1e6)
    }
}

/// What a row comes to: levels by UNIX and network socket, and the delay of the first.
fn row(others: u32) -> Result<[f64; 3], Error> {
    let levels = |socket| match others {
        // A load of 0 needs others to be seen, as many as in the second row but one.
        0 => turns(FALLS, socket, MINUTES, ARRIVAL_US),
        others => turns(others, socket, SECOND, ARRIVAL_US),
    };
    let (unix, network) = (levels(Socket::Unix)?, levels(Socket::Network)?);
    let delay_ms = if others == 0 { f64::NAN } else { unix.delay_ms() };
    Ok([unix.level(0.0, FIRST_MS), network.level(0.0, FIRST_MS), delay_ms])
}

pub(super) fn run(job: &Job<'_>) -> Result<Vec<Found>, Error> {
    job.progress.announce(ROWS.len() as u64 + 1);
    let found = pool::map(job.threads, &ROWS, |(_, others)| {
        let found = row(*others)?;
        job.progress.advance(1);
        Ok(found)
    })?;
    let falls = turns(FALLS, Socket::Unix, FOUR_SECONDS, 4 * ARRIVAL_US)?;
    job.progress.advance(1);
    let (mut numbers, mut rows) = (Vec::new(), Vec::new());
    for ((bound, others), [unix, network, delay_ms]) in ROWS.iter().zip(&found) {
        numbers.push((format!("unix_{others}"), *unix));
        numbers.push((format!("network_{others}"), *network));
        let delay = if *others > 0 { format!("{delay_ms:.1}") } else { "–".into() };
        if *others > 0 {
            numbers.push((format!("delay_{others}"), *delay_ms));
        }
        let avenrun = (others * 2048).to_string();
        rows.push(vec![
            (*bound).to_owned(),
            avenrun,
            format!("{unix:.2}"),
            format!("{network:.2}"),
            delay,
        ]);
    }
    for at_ms in FALLS_AT_MS {
        numbers.push((format!("falls_{at_ms}"), falls.level(at_ms - 100.0, at_ms + 100.0)));
    }
    let header = ["row", "avenrun", "nice, UNIX socket", "nice, network", "delay (ms)"];
    Ok(vec![Found {
        id: "table1",
        ran: "rbpe, with a sch_lat of 4 ms, no credit for sleep, and a load average of 1 s: a \
              request of 600 ms next to 1, 2, 3, 5, 7 and 12 tasks that compute, an avenrun of \
              2048 for each. The weight is the ratio of its slices to the others', and its nice level \
              the logarithm of that to the base 1.25. A delay ends where its slices become shorter. \
              For a load of 0 two tasks began a moment ago. For how a level falls, the load average \
              is of 4 s."
            .into(),
        numbers: plain(numbers),
        tables: vec![details("Levels and delays", &header, rows)],
        drawings: Vec::new(),
    }])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn level_and_delay_are_those_of_the_slices() {
        // Until 160 ms turns of 5 ms, then of 4, between others' of 3.2: a ratio of 1.25² / 1, 1.25.
        let mut runs = vec![Run { client: 1, from_ns: 0, to_ns: 1_000_000 }];
        let mut at_ns = 1_000_000;
        while at_ns < 400_000_000 {
            let mine = if at_ns < 161_000_000 { 5_000_000 } else { 4_000_000 };
            for (client, length) in [(0, mine), (1, 3_200_000)] {
                runs.push(Run { client, from_ns: at_ns, to_ns: at_ns + length });
                at_ns += length;
            }
        }
        let turns = Turns(runs);
        assert!((turns.level(0.0, 150.0) + 2.0).abs() < 1e-9);
        assert!((turns.level(200.0, 400.0) + 1.0).abs() < 1e-9);
        // 20 rounds of 8.2 ms.
        assert_eq!(turns.delay_ms(), 164.0);
    }
}
