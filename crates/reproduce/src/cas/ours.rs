// SPDX-License-Identifier: MIT OR Apache-2.0
//! Scheduling by unhappiness [CAS §4]: `appease`, for what §3 and §5.1 ask of the others.

use super::scene::Scheduler;
use super::slices::{ask, Asked, Case};
use super::{details, ms, Parts};
use crate::error::Error;
use crate::figure::{plain, Found};
use crate::Job;

/// The same CPU times as under CFS.
const CASES: [Case; 2] = [(Parts::Alone(10), "alone"), (Parts::WithService([4, 4, 4]), "service")];

/// The paper has no reserve; ours is 5 % by default.
const SETS: [&[(&str, &str)]; 2] = [&[("reserve", "0")], &[]];

const HEADER: [&str; 7] = [
    "slices of CFS",
    "N",
    "tau (ms)",
    "at most, without reserve (ms)",
    "with 5 % (ms)",
    "from–to",
    "CFS by definition (ms)",
];

pub(super) fn run(job: &Job<'_>) -> Result<Vec<Found>, Error> {
    let asked = ask(job, &CASES, SETS.map(|set| Scheduler { policy: "appease", set }))?;
    let rows = asked.iter().map(row).collect();
    Ok(vec![Found {
        id: "appease",
        ran:
            "The requests of CFS' scenario under appease, once without its reserve for tasks that \
              serve no request, as the paper has none, and once with the default of 5 % and \
              quanta of 4 ms. The longest wait of the 16 requests counts."
                .into(),
        numbers: plain(asked.iter().flat_map(numbers)),
        tables: vec![details("Unhappiness", &HEADER, rows)],
        drawings: Vec::new(),
    }])
}

fn row(asked: &Asked) -> Vec<String> {
    let [none, five] = asked.waits;
    let mut row = asked.first_cells();
    row.push(ms(none.most));
    row.push(ms(five.mean));
    row.push(format!("{:.1}–{:.1}", five.least, five.most));
    row.push(ms(asked.by_definition_ms()));
    row
}

/// What is set against the paper's numbers, by key.
fn numbers(asked: &Asked) -> [(String, f64); 2] {
    let (case, n, [none, five]) = (asked.case, asked.n, asked.waits.map(|found| found.most));
    [(format!("{case}_{n}"), none), (format!("reserve_{case}_{n}"), five)]
}
