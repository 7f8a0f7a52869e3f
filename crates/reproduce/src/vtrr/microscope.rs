// SPDX-License-Identifier: MIT OR Apache-2.0
//! Figures 4 to 6: five clients seen over one second [VTRR §5.3].

use super::evenness::{spread, spread_of};
use super::field::{self, Entry};
use crate::error::Error;
use crate::figure::{plain, Drawing, Found, Table};
use crate::pool;
use crate::rig::{Length, Rig};
use crate::runs::{longest_run_ns, longest_wait_ns, period_ns, received_ns, Run, Runs};
use crate::Job;
use rota_report::chart::{Lane, Lanes};

const RUN_NS: u64 = 30_000_000_000;
const SHOWN_MS: f64 = 1_000.0;
/// The figure in which the paper finds no pattern.
const LINUXS: &str = "fig4";
/// All counters or cycles begin again then [VTRR §5.3].
const PATTERN_MS: f64 = 300.0;
const MS: f64 = 1e6;

const FIGURES: &[(&str, &Entry)] =
    &[("fig4", &field::LINUX), ("fig5", &field::WFQ), ("fig6", &field::VTRR)];

/// All three, whatever is wanted, as one is told by the others.
pub(crate) fn run(job: &Job<'_>) -> Result<Vec<Found>, Error> {
    let quanta = RUN_NS / field::QUANTUM_NS;
    job.progress.announce(quanta * FIGURES.len() as u64);
    let runs = pool::map(job.threads, FIGURES, |(_, entry)| {
        let workload = entry.hogs(&field::SHARES)?;
        let mut runs = Runs::default();
        Rig::new(&entry.linked()?).run(&workload, Length::of(RUN_NS), &mut runs)?;
        job.progress.advance(quanta);
        Ok(runs.finish(RUN_NS))
    })?;
    let spread = |runs: &Vec<Run>| spread(runs, field::SHARES.len(), field::QUANTUM_NS);
    let of_linux = spread(&runs[0]);
    let wanted = FIGURES.iter().zip(&runs).filter(|((id, _), _)| job.wants(id));
    Ok(wanted.map(|((id, entry), runs)| found(id, entry, runs, spread(runs), of_linux)).collect())
}

fn found(id: &'static str, entry: &Entry, runs: &[Run], spread: f64, of_linux: f64) -> Found {
    let received_ns = received_ns(runs, field::SHARES.len());
    let due = |share: u64| (RUN_NS * share / field::SHARES.iter().sum::<u64>()) as f64;
    let off =
        |(received, share): (&u64, &u64)| (*received as f64 / due(*share) - 1.0).abs() * 100.0;
    let worst = received_ns.iter().zip(&field::SHARES).map(off).fold(0.0, f64::max);
    let period_ms = period_ns(runs, field::QUANTUM_NS).map_or(f64::NAN, |ns| ns as f64 / MS);
    let mut numbers = vec![("share_error".to_owned(), worst), ("spread".to_owned(), spread)];
    match id {
        LINUXS => {
            let longest_ms = |client| longest_run_ns(runs, client) as f64 / MS;
            numbers.push(("quantum_1".into(), longest_ms(0)));
            numbers.push(("quantum_5".into(), longest_ms(4)));
        }
        _ => {
            numbers.push(("period".into(), period_ms));
            numbers.push(("spread_of_linux".into(), spread / of_linux));
        }
    }
    let row = |(client, share): (usize, &u64)| {
        let wait_ms = longest_wait_ns(runs, client) as f64 / MS;
        let part = received_ns[client] as f64 / RUN_NS as f64 * 100.0;
        let spread = spread_of(runs, client, field::QUANTUM_NS);
        vec![
            share.to_string(),
            format!("{part:.2}"),
            format!("{wait_ms:.0}"),
            format!("{spread:.2}"),
        ]
    };
    let header = ["share", "CPU time (%)", "longest wait (ms)", "spread"];
    Found {
        id,
        ran: format!(
            "Five clients that never sleep, with {}, under {} in the ideal machine with one CPU \
             for 30 seconds. The picture has the first of them; the numbers are of all 30. Spread \
             is the standard deviation of the times between a client's quanta (20 ms of its CPU \
             time each) over their mean, averaged over the clients; 0 is perfectly even.",
            if id == LINUXS {
                "nice values 19, 17, 15, 13 and 11"
            } else {
                "shares 1 to 5 and quanta of 20 ms"
            },
            entry.name
        ),
        numbers: plain(numbers),
        tables: vec![Table {
            title: "Each client over 30 seconds".into(),
            header: header.map(String::from).to_vec(),
            rows: field::SHARES.iter().enumerate().map(row).collect(),
            long: true,
        }],
        drawings: vec![Drawing { svg: lanes(entry, runs).render() }],
    }
}

fn lanes(entry: &Entry, runs: &[Run]) -> Lanes {
    let lane = |(client, share): (usize, &u64)| {
        let own = runs.iter().filter(|run| run.client == client);
        let times = own.map(|run| (run.from_ns as f64 / MS, run.to_ns as f64 / MS));
        Lane {
            name: format!("share {share}"),
            times: times.take_while(|(from, _)| *from < SHOWN_MS).collect(),
        }
    };
    Lanes {
        title: format!("{}: which client runs when", entry.name),
        description: format!(
            "Times on the CPU of five clients with shares 1 to 5 under {}, over one second; dashed \
             lines every 300 ms",
            entry.name
        ),
        label: "time (ms)".into(),
        end: SHOWN_MS,
        every: PATTERN_MS,
        rows: field::SHARES.iter().enumerate().map(lane).rev().collect(),
    }
}
