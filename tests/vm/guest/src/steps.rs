// SPDX-License-Identifier: MIT OR Apache-2.0
//! Does the steps of a job.

use crate::groups::Groups;
use crate::hogs::Hogs;
use crate::records::{now, Records};
use crate::residue::{kernel_memory_kb, Residue};
use crate::scheduler::Scheduler;
use crate::{command, measure, recording, sysfs};
use anyhow::{bail, Context, Result};
use rota_guest::job::Job;
use rota_guest::record::Record;
use rota_guest::step::Step;
use serde_json::{json, Value};
use std::thread::sleep;
use std::time::Duration;

/// Kernel memory that a round of a repeated step may add, in kB: none, but caches fill. (200 loads
/// of wrr added 256 kB until the 50th, 140 until the 100th, 60 until the last.) What a load
/// has in the kernel, some twenty programs with a page or more each and maps, is far more.
const GROWTH_KB_PER_ROUND: u64 = 8;
const CLEAN_UP_WITHIN: Duration = Duration::from_secs(10);

/// A job in the making.
pub(crate) struct Work<'a> {
    job: &'a Job,
    records: &'a mut Records,
    hogs: Hogs,
    groups: Groups,
    scheduler: Option<Scheduler>,
    /// Inside a repeated step only problems are reported.
    quiet: bool,
}

impl<'a> Work<'a> {
    pub(crate) fn new(job: &'a Job, records: &'a mut Records) -> Work<'a> {
        let (hogs, groups) = (Hogs::default(), Groups::default());
        Work { job, records, hogs, groups, scheduler: None, quiet: false }
    }

    /// Does the steps until one has a problem. An error is one of talking to the host.
    pub(crate) fn do_all(&mut self, steps: &[Step], prefix: &str) -> Result<bool> {
        for (i, step) in steps.iter().enumerate() {
            let number = format!("{prefix}{}", i + 1);
            if !self.quiet {
                self.records.say(&format!("step {number}: {}", step.name()));
            }
            let (saw, problem) = match self.do_one(step, &number) {
                Ok((saw, problem)) => (saw, problem),
                Err(error) => (Value::Null, Some(format!("{error:#}"))),
            };
            let leaves = matches!(steps.get(i + 1), Some(Step::Ended(_)));
            let problem = problem.or_else(|| if leaves { None } else { self.ejection() });
            if !self.quiet || problem.is_some() {
                self.send_step(&number, step, saw)?;
            }
            if let Some(problem) = problem {
                self.send_problem(&number, problem)?;
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Ends everything that the job started.
    pub(crate) fn clean_up(&mut self) -> Result<bool> {
        let mut clean = || -> Result<()> {
            self.hogs.kill_all()?;
            self.groups.remove_all()?;
            if let Some(mut scheduler) = self.scheduler.take() {
                scheduler.stop(CLEAN_UP_WITHIN)?;
            }
            sysfs::all_online()?;
            if !sysfs::state().is_empty() {
                sysfs::wait_for_state("disabled", CLEAN_UP_WITHIN)?;
            }
            Ok(())
        };
        match clean() {
            Ok(()) => Ok(true),
            Err(error) => {
                self.send_problem("cleanup", format!("{error:#}"))?;
                Ok(false)
            }
        }
    }

    /// What was seen, and what was wrong with it.
    fn do_one(&mut self, step: &Step, number: &str) -> Result<(Value, Option<String>)> {
        match step {
            Step::Hogs { tasks } => {
                for (name, kind) in tasks {
                    self.hogs.start(name, kind)?;
                }
            }
            Step::Load { policy, with, wait } => self.load(policy.as_deref(), with, *wait)?,
            Step::Start { command } => self.start(command)?,
            Step::Run(step) => return command::run(step, self.job.policy.as_deref()),
            Step::Measure(step) => return measure::measure(step, &self.hogs),
            Step::Play(step) if step.fair => return recording::play(step, None),
            Step::Play(step) if self.scheduler()?.takes_part() => {
                let threads = self.scheduler()?.threads()?;
                return recording::play(step, Some(&threads));
            }
            Step::Play(step) => {
                // It looks around now and then, which would interrupt the workload.
                self.scheduler()?.pause(true)?;
                let played = recording::play(step, None);
                let state = sysfs::state();
                self.scheduler()?.pause(false)?;
                let (mut saw, problem) = played?;
                if let Some(why) = self.scheduler()?.left(&state)? {
                    saw["left"] = why.into();
                }
                return Ok((saw, problem));
            }
            Step::Wait { time } => sleep(time.duration()),
            Step::Change { task, nice, share, cpus, group } => {
                for name in self.hogs.matching(task)? {
                    if let Some(nice) = nice {
                        self.hogs.renice(&name, *nice)?;
                    }
                    if let Some(share) = share {
                        self.hogs.set_share(&name, *share)?;
                    }
                    if let Some(cpus) = cpus {
                        self.hogs.set_cpus(&name, cpus)?;
                    }
                    if let Some(group) = group {
                        self.hogs.regroup(&name, group)?;
                    }
                }
            }
            Step::Group { path, weight } => self.groups.weigh(path, *weight)?,
            Step::Kill { tasks } if tasks.is_empty() => self.hogs.kill_all()?,
            Step::Kill { tasks } => {
                for task in tasks {
                    self.hogs.kill(task)?;
                }
            }
            Step::Cpu { cpu, online } => sysfs::set_online(*cpu, *online)?,
            Step::Signal { signal } => self.scheduler()?.signal(*signal)?,
            Step::Ended(step) => {
                let end = self.scheduler()?.end(step)?;
                self.scheduler = None;
                return Ok(end);
            }
            Step::State { is, within } => sysfs::wait_for_state(is, within.duration())?,
            Step::Repeat { times, step, leaks } => {
                return self.repeat(*times, step, *leaks, number)
            }
        }
        Ok((Value::Null, None))
    }

    fn load(&mut self, policy: Option<&str>, with: &[String], wait: bool) -> Result<()> {
        if self.scheduler.is_some() {
            bail!("a policy is loaded already");
        }
        let Some(policy) = policy.or(self.job.policy.as_deref()) else {
            bail!("neither the step nor the scenario names a policy");
        };
        let mut args = vec![policy.to_owned()];
        for set in &self.job.set {
            args.extend(["--set".to_owned(), set.clone()]);
        }
        for share in self.hogs.shares() {
            args.extend(["--share".to_owned(), share]);
        }
        args.extend(with.iter().cloned());
        self.scheduler = Some(Scheduler::start(&args, wait)?);
        self.hogs.let_go()
    }

    fn start(&mut self, command: &[String]) -> Result<()> {
        if self.scheduler.is_some() {
            bail!("a policy is loaded already");
        }
        self.scheduler = Some(Scheduler::of_program(command)?);
        Ok(())
    }

    fn repeat(
        &mut self,
        times: u32,
        steps: &[Step],
        leaks: bool,
        number: &str,
    ) -> Result<(Value, Option<String>)> {
        let quiet = std::mem::replace(&mut self.quiet, true);
        let residue = Residue::now();
        // The first rounds fill caches that stay, for which they are not to be blamed.
        let filled = times.div_ceil(5);
        let mut kb = 0;
        for round in 1..=times {
            if !self.do_all(steps, &format!("{number}.{round}."))? {
                self.quiet = quiet;
                return Ok((Value::Null, Some(format!("round {round} of {times} failed"))));
            }
            if leaks && round == filled {
                residue.wait_for_return()?;
                kb = kernel_memory_kb()?;
            }
        }
        self.quiet = quiet;
        if !leaks {
            return Ok((Value::Null, None));
        }
        residue.wait_for_return()?;
        let allowed = kb + GROWTH_KB_PER_ROUND * u64::from(times - filled);
        let grown = sysfs::wait_until("kernel memory freed", Duration::from_secs(5), || {
            Ok(kernel_memory_kb()? <= allowed)
        });
        let now_kb = kernel_memory_kb()?;
        grown.with_context(|| format!("kernel memory went from {kb} kB to {now_kb} kB"))?;
        Ok((json!({ "kernel_kb": [kb, now_kb] }), None))
    }

    /// Says what became of the policy, if it did not stay.
    fn ejection(&mut self) -> Option<String> {
        self.scheduler.as_mut()?.check().err().map(|error| format!("{error:#}"))
    }

    fn scheduler(&mut self) -> Result<&mut Scheduler> {
        self.scheduler.as_mut().context("no policy was loaded")
    }

    fn send_step(&mut self, number: &str, step: &Step, saw: Value) -> Result<()> {
        self.records.send(&Record::Step {
            job: self.job.name.clone(),
            step: number.to_owned(),
            does: step.name().to_owned(),
            at_ns: now().as_nanos() as u64,
            saw,
        })
    }

    fn send_problem(&mut self, number: &str, problem: String) -> Result<()> {
        self.records.say(&format!("step {number}: {problem}"));
        let (job, step) = (self.job.name.clone(), number.to_owned());
        self.records.send(&Record::Problem { job, step, problem })
    }
}
