// SPDX-License-Identifier: MIT OR Apache-2.0
//! Figures 6 and 9: programs with more threads that put more out [PFS §4.4, Table 2, §5.3].

use super::programs::{to_the_end, Program};
use super::{mean, repetitions, Entry, CFS, EEVDF, PFS, PFS_OF_QUEUES, SCOPES};
use crate::error::Error;
use crate::figure::{plain, Drawing, Found, Table};
use crate::pool;
use crate::Job;
use rota_report::chart::{Bar, BarGroup, Bars};

/// Threads and outputs of the second program [PFS Table 2].
const TESTS: [(u32, u32); 3] = [(8, 2), (16, 4), (32, 8)];
/// Threads and outputs of the second program, and whether its threads wait for each other.
type Test = ((u32, u32), bool);
/// Threads that wait for each other after each output, and threads that do not.
const CASES: [Test; 6] = [
    (TESTS[0], true),
    (TESTS[1], true),
    (TESTS[2], true),
    (TESTS[0], false),
    (TESTS[1], false),
    (TESTS[2], false),
];

type Ends = [f64; 2];
type Pair<'a> = [&'a Entry; 2];

pub(super) fn run(job: &Job<'_>) -> Result<Vec<Found>, Error> {
    let figures = [("fig6", [&CFS, &EEVDF]), ("fig9", [&PFS_OF_QUEUES, &PFS])];
    let wanted: Vec<_> = figures.into_iter().filter(|(id, _)| job.wants(id)).collect();
    let entries = wanted.iter().flat_map(|(_, entries)| *entries);
    let cases: Vec<(&Entry, Test)> = entries.flat_map(|of| CASES.map(|case| (of, case))).collect();
    let repetitions = repetitions(job.effort);
    job.progress.announce(cases.len() as u64 * repetitions);
    let ends = pool::map(job.threads, &cases, |(of, ((threads, outputs), waits))| {
        let second = Program { waits: *waits, ..Program::of(*threads, *outputs) };
        let programs = [Program::of(4, 1), second];
        let mut ends = [Vec::new(), Vec::new()];
        for seed in 1..=repetitions {
            let outcomes = to_the_end(of, &programs, seed)?;
            ends.iter_mut().zip(&outcomes).for_each(|(all, of)| all.push(of.end()));
            job.progress.advance(1);
        }
        Ok(ends.map(|all| mean(&all)))
    })?;
    let by_entry: Vec<&[Ends]> = ends.chunks(CASES.len()).collect();
    let found = |((id, entries), ends): (&(&'static str, Pair<'_>), &[&[Ends]])| Found {
        id,
        ran: format!(
            "The machine of Figure 3, {repetitions} times. An output is work that takes all four \
             CPUs T = 8 s. A program begins its next output when all its threads are done with \
             the one before, or, without waiting, each thread goes on with its part. {}",
            match *id {
                "fig6" => "EEVDF is beyond the paper.",
                _ => SCOPES,
            }
        ),
        numbers: plain(numbers(id, ends)),
        tables: vec![table(entries, ends)],
        drawings: vec![Drawing { svg: chart(entries, ends).render() }],
    };
    Ok(wanted.iter().zip(by_entry.chunks(2)).map(found).collect())
}

/// By threads of the second program; under CFS, or under PFS with both scopes.
fn numbers(id: &str, ends: &[&[Ends]]) -> Vec<(String, f64)> {
    let kinds = if id == "fig6" { &[""][..] } else { &["_queues", ""][..] };
    let mut numbers = Vec::new();
    for (at, ((threads, _), waits)) in CASES.iter().enumerate() {
        let on = if *waits { "" } else { "_on" };
        for (kind, ends) in kinds.iter().zip(ends) {
            let [first, second] = ends[at];
            numbers.push((format!("first{on}{kind}_{threads}"), first));
            numbers.push((format!("second{on}{kind}_{threads}"), second));
        }
    }
    numbers
}

fn table(entries: &Pair<'_>, ends: &[&[Ends]]) -> Table {
    let header = entries.iter().flat_map(|entry| {
        ["program 1", "program 2"].map(|program| format!("{program}, {} (T)", entry.name))
    });
    let row = |at: usize| {
        let ((threads, outputs), waits) = CASES[at];
        let waits = if waits { "" } else { ", without waiting" };
        let cells = ends.iter().flat_map(|ends| ends[at].map(|end| format!("{end:.3}")));
        std::iter::once(format!("{threads} threads, {outputs} outputs{waits}"))
            .chain(cells)
            .collect()
    };
    Table {
        title: "Completion times".into(),
        header: std::iter::once("program 2".to_owned()).chain(header).collect(),
        rows: (0..CASES.len()).map(row).collect(),
        long: false,
    }
}

fn chart(entries: &Pair<'_>, ends: &[&[Ends]]) -> Bars {
    let group = |(entry, at): (usize, usize)| {
        let (threads, outputs) = TESTS[at];
        let bar = |(name, value): (String, f64)| Bar { name, value };
        let names = ["first", "second"].map(str::to_owned);
        BarGroup {
            name: format!(
                "{}: 4 threads, 1 output; {threads} threads, {outputs} outputs",
                entries[entry].name
            ),
            bars: names.into_iter().zip(ends[entry][at]).map(bar).collect(),
        }
    };
    let groups = (0..entries.len()).flat_map(|entry| (0..TESTS.len()).map(move |at| (entry, at)));
    Bars {
        title: "When programs are done with their outputs".into(),
        description: "Completion of a program with four threads and one output, and of another \
                      with more threads and more outputs"
            .into(),
        label: "completion (T)".into(),
        groups: groups.map(group).collect(),
    }
}
