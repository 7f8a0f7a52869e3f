// SPDX-License-Identifier: MIT OR Apache-2.0
//! What `rota fluid` prints and draws. Times are seconds.

use super::table;
use super::units::percent;
use crate::error::Error;
use rota_fluid::{Beta, ChangeKind, Inactive, Pbs, Solution};
use rota_report::chart::{Areas, Band};
use serde::Serialize;
use std::io::Write;

/// Rows of the table of shares that a step chosen here gives, at most.
const ROWS: f64 = 25.0;
/// Rows that a step may give.
const MOST_ROWS: f64 = 1e5;
/// Tasks that have a column of their own.
const COLUMNS: usize = 12;
/// Places at which a picture knows the shares, besides those where they bend.
const PLACES: usize = 400;

/// A solved scenario, to be printed.
pub(crate) struct Found {
    pub(crate) policy: Pbs,
    pub(crate) beta: Beta,
    pub(crate) arrivals: Vec<f64>,
    /// Of the table of shares.
    pub(crate) step: f64,
    pub(crate) solution: Solution,
}

/// `rota fluid pbs --json`.
#[derive(Debug, Serialize)]
pub(crate) struct Json<'a> {
    schema: &'static str,
    policy: JsonPolicy,
    end_s: f64,
    tasks: Vec<JsonTask<'a>>,
    changes: Vec<JsonChange<'a>>,
    activations: Vec<JsonActivation<'a>>,
    shares: JsonShares,
}

#[derive(Debug, Serialize)]
struct JsonPolicy {
    name: &'static str,
    /// As it was given: JSON has no infinite numbers.
    alpha: String,
    beta: String,
}

#[derive(Debug, Serialize)]
struct JsonTask<'a> {
    name: &'a str,
    arrival_s: f64,
    received_s: f64,
    completion_s: Option<f64>,
}

#[derive(Debug, Serialize)]
struct JsonChange<'a> {
    at_s: f64,
    task: &'a str,
    what: &'static str,
}

#[derive(Debug, Serialize)]
struct JsonActivation<'a> {
    task: &'a str,
    from_s: f64,
    to_s: Option<f64>,
    received_s: f64,
}

#[derive(Debug, Serialize)]
struct JsonShares {
    step_s: f64,
    /// Of each step, of each task.
    rows: Vec<Vec<f64>>,
}

/// 1, 2 or 5 times a power of ten, so that a time has [`ROWS`] rows at most.
pub(crate) fn round_step(end: f64) -> f64 {
    let least = end / ROWS;
    if !(least > 0.0 && least.is_finite()) {
        return 1.0;
    }
    let power = 10f64.powf(least.log10().floor());
    let fits = |factor: &f64| factor * power >= least * (1.0 - 1e-9);
    [1.0, 2.0, 5.0].into_iter().find(fits).unwrap_or(10.0) * power
}

impl Found {
    /// A table that nobody can read is a slip.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let rows = self.solution.end / self.step;
        if rows > MOST_ROWS {
            let (step, end) = (self.step, self.solution.end);
            return Err(Error::input(format!(
                "--step {step}s: {rows:.0} rows in {end} s: expected {MOST_ROWS} at most"
            )));
        }
        Ok(())
    }

    /// From and to of each row, and what each task had of it.
    fn rows(&self) -> impl Iterator<Item = (f64, f64, Vec<f64>)> + '_ {
        let (solution, step) = (&self.solution, self.step);
        let rows = (solution.end / step - 1e-9).ceil().max(0.0) as usize;
        (0..rows).map(move |row| {
            let (from, to) = (row as f64 * step, ((row + 1) as f64 * step).min(solution.end));
            let tasks = 0..solution.names.len();
            (from, to, tasks.map(|task| solution.mean_share(task, from, to)).collect())
        })
    }

    fn received(&self, task: usize) -> f64 {
        self.solution.received(task, self.solution.end)
    }
}

impl<'a> Json<'a> {
    pub(crate) fn new(found: &'a Found) -> Self {
        let solution = &found.solution;
        let name = |task: usize| solution.names[task].as_str();
        let task = |at: usize| JsonTask {
            name: name(at),
            arrival_s: found.arrivals[at],
            received_s: found.received(at),
            completion_s: solution.completions[at],
        };
        let changes = solution.changes.iter();
        let activations = solution.activations.iter();
        Self {
            schema: "rota.fluid/1",
            policy: JsonPolicy {
                name: "pbs",
                alpha: found.policy.alpha().to_string(),
                beta: beta(found.beta),
            },
            end_s: solution.end,
            tasks: (0..solution.names.len()).map(task).collect(),
            changes: changes
                .map(|c| JsonChange { at_s: c.at, task: name(c.task), what: what(c.kind) })
                .collect(),
            activations: activations
                .map(|a| JsonActivation {
                    task: name(a.task),
                    from_s: a.from,
                    to_s: a.to,
                    received_s: a.service,
                })
                .collect(),
            shares: JsonShares {
                step_s: found.step,
                rows: found.rows().map(|(_, _, shares)| shares).collect(),
            },
        }
    }
}

fn beta(beta: Beta) -> String {
    let sign = match beta.inactive {
        _ if beta.threshold == 0.0 => "",
        Inactive::Included => "+",
        Inactive::Excluded => "-",
    };
    format!("{sign}{}", beta.threshold)
}

fn what(kind: ChangeKind) -> &'static str {
    match kind {
        ChangeKind::Wakes => "wakes",
        ChangeKind::Interrupted => "interrupted",
        ChangeKind::Served => "served",
        ChangeKind::Sleeps => "sleeps",
        ChangeKind::Ends => "ends",
    }
}

fn seconds(time: f64) -> String {
    format!("{time:.3}s")
}

/// Tables for people.
pub(crate) fn print(out: &mut dyn Write, found: &Found) -> Result<(), Error> {
    let solution = &found.solution;
    let count = match solution.names.len() {
        1 => "1 task".to_owned(),
        count => format!("{count} tasks"),
    };
    let (alpha, beta) = (found.policy.alpha(), beta(found.beta));
    let end = seconds(solution.end);
    writeln!(out, "pbs, fluid: alpha {alpha}, beta {beta}, {count} on one processor, {end}\n")?;
    let row = |task: usize| {
        let (arrival, completion) = (found.arrivals[task], solution.completions[task]);
        let received = found.received(task);
        let response = completion.map(|end| end - arrival);
        vec![
            solution.names[task].clone(),
            seconds(arrival),
            seconds(received),
            completion.map_or("-".into(), seconds),
            response.map_or("-".into(), seconds),
            response.map_or("-".into(), |response| format!("{:.3}", response / received)),
        ]
    };
    let header = ["task", "arrival", "received", "completion", "response", "slowdown"];
    let rows = (0..solution.names.len()).map(row).collect();
    for line in table::lines(&header, 1, rows) {
        writeln!(out, "{line}")?;
    }
    if solution.names.len() > COLUMNS {
        writeln!(out, "\nshares of more than {COLUMNS} tasks are printed with --json only")?;
        return Ok(());
    }
    writeln!(out, "\nshares of the processor")?;
    let header = ["from", "to"].into_iter().chain(solution.names.iter().map(String::as_str));
    let header: Vec<&str> = header.collect();
    let row = |(from, to, shares): (f64, f64, Vec<f64>)| {
        let times = [seconds(from), seconds(to)].into_iter();
        times.chain(shares.into_iter().map(percent)).collect::<Vec<String>>()
    };
    for line in table::lines(&header, 0, found.rows().map(row).collect()) {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

/// Shares over time.
pub(crate) fn picture(found: &Found) -> Areas {
    let curve = found.solution.curve(PLACES);
    let bands = found.solution.names.iter().zip(curve.shares);
    Areas {
        title: format!("Processor shares, alpha {}", found.policy.alpha()),
        description: "How much of the processor each task has, over time".into(),
        label: "time (s)".into(),
        whole: "share of the processor".into(),
        bands: bands.map(|(name, parts)| Band { name: name.clone(), parts }).collect(),
        at: curve.at,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_round_and_not_too_many() {
        for (end, step) in [(12.0, 0.5), (25.0, 1.0), (26.0, 2.0), (0.012, 0.0005), (0.0, 1.0)] {
            assert!((round_step(end) - step).abs() < 1e-12, "{end}: {}", round_step(end));
        }
    }

    #[test]
    fn beta_is_printed_as_it_is_typed() {
        for text in ["+inf", "-inf", "-3", "+1.5", "0"] {
            assert_eq!(beta(text.parse().expect("a beta")), text);
        }
    }
}
