// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota fluid`: a policy with infinitely short slices.

mod args;
mod tasks;

pub(crate) use args::FluidArgs;

use crate::error::{Error, Status};
use crate::output::{fluid, json};
use crate::simulation;
use args::{FluidPolicy, PbsArgs};
use rota_fluid::{solve, Pbs, Script, Solution, Tasks};
use std::io::Write;
use std::path::Path;
use tasks::FileTasks;

pub(crate) fn run(args: &FluidArgs) -> Result<Status, Error> {
    let FluidPolicy::Pbs(args) = &args.policy;
    let policy = Pbs::new(args.alpha, args.beta)?;
    let duration =
        |own: Option<u64>| args.duration.or(own).map_or(f64::INFINITY, |ns| ns as f64 / 1e9);
    let (solution, arrivals) = match &args.workload {
        Some(path) => of_file(args, path, &policy, duration)?,
        None => {
            let mut tasks = of_arguments(args);
            (solve(&mut tasks, &policy, duration(None))?, arrivals(&tasks))
        }
    };
    let found = fluid::Found {
        policy,
        beta: args.beta,
        arrivals,
        step: args.step.map_or_else(|| fluid::round_step(solution.end), |ns| ns as f64 / 1e9),
        solution,
    };
    found.check()?;
    let mut out = crate::output::stdout();
    if args.json {
        json::print(&mut out, &fluid::Json::new(&found))?;
    } else {
        fluid::print(&mut out, &found)?;
    }
    out.flush()?;
    if let Some(path) = &args.picture {
        crate::output_file::write(path, fluid::picture(&found).render().as_bytes())?;
    }
    Ok(Status::Done)
}

fn of_file(
    args: &PbsArgs,
    path: &Path,
    policy: &Pbs,
    duration: impl Fn(Option<u64>) -> f64,
) -> Result<(Solution, Vec<f64>), Error> {
    let load = simulation::load(path)?;
    let mut tasks = FileTasks::new(&load, args.seed)?;
    let solved = solve(&mut tasks, policy, duration(load.workload.duration_ns));
    // What was refused ended a task, which may be why nothing else came of it.
    match tasks.refused.take() {
        Some(refused) => Err(Error::input(refused)),
        None => Ok((solved?, arrivals(&tasks))),
    }
}

fn of_arguments(args: &PbsArgs) -> Script {
    let seconds = |ns: u64| ns as f64 / 1e9;
    let task = |all: Script, (number, task): (usize, &args::OneTask)| {
        let name = task.name.clone().unwrap_or_else(|| format!("t{number}"));
        all.once(&name, seconds(task.arrival_ns), seconds(task.demand_ns))
    };
    (1..).zip(&args.task).fold(Script::default(), task)
}

fn arrivals(tasks: &dyn Tasks) -> Vec<f64> {
    (0..tasks.count()).map(|task| tasks.arrival(task)).collect()
}
