// SPDX-License-Identifier: MIT OR Apache-2.0
//! Does one run of the matrix, and keeps its numbers.

use super::matrix::{Cell, Matrix};
use super::pictures::{self, Gather, Pictures};
use crate::comparison::{Exit, Run, Tasks};
use crate::error::Error;
use crate::output::units::time;
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
    let started = match &object.program {
        Some(chosen) => {
            let kernel = object.policy.kernel();
            let machine = (&config, load.workload.groups.as_slice());
            let mut started = chosen.start(machine, kernel, None, &[])?;
            started.policy.run_as(&object.policy);
            Some(started)
        }
        None => None,
    };
    let simulation = match &started {
        Some(started) => started.simulation(load, config, matrix.no_autogroup)?,
        None => simulation::of(&object.policy, load, config, matrix.no_autogroup, false)?,
    };
    let simulation = simulation.with_setup(&object.setup);
    let (program, report) = started.map(|of| (of.program, of.report)).unzip();
    let mut finished = simulation::run(simulation, program, watchers, clock)
        .map_err(|error| simulation::refused(&error, load))?;
    if let Some(failure) = report.and_then(|report| report.take_failure()) {
        return Err(failure.into());
    }
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
    // one whose program ends before the run does has no numbers of all of it either
    let left = finished.outcome.program.filter(|_| !exit.kind.is_error());
    let reason = match left {
        Some(end) => format!("its program ended with status {} at {}", end.status, time(end.at_ns)),
        None => exit.to_string(),
    };
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
            reason,
            ejected: exit.kind.is_error() || left.is_some(),
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
