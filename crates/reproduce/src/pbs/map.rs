// SPDX-License-Identifier: MIT OR Apache-2.0
//! Figure 1: which policies alpha passes through. How far the schedule of the four tasks is from
//! each of them, as alpha changes.

use super::scenario::FOUR;
use crate::error::Error;
use crate::figure::{plain, Drawing, Found, Table};
use crate::Job;
use rota_fluid::{solve, Beta, Pbs, Script};
use rota_report::chart::{Axis, Line, LineChart, Scale};

/// Completion times of the four tasks under the corners, by hand.
///
/// First come, first served: sums of the demands 4.5, 2.5, 3 and 2.
const FCFS: [f64; 4] = [4.5, 7.0, 10.0, 12.0];
/// Preemptive last come, first served: 1 until 1, 2 until 3 (2 s done), 3 until 5 (2 s done), 4 to
/// its end at 7, 3 at 8, 2 at 8.5, 1 at 12.
const PLCFS: [f64; 4] = [12.0, 8.5, 8.0, 7.0];
/// Least attained service: see `crates/fluid/tests/golden.rs`.
const LAS: [f64; 4] = [12.0, 9.5, 10.5, 8.0];

const SIZES: [f64; 13] = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0];

pub(crate) fn run(job: &Job<'_>) -> Result<Vec<Found>, Error> {
    job.progress.announce(1);
    let completions = |alpha: f64| -> Result<Vec<f64>, Error> {
        let ends = FOUR.solve(alpha)?.completions;
        Ok(ends.into_iter().map(|end| end.unwrap_or(f64::NAN)).collect())
    };
    let positive = SIZES.iter().map(|size| completions(*size)).collect::<Result<Vec<_>, _>>()?;
    let negative = SIZES.iter().map(|size| completions(-size)).collect::<Result<Vec<_>, _>>()?;
    let last = SIZES.len() - 1;
    let numbers = vec![
        ("fcfs", distance(&positive[0], &FCFS)),
        ("las", distance(&positive[last], &LAS)),
        ("plcfs", distance(&negative[0], &PLCFS)),
        ("las_below", distance(&negative[last], &LAS)),
        ("ps", together()?),
    ];
    job.progress.advance(1);
    Ok(vec![Found {
        id: "fig1",
        ran: "The four tasks of Figure 2 in the fluid model, for 26 values of alpha. The \
              completion times of each are compared with those of the corners, which can be done \
              by hand. A distance is the largest difference of the four completion times."
            .into(),
        numbers: plain(numbers),
        tables: vec![table(&positive, &negative)],
        drawings: [
            ("above 0", &positive, FCFS, "first come, first served"),
            ("below 0", &negative, PLCFS, "last come, first served, preemptive"),
        ]
        .map(|(side, ends, corner, name)| Drawing {
            svg: chart(side, ends, &corner, name).render(),
        })
        .into(),
    }])
}

/// Largest difference of completion times, in seconds.
fn distance(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

/// Alpha 1 and tasks that come together are processor sharing: tasks of 1, 2 and 3 s end at 3, 5
/// and 6 s.
fn together() -> Result<f64, Error> {
    let mut three = [1.0, 2.0, 3.0]
        .into_iter()
        .fold(Script::default(), |all, demand| all.once("task", 0.0, demand));
    let solution = solve(&mut three, &Pbs::new(1.0, Beta::INFINITE)?, f64::INFINITY)?;
    let ends: Vec<f64> = solution.completions.iter().map(|end| end.unwrap_or(f64::NAN)).collect();
    Ok(distance(&ends, &[3.0, 5.0, 6.0]))
}

fn table(positive: &[Vec<f64>], negative: &[Vec<f64>]) -> Table {
    let row = |alpha: String, ends: &[f64]| {
        let ends = ends.iter().map(|end| format!("{end:.2}"));
        std::iter::once(alpha).chain(ends).collect::<Vec<String>>()
    };
    let below = SIZES.iter().zip(negative).rev().map(|(size, ends)| row(format!("-{size}"), ends));
    let above = SIZES.iter().zip(positive).map(|(size, ends)| row(size.to_string(), ends));
    let header = ["alpha", "task 1 (s)", "task 2 (s)", "task 3 (s)", "task 4 (s)"];
    Table {
        title: "Completion times".into(),
        header: header.map(String::from).to_vec(),
        rows: below.chain(above).collect(),
        long: false,
    }
}

fn chart(side: &str, ends: &[Vec<f64>], corner: &[f64], name: &str) -> LineChart {
    let line = |name: &str, corner: &[f64]| {
        let points = SIZES.iter().zip(ends).map(|(size, ends)| (*size, distance(ends, corner)));
        Line { name: name.into(), points: points.collect() }
    };
    LineChart {
        title: format!("Distance from the corners, alpha {side}"),
        description: format!(
            "Largest difference of completion times from {name} and LAS, by alpha"
        ),
        x: Axis { label: "size of alpha".into(), scale: Scale::Logarithmic },
        y: Axis { label: "distance (s)".into(), scale: Scale::Linear },
        lines: vec![line(name, corner), line("least attained service", &LAS)],
    }
}
