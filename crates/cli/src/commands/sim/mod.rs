// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota sim`: one workload under one policy.

mod args;
mod kernels;
mod program;
mod subject;

pub(crate) use args::SimArgs;

use crate::choices::{self, Replay};
use crate::error::{Error, Status};
use crate::load::Load;
use crate::object::{self, Named};
use crate::output::{doubts, json, messages, summary, tunables, units, Run};
use crate::output_file::OutputFile;
use crate::own_machine;
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
use subject::Subject;

pub(crate) fn run(args: &SimArgs) -> Result<Status, Error> {
    program::check(args)?;
    if args.object.btf.is_none() && args.object.kernel == object::EVERY_KERNEL {
        return kernels::run(args);
    }
    let found = subject::find(args, &object::kernel(&args.object)?)?;
    if args.help_tunables {
        let kernel = simulation::kernel(&args.object, &args.machine)?;
        return help_tunables(&found.policy(args, &kernel)?);
    }
    let load = simulation::load(found.workload(args)?)?;
    let on = own_machine::options(&args.machine, args.cpus.as_slice(), &load)?;
    let config = simulation::config(&on, args.cpus.unwrap_or(simulation::CPUS), &load)?;
    let kernel = simulation::kernel(&args.object, &on)?;
    let Subject { name, label, source, mut policy, setup, set, program } =
        found.prepare(args, (&config, &load), &kernel)?;

    let replay = args.replay_choices.as_deref().map(Replay::read).transpose()?;
    let seed = replay.as_ref().map_or_else(|| summary::seed(&config), Replay::describe);
    let machine = summary::machine_with(&config, &seed);
    // The reference kernel goes without saying.
    let machine = match policy.kernel().release() {
        release if release == Kernel::default().release() => machine,
        release => format!("Linux {release}, {machine}"),
    };
    let machine = match &on.machine {
        Some(name) => format!("{name}, {machine}"),
        None => machine,
    };
    let described = format!("{label}, {}: {machine}", load.file);

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
    let (program, with_program) = program.map(program::WithProgram::split).unzip();
    let finished = progress::show(&clock, config.duration_ns, || {
        let sinks = traces.iter_mut().map(TraceFile::sink).collect();
        simulation::run(simulation, program, Watchers { sinks, figures: None }, &clock)
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
    let ended = with_program.map(|program| program.ended(&finished, args.json));
    let (told, failure) = ended.map(|ended| (ended.told, ended.failure)).unzip();
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
        origin: policy.origin(),
        subs: &subs,
        set: &set,
        config: &config,
        load: &load,
        is_replay: replay.is_some(),
        described: &described,
        finished: &finished,
        program: told.as_ref(),
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
    if is_cut {
        return Err(interrupted(args, &finished, config.duration_ns));
    }
    match failure.flatten() {
        // what the ejection says comes first
        Some(failure) if status == Status::Done => Err(failure),
        _ => Ok(status),
    }
}

/// The run that the options describe, with a fair class where it needs one.
fn simulation(
    args: &SimArgs,
    policy: &mut Policy,
    load: &Load,
    config: &Config,
) -> Result<Simulation, Error> {
    simulation::run_by(policy, &args.machine)?;
    if args.partial {
        policy.make_partial()?;
    }
    // a program loads its scheduler again when CPUs come or go, if that asks for it
    let reloads = !args.program.is_empty() && (load.workload.plugs() || !args.then.is_empty());
    let mut simulation = simulation::of(policy, load, config.clone(), args.no_autogroup, reloads)?;
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

fn help_tunables(policy: &Policy) -> Result<Status, Error> {
    let mut out = crate::output::stdout();
    for line in tunables::table(&tunables::options(policy.image())) {
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
    let Prepared { setup, .. } = prepare::of_policy(manifest, &facts, &policy)?;
    policy.prepare(&setup, &[])?;
    Ok(simulation.with_sub(path, &policy, &setup))
}
