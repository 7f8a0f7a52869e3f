// SPDX-License-Identifier: MIT OR Apache-2.0
//! One run of the matrix, and the numbers that are kept of it.

use super::matrix::{Cell, Matrix};
use super::pictures::{self, Pictures};
use crate::error::Error;
use crate::progress::Clock;
use crate::simulation;
use rota_measure::catalogue::{self, Run};
use rota_sim::{Measured, Watchers};
use rota_trace::Sink;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Numbers by the keys of their measures; those that a run does not have are missing.
pub(crate) type Numbers = BTreeMap<String, f64>;

/// What is kept of a run, in memory and in the file of finished runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Result {
    pub(crate) workload: String,
    pub(crate) cpus: u32,
    pub(crate) policy: String,
    pub(crate) seed: u64,
    pub(crate) exit: Exit,
    pub(crate) duration_ns: u64,
    pub(crate) measures: Numbers,
    pub(crate) tasks: Vec<Tasks>,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Exit {
    pub(crate) kind: u32,
    pub(crate) code: i64,
    pub(crate) reason: String,
    pub(crate) ejected: bool,
}

/// Instances of one task together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Tasks {
    pub(crate) name: String,
    pub(crate) measures: Numbers,
}

/// Does one run.
pub(crate) fn run(
    matrix: &Matrix,
    cell: Cell,
    pictures: bool,
    clock: &Clock,
) -> std::result::Result<(Result, Option<Pictures>), Error> {
    let stage = &matrix.stages[cell.stage];
    let object = &stage.objects[cell.policy];
    let mut config = stage.config.clone();
    config.seed = matrix.seeds[cell.seed];
    let cpus = config.topology.cpus();
    let (figures, mut slices) = pictures.then(|| pictures::sinks(&stage.load, cpus)).unzip();
    let sinks = slices.iter_mut().map(|slices| slices as &mut dyn Sink).collect();
    let watchers = Watchers { sinks, figures };
    let policy = &object.policy;
    let mut finished =
        simulation::run(policy, &object.setup, config, &stage.load, watchers, clock)?;
    let pictures = slices.zip(finished.figures.take()).map(|(slices, figures)| {
        let timeline = slices.finish(finished.outcome.end_ns);
        Pictures { figures, timeline }
    });
    Ok((result(matrix, cell, cpus, &finished), pictures))
}

fn result(matrix: &Matrix, cell: Cell, cpus: u32, finished: &Measured) -> Result {
    let run = Run { report: &finished.report, requests: &finished.requests, cpus };
    let numbers = catalogue::measures().iter();
    let exit = &finished.outcome.exit;
    let tasks = finished.groups.iter().map(|group| {
        let numbers = catalogue::of_tasks().iter();
        let present = numbers.filter_map(|m| Some((m.key.to_owned(), m.of(group)?)));
        Tasks { name: group.name.clone(), measures: present.collect() }
    });
    Result {
        workload: matrix.stages[cell.stage].load.file.clone(),
        cpus,
        policy: matrix.policies[cell.policy].label.clone(),
        seed: matrix.seeds[cell.seed],
        exit: Exit {
            kind: exit.kind as u32,
            code: exit.code,
            reason: exit.to_string(),
            ejected: exit.kind.is_error(),
        },
        duration_ns: finished.outcome.end_ns,
        measures: numbers.filter_map(|m| Some((m.key.to_owned(), m.of(run)?))).collect(),
        tasks: tasks.collect(),
    }
}
