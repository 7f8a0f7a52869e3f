// SPDX-License-Identifier: MIT OR Apache-2.0
//! Figures 2, 7 and 10: what programs of one thread, of one for each CPU, and of four times as
//! many have of the CPUs [PFS §3, §5, §5.4].

use super::programs::{run as run_programs, Program};
use super::{largest, mean, off_percent, repetitions, Entry, CFS, EEVDF, PFS, PFS_OF_QUEUES};
use super::{SCOPES, TFPS, TFPS_OF_QUEUES};
use crate::error::Error;
use crate::figure::{plain, Drawing, Found, Table};
use crate::pool;
use crate::Job;
use rota_report::chart::{Bar, BarGroup, Bars};

const DURATION_NS: u64 = 20_000_000_000;
const NAMES: [&str; 3] = ["A", "B", "C"];

/// Threads of programs A, B and C.
struct Case {
    cpus: u32,
    threads: [u32; 3],
}

/// Of Figures 2 and 7: all programs with no more threads than CPUs, then one with more.
const OPTIMAL: Case = Case { cpus: 2, threads: [1, 2, 2] };
const GREEDY: Case = Case { cpus: 2, threads: [1, 2, 8] };
/// With a thread for each CPU B has as much as C, and A a quarter [PFS Figure 10].
const FOUR: Case = Case { cpus: 4, threads: [1, 4, 8] };

const FIGURES: [(&str, &[(&Entry, &Case)]); 3] = [
    ("fig2", &[(&CFS, &OPTIMAL), (&CFS, &GREEDY), (&EEVDF, &GREEDY)]),
    (
        "fig7",
        &[(&PFS_OF_QUEUES, &OPTIMAL), (&PFS, &OPTIMAL), (&PFS_OF_QUEUES, &GREEDY), (&PFS, &GREEDY)],
    ),
    (
        "fig10",
        &[
            (&TFPS_OF_QUEUES, &FOUR),
            (&TFPS, &FOUR),
            (&PFS_OF_QUEUES, &FOUR),
            (&PFS, &FOUR),
            (&CFS, &FOUR),
            (&TFPS_OF_QUEUES, &GREEDY),
            (&TFPS, &GREEDY),
        ],
    ),
];

/// Of all CPU time, in percent.
type Shares = [f64; 3];

pub(super) fn run(job: &Job<'_>) -> Result<Vec<Found>, Error> {
    let repetitions = repetitions(job.effort);
    let wanted = FIGURES.into_iter().filter(|(id, _)| job.wants(id));
    wanted.map(|(id, cases)| found(job, id, cases, repetitions)).collect()
}

fn found(
    job: &Job<'_>,
    id: &'static str,
    cases: &[(&Entry, &Case)],
    repetitions: u64,
) -> Result<Found, Error> {
    job.progress.announce(cases.len() as u64 * repetitions);
    let shares = pool::map(job.threads, cases, |(of, case)| {
        let mut all = [const { Vec::new() }; 3];
        for seed in 1..=repetitions {
            all.iter_mut().zip(shares(of, case, seed)?).for_each(|(all, share)| all.push(share));
            job.progress.advance(1);
        }
        Ok(all.map(|all| mean(&all)))
    })?;
    let cpus = if id == "fig10" { "four CPUs, or two" } else { "two CPUs" };
    Ok(Found {
        id,
        ran: format!(
            "Programs A, B and C with threads that compute for ever, for {} s in a simulated \
             machine with {cpus}, 250 ticks per second and the default costs, {repetitions} times; \
             threads begin up to 1 ms after the first of their program.{}{}",
            DURATION_NS / 1_000_000_000,
            if id == "fig2" { "" } else { " " },
            if id == "fig2" { "" } else { SCOPES },
        ),
        numbers: plain(numbers(id, &shares)),
        tables: vec![table(cases, &shares)],
        drawings: vec![Drawing { svg: chart(cases, &shares).render() }],
    })
}

fn shares(of: &Entry, case: &Case, seed: u64) -> Result<Shares, Error> {
    let programs = case.threads.map(Program::endless);
    let found = run_programs(of, case.cpus, &programs, DURATION_NS, seed)?;
    let all_ns = (u64::from(case.cpus) * DURATION_NS) as f64;
    let mut shares = [0.0; 3];
    shares
        .iter_mut()
        .zip(&found)
        .for_each(|(share, of)| *share = of.cpu_ns as f64 / all_ns * 100.0);
    Ok(shares)
}

fn numbers(id: &str, shares: &[Shares]) -> Vec<(String, f64)> {
    match id {
        "fig7" => ["optimal_queues", "optimal", "greedy_queues", "greedy"]
            .into_iter()
            .zip(shares)
            .map(|(key, of)| (key.into(), largest(of.map(|share| off_percent(share, 100.0 / 3.0)))))
            .collect(),
        _ => {
            let of = |case: usize, kind: &'static str| {
                let keys = ["a", "b", "c"].into_iter();
                keys.zip(shares[case]).map(move |(key, of)| (format!("{key}{kind}"), of))
            };
            match id {
                "fig2" => of(1, "").collect(),
                _ => of(0, "_queues").chain(of(1, "")).collect(),
            }
        }
    }
}

fn name((of, case): &(&Entry, &Case)) -> String {
    let [a, b, c] = case.threads;
    format!("{}: {a}, {b}, {c} threads on {} CPUs", of.name, case.cpus)
}

fn table(cases: &[(&Entry, &Case)], shares: &[Shares]) -> Table {
    let row = |(case, shares): (&(&Entry, &Case), &Shares)| {
        std::iter::once(name(case)).chain(shares.map(|share| format!("{share:.1}"))).collect()
    };
    let header = NAMES.map(|program| format!("{program} (%)"));
    Table {
        title: "Shares of all CPU time".into(),
        header: std::iter::once("scheduler".to_owned()).chain(header).collect(),
        rows: cases.iter().zip(shares).map(row).collect(),
        long: false,
    }
}

fn chart(cases: &[(&Entry, &Case)], shares: &[Shares]) -> Bars {
    let group = |(case, shares): (&(&Entry, &Case), &Shares)| BarGroup {
        name: name(case),
        bars: NAMES
            .into_iter()
            .zip(*shares)
            .map(|(program, value)| Bar { name: program.into(), value })
            .collect(),
    };
    Bars {
        title: "What each program has of the CPUs".into(),
        description: "Shares of CPU time of programs A, B and C, by scheduler".into(),
        label: "share of all CPU time (%)".into(),
        groups: cases.iter().zip(shares).map(group).collect(),
    }
}
