// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs the command as a question wants it: once or twice, with nice values and slices.

use super::args::WhatIfChildArgs;
use crate::error::{Error, Status};
use crate::output::json;
use rota_kernel::{set_class, Class};
use rustix::process::{wait, WaitOptions};
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Instant;

/// What it tells.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Told {
    Ran(Report),
    /// The command cannot be run.
    Refused(String),
    /// It failed, or could not be run as asked.
    Failed(String),
}

/// How it went.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Report {
    /// Its process.
    pub(super) pid: u32,
    /// From a copy's start to its end, in the order of their starts.
    pub(super) took_ns: Vec<u64>,
}

/// The report's file is open before the command runs, so that a path that cannot be written costs
/// no run. What goes wrong is told there only: the parent says it.
pub(super) fn run(args: &WhatIfChildArgs) -> Result<Status, Error> {
    let path = args.report.display();
    let unwritten = |e: std::io::Error| Error::Failure(format!("cannot write {path}: {e}"));
    let mut file = std::fs::File::create(&args.report).map_err(unwritten)?;
    let told = match copies(args) {
        Ok(report) => Told::Ran(report),
        Err(Error::Input(why)) => Told::Refused(why),
        Err(error) => Told::Failed(error.to_string()),
    };
    json::print(&mut file, &told)?;
    file.flush().map_err(unwritten)?;
    Ok(Status::Done)
}

fn copies(args: &WhatIfChildArgs) -> Result<Report, Error> {
    let mut copies: Vec<(u32, Instant, Option<u64>)> = Vec::new();
    for copy in 1..=args.copies {
        take_class(if copy == 2 { args.nice } else { 0 }, args.slice_ns)?;
        let began = Instant::now();
        let child = Command::new(&args.command[0])
            .args(&args.command[1..])
            .env("ROTA_COPY", copy.to_string())
            .stdin(Stdio::null())
            .spawn();
        let name = args.command[0].to_string_lossy();
        let child = child.map_err(|e| Error::Input(format!("cannot run {name}: {e}")))?;
        copies.push((child.id(), began, None));
    }
    while copies.iter().any(|(.., took_ns)| took_ns.is_none()) {
        let ended = wait(WaitOptions::empty());
        let ended = ended.map_err(|e| Error::Failure(format!("cannot wait: {e}")))?;
        let Some((pid, status)) = ended else { continue };
        let copy = copies.iter_mut().find(|(id, ..)| *id == pid.as_raw_nonzero().get() as u32);
        let Some((_, began, took_ns)) = copy else { continue };
        *took_ns = Some(began.elapsed().as_nanos() as u64);
        if status.exit_status() != Some(0) {
            let how = match status.exit_status() {
                Some(code) => format!("exit code {code}"),
                None => format!("signal {}", status.terminating_signal().unwrap_or(0)),
            };
            return Err(Error::Failure(format!("the command ended with {how}")));
        }
    }
    let took_ns = copies.into_iter().filter_map(|(.., took_ns)| took_ns).collect();
    Ok(Report { pid: std::process::id(), took_ns })
}

/// A task without end, until its parent is gone.
pub(super) fn hog() -> Result<Status, Error> {
    let parent = rustix::process::getppid();
    while rustix::process::getppid() == parent {
        (0..10_000_000u32).for_each(|at| _ = std::hint::black_box(at));
    }
    Ok(Status::Done)
}

/// The nice value that is so much more than that of this process.
pub(super) fn nicer(by: i32) -> Result<i32, Error> {
    let own = rustix::process::getpriority_process(None);
    let own = own.map_err(|e| Error::Failure(format!("cannot read the nice value: {e}")))?;
    Ok((own + by).min(19))
}

fn take_class(nicer_by: i32, slice_ns: u64) -> Result<(), Error> {
    if (nicer_by, slice_ns) == (0, 0) {
        return Ok(());
    }
    let set = set_class(0, Class::Other { slice_ns }, nicer(nicer_by)?);
    set.map_err(|e| Error::Failure(format!("cannot set the nice value and the slice: {e}")))
}
