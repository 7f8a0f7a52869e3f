// SPDX-License-Identifier: MIT OR Apache-2.0
//! Does one run of the matrix, and keeps its numbers.

use super::matrix::{Cell, Matrix};
use super::pictures::{self, Gather, Pictures};
use crate::comparison::{Exit, Run, Tasks};
use crate::error::Error;
use crate::progress::Clock;
use crate::simulation;
use rota_measure::{catalogue, FigureSink};
use rota_sim::{Measured, Watchers};
use rota_trace::Sink;

/// Does one run.
pub(crate) fn run(
    matrix: &Matrix,
    cell: Cell,
    gather: Gather,
    clock: &Clock,
) -> Result<(Run, Option<Pictures>), Error> {
    let stage = &matrix.stages[cell.stage];
    let object = &stage.objects[cell.policy];
    let mut config = stage.config.clone();
    config.seed = matrix.seeds[cell.seed];
    let cpus = config.topology.cpus();
    let (figures, mut slices) = match gather {
        Gather::Nothing => (None, None),
        Gather::Curves => (Some(FigureSink::of_curves()), None),
        Gather::Pictures => {
            let (figures, slices) = pictures::sinks(&stage.load, cpus);
            (Some(figures), Some(slices))
        }
    };
    let sinks = slices.iter_mut().map(|slices| slices as &mut dyn Sink).collect();
    let watchers = Watchers { sinks, figures };
    let load = &stage.load;
    let simulation = simulation::of(&object.policy, load, config, matrix.no_autogroup)?;
    let simulation = simulation.with_setup(&object.setup);
    let mut finished = simulation::run(simulation, watchers, clock)
        .map_err(|error| simulation::refused(&error, load))?;
    let mut run = result(matrix, cell, cpus, &finished);
    let mut figures = finished.figures.take();
    if let Some(figures) = &mut figures {
        run.curves = std::mem::take(&mut figures.curves);
    }
    let pictures = slices.zip(figures).map(|(slices, figures)| {
        let timeline = slices.finish(finished.outcome.end_ns);
        Pictures { figures, timeline }
    });
    Ok((run, pictures))
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
        samples: catalogue::measures()
            .iter()
            .filter_map(|m| Some((m.key.to_owned(), catalogue::samples(m.key, run)?)))
            .collect(),
        curves: Vec::new(),
    }
}
