// SPDX-License-Identifier: MIT OR Apache-2.0
//! Does one run of the matrix, and keeps its numbers.

use super::matrix::{Cell, Matrix};
use super::pictures::{self, Pictures};
use crate::comparison::{Exit, Run, Tasks};
use crate::error::Error;
use crate::progress::Clock;
use crate::simulation;
use rota_measure::catalogue;
use rota_sim::{Measured, Simulation, Watchers};
use rota_trace::Sink;

/// Does one run.
pub(crate) fn run(
    matrix: &Matrix,
    cell: Cell,
    pictures: bool,
    clock: &Clock,
) -> Result<(Run, Option<Pictures>), Error> {
    let stage = &matrix.stages[cell.stage];
    let object = &stage.objects[cell.policy];
    let mut config = stage.config.clone();
    config.seed = matrix.seeds[cell.seed];
    let cpus = config.topology.cpus();
    let (figures, mut slices) = pictures.then(|| pictures::sinks(&stage.load, cpus)).unzip();
    let sinks = slices.iter_mut().map(|slices| slices as &mut dyn Sink).collect();
    let watchers = Watchers { sinks, figures };
    let load = &stage.load;
    let simulation = Simulation::new(&object.policy, &load.workload, config);
    let simulation = simulation.with_setup(&object.setup);
    let mut finished = simulation::run(simulation, watchers, clock)
        .map_err(|error| simulation::refused(&error, load))?;
    let pictures = slices.zip(finished.figures.take()).map(|(slices, figures)| {
        let timeline = slices.finish(finished.outcome.end_ns);
        Pictures { figures, timeline }
    });
    Ok((result(matrix, cell, cpus, &finished), pictures))
}

fn result(matrix: &Matrix, cell: Cell, cpus: u32, finished: &Measured) -> Run {
    let run = catalogue::Run { numbers: &finished.numbers, requests: &finished.requests, cpus };
    let numbers = catalogue::measures().iter();
    let exit = &finished.outcome.exit;
    let tasks = finished.groups.iter().map(|group| {
        let numbers = catalogue::of_tasks().iter();
        let present = numbers.filter_map(|m| Some((m.key.to_owned(), m.of(group)?)));
        Tasks { name: group.name.clone(), measures: present.collect() }
    });
    Run {
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
