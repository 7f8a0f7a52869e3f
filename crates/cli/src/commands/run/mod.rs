// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota run`: a policy in the kernel of this machine, until it is stopped or ejected.

mod args;
mod notify;
mod restarts;
mod start;
mod stop;

pub(crate) use args::RunArgs;

use crate::error::{Error, Status};
use crate::object::{self, Found};
use crate::output::{messages, tunables};
use restarts::Restarts;
use rota_bpf::btf;
use rota_bpf::image::Image;
use rota_kernel::{Attached, Exit};
use std::io::Write;
use std::time::{Duration, Instant};
use stop::Stop;

/// How often the loop looks whether something happened.
const LOOK: Duration = Duration::from_millis(50);

pub(crate) fn run(args: &RunArgs) -> Result<Status, Error> {
    let found = object::find(&args.policy, &args.include)?;
    if args.help_tunables {
        return help_tunables(found);
    }
    let kernel = rota_kernel::kernel_btf()?;
    let stop = Stop::listen()?;
    let mut until = args.duration.map(|ns| Until { left: Duration::from_nanos(ns), since: None });
    let mut restarts = Restarts::default();
    loop {
        let attached = start::start(args, &found, &kernel)?;
        let begin = Instant::now();
        until.iter_mut().for_each(|u| u.since = u.since.or(Some(begin)));
        notify::ready(&found.name);
        say_attached(args, &found, attached.image())?;
        watch(&attached, &stop, until.as_ref());
        let exit = attached.detach();
        if !exit.restart_requested() || stop.wanted() {
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
        writeln!(std::io::stdout(), "restart: {exit}")?;
        sleep(pause, &stop);
    }
}

/// The time that the user gave the run.
struct Until {
    left: Duration,
    /// The first time that the policy was attached.
    since: Option<Instant>,
}

impl Until {
    fn is_over(&self) -> bool {
        self.since.is_some_and(|since| since.elapsed() >= self.left)
    }
}

/// Returns when the policy is gone or shall go.
fn watch(attached: &Attached, stop: &Stop, until: Option<&Until>) {
    while !stop.wanted() && attached.exit().is_none() && !until.is_some_and(Until::is_over) {
        std::thread::sleep(LOOK);
    }
}

fn sleep(time: Duration, stop: &Stop) {
    let start = Instant::now();
    while !stop.wanted() && start.elapsed() < time {
        std::thread::sleep(LOOK.min(time));
    }
}

/// What runs, with which settings.
fn say_attached(args: &RunArgs, found: &Found, image: &Image) -> Result<(), Error> {
    let mut out = std::io::stdout().lock();
    let whom = if args.partial { "tasks of SCHED_EXT" } else { "this machine" };
    writeln!(out, "{} ({}) schedules {whom}", found.name, found.source)?;
    for line in tunables::table(&tunables::options(image)) {
        writeln!(out, "  {line}")?;
    }
    Ok(out.flush()?)
}

/// How it ended.
fn tell(args: &RunArgs, exit: &Exit) -> Result<Status, Error> {
    if args.verbose || args.exit_dump_len.is_some() {
        messages::text(exit.dump.trim_end());
    }
    if !exit.is_error() {
        writeln!(std::io::stdout(), "EXIT: {exit}")?;
        return Ok(Status::Done);
    }
    messages::exit(exit, true);
    Ok(Status::Ejected)
}

fn help_tunables(found: Found) -> Result<Status, Error> {
    let image = found.simulate(&btf::reference(), rota_machine::config::DEFAULT_HZ)?.image;
    let mut out = std::io::stdout().lock();
    for line in tunables::table(&tunables::options(&image)) {
        writeln!(out, "{line}")?;
    }
    Ok(Status::Done)
}
