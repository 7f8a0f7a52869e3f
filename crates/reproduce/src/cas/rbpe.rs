// SPDX-License-Identifier: MIT OR Apache-2.0
//! Request-based priority elevation on CFS [CAS §5.1, §5.2]: the policy `rbpe`, beside `cfs`.

use super::formulas::Elevated;
use super::scene::{Scene, Scheduler, Socket, Unhappiness};
use super::{details, median, ms, told, Parts, NS};
use crate::error::Error;
use crate::figure::{Found, Measured};
use crate::pool;
use crate::runs::Run;
use crate::Job;

/// Short enough for ten periods within the least delay of Table 1.
const LATENCY_MS: f64 = 5.2;
/// Nice levels of Table 1 (UNIX sockets) for a load average of N - 1: 2048, 6144, 14336 and 24576.
const NICE: [u32; NS.len()] = [1, 4, 7, 15];

/// From when the load average has settled, at times that have nothing to do with slices.
fn arrivals_us() -> Vec<u64> {
    (0..8).map(|at| 5_000_000 + at * 1_001_237).collect()
}

/// CPU time in slices of the elevated task.
const CASES: [(Parts<u32>, &str); 3] = [
    (Parts::Alone(1), "slice"),
    (Parts::Alone(10), "alone"),
    (Parts::WithService([4, 4, 4]), "service"),
];
/// As the kernel's steps of weights are not quite 1.25, a request is a bit shorter than its slices.
const OF_SLICES: f64 = 0.99;

/// As the paper counts, without credit for sleep; for `rbpe` the load average is of a second.
const PLAIN: [(&str, &str); 5] = [
    ("sched_latency_ns", "5200000"),
    ("sched_min_granularity_ns", "10000"),
    ("sched_wakeup_granularity_ns", "0"),
    ("no_new_fair_sleepers", "true"),
    ("load_window_ns", "1000000000"),
];
/// As Linux 2.6.24 has it: the wakeup granularity is half of the latency.
const CREDIT: [(&str, &str); 4] = [
    ("sched_latency_ns", "5200000"),
    ("sched_min_granularity_ns", "10000"),
    ("sched_wakeup_granularity_ns", "2600000"),
    ("load_window_ns", "1000000000"),
];

const HEADER: [&str; 12] = [
    "slices",
    "N",
    "nice",
    "tau (ms)",
    "as printed",
    "by definition, d = q (ms)",
    "by definition, d of Table 1 (ms)",
    "no credit (ms)",
    "from–to",
    "2.6.24 (ms)",
    "from–to",
    "cfs, no credit (ms)",
];

/// Requests of a case.
struct Asked {
    parts: Parts<u32>,
    case: &'static str,
    n: u32,
    nice: u32,
    plain: Unhappiness,
    credit: Unhappiness,
    cfs: Unhappiness,
    /// Lengths of a turn of P_j, and of another task, without credit, in ms.
    turns_ms: (f64, f64),
}

impl Asked {
    fn elevated(&self) -> Elevated {
        elevated(self.n, self.nice)
    }

    fn taus_ms(&self) -> Parts<f64> {
        times_us(&self.parts, self.n, self.nice).map(|us| us as f64 / 1e3)
    }

    fn numbers(&self) -> Vec<(String, Measured)> {
        let key = |name: &str| format!("{name}_{}", self.n);
        match self.case {
            "slice" => vec![(key("least"), self.credit.measured())],
            "alone" => {
                let fair_ms = LATENCY_MS / f64::from(self.n);
                vec![
                    (key("mine"), self.turns_ms.0.into()),
                    (key("others"), self.turns_ms.1.into()),
                    (key("longer"), (self.turns_ms.0 / fair_ms).into()),
                    (key("alone"), self.plain.measured()),
                    (key("alone_2624"), self.credit.measured()),
                    (key("credit"), self.credit.measured()),
                    (key("of_cfs"), (self.plain.mean / self.cfs.mean).into()),
                ]
            }
            _ => {
                let mut numbers = vec![
                    (key("service"), self.plain.measured()),
                    (key("service_of_cfs"), (self.plain.mean / self.cfs.mean).into()),
                ];
                // The paper's Z <= nice + 1.
                if self.parts.as_slice().iter().all(|z| *z <= self.nice + 1) {
                    numbers.push((key("service_printed"), self.plain.measured()));
                }
                numbers
            }
        }
    }

    fn row(&self) -> Vec<String> {
        let taus = self.taus_ms();
        let (tau, taus): (f64, &[f64]) = (taus.as_slice().iter().sum(), taus.as_slice());
        let of = self.elevated();
        let range = |found: &Unhappiness| format!("{:.1}–{:.1}", found.least, found.most);
        vec![
            told(&self.parts),
            self.n.to_string(),
            format!("-{}", self.nice),
            format!("{tau:.1}"),
            ms(Elevated { decays: true, ..of }.printed(taus)),
            ms(Elevated { decays: true, ..of }.by_definition(taus)),
            ms(of.by_definition(taus)),
            ms(self.plain.mean),
            range(&self.plain),
            ms(self.credit.mean),
            range(&self.credit),
            ms(self.cfs.mean),
        ]
    }
}

fn elevated(n: u32, nice: u32) -> Elevated {
    Elevated { n: f64::from(n), latency: LATENCY_MS, nice, decays: false }
}

/// CPU times of so many slices of the elevated task [CAS eq. 19], in whole microseconds.
fn times_us(parts: &Parts<u32>, n: u32, nice: u32) -> Parts<u64> {
    let slice_us = elevated(n, nice).slice() * 1e3;
    parts.map(|z| (f64::from(z) * slice_us * OF_SLICES) as u64)
}

/// Turns of P_j, and of others between its first one and its last.
fn turns_ms(turns: &[Run]) -> (f64, f64) {
    let ms = |run: &Run| (run.to_ns - run.from_ns) as f64 / 1e6;
    let served = turns.iter().rposition(|run| run.client == 0).map_or(&[][..], |at| &turns[..at]);
    let of = |mine: bool| {
        let turns = served.iter().skip_while(|run| run.client != 0);
        median(turns.filter(|run| (run.client == 0) == mine).map(ms).collect())
    };
    (of(true), of(false))
}

pub(super) fn run(job: &Job<'_>) -> Result<Vec<Found>, Error> {
    let of = |case: &(Parts<u32>, &'static str)| {
        let case = *case;
        NS.into_iter().zip(NICE).map(move |(n, nice)| (case, n, nice))
    };
    let cases: Vec<_> = CASES.iter().flat_map(of).collect();
    job.progress.announce(cases.len() as u64);
    let arrivals_us = arrivals_us();
    let asked = pool::map(job.threads, &cases, |((parts, case), n, nice)| {
        let times = times_us(parts, *n, *nice);
        let scene = Scene { n: *n, parts: times, arrivals_us: &arrivals_us, socket: Socket::Unix };
        let plain = Scheduler { policy: "rbpe", set: &PLAIN };
        // That of the load is of `rbpe` alone.
        let cfs = Scheduler { policy: "cfs", set: &PLAIN[..4] };
        let first = Scene { arrivals_us: &arrivals_us[..1], ..scene };
        let asked = Asked {
            parts: *parts,
            case,
            n: *n,
            nice: *nice,
            plain: scene.run(&plain)?,
            credit: scene.run(&Scheduler { policy: "rbpe", set: &CREDIT })?,
            cfs: scene.run(&cfs)?,
            turns_ms: turns_ms(&first.turns(&plain)?),
        };
        job.progress.advance(1);
        Ok(asked)
    })?;
    Ok(vec![Found {
        id: "rbpe",
        ran: "The policy rbpe, and cfs for comparison, with a sch_lat of 5.2 ms and a least \
              granularity of 10 us; requests at a UNIX socket, of which 8 come a second and a \
              little apart, and each is judged. The load average is N - 1 when they come: nice -1, \
              -4, -7 and -15 by Table 1. CPU times are 0.99 of so many slices of eq. 19, as the \
              kernel's weights are in steps of not quite 1.25. Once as the paper counts (“no \
              credit”), and once with the sleeper's credit of Linux 2.6.24."
            .into(),
        numbers: asked.iter().flat_map(Asked::numbers).collect(),
        tables: vec![details(
            "Unhappiness, by slices that the request needs",
            &HEADER,
            asked.iter().map(Asked::row).collect(),
        )],
        drawings: Vec::new(),
    }])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_are_of_the_time_in_which_it_is_served() {
        let run = |client, from_ns, to_ns| Run { client, from_ns, to_ns };
        // Another's first, two rounds of 3 and 1 + 1 ms, a last turn that ends early, and others.
        let mut turns = vec![run(1, 0, 9_000_000)];
        for at in [10_000_000, 15_000_000] {
            turns.push(run(0, at, at + 3_000_000));
            turns.push(run(1, at + 3_000_000, at + 4_000_000));
            turns.push(run(2, at + 4_000_000, at + 5_000_000));
        }
        turns.push(run(0, 20_000_000, 20_500_000));
        turns.push(run(1, 20_500_000, 29_000_000));
        assert_eq!(turns_ms(&turns), (3.0, 1.0));
    }
}
