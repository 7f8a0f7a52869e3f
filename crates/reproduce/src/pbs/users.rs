// SPDX-License-Identifier: MIT OR Apache-2.0
//! Figure 7: eight users that compute and think [PBS §4.2.1, group A].

mod fluid;
mod responses;

use crate::effort::Effort;
use crate::error::Error;
use crate::figure::{Drawing, Found, Measured, Table};
use crate::pool;
use crate::rig::{linked, tasks, Length, Rig};
use crate::Job;
use responses::Responses;
use rota_report::chart::{Axis, Line, LineChart, Scale};

const USERS: usize = 8;
/// A task is so many pieces of work, with a short inactive period between them.
const PIECES: u64 = 6;
const PIECE_US: u64 = 500_000;
const PAUSE_US: u64 = 10_000;
const THINK_US: u64 = 25_000_000;
const BETAS: [&str; 3] = ["+inf", "-3", "0"];
/// Users who are all created at the beginning, before they think for the first time.
const TOGETHER: &str = "+inf, together";

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
            Amount { alphas: &[0.1, 0.3, 1.0, 4.0], seeds: 16, fluid_seeds: 8, window: PAPERS }
        }
        Effort::Full => Amount {
            alphas: &[0.1, 0.2, 0.3, 0.5, 0.8, 1.0, 2.0, 4.0, 10.0],
            seeds: 48,
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
    deviation: Measured,
    /// Half the width of the mean's confidence interval over the runs.
    half_width: Option<f64>,
}

/// Of one scheduler: mean response time and its standard deviation, of each run.
#[derive(Clone)]
struct Seeds {
    means: Vec<f64>,
    deviations: Vec<f64>,
}

pub(crate) fn run(job: &Job<'_>) -> Result<Vec<Found>, Error> {
    let amount = amount(job.effort);
    let plain = ["rr", "o1"].map(|policy| Case { policy, set: None });
    let of = |beta| amount.alphas.iter().map(move |alpha| (*alpha, beta));
    // Equally old users: alpha makes no difference, which two of them show.
    let ends = [amount.alphas[0], amount.alphas[amount.alphas.len() - 1]];
    let together = ends.iter().map(|alpha| (*alpha, TOGETHER));
    let pbs = BETAS
        .into_iter()
        .flat_map(of)
        .chain(together)
        .map(|set| Case { policy: "pbs", set: Some(set) });
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
    let seeds = |case: usize| {
        let own = runs.iter().zip(&all).filter(|((of, _), _)| *of == case);
        Seeds::of(own.map(|(_, responses)| responses.as_slice()))
    };
    let seeds: Vec<Seeds> = (0..cases.len()).map(seeds).collect();
    let fluid = fluid::spreads(job, &amount)?;
    Ok(vec![found(&amount, &cases, &seeds, &fluid)])
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
            Some((_, TOGETHER)) => vec![("alpha", &*alpha), ("beta", "+inf")],
            Some((_, beta)) => vec![("alpha", &*alpha), ("beta", beta)],
            // Slices as long as those of the paper's kernel.
            None if self.policy == "rr" => vec![("quantum_ns", "4000000")],
            None => Vec::new(),
        };
        let policy = linked(self.policy, &set)?;
        let think = format!("{{ \"dist\": \"exp\", \"mean\": {THINK_US} }}");
        // A user is created when its first task comes, or sleeps until then, too.
        let together = self.set.is_some_and(|(_, beta)| beta == TOGETHER);
        let mut told = format!("\"instance\": {USERS}");
        told += &format!(", \"{}\": {think}", if together { "sleep0" } else { "delay" });
        for piece in 1..=PIECES {
            told += &format!(", \"run{piece}\": {PIECE_US}");
            if piece < PIECES {
                told += &format!(", \"sleep{piece}\": {PAUSE_US}");
            }
        }
        if !together {
            told += &format!(", \"sleep{PIECES}\": {think}");
        }
        let workload = tasks(std::iter::once(told), |_| "user".into())?;
        let mut responses = Responses::new(PIECES);
        let length = Length { seed, ..Length::of((window.end * 1e9) as u64) };
        // Users that are created together may wait for longer than a kernel would let them.
        Rig::ticking(&policy).without_watchdog().run(&workload, length, &mut responses)?;
        Ok(responses.within(window.from, window.to))
    }
}

impl Seeds {
    fn of<'a>(runs: impl Iterator<Item = &'a [f64]>) -> Self {
        let (mut means, mut deviations) = (Vec::new(), Vec::new());
        for run in runs {
            let mean = run.iter().sum::<f64>() / run.len() as f64;
            let squares: f64 = run.iter().map(|time| (time - mean).powi(2)).sum();
            means.push(mean);
            deviations.push((squares / run.len() as f64).sqrt());
        }
        Self { means, deviations }
    }

    fn spread(&self) -> Spread {
        let Measured { value, half_width, .. } = Measured::over_seeds(&self.means);
        Spread { mean: value, deviation: Measured::over_seeds(&self.deviations), half_width }
    }

    /// A number of both, of the same seeds: their users think as long.
    fn with(&self, other: &Self, of: impl Fn(f64, f64) -> f64) -> Measured {
        let pairs = self.means.iter().zip(&other.means);
        Measured::over_seeds(&pairs.map(|(own, other)| of(*own, *other)).collect::<Vec<_>>())
    }
}

/// What is set against the paper's numbers: of each alpha, never of several.
fn numbers(cases: &[Case], seeds: &[Seeds]) -> Vec<(String, Measured)> {
    let (rr, o1) = (&seeds[0], &seeds[1]);
    let work = (PIECES * PIECE_US) as f64 / 1e6;
    // Of what a task takes beyond its own work.
    let gain = |mean: f64, rr: f64| 100.0 * (1.0 - (mean - work) / (rr - work));
    let mut numbers = vec![
        ("linux".to_owned(), Measured::ratio(&o1.means, &rr.means)),
        ("deviation_linux".to_owned(), o1.spread().deviation),
        ("deviation_rr".to_owned(), rr.spread().deviation),
    ];
    let of_beta = |beta: &'static str| {
        let all = cases.iter().zip(seeds);
        all.filter_map(move |(case, seeds)| {
            Some((case.set.filter(|(_, of)| *of == beta)?.0, seeds))
        })
    };
    for (beta, key, gains_below) in [
        ("+inf", "inf", f64::INFINITY),
        (TOGETHER, "together", f64::INFINITY),
        ("-3", "3", 0.5),
        ("0", "0", 1.0),
    ] {
        for (alpha, own) in of_beta(beta) {
            numbers.push((format!("deviation_{key}_{alpha}"), own.spread().deviation));
            if alpha < gains_below {
                numbers.push((format!("gain_{key}_{alpha}"), own.with(rr, gain)));
            }
            if beta == "-3" && alpha < 0.4 {
                numbers.push((format!("mean_3_{alpha}"), Measured::over_seeds(&own.means)));
            }
        }
    }
    let rises = |beta| {
        let all: Vec<&Seeds> = of_beta(beta).map(|(_, seeds)| seeds).collect();
        let pairs = all[all.len() - 1].means.iter().zip(&all[0].means);
        pairs.map(|(last, first)| last - first).collect::<Vec<f64>>()
    };
    let [inf, three, zero] = BETAS.map(rises);
    let others = zero.iter().zip(&inf).map(|(zero, inf)| zero.abs().max(inf.abs()));
    let most: Vec<f64> = three.iter().zip(others).map(|(three, other)| three - other).collect();
    for (key, rises) in [("rises_3", three), ("rises_0", zero), ("most_sensitive", most)] {
        numbers.push((key.to_owned(), Measured::over_seeds(&rises)));
    }
    numbers
}

fn found(amount: &Amount, cases: &[Case], seeds: &[Seeds], fluid: &[Vec<Spread>]) -> Found {
    let spreads: Vec<Spread> = seeds.iter().map(Seeds::spread).collect();
    let (rr, o1) = (spreads[0], spreads[1]);
    let row = |(name, spread): (String, &Spread)| {
        let width = spread.half_width.map_or("–".into(), |width| format!("±{width:.2}"));
        let Measured { value, half_width, .. } = spread.deviation;
        let of_deviation = half_width.map_or("–".into(), |width| format!("±{width:.2}"));
        vec![name, format!("{:.2}", spread.mean), width, format!("{value:.2}"), of_deviation]
    };
    let table = |title: &str, rows: Vec<Vec<String>>| Table {
        title: title.into(),
        header: ["scheduler", "mean (s)", "95 %", "deviation (s)", "95 %"]
            .map(String::from)
            .to_vec(),
        rows,
        long: false,
    };
    let sliced = cases.iter().map(Case::name).zip(&spreads).map(row).collect();
    let fluid_rows = BETAS.iter().zip(fluid).flat_map(|(beta, spreads)| {
        let name = move |alpha: &f64| format!("fluid, beta {beta}, alpha {alpha}");
        fluid::ALPHAS.iter().map(name).zip(spreads).map(row).collect::<Vec<_>>()
    });
    let (alphas, runs, fluid_seeds) = (amount.alphas.len(), amount.seeds, amount.fluid_seeds);
    let Window { from, to, end } = amount.window;
    Found {
        id: "fig7",
        ran: format!(
            "Eight tasks that think (exponential, 25 s) and then compute for 3 s in six pieces \
             with 10 ms of sleep between them, on one CPU with 250 ticks per second and the default \
             costs: {end} s, of which {from} to {to} s count, {alphas} values of alpha, {runs} \
             seeds, the same think times for all schedulers. RR has slices of 4 ms. A user is created when its first task comes or, “together”, at the beginning, as all others: then one may wait for more than 30 s, for which sched_ext's watchdog ejects a policy. It is off here. The fluid \
             model, with {fluid_seeds} other seeds, has less noise."
        ),
        numbers: numbers(cases, seeds),
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
