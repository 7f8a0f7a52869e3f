// SPDX-License-Identifier: MIT OR Apache-2.0
//! One recording: until the time is over, the command has ended, or the user stops it.

use super::args::TargetArgs;
use crate::affinity::on_first;
use crate::error::Error;
use crate::output::messages;
use crate::program;
use crate::stop::Stop;
use rota_kernel::events::{Facts, RecordOptions, Recorder, Traits};
use rota_replay::Taken;
use rota_trace::Sink;
use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::AsFd;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

/// How often the buffer is read.
const LOOK: Duration = Duration::from_millis(50);
/// Records that wait until the recording is over, or until there are more: some 50 MB.
const BATCH: usize = 1_000_000;
/// A command that can be waited for is about to leave its CPU.
const LAST_SWITCH: Duration = Duration::from_millis(2);

/// A recording under way.
pub(crate) struct Session<'a> {
    target: &'a TargetArgs,
    recorder: Recorder,
    stop: Stop,
    /// CPUs of the command; `None`: those of this program.
    cpus: Option<u32>,
}

/// What must be known of a recording that ended.
pub(crate) struct Ended {
    pub(crate) facts: Facts,
    /// Of each task, by pid.
    pub(crate) traits: BTreeMap<u32, Traits>,
    /// How the command ended, if there was one.
    pub(crate) command: Option<ExitStatus>,
}

impl Ended {
    /// Pids of threads of the kernel.
    pub(crate) fn kernel_threads(&self) -> BTreeSet<u32> {
        let traits = self.traits.iter();
        traits.filter(|(_, of)| of.kernel_thread).map(|(pid, _)| *pid).collect()
    }

    /// What the recorder took of the tasks; `calls_ns`: at all calls that moved bytes, if that is known.
    pub(crate) fn taken(&self, calls_ns: Option<u64>) -> Taken {
        let rota_kernel::events::Taken { call_ns, leave_ns, come_ns, wakeup_ns } = self.facts.taken;
        Taken { call_ns, calls_ns, leave_ns, come_ns, wakeup_ns }
    }
}

/// What the events are for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wanted {
    /// They are shown or judged as they come.
    pub(crate) live: bool,
    /// Only so much of them will be of interest.
    pub(crate) last_ns: Option<u64>,
    /// What tasks give to each other is of interest.
    pub(crate) transfers: bool,
}

impl<'a> Session<'a> {
    /// Begins. The command is not run yet.
    pub(crate) fn start(target: &'a TargetArgs, wanted: Wanted) -> Result<Self, Error> {
        let scope = target.scope()?;
        if let Some(command) = target.command.first() {
            program::file(command)?;
        }
        let stop = Stop::listen()?;
        let recorder = Recorder::start(&RecordOptions {
            scope,
            kernel_threads: !target.no_kernel_threads,
            detail: target.ops,
            buffer: target.buffer,
            transfers: wanted.transfers,
            batch: if wanted.live { 0 } else { BATCH },
            forget_after_ns: wanted.last_ns,
        })?;
        Ok(Self { target, recorder, stop, cpus: None })
    }

    /// The command has the first so many CPUs.
    pub(crate) fn on_first(self, cpus: u32) -> Self {
        Self { cpus: Some(cpus), ..self }
    }

    /// CPUs of the machine.
    pub(crate) fn cpus(&self) -> u32 {
        self.recorder.cpus()
    }

    /// The sched_ext scheduler that is loaded.
    pub(crate) fn scheduler(&self) -> Option<&str> {
        self.recorder.scheduler()
    }

    /// Runs the command, if there is one, and gives events to a sink, until that has enough, too.
    /// `looked` is called after each look into the buffer.
    pub(crate) fn run<S: Sink>(
        mut self,
        sink: &mut S,
        mut looked: impl FnMut(&mut S, &Recorder) -> Result<(), Error>,
    ) -> Result<Ended, Error> {
        let mut child = self.spawn()?;
        let mut result = Ok(());
        while result.is_ok() && !sink.has_enough() && !self.is_over(child.as_mut())? {
            std::thread::sleep(self.pause());
            self.recorder.poll(sink)?;
            result = looked(sink, &self.recorder);
        }
        let command = child.as_mut().map(end).transpose()?;
        if command.is_some() {
            std::thread::sleep(LAST_SWITCH);
        }
        let (facts, traits) = self.recorder.finish(sink)?;
        result?;
        Ok(Ended { facts, traits, command })
    }

    fn spawn(&self) -> Result<Option<Child>, Error> {
        let Some((program, arguments)) = self.target.command.split_first() else { return Ok(None) };
        let fail = |e| Error::Input(format!("cannot run {}: {e}", program.to_string_lossy()));
        let output = std::io::stderr().as_fd().try_clone_to_owned().map_err(fail)?;
        let mut command = Command::new(program);
        command.args(arguments).stdout(Stdio::from(output));
        on_first(self.cpus, || command.spawn())?.map(Some).map_err(fail)
    }

    fn is_over(&self, child: Option<&mut Child>) -> Result<bool, Error> {
        let late = |ns| self.recorder.elapsed_ns() >= ns;
        if self.stop.wanted() || self.target.duration.is_some_and(late) {
            return Ok(true);
        }
        match child {
            Some(child) => Ok(waited(child.try_wait())?.is_some()),
            None => Ok(false),
        }
    }

    fn pause(&self) -> Duration {
        let left = |ns: u64| Duration::from_nanos(ns.saturating_sub(self.recorder.elapsed_ns()));
        self.target.duration.map_or(LOOK, |ns| left(ns).min(LOOK))
    }
}

/// Ends a command that still runs, and says how one ended that failed.
fn end(child: &mut Child) -> Result<ExitStatus, Error> {
    if waited(child.try_wait())?.is_none() {
        if let Some(pid) = rustix::process::Pid::from_raw(child.id() as i32) {
            // It may have ended just now.
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        }
        return waited(child.wait());
    }
    let status = waited(child.wait())?;
    if !status.success() {
        messages::warning(&format!("the command ended with {status}"));
    }
    Ok(status)
}

fn waited<T>(result: std::io::Result<T>) -> Result<T, Error> {
    result.map_err(|e| Error::Failure(format!("cannot wait for the command: {e}")))
}

/// Losses are never silent.
pub(crate) fn warn(facts: &Facts, buffer: u32) {
    let lost = facts.counts.lost.total();
    if lost > 0 {
        let by_cpu = facts.counts.lost.per_cpu.iter().enumerate().filter(|(_, n)| **n > 0);
        let by_cpu: Vec<String> = by_cpu.map(|(cpu, n)| format!("{n} on CPU {cpu}")).collect();
        messages::warning(&format!(
            "{lost} events were lost ({}): a CPU's buffer of {} KiB was full; numbers are wrong, use \
             a larger --buffer",
            by_cpu.join(", "),
            buffer / 1024
        ));
    }
    for callback in &facts.unwatched {
        messages::warning(callback);
    }
    if facts.counts.late > 0 {
        messages::warning(&format!(
            "{} events came too late for their place and have a later time",
            facts.counts.late
        ));
    }
}
