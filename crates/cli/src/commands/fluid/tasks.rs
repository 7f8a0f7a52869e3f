// SPDX-License-Identifier: MIT OR Apache-2.0
//! The tasks of a workload file, for a fluid model.

use crate::error::Error;
use crate::load::Load;
use rota_fluid::{Next, Tasks};
use rota_machine::weight;
use rota_workload::{Policy, SeededRunner, Settings, Step, TaskIx};
use std::sync::Arc;

/// Ends of steps come as seconds that were rounded.
const NS: f64 = 1e9;

/// Tasks that run and sleep, as a file says.
pub(super) struct FileTasks {
    file: String,
    runner: SeededRunner,
    names: Vec<String>,
    arrivals: Vec<f64>,
    weights: Vec<f64>,
    /// The first thing that no fluid model has.
    pub(super) refused: Option<String>,
}

impl FileTasks {
    pub(super) fn new(load: &Load, seed: u64) -> Result<Self, Error> {
        let (file, workload) = (&load.file, &load.workload);
        if let Some((task, policy)) = workload.real_time() {
            let what = format!("task {task}: {policy}: expected an ordinary task");
            return Err(Error::input(format!("{file}: {what}")));
        }
        if let Some(socket) = workload.sockets().first() {
            let what = format!("socket {}: a fluid model has no requests", socket.name);
            return Err(Error::input(format!("{file}: {what}")));
        }
        let runner = SeededRunner::new(Arc::clone(workload), seed);
        let initial: Vec<(TaskIx, u64)> = runner.initial().collect();
        Ok(Self {
            file: file.clone(),
            names: initial.iter().map(|(task, _)| runner.name(*task).to_owned()).collect(),
            arrivals: initial.iter().map(|(_, first_ns)| *first_ns as f64 / NS).collect(),
            weights: initial.iter().map(|(task, _)| weight_of(runner.settings(*task))).collect(),
            runner,
            refused: None,
        })
    }
}

/// Kappa: the share, or else the weight.
fn weight_of(settings: &Settings) -> f64 {
    let weight = || match (settings.weight, settings.policy) {
        (Some(weight), _) => weight,
        (None, Policy::Idle) => weight::of_idle(),
        (None, _) => weight::of_nice(settings.priority),
    };
    settings.share.map_or_else(|| f64::from(weight()), |share| share as f64)
}

impl Tasks for FileTasks {
    fn count(&self) -> usize {
        self.names.len()
    }

    fn name(&self, task: usize) -> &str {
        &self.names[task]
    }

    fn arrival(&self, task: usize) -> f64 {
        self.arrivals[task]
    }

    fn weight(&self, task: usize) -> f64 {
        self.weights[task]
    }

    fn next(&mut self, task: usize, now: f64) -> Next {
        let now_ns = (now * NS).round() as u64;
        let seconds = |ns: u64| ns as f64 / NS;
        let what = match self.runner.next(TaskIx(task as u32), now_ns) {
            Step::Run { work_ns } => return Next::Run(seconds(work_ns)),
            Step::Sleep { ns } => return Next::SleepUntil(seconds(now_ns + ns)),
            Step::SleepUntil { at_ns } => return Next::SleepUntil(seconds(at_ns)),
            // Nothing that takes time.
            Step::Yield => return Next::Run(0.0),
            Step::Change(settings) if weight_of(&settings) == self.weights[task] => {
                return Next::Run(0.0);
            }
            Step::Exit => return Next::Exit,
            Step::Change(_) => "another weight".to_owned(),
            Step::Runtime { .. } => "runtime".to_owned(),
            Step::Fork { .. } => "fork".to_owned(),
            Step::Block | Step::Wake { .. } => "waiting for another task".to_owned(),
            Step::Stuck(why) => why,
        };
        let (file, name) = (&self.file, &self.names[task]);
        let only = "a fluid model has only run, sleep and timer";
        self.refused.get_or_insert_with(|| format!("{file}: task {name}: {what}: {only}"));
        Next::Exit
    }
}
