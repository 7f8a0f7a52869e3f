// SPDX-License-Identifier: MIT OR Apache-2.0
//! Three virtual machines with shares 1, 2 and 3 [VTRR §5.4], as three processes: a VMware
//! guest of that time was one process to its host, and each runs a benchmark that computes.

use super::evenness::{spread, spread_of};
use super::field::{self, Entry};
use crate::error::Error;
use crate::figure::{Drawing, Found, Table};
use crate::pool;
use crate::rig::{Length, Rig};
use crate::runs::{longest_wait_ns, received_ns, Run, Runs};
use crate::Job;
use rota_report::chart::{Axis, Line, LineChart, Scale};

const SHARES: [u64; 3] = [1, 2, 3];
const RUN_NS: u64 = 30_000_000_000;
const SHOWN_NS: u64 = 2_000_000_000;

const ENTRIES: &[&Entry] = &[&field::LINUX, &field::WFQ, &field::VTRR];

pub(crate) fn run(job: &Job<'_>) -> Result<Vec<Found>, Error> {
    let quanta = RUN_NS / field::QUANTUM_NS;
    job.progress.announce(quanta * ENTRIES.len() as u64);
    let runs = pool::map(job.threads, ENTRIES, |entry| {
        let workload = entry.hogs(&SHARES)?;
        let mut runs = Runs::default();
        Rig::new(&entry.linked()?).run(&workload, Length::of(RUN_NS), &mut runs)?;
        job.progress.advance(quanta);
        Ok(runs.finish(RUN_NS))
    })?;
    let mut found = Found {
        id: "guests",
        ran:
            "Three processes that compute, with shares 1, 2 and 3 (under Linux 2.2 nice values 19, \
              17 and 15), stand for the guests: no virtual machine was run. Quanta of 20 ms, \
              30 seconds in the ideal machine with one CPU. Spread is as in Figures 4 to 6."
                .into(),
        numbers: Vec::new(),
        tables: Vec::new(),
        drawings: Vec::new(),
    };
    for (entry, runs) in ENTRIES.iter().zip(&runs) {
        let received_ns = received_ns(runs, SHARES.len());
        let ratio = |client: usize| received_ns[client] as f64 / received_ns[0] as f64;
        found.numbers.push((format!("{}_speed_2", entry.policy), ratio(1).into()));
        found.numbers.push((format!("{}_speed_3", entry.policy), ratio(2).into()));
        found.numbers.push((format!("{}_spread", entry.policy), spread_of_all(runs).into()));
        found.tables.push(table(entry, runs, &received_ns));
        found.drawings.push(Drawing { svg: chart(entry, runs).render() });
    }
    let [linux, wfq, vtrr] = [0, 1, 2].map(|entry| spread_of_all(&runs[entry]));
    found.numbers.push(("wfq_of_linux".into(), (wfq / linux).into()));
    found.numbers.push(("vtrr_of_linux".into(), (vtrr / linux).into()));
    let part = (vtrr - wfq).abs() / (linux - vtrr);
    found.numbers.push(("from_wfq".into(), part.into()));
    Ok(vec![found])
}

fn spread_of_all(runs: &[Run]) -> f64 {
    spread(runs, SHARES.len(), field::QUANTUM_NS)
}

fn table(entry: &Entry, runs: &[Run], received_ns: &[u64]) -> Table {
    let row = |(client, share): (usize, &u64)| {
        let part = received_ns[client] as f64 / RUN_NS as f64 * 100.0;
        let stood_still_ms = longest_wait_ns(runs, client) as f64 / 1e6;
        let spread = spread_of(runs, client, field::QUANTUM_NS);
        vec![
            share.to_string(),
            format!("{part:.2}"),
            format!("{stood_still_ms:.0}"),
            format!("{spread:.2}"),
        ]
    };
    let header = ["share of the guest", "CPU time (%)", "longest standstill (ms)", "spread"];
    Table {
        title: format!("{}: each guest", entry.name),
        header: header.map(String::from).to_vec(),
        rows: SHARES.iter().enumerate().map(row).collect(),
        long: true,
    }
}

/// CPU time of each guest over time: how far its benchmark is.
fn chart(entry: &Entry, runs: &[Run]) -> LineChart {
    let line = |(client, share): (usize, &u64)| {
        let (mut points, mut done) = (vec![(0.0, 0.0)], 0.0);
        let own = runs.iter().filter(|run| run.client == client);
        for run in own.take_while(|run| run.to_ns <= SHOWN_NS) {
            points.push((run.from_ns as f64 / 1e9, done));
            done += (run.to_ns - run.from_ns) as f64 / 1e9;
            points.push((run.to_ns as f64 / 1e9, done));
        }
        Line { name: format!("guest with share {share}"), points }
    };
    LineChart {
        title: format!("{}: work of three guests", entry.name),
        description: format!(
            "CPU time that three guests with shares 1, 2 and 3 have had under {}, over two seconds",
            entry.name
        ),
        x: Axis { label: "time (s)".into(), scale: Scale::Linear },
        y: Axis { label: "CPU time (s)".into(), scale: Scale::Linear },
        lines: SHARES.iter().enumerate().map(line).rev().collect(),
    }
}
