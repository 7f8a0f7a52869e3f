// SPDX-License-Identifier: MIT OR Apache-2.0
//! Figures 2 and 3: the share of the processor that each task has over time [PBS §3.1], in the
//! fluid model and beside it in slices.

use super::scenario::{Scenario, FOUR, NEWCOMERS};
use super::sliced::{self, Sliced, QUANTUM_NS};
use super::ALPHAS;
use crate::effort::Effort;
use crate::error::Error;
use crate::figure::{plain, Drawing, Found, Table};
use crate::pool;
use crate::Job;
use rota_fluid::{ChangeKind, Solution};
use rota_report::chart::{Areas, Axis, Band, Line, LineChart, Scale};

/// Slices whose errors are shown.
const QUANTA_MS: [u64; 5] = [16, 8, 4, 2, 1];
const PLACES: usize = 240;
/// When shares have long been what they become.
const LONG: f64 = 1e4;

pub(crate) fn four_tasks(job: &Job<'_>) -> Result<Vec<Found>, Error> {
    let fluid: Vec<Solution> = all_alphas(&FOUR)?;
    let quanta: &[u64] = if job.effort == Effort::Quick { &QUANTA_MS[2..] } else { &QUANTA_MS };
    let of = |alpha: &f64| quanta.iter().map(|ms| (*alpha, ms * 1_000_000)).collect::<Vec<_>>();
    let cases: Vec<(f64, u64)> = ALPHAS.iter().flat_map(of).collect();
    job.progress.announce(cases.len() as u64);
    let sliced = pool::map(job.threads, &cases, |(alpha, quantum_ns)| {
        let sliced = sliced::run(&FOUR, *alpha, *quantum_ns);
        job.progress.advance(1);
        sliced
    })?;
    let by_alpha: Vec<&[Sliced]> = sliced.chunks(quanta.len()).collect();
    let error = |alpha: usize, quantum: usize| error_ms(&fluid[alpha], &by_alpha[alpha][quantum]);
    let worst = |ms: u64| {
        let quantum = quanta.iter().position(|of| *of == ms).unwrap_or(0);
        (0..ALPHAS.len()).map(|alpha| error(alpha, quantum)).fold(0.0, f64::max)
    };
    let off = |alpha: usize, ends: [f64; 4]| {
        let found = fluid[alpha].completions.iter().zip(ends);
        found.map(|(a, b)| (a.unwrap_or(f64::NAN) - b).abs()).fold(0.0, f64::max)
    };
    let numbers = vec![
        // By hand: sums of demands, and crates/fluid/tests/golden.rs.
        ("fcfs", off(0, [4.5, 7.0, 10.0, 12.0])),
        ("las", off(ALPHAS.len() - 1, [12.0, 9.5, 10.5, 8.0])),
        ("sliced", worst(4)),
        ("shorter", worst(1) / worst(4)),
    ];
    let four_ms = quanta.iter().position(|ms| ms * 1_000_000 == QUANTUM_NS).unwrap_or(0);
    let pictures = ALPHAS.iter().zip(&fluid).zip(&by_alpha).flat_map(|((alpha, fluid), sliced)| {
        let title = format!("Slices of 4 ms, alpha {alpha}");
        [picture(*alpha, fluid), sliced[four_ms].picture(&title, FOUR.end)]
    });
    let mut drawings: Vec<Drawing> =
        pictures.map(|areas| Drawing { svg: areas.render() }).collect();
    drawings.push(Drawing { svg: convergence(quanta, &error).render() });
    Ok(vec![Found {
        id: "fig2",
        ran: format!(
            "Tasks that start at 0, 1, 3 and 5 s with demands of 4.5, 2.5, 3 and 2 s: in the fluid \
             model, and under the policy that ships in the ideal machine, with slices of 4 ms (the \
             paper's) and of {} ms. The paper does not list its alphas; these have those that it \
             names.",
            quanta.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")
        ),
        numbers: plain(numbers),
        tables: vec![completions(&fluid), errors(quanta, &error)],
        drawings,
    }])
}

pub(crate) fn newcomers(job: &Job<'_>) -> Result<Vec<Found>, Error> {
    job.progress.announce(ALPHAS.len() as u64);
    let fluid = all_alphas(&NEWCOMERS)?;
    let sliced = pool::map(job.threads, &ALPHAS, |alpha| {
        let sliced = sliced::run(&NEWCOMERS, *alpha, QUANTUM_NS);
        job.progress.advance(1);
        sliced
    })?;
    let interruption = |solution: &Solution| {
        let at = |kind| {
            let of_first = solution.changes.iter().find(|c| c.task == 0 && c.kind == kind);
            of_first.map(|change| change.at)
        };
        at(ChangeKind::Interrupted).map(|from| (from, at(ChangeKind::Served)))
    };
    // Some come back after the end of the pictures.
    let long = ALPHAS.iter().map(|alpha| NEWCOMERS.solve_to(*alpha, 60.0));
    let long = long.collect::<Result<Vec<Solution>, Error>>()?;
    let interruptions: Vec<_> = long.iter().map(interruption).collect();
    let at = |alpha: f64| ALPHAS.iter().position(|of| *of == alpha).unwrap_or(0);
    let (begins, ends) = interruptions[at(0.4)].unwrap_or((f64::NAN, None));
    let interrupted = interruptions.iter().flatten().count();
    let resumed = interruptions.iter().flatten().filter(|(_, to)| to.is_some()).count();
    let mut unequal = 0.0f64;
    for alpha in ALPHAS.into_iter().filter(|alpha| *alpha >= 0.4) {
        let solution = NEWCOMERS.solve_to(alpha, LONG * 1.1)?;
        for task in 0..NEWCOMERS.count() {
            unequal = unequal.max((solution.share(task, LONG) - 0.2).abs() / 0.2 * 100.0);
        }
    }
    let row = |(alpha, found): (&f64, &Option<(f64, Option<f64>)>)| {
        let time = |at: Option<f64>| at.map_or("–".into(), |at| format!("{at:.2}"));
        vec![alpha.to_string(), time(found.map(|f| f.0)), time(found.and_then(|f| f.1))]
    };
    let header = ["alpha", "interrupted (s)", "served again (s)"];
    let pictures = ALPHAS.iter().zip(&fluid).zip(&sliced).flat_map(|((alpha, fluid), sliced)| {
        let title = format!("Slices of 4 ms, alpha {alpha}");
        [picture(*alpha, fluid), sliced.picture(&title, NEWCOMERS.end)]
    });
    Ok(vec![Found {
        id: "fig3",
        ran: "A task that starts at 0 and four that start at 2.5 s; none of them ends. As in \
              Figure 2, in the fluid model and in slices of 4 ms. Equal proportions are looked at \
              after 10,000 s, for alpha of 0.4 and more: with alpha 0.01 they take far longer."
            .into(),
        numbers: plain([
            ("interrupted", interrupted as f64),
            ("resumed", (interrupted - resumed) as f64),
            ("begins", begins),
            ("ends", ends.unwrap_or(f64::NAN)),
            ("unequal", unequal),
        ]),
        tables: vec![Table {
            title: "Task 1".into(),
            header: header.map(String::from).to_vec(),
            rows: ALPHAS.iter().zip(&interruptions).map(row).collect(),
            long: false,
        }],
        drawings: pictures.map(|areas| Drawing { svg: areas.render() }).collect(),
    }])
}

fn all_alphas(scenario: &Scenario) -> Result<Vec<Solution>, Error> {
    ALPHAS.iter().map(|alpha| scenario.solve(*alpha)).collect()
}

/// The largest difference of a completion time.
fn error_ms(fluid: &Solution, sliced: &Sliced) -> f64 {
    let ends = fluid.completions.iter().zip(&sliced.completions);
    let off = ends.map(|(a, b)| (a.unwrap_or(f64::NAN) - b).abs() * 1e3);
    // No number is no agreement.
    off.fold(0.0, |worst: f64, off| if off <= worst { worst } else { off })
}

fn picture(alpha: f64, solution: &Solution) -> Areas {
    let curve = solution.curve(PLACES);
    let bands = solution.names.iter().zip(curve.shares);
    Areas {
        title: format!("Fluid, alpha {alpha}"),
        description: format!("Share of the processor that each task has, alpha {alpha}"),
        label: "time (s)".into(),
        whole: "share of the processor".into(),
        at: curve.at,
        bands: bands.map(|(name, parts)| Band { name: name.clone(), parts }).collect(),
    }
}

fn completions(fluid: &[Solution]) -> Table {
    let row = |(alpha, solution): (&f64, &Solution)| {
        let ends = solution.completions.iter();
        let ends = ends.map(|end| end.map_or("–".into(), |end| format!("{end:.3}")));
        std::iter::once(alpha.to_string()).chain(ends).collect::<Vec<String>>()
    };
    let header = ["alpha", "task 1 (s)", "task 2 (s)", "task 3 (s)", "task 4 (s)"];
    Table {
        title: "Completion times, fluid".into(),
        header: header.map(String::from).to_vec(),
        rows: ALPHAS.iter().zip(fluid).map(row).collect(),
        long: false,
    }
}

fn errors(quanta: &[u64], error: &dyn Fn(usize, usize) -> f64) -> Table {
    let row = |alpha: usize| {
        let errors = (0..quanta.len()).map(|quantum| format!("{:.2}", error(alpha, quantum)));
        std::iter::once(ALPHAS[alpha].to_string()).chain(errors).collect::<Vec<String>>()
    };
    let header = quanta.iter().map(|ms| format!("slices of {ms} ms (ms)"));
    Table {
        title: "Largest difference of a completion time between slices and fluid".into(),
        header: std::iter::once("alpha".to_owned()).chain(header).collect(),
        rows: (0..ALPHAS.len()).map(row).collect(),
        long: false,
    }
}

fn convergence(quanta: &[u64], error: &dyn Fn(usize, usize) -> f64) -> LineChart {
    let line = |alpha: usize| {
        let points = quanta.iter().enumerate().rev();
        let points = points.map(|(quantum, ms)| (*ms as f64, error(alpha, quantum)));
        Line { name: format!("alpha {}", ALPHAS[alpha]), points: points.collect() }
    };
    LineChart {
        title: "Shorter slices come nearer to the fluid".into(),
        description: "Largest difference of a completion time, by the length of slices".into(),
        x: Axis { label: "slice (ms)".into(), scale: Scale::Logarithmic },
        y: Axis { label: "difference (ms)".into(), scale: Scale::Linear },
        lines: (0..ALPHAS.len()).map(line).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_fall_with_the_slice_and_are_below_3_ms_at_1_ms() {
        for alpha in [0.01, 0.4, 1.0, 2.0, 100.0] {
            let fluid = FOUR.solve(alpha).expect("solved");
            let error = |ms: u64| {
                let sliced = sliced::run(&FOUR, alpha, ms * 1_000_000).expect("runs");
                error_ms(&fluid, &sliced)
            };
            let (long, short) = (error(16), error(1));
            assert!(short < 3.0, "alpha {alpha}: {short} ms");
            assert!(short < long || long < 1.0, "alpha {alpha}: {long} ms, then {short} ms");
        }
    }
}
