// SPDX-License-Identifier: MIT OR Apache-2.0
//! One run: a policy, a workload and a machine put together.

use crate::args::MachineArgs;
use crate::error::Error;
use crate::output::messages;
use crate::output::units::duration as duration_text;
use crate::policy_stats::{self, PolicyStat};
use crate::prepare;
use crate::progress::Clock;
use rota_bpf::image::Image;
use rota_machine::config::Config;
use rota_machine::policy::BpfOps;
use rota_machine::run::{Machine, Outcome, RunError};
use rota_machine::topology::Topology;
use rota_manifest::Setup;
use rota_measure::{
    FigureSink, Figures, GroupReport, InstructionsPerDecision, Report, Requests, RequestsReport,
    Results, Summary,
};
use rota_trace::{Sink, Tee};
use rota_workload::Workload;
use std::collections::HashSet;
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

/// What a run gave.
pub(crate) struct Finished {
    pub(crate) outcome: Outcome,
    pub(crate) report: Report,
    /// Instances of one task together.
    pub(crate) groups: Vec<GroupReport>,
    /// What became of requests.
    pub(crate) requests: RequestsReport,
    /// What the policy counted itself.
    pub(crate) policy_stats: Vec<PolicyStat>,
    /// What figures are drawn from, if it was asked for.
    pub(crate) figures: Option<Figures>,
}

/// Who else sees a run's events.
#[derive(Default)]
pub(crate) struct Watchers<'a> {
    pub(crate) sinks: Vec<&'a mut dyn Sink>,
    /// Makes [`Finished::figures`].
    pub(crate) figures: Option<FigureSink>,
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

/// Runs a prepared object.
pub(crate) fn run(
    image: Arc<Image>,
    setup: &Setup,
    mut config: Config,
    load: &Load,
    watchers: Watchers<'_>,
    clock: &Clock,
) -> Result<Finished, Error> {
    let mut summary = Summary::new(config.topology.cpus()).with_warmup(config.warmup_ns);
    if let Some(figures) = watchers.figures {
        summary = summary.with_figures(figures);
    }
    let mut requests = Requests::default().with_warmup(config.warmup_ns);
    let mut ticker = clock.ticker();
    let mut sinks = Tee::new();
    sinks.push(&mut summary);
    sinks.push(&mut requests);
    sinks.push(&mut ticker);
    watchers.sinks.into_iter().for_each(|sink| sinks.push(sink));
    config.detail = sinks.wants_detail();

    let kernel = Arc::clone(&image.kernel_btf);
    let broken = |error| run_error(error, &load.file);
    let mut machine = Machine::new(config, Arc::clone(&load.workload), &kernel).map_err(broken)?;
    let mut ops = BpfOps::load(image, &mut machine.core)?;
    prepare::instance(&mut ops, &mut machine.core, setup)?;
    let outcome = machine.run(&mut ops, &mut sinks).map_err(broken)?;
    drop(sinks);
    let policy_stats = policy_stats::read(&mut ops, &mut machine.core);

    let counters = &outcome.counters;
    let counted = counters.decisions > 0;
    summary.set_instructions_per_decision(InstructionsPerDecision {
        mean: counted.then(|| counters.decision_instructions as f64 / counters.decisions as f64),
        max: counted.then_some(counters.decision_instructions_max),
    });
    let tasks: HashSet<&str> = load.workload.task_names().collect();
    let Results { report, groups, figures } =
        summary.finish_grouped(outcome.end_ns, |name| task_of(name, &tasks));
    let requests = requests.finish(outcome.end_ns);
    Ok(Finished { outcome, report, groups, requests, policy_stats, figures })
}

/// The task that an instance or a fork of one was made from: `front` of `front-3`, `rotate`
/// of `rotate-20-0004`. Names may hold dashes and digits themselves: the longest one counts.
fn task_of<'a>(instance: &'a str, tasks: &HashSet<&str>) -> &'a str {
    let mut name = instance;
    while !tasks.contains(name) {
        match name.rsplit_once('-') {
            Some((rest, number)) if number.bytes().all(|b| b.is_ascii_digit()) => name = rest,
            _ => return instance,
        }
    }
    name
}

fn run_error(error: RunError, workload: &str) -> Error {
    match error {
        RunError::Task { .. } | RunError::Stuck(_) => Error::input(format!("{workload}: {error}")),
        RunError::Kernel(_) | RunError::Load(_) => Error::input(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instances_belong_to_their_task() {
        let tasks = HashSet::from(["front", "a-b", "a-b-1", "rotate"]);
        assert_eq!(task_of("front-3", &tasks), "front");
        assert_eq!(task_of("a-b-12", &tasks), "a-b");
        assert_eq!(task_of("a-b-1-0", &tasks), "a-b-1");
        assert_eq!(task_of("rotate-20-0004", &tasks), "rotate");
        assert_eq!(task_of("stranger-1", &tasks), "stranger-1");
        assert_eq!(task_of("front-x", &tasks), "front-x");
    }
}
