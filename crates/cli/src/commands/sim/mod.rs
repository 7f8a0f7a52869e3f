// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota sim`: one workload under one policy.

mod args;
mod kernels;

pub(crate) use args::SimArgs;

use crate::choices::{self, Replay};
use crate::error::{Error, Status};
use crate::load::Load;
use crate::object::{self, Named};
use crate::output::{doubts, json, messages, summary, tunables, units, Run};
use crate::output_file::OutputFile;
use crate::prepare::{self, Prepared};
use crate::progress::{self, Clock};
use crate::simulation;
use crate::stop::Stop;
use crate::trace_files::{self, Picture, TraceFile};
use rota_machine::config::Config;
use rota_machine::kernel::Kernel;
use rota_machine::subs::SubExit;
use rota_object::image::Image;
use rota_report::Caption;
use rota_sim::{Measured, Policy, Simulation, Watchers};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

pub(crate) fn run(args: &SimArgs) -> Result<Status, Error> {
    if args.object.btf.is_none() && args.object.kernel == object::EVERY_KERNEL {
        return kernels::run(args);
    }
    not_swapped(args)?;
    let kernel = object::kernel(&args.object, args.machine.hz)?;
    let (files, workload) = args.words();
    let Named { name, source, mut policy } =
        object::find_all(&files, args.object.compiler(&kernel))?.simulate(&kernel)?;
    object::choose(&mut policy, &args.object)?;
    if args.help_tunables {
        return help_tunables(policy.image());
    }
    let workload = workload.ok_or_else(|| no_workload(&files))?;
    let load = simulation::load(workload)?;
    let config = simulation::config(&args.machine, args.cpus, &load)?;
    let facts = rota_sim::facts(&config.topology);
    let Prepared { setup, note } =
        prepare::setup(args.manifest.as_deref(), &facts, policy.image())?;
    note.iter().for_each(|note| messages::line(&format!("note: {note}")));
    let set = settings(args, &name, policy.image());
    policy.prepare(&setup, &set)?;

    let replay = args.replay_choices.as_deref().map(Replay::read).transpose()?;
    let seed = replay.as_ref().map_or_else(|| summary::seed(&config), Replay::describe);
    let machine = summary::machine_with(&config, &seed);
    // The reference kernel goes without saying.
    let machine = match policy.kernel().release() {
        release if release == Kernel::default().release() => machine,
        release => format!("Linux {release}, {machine}"),
    };
    let described = format!("{name}, {}: {machine}", load.file);

    let caption = Caption { policy: name.clone(), workload: load.file.clone(), machine };
    let window = trace_files::window(args.trace_window, &args.trace, config.duration_ns)?;
    let picture = Picture { cpus: config.topology.cpus(), window, caption };
    let mut traces = Vec::new();
    for target in &args.trace {
        traces.push(TraceFile::create(target, &picture)?);
    }
    let record = args.record_choices.as_deref().map(OutputFile::create).transpose()?;
    let mut simulation = simulation(args, &mut policy, &load, &config)?.with_setup(&setup);
    if args.dump_globals {
        simulation = simulation.dumping();
    }
    if let Some(replay) = &replay {
        simulation = simulation.with_choices(replay.recording.clone());
    }
    if record.is_some() {
        simulation = simulation.recording_choices();
    }
    let own = |(cgroup, image): (&str, &Arc<Image>)| (cgroup.to_owned(), Arc::clone(image));
    let subs: Vec<_> = simulation.subs().map(own).collect();
    let clock = Clock::stopped_by(&Stop::listen()?);
    let finished = progress::show(&clock, config.duration_ns, || {
        let sinks = traces.iter_mut().map(TraceFile::sink).collect();
        simulation::run(simulation, Watchers { sinks, figures: None }, &clock)
    });
    let mut finished = finished.map_err(|error| match (&replay, error.of_choices()) {
        (Some(replay), Some(error)) => replay.refused(error),
        _ => {
            if args.verbose {
                error.printed().iter().for_each(|line| messages::text(line));
            }
            simulation::refused(&error, &load)
        }
    })?;
    for trace in traces {
        trace.finish(finished.outcome.end_ns)?;
    }
    let is_cut = finished.outcome.is_cut;
    // Choices of a part are not those of the run that they would be replayed in.
    let record = record.filter(|_| !is_cut);
    if let (Some(file), Some(recording)) = (record, finished.choices.take()) {
        choices::write(file, recording, &described)?;
    }

    let run = Run {
        policy: &name,
        source: &source,
        kernel: policy.kernel().release(),
        image: policy.image(),
        subs: &subs,
        set: &set,
        config: &config,
        load: &load,
        is_replay: replay.is_some(),
        described: &described,
        finished: &finished,
    };
    let mut out = crate::output::stdout();
    if args.json {
        json::print(&mut out, &json::Sim::new(&run))?;
    } else {
        summary::print(&mut out, &run, args.all_tasks)?;
    }
    out.flush()?;
    doubts::of(&run).iter().for_each(|doubt| messages::warning(doubt));
    let status = tell(&finished, args.verbose, args.json);
    match is_cut {
        true => Err(interrupted(args, &finished, config.duration_ns)),
        false => Ok(status),
    }
}

/// What is set of the policy.
fn settings(args: &SimArgs, name: &str, image: &Image) -> Vec<(String, String)> {
    match args.no_autogroup {
        true => simulation::without_autogroups((name, image), &args.set),
        false => args.set.clone(),
    }
}

/// The run that the options describe, with a fair class where it needs one.
fn simulation(
    args: &SimArgs,
    policy: &mut Policy,
    load: &Load,
    config: &Config,
) -> Result<Simulation, Error> {
    if args.partial {
        policy.make_partial()?;
    }
    let mut simulation = simulation::of(policy, load, config.clone(), args.no_autogroup)?;
    for (cgroup, file) in &args.sub {
        simulation = with_sub(simulation, args, (cgroup, file), policy.kernel(), config)?;
    }
    let Some(at_ns) = args.attach_at else {
        return match args.go_on {
            true => simulation::with_fair(simulation, policy.kernel(), args.no_autogroup),
            false => Ok(simulation),
        };
    };
    if at_ns >= config.duration_ns {
        let (at, whole) = (units::duration(at_ns), units::duration(config.duration_ns));
        let file = &load.file;
        return Err(Error::input(format!(
            "--attach-at {at}: {file} runs for {whole}, expected less than that"
        )));
    }
    Ok(simulation::with_fair(simulation, policy.kernel(), args.no_autogroup)?.attached_at(at_ns))
}

/// What there is of a run that the user ended.
fn interrupted(args: &SimArgs, finished: &Measured, duration_ns: u64) -> Error {
    let (end, whole) = (units::duration(finished.outcome.end_ns), units::duration(duration_ns));
    let choices = args.record_choices.as_ref().map_or("", |_| "; its choices are not written");
    Error::Failure(format!("interrupted: results are of the first {end} of {whole}{choices}"))
}

fn no_workload(files: &[String]) -> Error {
    let files = files.join(" ");
    Error::input(format!("no workload: expected rota sim {files} WORKLOAD.json"))
}

/// A workload in the place of the policy is a mistake that is easy to tell.
fn not_swapped(args: &SimArgs) -> Result<(), Error> {
    let policy = &args.policy;
    if !policy.ends_with(".json") {
        return Ok(());
    }
    let (_, workload) = args.words();
    let other = workload.map_or("fifo".into(), Path::to_string_lossy);
    Err(Error::input(format!(
        "{policy}: a workload, expected a policy first: rota sim {other} {policy}"
    )))
}

/// What belongs on standard error.
fn tell(finished: &Measured, verbose: bool, json: bool) -> Status {
    let outcome = &finished.outcome;
    if verbose {
        outcome.printed.iter().for_each(|line| messages::text(line));
        messages::text(outcome.exit.dump.trim_end());
        let subs = outcome.sub_exits.iter();
        subs.for_each(|gone| messages::text(gone.exit.dump.trim_end()));
    }
    let ejected = outcome.sub_exits.iter().filter(|gone| gone.exit.kind.is_error());
    let mut status = Status::Done;
    for SubExit { cgroup, exit, .. } in ejected {
        messages::exit_of_sub(cgroup, exit);
        messages::exit_details(&exit.origin.lines());
        status = Status::Ejected;
    }
    if outcome.exit.kind == rota_machine::exit::ExitKind::Unreg {
        return status;
    }
    // Another exit than an error is part of the summary.
    if outcome.exit.kind.is_error() || json {
        messages::exit(&outcome.exit, outcome.exit.kind.is_error());
        messages::exit_details(&outcome.exit.origin.lines());
    }
    if outcome.exit.kind.is_error() {
        status = Status::Ejected;
    }
    status
}

fn help_tunables(image: &Image) -> Result<Status, Error> {
    let mut out = crate::output::stdout();
    for line in tunables::table(&tunables::options(image)) {
        writeln!(out, "{line}")?;
    }
    Ok(Status::Done)
}

/// With a scheduler that is attached to a cgroup.
fn with_sub(
    simulation: Simulation,
    args: &SimArgs,
    (cgroup, file): (&str, &str),
    kernel: &Kernel,
    config: &Config,
) -> Result<Simulation, Error> {
    let path = cgroup.trim_end_matches('/');
    if !path.starts_with('/') {
        return Err(Error::input(format!(
            "--sub {cgroup}={file}: expected the path of a cgroup below the root, as /web"
        )));
    }
    let found = object::find(file, args.object.compiler(kernel))?;
    let Named { mut policy, .. } = found.simulate(kernel)?;
    let manifest = args.sub_manifest.iter().find(|(of, _)| of.trim_end_matches('/') == path);
    let manifest = manifest.map(|(_, file)| Path::new(file));
    let facts = rota_sim::facts(&config.topology);
    let Prepared { setup, .. } = prepare::setup(manifest, &facts, policy.image())?;
    policy.prepare(&setup, &[])?;
    Ok(simulation.with_sub(path, &policy, &setup))
}
