// SPDX-License-Identifier: MIT OR Apache-2.0
//! Brings all tasks to the line: each has a timer for the common start, set in file order.
//!
//! Timers of one CPU that end together end in the order in which they were set, so the tasks
//! wake up in file order, all in one interrupt, as the simulator's tasks come. They join the
//! policy while they sleep: it sees them for the first time at the start.

use crate::clock::{monotonic_ns, sleep_until};
use crate::error::{PlayError, Result, Tried};
use crate::stage::Stage;
use crate::task::{apply, enter, live, STACK_BYTES};
use rota_workload::TaskIx;
use rustix::process::Pid;
use rustix::thread::{sched_setaffinity, CpuSet};
use std::fs;
use std::sync::atomic::Ordering;
use std::sync::Arc;
use std::thread;

/// Between two looks at a task that is on its way to sleep.
const LOOK_NS: u64 = 300_000;
/// Time for a thread to get ready.
const READY_WITHIN_NS: u64 = 2_000_000_000;

/// Starts the tasks of the file; they sleep until the start, `lead_ns` for each from now, or until
/// that of all players.
pub(crate) fn line_up(stage: &Arc<Stage>, lead_ns: u64, tick_ns: u64) -> Result<()> {
    let mut tasks: Vec<(TaskIx, u64)> = stage.runner()?.initial().collect();
    match stage.options.part {
        Some(part) => {
            let runner = stage.runner()?;
            tasks.retain(|(task, _)| runner.identity(*task).session == part.session);
            stage.clock.set_start(part.start_ns);
        }
        None => {
            let soon_ns = monotonic_ns() + lead_ns * (2 + tasks.len() as u64);
            stage.clock.set_start(soon_ns.div_ceil(tick_ns) * tick_ns);
        }
    }
    for (task, first_ns) in &tasks {
        spawn(stage, *task, *first_ns)?;
        wait_for_sleep(stage, *task)?;
    }
    for (task, _) in &tasks {
        let tid = stage.place(*task).tid.load(Ordering::Acquire);
        let settings = stage.runner()?.settings(*task).clone();
        let thread = Pid::from_raw(tid as i32);
        // Every CPU again, or those of the settings.
        sched_setaffinity(thread, &cpus(0..stage.options.cpus)).tried("all CPUs for a task")?;
        apply(stage, thread, None, &settings)?;
    }
    if monotonic_ns() > stage.clock.start_ns() {
        return Err(PlayError::Failure("the tasks were not ready in time".into()));
    }
    Ok(())
}

fn spawn(stage: &Arc<Stage>, task: TaskIx, first_ns: u64) -> Result<()> {
    let (name, settings) = {
        let runner = stage.runner()?;
        (runner.name(task).to_owned(), runner.settings(task).clone())
    };
    let theirs = Arc::clone(stage);
    let builder = thread::Builder::new().stack_size(STACK_BYTES);
    let spawned = builder.spawn(move || {
        let begin = || {
            // All timers on one CPU.
            sched_setaffinity(None, &cpus(0..1)).tried("the first CPU for a task")?;
            enter(&theirs, task, &name)?;
            theirs.clock.sleep_until(first_ns);
            let before_ns = theirs.place(task).slept_at_ns.load(Ordering::Acquire);
            live(&theirs, task, settings, before_ns)
        };
        theirs.note(&name, begin());
    });
    spawned.tried("cannot start a thread")?;
    Ok(())
}

/// Waits until the task sleeps, and so has set its timer.
fn wait_for_sleep(stage: &Stage, task: TaskIx) -> Result<()> {
    let give_up_ns = monotonic_ns() + READY_WITHIN_NS;
    loop {
        sleep_until(monotonic_ns() + LOOK_NS);
        let tid = stage.place(task).tid.load(Ordering::Acquire);
        if tid != 0 {
            let path = format!("/proc/self/task/{tid}/stat");
            let stat = fs::read_to_string(&path).tried(path)?;
            if stat.rsplit(')').next().is_some_and(|rest| rest.starts_with(" S")) {
                stage.place(task).slept_at_ns.store(cpu_time(tid)?, Ordering::Release);
                return Ok(());
            }
        }
        stage.check()?;
        if monotonic_ns() > give_up_ns {
            return Err(PlayError::Failure("a thread did not get ready".into()));
        }
    }
}

/// CPU time that a thread has had.
fn cpu_time(tid: u32) -> Result<u64> {
    let path = format!("/proc/self/task/{tid}/schedstat");
    let text = fs::read_to_string(&path).tried(&path)?;
    let ns = text.split(' ').next().and_then(|ns| ns.parse().ok());
    ns.ok_or_else(|| PlayError::Failure(format!("{path}: no time in \"{text}\"")))
}

fn cpus(numbers: std::ops::Range<u32>) -> CpuSet {
    let mut set = CpuSet::new();
    numbers.for_each(|cpu| set.set(cpu as usize));
    set
}
