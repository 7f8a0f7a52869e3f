// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota run`, or a scheduler's own program, as a process of the guest.

use crate::ordinary;
use crate::sysfs::{state, wait_until};
use anyhow::{bail, Context, Result};
use rota_guest::step::{Ended, Signal};
use rustix::process::{kill_process, Pid};
use serde_json::{json, Value};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

const OUTPUT: &str = "/tmp/rota.out";
/// For loading, and for loading again after a change of CPUs.
const ENABLED_WITHIN: Duration = Duration::from_secs(20);

/// A `rota run` or a scheduler's own program that was started.
pub(crate) struct Scheduler {
    child: Child,
    /// What was started, in words.
    name: String,
    /// It is a scheduler's own program, which has work to do as long as that schedules.
    takes_part: bool,
    /// Its policy has to stay until it is told to leave.
    stays: bool,
}

impl Scheduler {
    /// `rota run` with these arguments.
    pub(crate) fn start(args: &[String], wait: bool) -> Result<Scheduler> {
        let child = spawn(ordinary::program("/bin/rota").arg("run").args(args))?;
        let name = "rota run".to_owned();
        let mut scheduler = Scheduler { child, name, takes_part: false, stays: wait };
        if wait {
            scheduler.check()?;
        }
        Ok(scheduler)
    }

    /// A scheduler's own program, with its arguments.
    pub(crate) fn of_program(command: &[String]) -> Result<Scheduler> {
        let (program, args) = command.split_first().context("there is no program to start")?;
        let child = spawn(ordinary::program(program).args(args))?;
        let name = program.clone();
        let mut scheduler = Scheduler { child, name, takes_part: true, stays: true };
        scheduler.check()?;
        Ok(scheduler)
    }

    /// Whether the process has its part in the scheduler's work.
    pub(crate) fn takes_part(&self) -> bool {
        self.takes_part
    }

    /// The threads that the process has now.
    pub(crate) fn threads(&self) -> Result<BTreeSet<u32>> {
        let folder = format!("/proc/{}/task", self.child.id());
        let mut threads = BTreeSet::new();
        for thread in fs::read_dir(&folder).with_context(|| folder.clone())? {
            threads.extend(thread?.file_name().to_string_lossy().parse::<u32>());
        }
        Ok(threads)
    }

    /// Fails unless the policy is, or soon is again, enabled.
    pub(crate) fn check(&mut self) -> Result<()> {
        if !self.stays {
            return Ok(());
        }
        let mut ended = None;
        let enabled = wait_until("state enabled", ENABLED_WITHIN, || {
            ended = self.child.try_wait()?;
            Ok(ended.is_some() || state() == "enabled")
        });
        match (ended, enabled) {
            (Some(status), _) => bail!("{} ended, {status}; it said:\n{}", self.name, said()),
            (None, Err(error)) => bail!("{error:#}; {} says:\n{}", self.name, said()),
            (None, Ok(())) => Ok(()),
        }
    }

    pub(crate) fn signal(&mut self, signal: Signal) -> Result<()> {
        self.stays = false;
        let signal = match signal {
            Signal::Int => rustix::process::Signal::INT,
            Signal::Term => rustix::process::Signal::TERM,
            Signal::Kill => rustix::process::Signal::KILL,
        };
        Ok(kill_process(Pid::from_child(&self.child), signal)?)
    }

    /// Stops the process, or lets it go on. The policy schedules either way.
    pub(crate) fn pause(&mut self, stop: bool) -> Result<()> {
        let signal = match stop {
            true => rustix::process::Signal::STOP,
            false => rustix::process::Signal::CONT,
        };
        Ok(kill_process(Pid::from_child(&self.child), signal)?)
    }

    /// Why the policy left while the process was stopped, if it did: what the process says of that
    /// when it goes on.
    pub(crate) fn left(&mut self, was: &str) -> Result<Option<String>> {
        if was == "enabled" {
            return Ok(None);
        }
        let why = || said().lines().find_map(|line| Some(line.split_once("restart: ")?.1.into()));
        wait_until("word of a restart", ENABLED_WITHIN, || Ok(why().is_some()))?;
        Ok(why())
    }

    /// Waits for the end, and judges it.
    pub(crate) fn end(&mut self, step: &Ended) -> Result<(Value, Option<String>)> {
        self.stays = false;
        let status = self.wait(step.within.duration())?;
        let said = said();
        let missing = step.says.iter().find(|text| !said.contains(text.as_str()));
        let problem = if status.code() != step.code {
            let (name, code) = (&self.name, step.code);
            Some(format!("{name} ended, {status}, expected {code:?}; it said:\n{said}"))
        } else {
            missing.map(|text| format!("{} did not say '{text}' but:\n{said}", self.name))
        };
        Ok((json!({ "code": status.code(), "said": said }), problem))
    }

    /// Ends it, whatever it takes.
    pub(crate) fn stop(&mut self, within: Duration) -> Result<()> {
        if self.child.try_wait()?.is_some() {
            return Ok(());
        }
        self.signal(Signal::Int)?;
        if let Err(error) = self.wait(within) {
            self.signal(Signal::Kill)?;
            self.child.wait()?;
            return Err(error);
        }
        Ok(())
    }

    fn wait(&mut self, within: Duration) -> Result<ExitStatus> {
        let mut ended = None;
        let waited = wait_until(&format!("end of {}", self.name), within, || {
            ended = self.child.try_wait()?;
            Ok(ended.is_some())
        });
        match (ended, waited) {
            (Some(status), _) => Ok(status),
            (None, waited) => {
                let why = waited.err().map(|error| format!("{error:#}")).unwrap_or_default();
                bail!("{why}; it says:\n{}", said())
            }
        }
    }
}

/// What it prints can be read with [`said`].
fn spawn(command: &mut Command) -> Result<Child> {
    let out = File::create(OUTPUT)?;
    let command = command.stdin(Stdio::null()).stderr(out.try_clone()?).stdout(out);
    Ok(command.spawn()?)
}

fn said() -> String {
    fs::read_to_string(OUTPUT).unwrap_or_default()
}
