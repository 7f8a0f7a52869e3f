// SPDX-License-Identifier: MIT OR Apache-2.0
//! Figure 1: children that all compute the same on one CPU, and when each is done [O1CFS §3].

use super::{Entry, CFS, ENTRIES, O1};
use crate::error::Error;
use crate::figure::{plain, Drawing, Found, Table};
use crate::pool;
use crate::rig::{linked, tasks, Length, Rig};
use crate::Job;
use rota_report::chart::{Axis, Line, LineChart, Scale};
use rota_trace::{Event, EventKind, Sink};
use std::collections::BTreeMap;

const FIGURES: [(&str, usize); 4] = [("fig1a", 8), ("fig1b", 16), ("fig1c", 24), ("fig1d", 32)];

/// CPU time of a child. The paper says that it takes at least a few seconds.
const WORK_NS: u64 = 2_000_000_000;
/// Times are grouped by it [O1CFS §3.1].
const BIN_NS: u64 = 100_000_000;

pub(crate) fn run(job: &Job<'_>) -> Result<Vec<Found>, Error> {
    let wanted: Vec<(&'static str, usize)> =
        FIGURES.into_iter().filter(|(id, _)| job.wants(id)).collect();
    let cases: Vec<(usize, &Entry)> = wanted
        .iter()
        .flat_map(|(_, children)| ENTRIES.iter().map(|entry| (*children, *entry)))
        .collect();
    job.progress.announce(cases.iter().map(|(children, _)| *children as u64).sum());
    let times = pool::map(job.threads, &cases, |(children, entry)| {
        let times = completion_times(entry.policy, *children);
        job.progress.advance(*children as u64);
        times
    })?;
    let of_figure = times.chunks(ENTRIES.len());
    Ok(wanted
        .iter()
        .zip(of_figure)
        .map(|((id, children), times)| found(id, *children, times))
        .collect())
}

/// When each child is done, since all of them began.
fn completion_times(policy: &str, children: usize) -> Result<Vec<u64>, Error> {
    let work = || format!("\"loop\": 1, \"run\": {}", WORK_NS / 1_000);
    let workload = tasks((0..children).map(|_| work()), |at| format!("child{at}"))?;
    // What the machine takes for itself is a small part of it.
    let length = Length::of(WORK_NS * children as u64 * 11 / 10);
    let mut exits = Exits::default();
    Rig::ticking(&linked(policy, &[])?).run(&workload, length, &mut exits)?;
    match exits.at_ns.len() {
        done if done == children => Ok(exits.at_ns),
        done => Err(Error::Failure(format!("{policy}: only {done} of {children} children ended"))),
    }
}

#[derive(Default)]
struct Exits {
    at_ns: Vec<u64>,
}

impl Sink for Exits {
    fn event(&mut self, event: &Event) {
        if let EventKind::Exit { .. } = event.kind {
            self.at_ns.push(event.time_ns);
        }
    }
}

/// Mean and standard deviation, in seconds.
fn spread(times_ns: &[u64]) -> (f64, f64) {
    let seconds = times_ns.iter().map(|ns| *ns as f64 / 1e9);
    let count = times_ns.len() as f64;
    let mean = seconds.clone().sum::<f64>() / count;
    let squares: f64 = seconds.map(|second| (second - mean).powi(2)).sum();
    (mean, (squares / count).sqrt())
}

fn found(id: &'static str, children: usize, times: &[Vec<u64>]) -> Found {
    let deviation = |of: &Entry| {
        let at = ENTRIES.iter().position(|entry| entry.policy == of.policy);
        at.map_or(f64::NAN, |at| spread(&times[at]).1)
    };
    let row = |(entry, times): (&&Entry, &Vec<u64>)| {
        let (mean, deviation) = spread(times);
        let end = |ns: Option<&u64>| ns.map_or(f64::NAN, |ns| *ns as f64 / 1e9);
        let ends = [mean, deviation, end(times.iter().min()), end(times.iter().max())];
        std::iter::once(entry.name.to_owned()).chain(ends.map(|s| format!("{s:.3}"))).collect()
    };
    let header = ["scheduler", "mean (s)", "deviation (s)", "first (s)", "last (s)"];
    Found {
        id,
        ran: format!(
            "{children} children that compute for {} s of CPU time each, all from the same moment \
             on, in a simulated machine with one CPU, 250 ticks per second and the default costs. \
             Nothing there is by chance, so that a second time is like the first: it is run once. \
             EEVDF, VTRR and WFQ are beyond the paper.",
            WORK_NS / 1_000_000_000
        ),
        numbers: plain([("narrower", deviation(&O1) / deviation(&CFS))]),
        tables: vec![Table {
            title: "Completion times".into(),
            header: header.map(String::from).to_vec(),
            rows: ENTRIES.iter().zip(times).map(row).collect(),
            long: false,
        }],
        drawings: vec![Drawing { svg: chart(children, times).render() }],
    }
}

/// Children by the tenth of a second in which they are done.
fn chart(children: usize, times: &[Vec<u64>]) -> LineChart {
    let bin = |ns: &u64| (ns + BIN_NS / 2) / BIN_NS;
    let bins = || times.iter().flatten().map(bin);
    // Axes begin at 0, and nobody is done for most of the time.
    let (begin, end) = (bins().min().unwrap_or(0).saturating_sub(1), bins().max().unwrap_or(0) + 1);
    let seconds = |bins: u64| (bins * BIN_NS) as f64 / 1e9;
    let line = |(entry, times): (&&Entry, &Vec<u64>)| {
        let mut count: BTreeMap<u64, usize> = BTreeMap::new();
        times.iter().for_each(|ns| *count.entry(bin(ns)).or_default() += 1);
        let point = |bin: u64| (seconds(bin - begin), *count.get(&bin).unwrap_or(&0) as f64);
        let points = (begin..=end).map(point).collect();
        Line { name: entry.name.into(), points }
    };
    LineChart {
        title: format!("When {children} children are done"),
        description: format!(
            "How many of {children} children are done in which tenth of a second, by scheduler"
        ),
        x: Axis { label: format!("time after {:.1} s (s)", seconds(begin)), scale: Scale::Linear },
        y: Axis { label: "children".into(), scale: Scale::Linear },
        lines: ENTRIES.iter().zip(times).map(line).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_robin_has_children_finish_a_slice_apart() {
        // Slices of 20 ms, which end at ticks of 4 ms: the last round of eight is 7 slices long
        // at most, and nobody is done before the work of all less that round.
        let times = completion_times("rr", 8).expect("runs");
        let (first, last) = (times[0], times[7]);
        assert!((8 * WORK_NS..8 * WORK_NS * 101 / 100).contains(&last), "{last}");
        assert!(last - first <= 7 * 24_000_000, "{first} {last}");
        assert!(times.is_sorted());
    }

    #[test]
    fn the_deviation_is_in_seconds() {
        assert_eq!(spread(&[1_000_000_000, 3_000_000_000]), (2.0, 1.0));
    }
}
