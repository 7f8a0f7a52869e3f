// SPDX-License-Identifier: MIT OR Apache-2.0
//! Figure 4: the four tasks with and without a bonus for the task that runs, and under Linux's
//! schedulers [PBS §5.1]. In the simulated machine.

use super::scenario::FOUR;
use super::sliced::{run_under, Sliced};
use crate::error::Error;
use crate::figure::{plain, Drawing, Found, Table};
use crate::pool;
use crate::Job;

type Entry = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

const ENTRIES: [Entry; 5] = [
    ("PBS, alpha 2", "pbs", &[("alpha", "2"), ("beta", "+inf")]),
    ("PBS, alpha 2, gamma 0.07", "pbs", &[("alpha", "2"), ("beta", "+inf"), ("gamma", "0.07")]),
    ("O(1)", "o1", &[]),
    ("EEVDF", "eevdf", &[]),
    ("RR, 4 ms", "rr", &[("quantum_ns", "4000000")]),
];
const PLAIN: usize = 0;
const BONUS: usize = 1;
const LINUX: usize = 2;

pub(crate) fn run(job: &Job<'_>) -> Result<Vec<Found>, Error> {
    job.progress.announce(ENTRIES.len() as u64);
    let runs = pool::map(job.threads, &ENTRIES, |(_, policy, set)| {
        let run = run_under(&FOUR, policy, set);
        job.progress.advance(1);
        run
    })?;
    let switches = |entry: usize, from: f64, to: f64| runs[entry].switches(from, to) as f64;
    let all = |entry| switches(entry, 0.0, FOUR.end);
    let row = |((name, _, _), run): (&Entry, &Sliced)| {
        let ends = run.completions.iter().map(|end| format!("{end:.2}"));
        let switches = run.switches(0.0, FOUR.end).to_string();
        std::iter::once((*name).to_owned()).chain(ends).chain([switches]).collect::<Vec<String>>()
    };
    let header =
        ["scheduler", "task 1 (s)", "task 2 (s)", "task 3 (s)", "task 4 (s)", "context switches"];
    Ok(vec![Found {
        id: "fig4",
        ran: "The four tasks of Figure 2 under the policies that ship, in the ideal machine with \
              one CPU; slices of PBS are 4 ms long. EEVDF and RR are beyond the paper's figure. \
              All four tasks are there from 5 s on."
            .into(),
        numbers: plain([
            ("linux", switches(LINUX, 5.0, 8.0) / 3.0),
            ("fewer", all(BONUS) / all(PLAIN)),
            ("slower", switches(BONUS, 8.0, 10.0) / switches(BONUS, 5.0, 7.0)),
        ]),
        tables: vec![Table {
            title: "Completion times and context switches".into(),
            header: header.map(String::from).to_vec(),
            rows: ENTRIES.iter().zip(&runs).map(row).collect(),
            long: false,
        }],
        drawings: ENTRIES
            .iter()
            .zip(&runs)
            .map(|((name, _, _), run)| Drawing { svg: run.picture(name, FOUR.end).render() })
            .collect(),
    }])
}
