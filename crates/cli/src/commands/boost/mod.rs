// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota boost`: what somebody waits for runs sooner, on the kernel of this machine.

mod args;
mod explain;
mod log_limit;

pub(crate) use args::BoostArgs;

use crate::commands::run::notify;
use crate::error::{Error, Status};
use crate::output::messages;
use crate::stop::Stop;
use log_limit::{LogLimit, User};
use rota_boost::account::Extra;
use rota_boost::apply::{DryRun, Kernel, Threads};
use rota_boost::control::Listener;
use rota_boost::daemon::{self, Daemon, Options, Totals};
use rota_boost::engine::Settings;
use rota_boost::groups::Allowed;
use rota_boost::process;
use rota_boost::request::Limits;
use std::io::Write;
use std::time::{Duration, Instant};

pub(crate) fn run(args: &BoostArgs) -> Result<Status, Error> {
    if args.undo {
        return undo(args);
    }
    if let Some(pid) = args.explain {
        return explain::run(args, pid);
    }
    if args.dry_run {
        return watch(args, DryRun::default());
    }
    watch(args, Kernel)
}

fn undo(args: &BoostArgs) -> Result<Status, Error> {
    // Refused while a daemon runs: it would not know.
    let _alone = Listener::bind(&args.control)?;
    let (_, repaired) = daemon::repair(&Kernel, &args.saved)?;
    say(&format!("{repaired} threads have their own nice value again"))?;
    Ok(Status::Done)
}

fn options(args: &BoostArgs) -> Options {
    let cpus = f64::from(process::cpus()) / 100.0;
    Options {
        customers: args.customers.clone(),
        clients: args.clients,
        settings: Settings {
            request_cpu_ns: args.request_budget,
            limits: Limits { quiet_ns: args.quiet, open_ns: args.give_up },
        },
        extra: Extra {
            people_cpus: args.user_budget * cpus,
            services_cpus: args.service_budget * cpus,
        },
        load_window_ns: args.load_window,
        own_cpu: args.own_budget / 100.0,
        groups: Allowed { autogroups: args.autogroups, cgroups: args.cgroups },
        // Beside a daemon that is not dry there may be one that is.
        socket: (!args.dry_run).then(|| args.control.clone()),
        saved: (!args.dry_run).then(|| args.saved.clone()),
    }
}

fn watch<T: Threads>(args: &BoostArgs, threads: T) -> Result<Status, Error> {
    let stop = Stop::listen()?;
    let (mut daemon, repaired) = Daemon::start(&options(args), threads)?;
    if repaired > 0 {
        messages::warning(&format!(
            "an earlier `rota boost` was killed: {repaired} threads have their own nice value again"
        ));
    }
    let dry = if args.dry_run { "would boost" } else { "boosts" };
    say(&format!("{dry} servers with customers {}; clients get {}", args.customers, args.clients))?;
    notify::ready("boost");
    let result = until_end(args, &mut daemon, &stop);
    notify::stopping();
    let totals = daemon.totals();
    for (tid, refusal) in daemon.finish() {
        messages::warning(&format!("thread {tid} keeps its boost: {refusal}"));
    }
    result?;
    say(&format!("{}; all is as it was", text(&totals)))?;
    if totals.lost > 0 {
        messages::warning(&format!("{} events were lost: the buffer was full", totals.lost));
    }
    Ok(Status::Done)
}

fn until_end<T: Threads>(
    args: &BoostArgs,
    daemon: &mut Daemon<T>,
    stop: &Stop,
) -> Result<(), Error> {
    let (begin, mut told) = (Instant::now(), Instant::now());
    let over = |limit: Option<u64>, since: Instant| {
        limit.is_some_and(|ns| since.elapsed() >= Duration::from_nanos(ns))
    };
    let mut limit = LogLimit::default();
    while !stop.wanted() && !over(args.duration, begin) {
        let changes = daemon.step()?;
        if let Some(left_out) = limit.advance(process::monotonic_ns()) {
            say(&left_out)?;
        }
        for change in changes {
            if (args.log || args.dry_run) && limit.admits(&change, user_of) {
                say(&change.to_string())?;
            }
        }
        if over(args.stats, told) {
            told = Instant::now();
            say(&text(&daemon.totals()))?;
        }
    }
    limit.left_out(process::monotonic_ns()).map_or(Ok(()), |left_out| say(&left_out))
}

/// The real user of a process.
fn user_of(pid: u32) -> User {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let ids = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    ids.split_whitespace().next()?.parse().ok()
}

fn text(totals: &Totals) -> String {
    let Totals { boosts, events, boosted, waiting, load_per_cpu, own_cpu, .. } = totals;
    format!(
        "load {load_per_cpu:.2} per CPU, {boosted} threads boosted now, {boosts} in all, {waiting} \
         with a short slice now, {events} events, own CPU {:.2}%",
        own_cpu * 100.0
    )
}

fn say(line: &str) -> Result<(), Error> {
    let mut out = crate::output::stdout();
    writeln!(out, "{line}")?;
    Ok(out.flush()?)
}

#[cfg(test)]
mod tests {
    use super::user_of;

    #[test]
    fn the_user_of_a_process_is_found() {
        let own = rustix::process::getuid().as_raw();
        assert_eq!((user_of(std::process::id()), user_of(0)), (Some(own), None));
    }
}
