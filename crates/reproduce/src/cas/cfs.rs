// SPDX-License-Identifier: MIT OR Apache-2.0
//! Linux' completely fair scheduler [CAS §3.3].

use super::scene::Scheduler;
use super::slices::{ask, Asked, Case, LATENCY_MS, REQUESTS};
use super::{details, formulas, ms, weights, Parts};
use crate::error::Error;
use crate::figure::{plain, Found, Measured};
use crate::Job;

const CASES: [Case; 4] = [
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

const HEADER: [&str; 10] = [
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

pub(super) fn run(job: &Job<'_>) -> Result<Vec<Found>, Error> {
    let under = [&PLAIN[..], &CREDIT[..]].map(|set| Scheduler { policy: "cfs", set });
    let asked = ask(job, &CASES, under)?;
    let rows = asked.iter().map(row).collect();
    let mut judged = plain(weights::numbers()?);
    judged.extend(asked.iter().flat_map(numbers));
    Ok(vec![Found {
        id: "cfs",
        ran: format!(
            "sch_lat is 20.8 ms, and the least granularity 10 us, so that q(N) = sch_lat / N; \
             {REQUESTS} requests, a second and a little apart, each of which is judged. Once as §3.3 \
             counts (a task that slept begins at the least virtual time and preempts: \
             no_new_fair_sleepers, a wakeup granularity of 0: “no credit”), and once with the \
             sleeper's credit and the wakeup granularity of Linux 2.6.24."
        ),
        numbers: judged,
        tables: vec![details("Unhappiness, by slices q(N) that the request needs", &HEADER, rows)],
        drawings: Vec::new(),
    }])
}

fn row(asked: &Asked) -> Vec<String> {
    let n = f64::from(asked.n);
    let mut row = asked.first_cells();
    row.push(ms(formulas::cfs_printed(n, LATENCY_MS, asked.taus_ms().as_slice())));
    row.push(ms(asked.by_definition_ms()));
    for found in &asked.waits {
        row.push(ms(found.mean));
        row.push(format!("{:.1}–{:.1}", found.least, found.most));
    }
    row.push(match asked.slices {
        Parts::Alone(_) => ms(formulas::cfs_with_credit(n, LATENCY_MS, asked.tau_ms())),
        Parts::WithService(_) => "–".into(),
    });
    row
}

/// What is set against the paper's numbers, by key.
fn numbers(asked: &Asked) -> Vec<(String, Measured)> {
    let (n, [plain, credit]) = (asked.n, asked.waits.map(|found| found.measured()));
    match asked.case {
        "slice" => vec![(format!("least_{n}"), credit)],
        "alone" => vec![
            (format!("alone_{n}"), plain),
            (format!("alone_2624_{n}"), credit),
            (format!("credit_{n}"), credit),
        ],
        "service" => {
            let keys = ["service", "service_printed", "service_lost"].map(|key| (key, plain));
            let keys = keys.into_iter().chain([("service_2624", credit)]);
            keys.map(|(key, found)| (format!("{key}_{n}"), found)).collect()
        }
        _ => Vec::new(),
    }
}
