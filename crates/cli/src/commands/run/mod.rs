// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota run`: a policy in the kernel of this machine, until it is stopped or ejected.

mod args;
mod choice;
mod fill;
pub(crate) mod notify;
mod restarts;
mod start;
mod status;
mod watch;

pub(crate) use args::RunArgs;

use crate::error::{Error, Status};
use crate::object::Found;
use crate::output::{messages, tunables};
use crate::readiness;
use crate::stop::{Stop, LOOK};
use choice::Choice;
use restarts::Restarts;
use rota_kernel::check::{Fact, Purpose};
use rota_kernel::{sysfs, Attached, Exit, Loaded};
use rota_machine::kernel::Kernel;
use rota_object::image::Image;
use rota_sim::Feature;
use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};
use watch::Watch;

/// How long the kernel is given to unload a scheduler.
const LEAVES_WITHIN: Duration = Duration::from_secs(5);

/// Characters of a value that are printed.
const LONGEST_VALUE: usize = 40;

pub(crate) fn run(args: &RunArgs) -> Result<Status, Error> {
    let Some(policy) = &args.policy else {
        status::monitor(&args.control, &args.status, &Stop::listen()?)?;
        return Ok(Status::Done);
    };
    let found = choice::find(args, policy)?;
    if args.help_tunables {
        return help_tunables(found);
    }
    let stop = Stop::listen()?;
    while_it_leaves(&stop);
    let findings = readiness::ready(Purpose::Run)?;
    if args.verbose {
        findings.warnings().map(Fact::message).for_each(|w| messages::line(&format!("note: {w}")));
    }
    let kernel = findings.types.map_or_else(rota_kernel::kernel_btf, Ok)?;
    let mut watch = Watch::new(args, &found, Arc::clone(&kernel));
    let mut choice = Choice::of(args, found);
    let mut loaded = start::load(args, &choice, &kernel)?;
    let mut restarts = Restarts::default();
    // Whose place is being taken.
    let mut before: Option<Choice> = None;
    loop {
        let attached = match (attached(args, loaded), before.take()) {
            (Ok(attached), _) => attached,
            (Err(error), None) => return error.end(args),
            (Err(error), Some(before)) => {
                let why = format!("{} could not take over: {error}", choice.found.name);
                messages::line(&format!("{why}; {} goes on", before.found.name));
                choice = before;
                loaded = start::load(args, &choice, &kernel)?;
                watch.follow(&choice.found);
                watch.stays(&why);
                continue;
            }
        };
        let begin = Instant::now();
        // Unless it is to be loaded again at once.
        if attached.exit().is_none() {
            notify::ready(&choice.found.name);
            say_attached(args, &choice.found, attached.image())?;
        }
        let next = watch.until_end(&attached, &mut choice, &stop)?;
        let exit = attached.detach();
        if stop.wanted() || exit.is_error() {
            notify::stopping();
            return tell(args, &exit);
        }
        if let Some((other, its)) = next {
            notify::switching(&other.found.name);
            say(args, &format!("switch: {} -> {}", choice.found.name, other.found.name))?;
            watch.follow(&other.found);
            before = Some(std::mem::replace(&mut choice, other));
            (loaded, restarts) = (its, Restarts::default());
            continue;
        }
        if !exit.restart_requested() {
            notify::stopping();
            return tell(args, &exit);
        }
        notify::restarting();
        let Some(pause) = restarts.after(begin.elapsed()) else {
            let times = restarts.in_a_row();
            return Err(Error::Failure(format!(
                "{exit}: gave up, the policy asked for a restart {times} times in a row"
            )));
        };
        say(args, &format!("restart: {exit}"))?;
        stop.sleep(pause);
        loaded = start::load(args, &choice, &kernel)?;
    }
}

/// Why a policy does not schedule.
enum Unattached {
    /// The kernel did not take it.
    Refused(Error),
    /// The kernel took it, and its set-up failed.
    Failed(Exit),
}

impl Unattached {
    fn end(self, args: &RunArgs) -> Result<Status, Error> {
        match self {
            Self::Refused(error) => Err(error),
            Self::Failed(exit) => tell(args, &exit),
        }
    }
}

impl std::fmt::Display for Unattached {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Refused(error) => error.fmt(f),
            Self::Failed(exit) => exit.fmt(f),
        }
    }
}

/// From here on it schedules.
fn attached(args: &RunArgs, loaded: Loaded) -> Result<Attached, Unattached> {
    let attached = start::attach(args, loaded).map_err(Unattached::Refused)?;
    // One whose set-up failed was attached, but never scheduled.
    match attached.exit().is_some_and(|exit| exit.is_error()) {
        true => Err(Unattached::Failed(attached.detach())),
        false => Ok(attached),
    }
}

/// Waits for a scheduler that is just being unloaded, as after a crash.
fn while_it_leaves(stop: &Stop) {
    let start = Instant::now();
    while sysfs::state().is_some_and(|s| s == "disabling") && start.elapsed() < LEAVES_WITHIN {
        stop.sleep(LOOK);
    }
}

/// What runs, with which settings.
fn say_attached(args: &RunArgs, found: &Found, image: &Image) -> Result<(), Error> {
    let tasks = if args.partial { "tasks of SCHED_EXT" } else { "this machine" };
    say(args, &format!("{} ({}) schedules {tasks}", found.name, found.source))?;
    let mut options = tunables::options(image);
    options.iter_mut().for_each(|t| shorten(&mut t.default));
    for line in tunables::table(&options) {
        say(args, &format!("  {line}"))?;
    }
    match groups_ignored(&found.name, image) {
        Some(note) => say(args, &note),
        None => Ok(()),
    }
}

/// Which settings of cgroups the policy ignores. Whether any cgroup has such settings, now or later,
/// is not known.
fn groups_ignored(name: &str, image: &Image) -> Option<String> {
    let groups = vec![Feature::CpuWeight, Feature::CpuMax, Feature::CpuIdle];
    let note = rota_sim::ignored_of(image, groups).message(name)?;
    Some(format!("note: {note}"))
}

/// A line for people: with `--json`, standard output is for programs.
fn say(args: &RunArgs, line: &str) -> Result<(), Error> {
    if args.status.json {
        messages::line(line);
        return Ok(());
    }
    let mut out = crate::output::stdout();
    writeln!(out, "{line}")?;
    Ok(out.flush()?)
}

/// Cuts the list of a large array.
fn shorten(value: &mut String) {
    if let Some((cut, _)) = value.char_indices().nth(LONGEST_VALUE) {
        value.truncate(cut);
        value.push('…');
    }
}

/// How it ended.
fn tell(args: &RunArgs, exit: &Exit) -> Result<Status, Error> {
    if args.verbose || args.exit_dump_len.is_some() {
        messages::text(exit.dump.trim_end());
    }
    if !exit.is_error() {
        say(args, &format!("EXIT: {exit}"))?;
        return Ok(Status::Done);
    }
    messages::exit(exit, true);
    Ok(Status::Ejected)
}

fn help_tunables(found: Found) -> Result<Status, Error> {
    let policy = found.simulate(&Kernel::default())?.policy;
    let image = policy.image();
    let mut out = crate::output::stdout();
    for line in tunables::table(&tunables::options(image)) {
        writeln!(out, "{line}")?;
    }
    Ok(Status::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_policy_ignores_of_cgroups_is_one_line() {
        let note = |policy: &str| {
            let shipped = rota_catalog::find(policy).expect("ships");
            let kernel = rota_object::btf::reference();
            let image = rota_kernel::link(shipped.object, policy, &kernel).expect("links");
            groups_ignored(policy, &image)
        };
        // It has groups, but not in a kernel.
        let text = "note: eevdf ignores: cpu.weight, cpu.max, cpu.idle";
        assert_eq!(note("eevdf").as_deref(), Some(text));
        assert_eq!(note("cfs").as_deref(), Some("note: cfs ignores: cpu.max, cpu.idle"));
    }

    #[test]
    fn long_values_are_cut_between_characters() {
        let shortened = |text: &str| {
            let mut value = text.to_string();
            shorten(&mut value);
            value
        };
        assert_eq!(shortened(&"1".repeat(40)), "1".repeat(40));
        assert_eq!(shortened(&"µ".repeat(41)), format!("{}…", "µ".repeat(40)));
    }
}
