// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota sim --kernel all`: the same run on every kernel that is bundled, one line each.

use super::args::SimArgs;
use super::subject;
use crate::error::{Error, Status};
use crate::load::Load;
use crate::object::{self, Named};
use crate::output::json;
use crate::output::kernels::{self, OnKernel, Verdict};
use crate::own_machine;
use crate::prepare::{self, Prepared};
use crate::progress::{self, Clock};
use crate::simulation;
use rota_machine::config::Config;
use rota_machine::kernel::{Kernel, UnknownKernel};
use rota_sim::Watchers;
use std::io::Write;

pub(super) fn run(args: &SimArgs) -> Result<Status, Error> {
    let of_one_run = [
        ("--trace", !args.trace.is_empty()),
        ("--trace-window", args.trace_window.is_some()),
        ("--record-choices", args.record_choices.is_some()),
        ("--replay-choices", args.replay_choices.is_some()),
        ("--all-tasks", args.all_tasks),
        ("--verbose", args.verbose),
        ("--dump-globals", args.dump_globals),
    ];
    if let Some((option, _)) = of_one_run.iter().find(|(_, given)| *given) {
        return Err(Error::input(format!("{option}: not with --kernel all, expected one release")));
    }
    let (files, workload) = args.words();
    let Some(workload) = workload else {
        return Err(match args.help_tunables {
            true => Error::input("--help-tunables: not with --kernel all"),
            false => subject::no_workload(&files),
        });
    };
    let load = simulation::load(workload)?;
    let on = own_machine::options(&args.machine, args.cpus.as_slice(), &load)?;
    let config = simulation::config(&on, args.cpus.unwrap_or(simulation::CPUS), &load)?;
    let name = object::name(&files[0]);
    let releases = Kernel::releases();
    let settings = simulation::settings(&on)?;
    let kernel = |release: &str| Kernel::bundled(release).map(|it| it.with_settings(&settings));
    let clock = Clock::default();
    let end_ns = config.duration_ns.saturating_mul(releases.len() as u64);
    let runs: Vec<OnKernel> = progress::show(&clock, end_ns, || {
        let on = |release: &&'static str| {
            let verdict = match simulate(args, &files, (&config, &load), &kernel(release), &clock) {
                Ok(measured) => Verdict::of(measured),
                Err(why) => Verdict::Refused(why.to_string()),
            };
            OnKernel { release, verdict }
        };
        releases.iter().map(on).collect()
    });
    // What no kernel takes is wrong for another reason.
    let refused: Vec<_> = runs.iter().filter_map(|run| run.verdict.refusal()).collect();
    if refused.len() == runs.len() && refused.windows(2).all(|pair| pair[0] == pair[1]) {
        return Err(Error::input(refused[0]));
    }

    let mut out = crate::output::stdout();
    if args.json {
        let policy = (name.as_str(), files[0].as_str());
        json::print(&mut out, &kernels::Json::new(policy, &config, &load.file, &runs))?;
    } else {
        kernels::print(&mut out, &name, &load.file, &config, &runs)?;
    }
    out.flush()?;
    Ok(match runs.iter().any(|run| run.verdict.is_ejection()) {
        true => Status::Ejected,
        false if !refused.is_empty() => Status::Refused,
        false => Status::Done,
    })
}

fn simulate(
    args: &SimArgs,
    files: &[String],
    (config, load): (&Config, &Load),
    kernel: &Result<Kernel, UnknownKernel>,
    clock: &Clock,
) -> Result<rota_sim::Measured, Error> {
    let kernel = kernel.as_ref().map_err(Error::input)?;
    // A source is another object on each kernel: it is compiled with the kernel's types.
    let found = object::find_all(files, args.object.compiler(kernel))?;
    let Named { name, mut policy, .. } = found.simulate(kernel)?;
    object::choose(&mut policy, &args.object)?;
    let facts = rota_sim::facts(&config.topology);
    let Prepared { setup, .. } = prepare::of_policy(args.manifest.as_deref(), &facts, &policy)?;
    let set = subject::settings(args, &name, policy.image());
    policy.prepare(&setup, &set)?;
    let run = super::simulation(args, &mut policy, load, config)?.with_setup(&setup);
    let finished = simulation::run(run, None, Watchers::default(), clock);
    finished.map_err(|e| simulation::refused(&e, load))
}
