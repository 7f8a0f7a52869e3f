// SPDX-License-Identifier: MIT OR Apache-2.0
//! Figure 3: how long a program takes alone, by the number of its threads [PFS §4.2].

use super::programs::{to_the_end, Program, CPUS};
use super::{largest, mean, repetitions, Entry, CFS, EEVDF, PFS, PFS_OF_QUEUES, SCOPES};
use crate::error::Error;
use crate::figure::{plain, Drawing, Found, Table};
use crate::pool;
use crate::Job;
use rota_report::chart::{Axis, Line, LineChart, Scale};

const ENTRIES: [&Entry; 4] = [&CFS, &EEVDF, &PFS_OF_QUEUES, &PFS];
const MOST_THREADS: u32 = 8;
/// Threads begin within a millisecond, which is less of T than this.
const AS_FAST: f64 = 1.001;

pub(super) fn run(job: &Job<'_>) -> Result<Vec<Found>, Error> {
    let repetitions = repetitions(job.effort);
    let cases: Vec<(&Entry, u32)> = ENTRIES
        .iter()
        .flat_map(|of| (1..=MOST_THREADS).map(move |threads| (*of, threads)))
        .collect();
    job.progress.announce(cases.len() as u64 * repetitions);
    let ends = pool::map(job.threads, &cases, |(of, threads)| {
        let ends = (1..=repetitions).map(|seed| {
            let alone = to_the_end(of, &[Program::of(*threads, 1)], seed)?;
            job.progress.advance(1);
            Ok(alone[0].end())
        });
        Ok(mean(&ends.collect::<Result<Vec<f64>, Error>>()?))
    })?;
    let of_entry: Vec<&[f64]> = ends.chunks(MOST_THREADS as usize).collect();
    let cfs = of_entry[0];
    let fastest = cfs.iter().copied().fold(f64::INFINITY, f64::min);
    let best = cfs.iter().position(|end| *end <= fastest * AS_FAST);
    let optimal = cfs[CPUS as usize - 1];
    Ok(vec![Found {
        id: "fig3",
        ran: format!(
            "One program with 1 to {MOST_THREADS} threads, which divide the same work evenly among \
             them, in a simulated machine with four CPUs, 250 ticks per second and the default \
             costs, {repetitions} times. T is what the work takes all four CPUs, 8 s. Threads \
             begin up to 1 ms after the first of the program, at random each time. EEVDF and PFS \
             are beyond the paper; {SCOPES}"
        ),
        numbers: plain([
            ("best", best.map_or(f64::NAN, |at| (at + 1) as f64)),
            ("one", cfs[0] / optimal),
            ("two", cfs[1] / optimal),
            ("more", largest(cfs[CPUS as usize..].iter().copied()) / optimal),
        ]),
        tables: vec![table(&of_entry)],
        drawings: vec![Drawing { svg: chart(&of_entry).render() }],
    }])
}

fn table(ends: &[&[f64]]) -> Table {
    let row = |threads: u32| {
        let ends = ends.iter().map(|ends| format!("{:.3}", ends[threads as usize - 1]));
        std::iter::once(threads.to_string()).chain(ends).collect()
    };
    let header = ENTRIES.iter().map(|entry| format!("{} (T)", entry.name));
    Table {
        title: "Completion alone".into(),
        header: std::iter::once("threads".to_owned()).chain(header).collect(),
        rows: (1..=MOST_THREADS).map(row).collect(),
        long: false,
    }
}

fn chart(ends: &[&[f64]]) -> LineChart {
    let line = |(entry, ends): (&&Entry, &&[f64])| Line {
        name: entry.name.into(),
        points: (1..).zip(*ends).map(|(threads, end)| (f64::from(threads), *end)).collect(),
    };
    LineChart {
        title: "The optimal number of threads is that of CPUs".into(),
        description: "Completion of a program alone on four CPUs, by the number of its threads"
            .into(),
        x: Axis { label: "threads".into(), scale: Scale::Linear },
        y: Axis { label: "completion (T)".into(), scale: Scale::Logarithmic },
        lines: ENTRIES.iter().zip(ends).map(line).collect(),
    }
}
