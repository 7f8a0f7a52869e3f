// SPDX-License-Identifier: MIT OR Apache-2.0
//! One run: a policy, a workload and a machine put together.

use crate::args::MachineArgs;
use crate::error::Error;
use crate::output::messages;
use crate::output::units::duration as duration_text;
use crate::progress::Clock;
use rota_machine::config::Config;
use rota_machine::topology::Topology;
use rota_manifest::Setup;
use rota_sim::{Measured, Policy, Simulation, Watchers};
use rota_trace::Sink;
use rota_workload::Workload;
use std::path::Path;
use std::sync::Arc;

/// Length of a run if neither the user nor the workload says.
const DURATION_NS: u64 = 10_000_000_000;

/// A workload file, read.
pub(crate) struct Load {
    /// File as the user named it.
    pub(crate) file: String,
    /// What the comment at its top says of it.
    pub(crate) description: String,
    /// What it says.
    pub(crate) workload: Arc<Workload>,
}

/// Reads a workload file.
pub(crate) fn load(path: &Path) -> Result<Load, Error> {
    let text = std::fs::read(path).map_err(|e| Error::file("read", path, &e))?;
    let file = path.display().to_string();
    let text = String::from_utf8(text).map_err(|e| {
        let line = e.as_bytes()[..e.utf8_error().valid_up_to()].iter().filter(|b| **b == b'\n');
        Error::input(format!("{file}:{}: not UTF-8 text", line.count() + 1))
    })?;
    let beside = path.parent().unwrap_or(Path::new(""));
    let named = |name: &str| std::fs::read_to_string(beside.join(name)).map_err(|e| e.to_string());
    let workload = Arc::new(rota_workload::parse_with(&file, &text, &named)?);
    for warning in &workload.warnings {
        messages::line(&format!("warning: {warning}"));
    }
    Ok(Load { file, description: rota_workload::description(&text), workload })
}

/// CPUs and what they share.
pub(crate) fn topology(args: &MachineArgs, cpus: u32) -> Result<Topology, Error> {
    Ok(match &args.topology {
        Some(text) => Topology::parse(cpus, text)?,
        None => Topology::flat(cpus)?,
    })
}

/// The machine that the options describe, and how long it runs.
pub(crate) fn config(args: &MachineArgs, cpus: u32, load: &Load) -> Result<Config, Error> {
    let workload = &load.workload;
    let duration_ns = args.duration.or(workload.duration_ns).unwrap_or(DURATION_NS);
    let mut config = Config::new(topology(args, cpus)?, duration_ns);
    config.warmup_ns = args.warmup.unwrap_or(0);
    if config.warmup_ns >= duration_ns {
        let (warmup, duration) = (duration_text(config.warmup_ns), duration_text(duration_ns));
        return Err(Error::input(format!(
            "--warmup {warmup}: {} runs for {duration}, expected less than that",
            load.file
        )));
    }
    if args.ideal {
        config = config.ideal();
    }
    config.hz = args.hz;
    config.costs.idle_entry_ns = args.idle_entry.unwrap_or(0);
    config.seed = args.seed;
    config.shuffle_ties = args.shuffle_ties;
    config.budget = args.budget;
    config.budget_per_second = args.budget_per_second;
    Ok(config)
}

/// Runs a prepared policy.
pub(crate) fn run(
    policy: &Policy,
    setup: &Setup,
    config: Config,
    load: &Load,
    watchers: Watchers<'_>,
    clock: &Clock,
) -> Result<Measured, Error> {
    let mut ticker = clock.ticker();
    let mut sinks: Vec<&mut dyn Sink> = Vec::new();
    sinks.extend(watchers.sinks.into_iter().map(|sink| sink as &mut dyn Sink));
    sinks.push(&mut ticker);
    let watchers = Watchers { sinks, figures: watchers.figures };
    let simulation = Simulation::new(policy, &load.workload, config).with_setup(setup);
    simulation.measure(watchers).map_err(|error| match error.is_of_workload() {
        true => Error::input(format!("{}: {error}", load.file)),
        false => Error::input(error),
    })
}
