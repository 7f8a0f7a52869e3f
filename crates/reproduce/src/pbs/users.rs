// SPDX-License-Identifier: MIT OR Apache-2.0
//! Figure 7: eight users who compute and think [PBS §4.2.1, group A].

mod fluid;
mod responses;

use crate::effort::Effort;
use crate::error::Error;
use crate::figure::{Drawing, Found, Table};
use crate::pool;
use crate::rig::{linked, tasks, Length, Rig};
use crate::Job;
use responses::Responses;
use rota_measure::statistics::estimate;
use rota_report::chart::{Axis, Line, LineChart, Scale};

const USERS: usize = 8;
/// A task is so many pieces of work, with a short inactive period between them.
const PIECES: u64 = 6;
const PIECE_US: u64 = 500_000;
const PAUSE_US: u64 = 10_000;
const THINK_US: u64 = 25_000_000;
const BETAS: [&str; 3] = ["+inf", "-3", "0"];

/// How much is run.
struct Amount {
    alphas: &'static [f64],
    /// Of runs in slices.
    seeds: u64,
    /// Of the fluid model.
    fluid_seeds: u64,
    window: Window,
}

/// Seconds from the start: what is measured, and when the run ends.
#[derive(Clone, Copy)]
struct Window {
    from: f64,
    to: f64,
    end: f64,
}

/// The paper's: 400 s, 1200 s, 100 s.
const PAPERS: Window = Window { from: 400.0, to: 1_600.0, end: 1_700.0 };
const SHORT: Window = Window { from: 100.0, to: 500.0, end: 550.0 };

fn amount(effort: Effort) -> Amount {
    match effort {
        Effort::Quick => Amount { alphas: &[0.2, 2.0], seeds: 1, fluid_seeds: 4, window: SHORT },
        Effort::Default => {
            Amount { alphas: &[0.1, 0.3, 1.0, 4.0], seeds: 3, fluid_seeds: 20, window: PAPERS }
        }
        // Six, as it ran the other schedulers.
        Effort::Full => Amount {
            alphas: &[0.1, 0.2, 0.3, 0.5, 0.8, 1.0, 2.0, 4.0, 10.0],
            seeds: 6,
            fluid_seeds: 200,
            window: PAPERS,
        },
    }
}

/// A scheduler with its settings.
#[derive(Clone, PartialEq)]
struct Case {
    policy: &'static str,
    /// Alpha and beta of PBS.
    set: Option<(f64, &'static str)>,
}

/// Mean response time and its standard deviation, in seconds: the mean of the runs' own.
#[derive(Clone, Copy)]
pub(super) struct Spread {
    mean: f64,
    deviation: f64,
    /// Half the width of the mean's confidence interval over the runs.
    half_width: Option<f64>,
}

pub(crate) fn run(job: &Job<'_>) -> Result<Vec<Found>, Error> {
    let amount = amount(job.effort);
    let plain = ["rr", "o1"].map(|policy| Case { policy, set: None });
    let of = |beta| amount.alphas.iter().map(move |alpha| (*alpha, beta));
    let pbs = BETAS.into_iter().flat_map(of).map(|set| Case { policy: "pbs", set: Some(set) });
    let cases: Vec<Case> = plain.into_iter().chain(pbs).collect();
    let runs: Vec<(usize, u64)> = (0..cases.len())
        .flat_map(|case| (1..=amount.seeds).map(move |seed| (case, seed)))
        .collect();
    job.progress.announce(runs.len() as u64);
    let all = pool::map(job.threads, &runs, |(case, seed)| {
        let responses = cases[*case].responses(amount.window, *seed);
        job.progress.advance(1);
        responses
    })?;
    let spread = |case: usize| {
        let own = runs.iter().zip(&all).filter(|((of, _), _)| *of == case);
        spread(own.map(|(_, responses)| responses.as_slice()))
    };
    let spreads: Vec<Spread> = (0..cases.len()).map(spread).collect();
    let fluid = fluid::spreads(job, &amount)?;
    Ok(vec![found(&amount, &cases, &spreads, &fluid)])
}

impl Case {
    fn name(&self) -> String {
        match (self.policy, self.set) {
            (_, Some((alpha, beta))) => format!("PBS, beta {beta}, alpha {alpha}"),
            ("o1", None) => "O(1)".into(),
            (_, None) => "RR".into(),
        }
    }

    fn responses(&self, window: Window, seed: u64) -> Result<Vec<f64>, Error> {
        let alpha = self.set.map(|(alpha, _)| alpha.to_string()).unwrap_or_default();
        let set = match self.set {
            Some((_, beta)) => vec![("alpha", &*alpha), ("beta", beta)],
            // Slices as long as those of the paper's kernel.
            None if self.policy == "rr" => vec![("quantum_ns", "4000000")],
            None => Vec::new(),
        };
        let policy = linked(self.policy, &set)?;
        let think = format!("{{ \"dist\": \"exp\", \"mean\": {THINK_US} }}");
        let mut told = format!("\"instance\": {USERS}, \"delay\": {think}");
        for piece in 1..=PIECES {
            told += &format!(", \"run{piece}\": {PIECE_US}");
            match piece {
                PIECES => told += &format!(", \"sleep{piece}\": {think}"),
                _ => told += &format!(", \"sleep{piece}\": {PAUSE_US}"),
            }
        }
        let workload = tasks(std::iter::once(told), |_| "user".into())?;
        let mut responses = Responses::new(PIECES);
        let length = Length { seed, ..Length::of((window.end * 1e9) as u64) };
        Rig::ticking(&policy).run(&workload, length, &mut responses)?;
        Ok(responses.within(window.from, window.to))
    }
}

/// Of several runs.
fn spread<'a>(runs: impl Iterator<Item = &'a [f64]>) -> Spread {
    let (mut means, mut deviations) = (Vec::new(), Vec::new());
    for run in runs {
        let mean = run.iter().sum::<f64>() / run.len() as f64;
        let squares: f64 = run.iter().map(|time| (time - mean).powi(2)).sum();
        means.push(mean);
        deviations.push((squares / run.len() as f64).sqrt());
    }
    let of = estimate(&means);
    Spread {
        mean: of.map_or(f64::NAN, |of| of.mean),
        deviation: estimate(&deviations).map_or(f64::NAN, |of| of.mean),
        half_width: of.and_then(|of| of.half_width),
    }
}

fn found(amount: &Amount, cases: &[Case], spreads: &[Spread], fluid: &[Vec<Spread>]) -> Found {
    let of = |beta: &'static str, alphas: fn(f64) -> bool| {
        let wanted =
            move |set: Option<(f64, &str)>| set.is_some_and(|(a, b)| b == beta && alphas(a));
        let own = cases.iter().zip(spreads).filter(move |(case, _)| wanted(case.set));
        own.map(|(_, spread)| *spread).collect::<Vec<Spread>>()
    };
    let (rr, o1) = (spreads[0], spreads[1]);
    let work = (PIECES * PIECE_US) as f64 / 1e6;
    // Of what a task takes beyond its own work.
    let gain = |of: &[Spread]| {
        let mean = of.iter().map(|spread| spread.mean).sum::<f64>() / of.len() as f64;
        100.0 * (1.0 - (mean - work) / (rr.mean - work))
    };
    let deviation = |of: &[Spread]| of.iter().map(|s| s.deviation).sum::<f64>() / of.len() as f64;
    let small = of("-3", |alpha| alpha < 0.4);
    let rises = |beta| {
        let all = of(beta, |_| true);
        all.last().zip(all.first()).map_or(f64::NAN, |(last, first)| last.mean - first.mean)
    };
    let numbers = [
        ("linux", o1.mean / rr.mean),
        ("gain_inf", gain(&of("+inf", |_| true))),
        ("gain_3", gain(&of("-3", |alpha| alpha < 0.5))),
        ("gain_0", gain(&of("0", |alpha| alpha < 1.0))),
        ("mean_3", small.iter().map(|s| s.mean).sum::<f64>() / small.len() as f64),
        ("deviation_linux", o1.deviation),
        ("deviation_rr", rr.deviation),
        ("deviation_inf", deviation(&of("+inf", |_| true))),
        ("deviation_3", deviation(&of("-3", |_| true))),
        ("deviation_0", deviation(&of("0", |_| true))),
        ("rises_3", rises("-3")),
        ("rises_0", rises("0")),
        ("most_sensitive", rises("-3") - rises("0").abs().max(rises("+inf").abs())),
    ];
    let row = |(name, spread): (String, &Spread)| {
        let width = spread.half_width.map_or("–".into(), |width| format!("±{width:.2}"));
        let (mean, deviation) = (format!("{:.2}", spread.mean), format!("{:.2}", spread.deviation));
        vec![name, mean, width, deviation]
    };
    let table = |title: &str, rows: Vec<Vec<String>>| Table {
        title: title.into(),
        header: ["scheduler", "mean (s)", "95 %", "deviation (s)"].map(String::from).to_vec(),
        rows,
        long: false,
    };
    let sliced = cases.iter().map(Case::name).zip(spreads).map(row).collect();
    let fluid_rows = BETAS.iter().zip(fluid).flat_map(|(beta, spreads)| {
        let name = move |alpha: &f64| format!("fluid, beta {beta}, alpha {alpha}");
        fluid::ALPHAS.iter().map(name).zip(spreads).map(row).collect::<Vec<_>>()
    });
    let (alphas, seeds, fluid_seeds) = (amount.alphas.len(), amount.seeds, amount.fluid_seeds);
    let Window { from, to, end } = amount.window;
    Found {
        id: "fig7",
        ran: format!(
            "Eight tasks that think (exponential, 25 s) and then compute for 3 s in six pieces \
             with 10 ms of sleep between them, on one CPU with 250 ticks per second and the default \
             costs: {end} s, of which {from} to {to} s count, {alphas} values of alpha, {seeds} \
             seeds, the same think times for all schedulers. RR has slices of 4 ms. The fluid \
             model, with {fluid_seeds} other seeds, has less noise."
        ),
        numbers: numbers.map(|(key, number)| (key.to_owned(), number)).into(),
        tables: vec![
            table("In slices", sliced),
            table("Fluid", fluid_rows.collect()),
        ],
        drawings: vec![Drawing { svg: chart(fluid, rr, o1).render() }],
    }
}

fn chart(fluid: &[Vec<Spread>], rr: Spread, o1: Spread) -> LineChart {
    let beta = |(beta, spreads): (&&str, &Vec<Spread>)| Line {
        name: format!("fluid, beta {beta}"),
        points: fluid::ALPHAS.iter().zip(spreads).map(|(alpha, s)| (*alpha, s.mean)).collect(),
    };
    let flat = |name: &str, spread: Spread| Line {
        name: name.into(),
        points: fluid::ALPHAS.iter().map(|alpha| (*alpha, spread.mean)).collect(),
    };
    let curves = BETAS.iter().zip(fluid).map(beta);
    LineChart {
        title: "Mean response time of eight users".into(),
        description: "Mean response time by alpha, for three betas, and for RR and O(1)".into(),
        x: Axis { label: "alpha".into(), scale: Scale::Logarithmic },
        y: Axis { label: "mean response time (s)".into(), scale: Scale::Linear },
        lines: curves.chain([flat("RR, slices", rr), flat("O(1), slices", o1)]).collect(),
    }
}
