// SPDX-License-Identifier: MIT OR Apache-2.0
//! Figures 8 and 9: clients of a web server, and of a server in three tiers [PBS §4.2.2, §4.2.3].

use crate::effort::Effort;
use crate::error::Error;
use crate::figure::{Drawing, Found, Measured, Table};
use crate::pool;
use crate::rig::{linked, Length, Rig};
use crate::Job;
use rota_measure::statistics::estimate;
use rota_report::chart::{Axis, Line, LineChart, Scale};
use rota_trace::{Event, EventKind, Request, Sink};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What is run for a figure.
struct Service {
    /// As a workload file.
    text: String,
    /// Requests that ask for less are small; seconds.
    small: f64,
    /// From, to and end of a run in seconds, as the paper has them.
    window: (f64, f64, f64),
    betas: &'static [&'static str],
    /// Of these, those with two alphas only.
    few: &'static [&'static str],
    /// Runs of each case, by default.
    seeds: u64,
}

const SHORT: (f64, f64, f64) = (50.0, 350.0, 360.0);

/// Means of the runs, in seconds.
struct Outcome {
    name: String,
    /// Of PBS.
    alpha: Option<(f64, &'static str)>,
    /// By run.
    all: Vec<f64>,
    small: Vec<f64>,
}

/// Which means of an outcome.
type Values = fn(&Outcome) -> &Vec<f64>;

/// Group B: 30 clients, sizes of Pareto's distribution with shape 1.2.
pub(crate) fn web(job: &Job<'_>) -> Result<Vec<Found>, Error> {
    let (mean_us, max_us) = (250_000, 30_000_000);
    let text = format!(
        "{{\"sockets\": {{\"http\": \"tcp\"}}, \"customers\": {{\"clients\": {{\"to\": \"http\", \
         \"users\": 30, \"think\": {{\"dist\": \"exp\", \"mean\": 10000000}}, \"demand\": \
         {{\"dist\": \"pareto\", \"shape\": 1.2, \"mean\": {mean_us}, \"max\": {max_us}}}}}}}, \
         \"tasks\": {{\"cgi\": {{\"instance\": 30, \"recv\": \"http\", \"run\": {{\"request\": 1}}, \
         \"reply\": \"http\"}}}}}}"
    );
    let window = (400.0, 1_600.0, 1_700.0);
    let (betas, seeds): (&[&str], u64) = (&["0", "-3", "+inf"], 8);
    let (small, few): (f64, &[&str]) = (f64::from(mean_us) / 1e6, &["-3", "+inf"]);
    let service = Service { text, small, window, betas, few, seeds };
    let outcomes = outcomes(job, &service)?;
    let (all, small): (Values, Values) = (|o| &o.all, |o| &o.small);
    let ratio = |one: &str, other: &str, of| ratio(&outcomes, [one], [other], of);
    let mut numbers = vec![
        ("linux_all".to_owned(), ratio("O(1)", "RR", all)),
        ("linux_small".to_owned(), ratio("O(1)", "RR", small)),
    ];
    for (beta, suffix) in [("0", ""), ("-3", "_3")] {
        let (high, low) = (pbs(&outcomes, beta, f64::max), pbs(&outcomes, beta, f64::min));
        for (key, of) in [
            ("large_alpha", ratio(&high, &low, all)),
            ("large_alpha_small", ratio(&high, &low, small)),
            ("pbs_linux", ratio(&high, "O(1)", all)),
            ("pbs_rr", ratio(&high, "RR", all)),
        ] {
            numbers.push((format!("{key}{suffix}"), of));
        }
        for outcome in &outcomes {
            let Some((alpha, of)) = outcome.alpha else { continue };
            if of == beta && alpha > 2.0 {
                let of = ratio(&outcome.name, "O(1)", small);
                numbers.push((format!("pbs_linux_small{suffix}_{alpha}"), of));
            }
        }
    }
    Ok(vec![Found {
        id: "fig8",
        ran: format!(
            "30 clients think for 10 s (exponential), and ask one of 30 server tasks for CPU time \
             of Pareto's distribution with shape 1.2, 250 ms on average without the cut at 30 s, \
             on one CPU with 250 ticks per second and the default costs. {} Judged are beta 0, under \
             which each request is a session of its own, as a CGI process is, and beta -3: server \
             tasks live on here. Small are requests of less than 250 ms.",
            told(job.effort, &service)
        ),
        numbers,
        tables: vec![table(&outcomes)],
        drawings: [chart(&outcomes, "all requests", all), chart(&outcomes, "small requests", small)]
            .map(|chart| Drawing { svg: chart.render() })
            .into(),
    }])
}

/// Group C: TPC-W's place is taken by requests through three tiers.
pub(crate) fn tiers(job: &Job<'_>) -> Result<Vec<Found>, Error> {
    let text = "{\"sockets\": {\"http\": \"tcp\", \"servlet\": \"unix\", \"sql\": \"unix\"}, \
        \"customers\": {\"browsers\": {\"to\": \"http\", \"users\": 30, \"think\": {\"dist\": \
        \"exp\", \"mean\": 7000000}, \"demand\": {\"dist\": \"exp\", \"mean\": 200000}}}, \
        \"tasks\": {\"web\": {\"instance\": 30, \"recv\": \"http\", \"run1\": {\"request\": 0.05}, \
        \"send\": {\"to\": \"servlet\", \"demand\": {\"request\": 0.9}, \"wait\": true}, \"run2\": \
        {\"request\": 0.05}, \"reply\": \"http\"}, \"tomcat\": {\"instance\": 30, \"recv\": \
        \"servlet\", \"run1\": {\"request\": 0.3}, \"send1\": {\"to\": \"sql\", \"demand\": \
        {\"request\": 0.3}, \"wait\": true}, \"run2\": {\"request\": 0.2}, \"send2\": {\"to\": \
        \"sql\", \"demand\": {\"request\": 0.2}, \"wait\": true}, \"reply\": \"servlet\"}, \
        \"mysqld\": {\"instance\": 8, \"recv\": \"sql\", \"run\": {\"request\": 0.9}, \"sleep\": \
        {\"request\": 0.1}, \"reply\": \"sql\"}}}";
    let window = (600.0, 2_400.0, 2_700.0);
    let (betas, seeds): (&[&str], u64) = (&["+inf", "-3", "0"], 3);
    let (text, small, few): (_, _, &[&str]) = (text.into(), f64::INFINITY, &["+inf"]);
    let service = Service { text, small, window, betas, few, seeds };
    let outcomes = outcomes(job, &service)?;
    let all: Values = |o| &o.all;
    let mut numbers = vec![("rr_linux".to_owned(), ratio(&outcomes, ["RR"], ["O(1)"], all))];
    // Of each beta.
    for (beta, key) in [("+inf", "inf"), ("-3", "3"), ("0", "0")] {
        let (high, low) = (pbs(&outcomes, beta, f64::max), pbs(&outcomes, beta, f64::min));
        let level = ratio(&outcomes, [&*high], ["RR", "O(1)"], all);
        numbers.push((format!("large_alpha_{key}"), level));
        numbers.push((format!("small_alpha_{key}"), ratio(&outcomes, [&*low], [&*high], all)));
    }
    Ok(vec![Found {
        id: "fig9",
        ran: format!(
            "TPC-W cannot be had: in its place 30 clients think for 7 s (exponential) and send \
             requests of 200 ms on average (exponential) through three tiers: a tenth is the web \
             server's, half the servlets', the rest a database's in two queries, a tenth of these \
             waiting for a disk. One CPU with 250 ticks per second and the default costs. {}",
            told(job.effort, &service)
        ),
        numbers,
        tables: vec![table(&outcomes)],
        drawings: vec![Drawing { svg: chart(&outcomes, "three tiers", all).render() }],
    }])
}

/// Alphas and seeds.
fn amount(effort: Effort, service: &Service) -> (&'static [f64], u64) {
    match effort {
        Effort::Quick => (&[0.2, 5.0], 1),
        Effort::Default => (&[0.2, 1.0, 3.0, 10.0], service.seeds),
        Effort::Full => (&[0.1, 0.2, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0], 5 * service.seeds),
    }
}

fn window(effort: Effort, service: &Service) -> (f64, f64, f64) {
    if effort == Effort::Quick {
        return SHORT;
    }
    service.window
}

fn told(effort: Effort, service: &Service) -> String {
    let ((from, to, end), (_, seeds)) = (window(effort, service), amount(effort, service));
    format!("{end} s, of which {from} to {to} s count; seeds: {seeds}. RR has slices of 4 ms.")
}

fn outcomes(job: &Job<'_>, service: &Service) -> Result<Vec<Outcome>, Error> {
    let (alphas, seeds) = amount(job.effort, service);
    let plain = [("RR", "rr"), ("O(1)", "o1"), ("EEVDF", "eevdf")];
    let plain = plain.map(|(name, policy)| (name.to_owned(), policy, None));
    let ends = [alphas[0], alphas[alphas.len() - 1]];
    let of = |beta: &&'static str| {
        let case = |alpha: &f64, beta| {
            (format!("PBS, beta {beta}, alpha {alpha}"), "pbs", Some((*alpha, beta)))
        };
        // With +inf all tasks are equally old: alpha makes no difference, which two of them show.
        let alphas = if service.few.contains(beta) { &ends[..] } else { alphas };
        alphas.iter().map(|alpha| case(alpha, *beta)).collect::<Vec<_>>()
    };
    let cases: Vec<_> = plain.into_iter().chain(service.betas.iter().flat_map(of)).collect();
    let runs: Vec<(usize, u64)> =
        (0..cases.len()).flat_map(|case| (1..=seeds).map(move |seed| (case, seed))).collect();
    job.progress.announce(runs.len() as u64);
    let workload = Arc::new(rota_workload::parse("requests", &service.text)?);
    let (from, to, end) = window(job.effort, service);
    let times = pool::map(job.threads, &runs, |(case, seed)| {
        let (_, policy, set) = &cases[*case];
        let alpha = set.map(|(alpha, _)| alpha.to_string()).unwrap_or_default();
        let set = match set {
            Some((_, beta)) => vec![("alpha", &*alpha), ("beta", *beta)],
            None if *policy == "rr" => vec![("quantum_ns", "4000000")],
            None => Vec::new(),
        };
        let mut times = Times::default();
        let length = Length { seed: *seed, ..Length::of((end * 1e9) as u64) };
        let mut rig = Rig::ticking(&linked(policy, &set)?).without_watchdog();
        rig.run(&workload, length, &mut times)?;
        job.progress.advance(1);
        Ok(times.means(from, to, service.small))
    })?;
    let outcome = |(at, (name, _, alpha)): (usize, (String, _, _))| {
        let own = runs.iter().zip(&times).filter(|((case, _), _)| *case == at);
        let (all, small) = own.map(|(_, means)| *means).unzip();
        Outcome { name, alpha, all, small }
    };
    Ok(cases.into_iter().enumerate().map(outcome).collect())
}

/// Name of the outcome with the largest or the least alpha.
fn pbs(outcomes: &[Outcome], beta: &str, pick: fn(f64, f64) -> f64) -> String {
    let own = || outcomes.iter().filter_map(|o| o.alpha).filter(|(_, of)| *of == beta);
    let alpha = own().map(|(alpha, _)| alpha).reduce(pick).unwrap_or(f64::NAN);
    format!("PBS, beta {beta}, alpha {alpha}")
}

/// The mean of some schedulers over that of others, with each seed: requests are the same.
fn ratio<const A: usize, const B: usize>(
    outcomes: &[Outcome],
    one: [&str; A],
    other: [&str; B],
    of: Values,
) -> Measured {
    let mean = |names: &[&str], seed: usize| {
        let own = outcomes.iter().filter(|outcome| names.contains(&&*outcome.name));
        own.map(|outcome| of(outcome)[seed]).sum::<f64>() / names.len() as f64
    };
    let seeds = outcomes.first().map_or(0, |outcome| of(outcome).len());
    let means = |names: &[&str]| (0..seeds).map(|seed| mean(names, seed)).collect::<Vec<f64>>();
    Measured::ratio(&means(&one), &means(&other))
}

fn table(outcomes: &[Outcome]) -> Table {
    let has_small = outcomes.iter().any(|outcome| outcome.all != outcome.small);
    let cells = |values: &[f64]| {
        let of = estimate(values);
        let width = of.and_then(|of| of.half_width).map_or("–".into(), |w| format!("±{w:.2}"));
        [of.map_or("–".into(), |of| format!("{:.3}", of.mean)), width]
    };
    let row = |outcome: &Outcome| {
        let mut row = vec![outcome.name.clone()];
        row.extend(cells(&outcome.all));
        if has_small {
            row.extend(cells(&outcome.small));
        }
        row
    };
    let columns = if has_small { 5 } else { 3 };
    let header = ["scheduler", "all (s)", "95 %", "small (s)", "95 %"];
    Table {
        title: "Mean response times".into(),
        header: header[..columns].iter().map(|name| (*name).to_owned()).collect(),
        rows: outcomes.iter().map(row).collect(),
        long: false,
    }
}

fn chart(outcomes: &[Outcome], what: &str, of: Values) -> LineChart {
    let mean = |outcome: &Outcome| estimate(of(outcome)).map_or(f64::NAN, |of| of.mean);
    let mut lines: Vec<Line> = Vec::new();
    let alphas: Vec<f64> =
        outcomes.iter().filter_map(|o| o.alpha).map(|(alpha, _)| alpha).collect();
    for outcome in outcomes {
        let Some((alpha, beta)) = outcome.alpha else {
            let points = alphas.iter().map(|alpha| (*alpha, mean(outcome))).collect();
            lines.push(Line { name: outcome.name.clone(), points });
            continue;
        };
        let name = format!("PBS, beta {beta}");
        match lines.iter_mut().find(|line| line.name == name) {
            Some(line) => line.points.push((alpha, mean(outcome))),
            None => lines.push(Line { name, points: vec![(alpha, mean(outcome))] }),
        }
    }
    for line in &mut lines {
        line.points.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    LineChart {
        title: format!("Mean response time, {what}"),
        description: format!("Mean response time of {what} by alpha, and of RR, O(1) and EEVDF"),
        x: Axis { label: "alpha".into(), scale: Scale::Logarithmic },
        y: Axis { label: "mean response time (s)".into(), scale: Scale::Linear },
        lines,
    }
}

/// Response times of customers' requests.
#[derive(Default)]
struct Times {
    open: BTreeMap<u64, (f64, f64)>,
    /// Arrival, end and demand, in seconds.
    all: Vec<(f64, f64, f64)>,
}

impl Times {
    /// Of all requests within a time, and of small ones.
    fn means(&self, from: f64, to: f64, small: f64) -> (f64, f64) {
        let inside = || self.all.iter().filter(|(began, end, _)| *began >= from && *end <= to);
        let mean = |of: &mut dyn Iterator<Item = f64>| {
            let (count, sum) = of.fold((0.0, 0.0), |(count, sum), time| (count + 1.0, sum + time));
            sum / count
        };
        let all = mean(&mut inside().map(|(began, end, _)| end - began));
        let few = inside().filter(|(_, _, demand)| *demand < small);
        (all, mean(&mut few.map(|(began, end, _)| end - began)))
    }
}

impl Sink for Times {
    fn event(&mut self, event: &Event) {
        let now = event.time_ns as f64 / 1e9;
        match &event.kind {
            // Of customers, not of servers among themselves.
            EventKind::Request(Request::Begin { request, sender: 0, demand_ns, .. }) => {
                self.open.insert(*request, (now, *demand_ns as f64 / 1e9));
            }
            EventKind::Request(Request::End { request, .. }) => {
                if let Some((began, demand)) = self.open.remove(request) {
                    self.all.push((began, now, demand));
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_requests_have_a_mean_of_their_own() {
        let all = vec![(0.0, 9.0, 1.0), (10.0, 12.0, 0.5), (11.0, 15.0, 3.0), (14.0, 21.0, 1.0)];
        let times = Times { all, ..Times::default() };
        assert_eq!(times.means(10.0, 20.0, 1.0), (3.0, 2.0));
    }
}
