// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota boost --explain PID`.

use super::BoostArgs;
use crate::error::{Error, Status};
use crate::output;
use rota_boost::control::{self, Explanation, ThreadState};
use serde::Serialize;
use std::io::Write;

/// `rota boost --explain PID --json`.
#[derive(Debug, Serialize)]
struct Json<'a> {
    schema: &'static str,
    #[serde(flatten)]
    told: &'a Explanation,
}

pub(super) fn run(args: &BoostArgs, pid: u32) -> Result<Status, Error> {
    if !std::path::Path::new("/proc").join(pid.to_string()).exists() {
        return Err(Error::Input(format!("--explain {pid}: there is no such process")));
    }
    let told = control::ask(&args.control, pid)?;
    let mut out = crate::output::stdout();
    if args.json {
        output::json::print(&mut out, &Json { schema: "rota.boost/1", told: &told })?;
        return Ok(Status::Done);
    }
    writeln!(out, "process {pid}: {}", told.confinement)?;
    if let (Some(user), Some(credit_ms), Some(left)) = (told.user, told.credit_ms, told.extra_left)
    {
        let percent = (left * 100.0).round();
        let beyond = format!("{percent}% of its part of the pool");
        writeln!(out, "user {user}: {credit_ms} ms of its fair share left, {beyond}")?;
    }
    for thread in &told.threads {
        writeln!(out, "thread {}", line(thread))?;
    }
    if told.threads.is_empty() {
        writeln!(out, "no thread has received from a customer while the load was high")?;
    }
    for change in &told.history {
        writeln!(out, "{change}")?;
    }
    out.flush()?;
    Ok(Status::Done)
}

fn line(thread: &ThreadState) -> String {
    let ThreadState { tid, name, nice, phase, open, answers, barred_ms } = thread;
    let state = match (nice, phase) {
        (Some(nice), Some(phase)) => format!("nice {nice}, {phase}"),
        _ if *barred_ms > 0 => format!("barred for another {:.1} s", *barred_ms as f64 / 1e3),
        _ => "not boosted".to_owned(),
    };
    format!("{tid} {name}: {state}; {open} open, {answers} answered")
}
