// SPDX-License-Identifier: MIT OR Apache-2.0
//! The run as a whole, and what is told of it.

use crate::account::Account;
use crate::error::{PlayError, Result, Tried};
use crate::groups::Groups;
use crate::played::{Played, PlayedTask};
use crate::stage::Stage;
use crate::{outside, start};
use rota_workload::{SeededRunner, TaskIx, Workload};
use std::io;
use std::sync::atomic::Ordering;
use std::sync::Arc;

/// Time for each task to line up, in ns.
const LEAD_NS: u64 = 3_000_000;
/// The same where threads enter cgroups, for which the kernel waits for all CPUs.
const LEAD_WITH_GROUPS_NS: u64 = 30_000_000;
/// The same on a computer that may do something else, too.
const LEAD_UNHURRIED_NS: u64 = 50_000_000;

/// What is done with a thread's share.
type ShareDeed = Box<dyn Fn(u32, u64) -> io::Result<()> + Send + Sync>;

/// Which tasks a player has, if not all: those of one session, which is one of processes.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// Their session, as the workload numbers it. The player's process leads it.
    pub session: u32,
    /// When the tasks of all players start, on the monotonic clock: a tick.
    pub start_ns: u64,
    /// Called when these sleep until the start.
    pub ready: fn(),
}

/// How a workload is played.
pub struct Options {
    /// How long, in ns.
    pub duration_ns: u64,
    /// Of the tasks' random numbers.
    pub seed: u64,
    /// From when on to count what the tasks have, in ns from the start; `None`: not at all.
    pub count_from_ns: Option<u64>,
    /// Ticks per second: the tasks start at one.
    pub hz: u32,
    /// CPUs of the computer, from 0 on.
    pub cpus: u32,
    /// Not to ask the kernel for a thread's CPU time while it has work to do: the fair class checks
    /// then whether to preempt it.
    pub quiet: bool,
    /// Tasks of `SCHED_OTHER` are of `SCHED_EXT`, of a policy that was loaded with `--partial`.
    pub ext: bool,
    /// One session's tasks; `None`: all, in one session.
    pub part: Option<Part>,
    /// Tells the scheduler a share; without it shares have no effect.
    pub share: Option<ShareDeed>,
}

/// Plays a workload to its end, or until `duration_ns` is over. Its threads are left to the end of
/// the process, which should be one of its own.
pub fn play(workload: &Arc<Workload>, options: Options) -> Result<Played> {
    let (duration_ns, seed) = (options.duration_ns, options.seed);
    let count_from_ns = options.count_from_ns;
    let period_ns = 1_000_000_000 / u64::from(options.hz.max(1));
    let part = options.part;
    if part.is_some() {
        rustix::process::setsid().tried("cannot begin a session")?;
    }
    let runner = SeededRunner::new(Arc::clone(workload), seed);
    let stage = Arc::new(Stage::new(runner, Groups::make(&workload.groups)?, options));
    // Where the beginning does not count, it does not matter how long tasks slept before.
    let lead_ns = match (count_from_ns.is_some(), workload.groups.is_empty()) {
        (true, _) => LEAD_UNHURRIED_NS,
        (false, true) => LEAD_NS,
        (false, false) => LEAD_WITH_GROUPS_NS,
    };
    start::line_up(&stage, lead_ns, period_ns)?;
    outside::begin(&stage, &workload.outside)?;
    if let Some(part) = part {
        (part.ready)();
    }
    let before = match count_from_ns {
        Some(from_ns) => {
            stage.clock.sleep_until(from_ns);
            Some(accounts(&stage)?)
        }
        None => None,
    };
    stage.clock.sleep_until(duration_ns);
    stage.check()?;
    let after = before.is_some().then(|| accounts(&stage)).transpose()?.unwrap_or_default();
    let before = before.unwrap_or_default();
    let runner = stage.runner()?;
    let tasks = (0..runner.task_count() as u32).map(TaskIx);
    let told = tasks.map(|ix| PlayedTask {
        name: runner.name(ix).to_owned(),
        instance_of: runner.instance_of(ix).as_ref().to_owned(),
        tid: stage.place(ix).tid.load(Ordering::Acquire),
        had: after.get(ix.0 as usize).copied().flatten().map(|account| {
            // Without an account then, it came later.
            account.since(before.get(ix.0 as usize).copied().flatten().unwrap_or_default())
        }),
    });
    let (start_ns, tasks) = (stage.clock.start_ns(), told.collect());
    let [forks_ns, forks] = [&stage.forks.0, &stage.forks.1].map(|sum| sum.load(Ordering::Relaxed));
    let fork_ns = forks_ns.checked_div(forks).unwrap_or(0);
    Ok(Played { start_ns, duration_ns, period_ns, fork_ns, tasks })
}

/// What each task has had so far.
fn accounts(stage: &Stage) -> Result<Vec<Option<Account>>> {
    let tasks = stage.runner()?.task_count() as u32;
    Ok((0..tasks).map(|ix| stage.place(TaskIx(ix)).account()).collect())
}

impl Options {
    /// Tells the scheduler a task's share.
    pub(crate) fn publish_share(&self, tid: u32, share: u64) -> Result<()> {
        let Some(publish) = &self.share else { return Ok(()) };
        publish(tid, share)
            .map_err(|e| PlayError::Failure(format!("share {share} of thread {tid}: {e}")))
    }
}
