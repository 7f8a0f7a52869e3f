// SPDX-License-Identifier: MIT OR Apache-2.0
//! Figures 7 to 9: five MPEG audio encoders, and the frames that each has done [VTRR §5.4].

use super::evenness::{parts, Intervals};
use super::field::{self, Entry};
use crate::error::Error;
use crate::figure::{plain, Drawing, Found, Table};
use crate::pool;
use crate::rig::{Length, Rig};
use crate::runs::Runs;
use crate::Job;
use rota_report::chart::{Axis, Line, LineChart, Scale};

const RUN_NS: u64 = 30_000_000_000;
const SHOWN_NS: u64 = 2_000_000_000;
/// CPU time of one frame. The paper does not say; half a quantum.
const FRAME_NS: u64 = 10_000_000;

const FIGURES: [(&str, &Entry); 3] =
    [("fig7", &field::LINUX), ("fig8", &field::WFQ), ("fig9", &field::VTRR)];

/// All three, whatever is wanted, as one is told by the others.
pub(crate) fn run(job: &Job<'_>) -> Result<Vec<Found>, Error> {
    let quanta = RUN_NS / field::QUANTUM_NS;
    job.progress.announce(quanta * FIGURES.len() as u64);
    let frames = pool::map(job.threads, &FIGURES, |(_, entry)| {
        let workload = entry.hogs(&field::SHARES)?;
        let mut runs = Runs::default();
        Rig::new(&entry.linked()?).run(&workload, Length::of(RUN_NS), &mut runs)?;
        job.progress.advance(quanta);
        let runs = runs.finish(RUN_NS);
        Ok((0..field::SHARES.len()).map(|client| parts(&runs, client, FRAME_NS)).collect())
    })?;
    let jitters: Vec<f64> = frames.iter().map(|frames: &Vec<Vec<u64>>| jitter(frames)).collect();
    let found = FIGURES.iter().zip(&frames).map(|((id, entry), frames)| {
        let mut found = found(id, entry, frames);
        let (linux, wfq, vtrr) = (jitters[0], jitters[1], jitters[2]);
        match *id {
            "fig7" => found.numbers.push(("jitter_over_vtrr".into(), (linux / vtrr).into())),
            "fig9" => {
                let part = (vtrr - wfq).abs() / (linux - vtrr);
                found.numbers.push(("from_wfq".into(), part.into()));
            }
            _ => {}
        }
        found
    });
    Ok(found.filter(|found| job.wants(found.id)).collect())
}

/// The standard deviation of times between frames in milliseconds, averaged over the clients.
fn jitter(frames: &[Vec<u64>]) -> f64 {
    let deviations = frames.iter().map(|frames| Intervals::of(frames).deviation);
    deviations.sum::<f64>() / frames.len() as f64
}

fn found(id: &'static str, entry: &Entry, frames: &[Vec<u64>]) -> Found {
    let intervals: Vec<Intervals> = frames.iter().map(|frames| Intervals::of(frames)).collect();
    let longest = intervals.iter().map(|i| i.longest).fold(0.0, f64::max);
    let rows = field::SHARES.iter().zip(frames).zip(&intervals).map(|((share, frames), i)| {
        let cells = [i.mean, i.deviation, i.longest].map(|ms| format!("{ms:.1}"));
        [share.to_string(), frames.len().to_string()].into_iter().chain(cells).collect()
    });
    let header = ["share", "frames", "interval: mean (ms)", "deviation (ms)", "longest (ms)"];
    Found {
        id,
        ran: format!(
            "Five simulated encoders with shares 1 to 5 under {} in the ideal machine with one CPU, \
             quanta of 20 ms, for 30 seconds; a frame takes 10 ms of CPU time. The picture has the \
             first two seconds. Jitter is the standard deviation of the time between two frames, \
             of one encoder.",
            entry.name
        ),
        numbers: plain([("longest", longest)]),
        tables: vec![Table {
            title: "Frames of each encoder".into(),
            header: header.map(String::from).to_vec(),
            rows: rows.collect(),
            long: true,
        }],
        drawings: vec![Drawing { svg: chart(entry, frames).render() }],
    }
}

fn chart(entry: &Entry, frames: &[Vec<u64>]) -> LineChart {
    let line = |(share, frames): (&u64, &Vec<u64>)| {
        let mut points = vec![(0.0, 0.0)];
        for (done, at_ns) in frames.iter().enumerate().take_while(|(_, at)| **at <= SHOWN_NS) {
            let at = *at_ns as f64 / 1e9;
            points.extend([(at, done as f64), (at, (done + 1) as f64)]);
        }
        Line { name: format!("share {share}"), points }
    };
    LineChart {
        title: format!("{}: frames encoded", entry.name),
        description: format!(
            "Frames that five encoders with shares 1 to 5 have encoded under {}, over two seconds",
            entry.name
        ),
        x: Axis { label: "time (s)".into(), scale: Scale::Linear },
        y: Axis { label: "frames".into(), scale: Scale::Linear },
        lines: field::SHARES.iter().zip(frames).map(line).rev().collect(),
    }
}
