// SPDX-License-Identifier: MIT OR Apache-2.0
//! Algorithm 1: a decision in constant time [PBS §5.5].

use super::picks::play;
use super::scenario::{Scenario, FOREVER};
use crate::error::Error;
use crate::figure::{plain, Found, Table};
use crate::pool;
use crate::rig::{hogs_told, linked, Length, Rig};
use crate::Job;

/// L = 2 and a small M, which the paper calls easy.
const CONSTANT: [(&str, &str); 3] = [("mode", "constant"), ("leaders", "2"), ("looks", "4")];
const TASKS: [usize; 4] = [20, 80, 320, 1_280];
const DECISIONS: u64 = 500;
const QUANTUM_NS: u64 = 1_000_000;
const ALPHAS: [&str; 4] = ["0.4", "1", "2", "10"];

pub(crate) fn run(job: &Job<'_>) -> Result<Vec<Found>, Error> {
    let cases: Vec<(bool, usize)> =
        TASKS.iter().rev().flat_map(|tasks| [(false, *tasks), (true, *tasks)]).collect();
    job.progress.announce((cases.len() + ALPHAS.len()) as u64);
    let costs = pool::map(job.threads, &cases, |(constant, tasks)| {
        let cost = cost(*constant, *tasks);
        job.progress.advance(1);
        cost
    })?;
    let of = |constant: bool, tasks: usize| {
        let at = cases.iter().position(|case| *case == (constant, tasks));
        at.map_or(f64::NAN, |at| costs[at])
    };
    let greatest = pool::map(job.threads, &ALPHAS, |alpha| {
        let part = greatest(alpha);
        job.progress.advance(1);
        part
    })?;
    let [least, .., more, most] = TASKS;
    let mut numbers = vec![
        ("constant".to_owned(), of(true, most) / of(true, least)),
        ("exact".to_owned(), of(false, most) / of(false, more)),
    ];
    for (alpha, (exact, part)) in ALPHAS.iter().zip(&greatest) {
        numbers.push((format!("greatest_exact_{alpha}"), 100.0 * exact));
        numbers.push((format!("greatest_{alpha}"), 100.0 * part));
    }
    let row = |tasks: &usize| {
        let [exact, constant] = [false, true].map(|of_mode| format!("{:.0}", of(of_mode, *tasks)));
        vec![tasks.to_string(), exact, constant]
    };
    let header = ["tasks", "exact", "L = 2, M = 4"];
    Ok(vec![Found {
        id: "algorithm1",
        ran: format!(
            "Tasks that compute, alpha 2, in the ideal machine with slices of 1 ms: instructions of \
             a decision, mean of {DECISIONS} after each task ran twice. And 12 tasks that come within \
             a second (one each 80 ms) and stay: how many decisions of 10 s with slices of 4 ms go \
             to the greatest priority [eq. 2]."
        ),
        numbers: plain(numbers),
        tables: vec![Table {
            title: "Instructions of a decision".into(),
            header: header.map(String::from).to_vec(),
            rows: TASKS.iter().map(row).collect(),
            long: false,
        }],
        drawings: Vec::new(),
    }])
}

/// Instructions of a decision.
fn cost(constant: bool, tasks: usize) -> Result<f64, Error> {
    let workload = hogs_told((0..tasks).map(|_| "\"delay\": 0".to_owned()), |at| format!("t{at}"))?;
    let mut set = vec![("alpha", "2"), ("quantum_ns", "1000000")];
    if constant {
        set.extend(CONSTANT);
    }
    let warmup_ns = 2 * tasks as u64 * QUANTUM_NS;
    let length = Length { duration_ns: warmup_ns + DECISIONS * QUANTUM_NS, warmup_ns, seed: 1 };
    let counters = Rig::new(&linked("pbs", &set)?).run(&workload, length, &mut Nobody)?.counters;
    Ok(counters.decision_instructions as f64 / counters.decisions as f64)
}

/// Part of the decisions that go to the greatest priority: exact ones, and Algorithm 1's.
fn greatest(alpha: &str) -> Result<(f64, f64), Error> {
    let twelve = (0..12).map(|at| (f64::from(at) * 0.08, FOREVER)).collect();
    let scenario = Scenario::of(twelve, 10.0);
    let part = |set: &[(&str, &str)]| -> Result<f64, Error> {
        let played = play(&scenario, &[&[("alpha", alpha)], set].concat())?;
        let alpha: f64 = alpha.parse().unwrap_or(f64::NAN);
        let decisions = played.decisions();
        let right = |state: &super::picks::State| state.priority(alpha);
        let right = decisions.iter().filter(|of| of.is_greatest(right, 1.0 + alpha));
        Ok(right.count() as f64 / decisions.len() as f64)
    };
    Ok((part(&[])?, part(&CONSTANT)?))
}

/// Reads no event.
struct Nobody;

impl rota_trace::Sink for Nobody {
    fn event(&mut self, _: &rota_trace::Event) {}
}
