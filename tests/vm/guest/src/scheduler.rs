// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota run`, as a process of the guest.

use crate::ordinary;
use crate::sysfs::{state, wait_until};
use anyhow::{bail, Result};
use rota_guest::step::{Ended, Signal};
use rustix::process::{kill_process, Pid};
use serde_json::{json, Value};
use std::fs::{self, File};
use std::process::{Child, ExitStatus, Stdio};
use std::time::Duration;

const OUTPUT: &str = "/tmp/rota.out";
/// For loading, and for loading again after a change of CPUs.
const ENABLED_WITHIN: Duration = Duration::from_secs(20);

/// A `rota run` that was started.
pub(crate) struct Scheduler {
    child: Child,
    /// Its policy has to stay until it is told to leave.
    stays: bool,
}

impl Scheduler {
    pub(crate) fn start(args: &[String], wait: bool) -> Result<Scheduler> {
        let out = File::create(OUTPUT)?;
        let child = ordinary::program("/bin/rota")
            .arg("run")
            .args(args)
            .stdin(Stdio::null())
            .stderr(out.try_clone()?)
            .stdout(out)
            .spawn()?;
        let mut scheduler = Scheduler { child, stays: wait };
        if wait {
            scheduler.check()?;
        }
        Ok(scheduler)
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
            (Some(status), _) => bail!("rota run ended, {status}; it said:\n{}", said()),
            (None, Err(error)) => bail!("{error:#}; rota run says:\n{}", said()),
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
            Some(format!("rota run ended, {status}, expected {:?}; it said:\n{said}", step.code))
        } else {
            missing.map(|text| format!("rota run did not say '{text}' but:\n{said}"))
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
        let waited = wait_until("end of rota run", within, || {
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

fn said() -> String {
    fs::read_to_string(OUTPUT).unwrap_or_default()
}
