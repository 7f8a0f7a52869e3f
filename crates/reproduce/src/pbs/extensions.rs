// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the paper adds to the priority [PBS §5.1 to §5.3]: a bonus for the task that runs, an offset
//! for its share, and a favour for interactive tasks. In the ideal machine.

use super::picks::play;
use super::scenario::{FOREVER, FOUR};
use crate::error::Error;
use crate::figure::{plain, Found, Table};
use crate::pool;
use crate::rig::{hogs_told, linked, tasks, Length, Rig};
use crate::runs::{Run, Runs};
use crate::Job;
use rota_workload::Workload;
use std::sync::Arc;

const SECOND_NS: u64 = 1_000_000_000;
/// Time between switches over service that the paper's example wants [§5.1].
const WANTED: f64 = 0.025;
/// The same as a bonus, with alpha 2: 2 log2(1 + 1/40) = 0.0713 [eq. 5].
const GAMMA: &str = "0.0713";
const EQUAL: [usize; 3] = [2, 4, 16];
const ALPHAS: [&str; 4] = ["0.5", "1", "2", "10"];
const KAPPA: u64 = 3;
/// Of epsilon and alpha'.
const COMBINED: [(&str, &str, &str); 3] = [("0.4", "0.5", "1"), ("1", "2", "3"), ("2", "0.2", "1")];
const EPSILONS: [&str; 4] = ["0", "0.2", "0.5", "2"];
const SLEEP_MS: u64 = 180;
const WORK_MS: u64 = 20;

pub(crate) fn run(job: &Job<'_>) -> Result<Vec<Found>, Error> {
    job.progress.announce(5);
    let parts: [Measure; 4] = [bonus, offset, combined, favour];
    let mut numbers = Vec::new();
    let mut tables = Vec::new();
    for part in parts {
        let (own, table) = part(job)?;
        numbers.extend(own);
        tables.extend(table);
        job.progress.advance(1);
    }
    let low = runs(
        &[],
        &hogs_told(["0", "19"].map(|nice| format!("\"priority\": {nice}")).into_iter(), name)?,
        60,
    )?;
    let of_low: u64 = within(&low, 1, 30 * SECOND_NS);
    numbers.push(("low".to_owned(), of_low as f64 / 1e6));
    job.progress.advance(1);
    Ok(vec![Found {
        id: "extensions",
        ran: format!(
            "The policy that ships on one CPU of the ideal machine, all times from birth (beta \
             +inf), slices of 4 ms. The bonus: 2, 4 and 16 tasks that compute, alpha 2, slices of \
             1 ms; time on the CPU over the mean service of a task when it begins, from 10 to 40 s. \
             The offset: a task of {KAPPA} times the share of another, 60 s, of which the last 30 \
             count. The combined function: every decision about the four tasks of Figure 2 with \
             (alpha, epsilon, alpha') of (0.4, 0.5, 1), (1, 2, 3) and (2, 0.2, 1). The favour: a task \
             that computes for {WORK_MS} ms and sleeps for {SLEEP_MS} ms next to four that \
             compute, alpha 0.5, beta 0, alpha' 1, beta' +inf, from 10 to 40 s."
        ),
        numbers: plain(numbers),
        tables,
        drawings: Vec::new(),
    }])
}

type Part = (Vec<(String, f64)>, Option<Table>);
type Measure = fn(&Job<'_>) -> Result<Part, Error>;

fn name(at: usize) -> String {
    format!("t{at}")
}

fn runs(set: &[(&str, &str)], workload: &Arc<Workload>, seconds: u64) -> Result<Vec<Run>, Error> {
    let set = [&[("beta", "+inf")], set].concat();
    let mut runs = Runs::default();
    let end_ns = seconds * SECOND_NS;
    Rig::new(&linked("pbs", &set)?).run(workload, Length::of(end_ns), &mut runs)?;
    Ok(runs.finish(end_ns))
}

/// CPU time of a task from some time on.
fn within(runs: &[Run], task: usize, from_ns: u64) -> u64 {
    let own = runs.iter().filter(|run| run.client == task);
    own.map(|run| run.to_ns.saturating_sub(run.from_ns.max(from_ns))).sum()
}

/// Eq. 5: time between switches over service, of tasks that came together.
fn bonus(job: &Job<'_>) -> Result<Part, Error> {
    let settings = [("gamma", GAMMA), ("switch_interval", "0.025")];
    let cases: Vec<(usize, usize)> =
        (0..settings.len()).flat_map(|set| EQUAL.map(|tasks| (set, tasks))).collect();
    let turns = pool::map(job.threads, &cases, |(set, tasks)| {
        let workload = hogs_told((0..*tasks).map(|_| "\"delay\": 0".to_owned()), name)?;
        let set = [("alpha", "2"), ("quantum_ns", "1000000"), settings[*set]];
        let runs = runs(&set, &workload, 40)?;
        let turn = |from: u64, to: u64| {
            let within = |run: &&Run| run.from_ns >= from * SECOND_NS && run.to_ns < to * SECOND_NS;
            let own: Vec<&Run> = runs.iter().filter(within).collect();
            let time: u64 = own.iter().map(|run| run.to_ns - run.from_ns).sum();
            let service: u64 = own.iter().map(|run| run.from_ns / *tasks as u64).sum();
            time as f64 / service as f64
        };
        Ok((turn(10, 40), turn(25, 40) / turn(10, 25)))
    })?;
    let mut numbers = Vec::new();
    for ((set, tasks), (turn, growth)) in cases.iter().zip(&turns) {
        if *set == 0 {
            numbers.push((format!("eq5_{tasks}"), 100.0 * turn));
            numbers.push((format!("linear_{tasks}"), *growth));
        } else if *tasks == EQUAL[EQUAL.len() - 1] {
            let by_gamma = turns[EQUAL.len() - 1].0;
            numbers.push(("interval".to_owned(), turn / by_gamma));
        }
    }
    numbers.push(("gamma".to_owned(), 2.0 * (1.0 + WANTED).log2()));
    Ok((numbers, None))
}

/// Eq. 6.
fn offset(job: &Job<'_>) -> Result<Part, Error> {
    let shares = pool::map(job.threads, &ALPHAS, |alpha| {
        let shares = [format!("\"share\": {}", 100 * KAPPA), "\"share\": 100".to_owned()];
        let runs = runs(&[("alpha", alpha)], &hogs_told(shares.into_iter(), name)?, 60)?;
        let [one, other] = [0, 1].map(|task| within(&runs, task, 30 * SECOND_NS) as f64);
        Ok(one / other)
    })?;
    let of = |(alpha, share): (&&str, f64)| (format!("eq6_{alpha}"), share);
    Ok((ALPHAS.iter().zip(shares).map(of).collect(), None))
}

/// The combined function [§5.3]: decisions that do not go to the greatest.
fn combined(job: &Job<'_>) -> Result<Part, Error> {
    let wrong = pool::map(job.threads, &COMBINED, |(alpha, epsilon, other)| {
        let set = [("alpha", *alpha), ("epsilon", *epsilon), ("epsilon_alpha", *other)];
        let played = play(&FOUR, &set)?;
        let [alpha, epsilon, other] =
            [alpha, epsilon, other].map(|of| of.parse().unwrap_or(f64::NAN));
        let size = 1.0 + alpha + epsilon * (1.0 + other);
        let decisions = played.decisions();
        let wrong = decisions.iter().filter(|decision| {
            let favoured = |state: &super::picks::State| {
                state.priority(alpha) + epsilon * state.priority(other)
            };
            !decision.is_greatest(favoured, size)
        });
        Ok(wrong.count() as f64)
    })?;
    Ok((vec![("combined".to_owned(), wrong.iter().sum())], None))
}

/// What the favour does for an interactive task.
fn favour(job: &Job<'_>) -> Result<Part, Error> {
    let computes = format!("\"run\": {}", (FOREVER * 1e6) as u64);
    let sleeps = format!("\"run\": {}, \"sleep\": {}", WORK_MS * 1_000, SLEEP_MS * 1_000);
    let told = std::iter::once(sleeps).chain(std::iter::repeat_n(computes, 4));
    let workload = tasks(told, name)?;
    let responses = pool::map(job.threads, &EPSILONS, |epsilon| {
        let set = [("alpha", "0.5"), ("beta", "0"), ("epsilon", *epsilon)];
        let runs = runs(&set, &workload, 40)?;
        // Each round is so much work, a sleep, and what it waited for.
        let rounds = within(&runs, 0, 10 * SECOND_NS) as f64 / 1e6 / WORK_MS as f64;
        Ok(30_000.0 / rounds - SLEEP_MS as f64)
    })?;
    let row = |(epsilon, ms): (&&str, &f64)| vec![(*epsilon).to_owned(), format!("{ms:.1}")];
    let table = Table {
        title: "Response time of the interactive task".into(),
        header: ["epsilon", "mean (ms)"].map(String::from).to_vec(),
        rows: EPSILONS.iter().zip(&responses).map(row).collect(),
        long: false,
    };
    let numbers = vec![
        ("favour".to_owned(), responses[1] / responses[0]),
        ("favour_level".to_owned(), (responses[2] / responses[1]).max(responses[3] / responses[2])),
    ];
    Ok((numbers, Some(table)))
}
