// SPDX-License-Identifier: MIT OR Apache-2.0
//! The life of one task: its settings and its steps.

use crate::clock::{thread_ns, FORK_NS};
use crate::error::{PlayError, Result, Tried};
use crate::stage::{Stage, MOST_TASKS};
use rota_kernel::{set_class, Class};
use rota_workload::{Policy, Settings, Step, TaskIx};
use rustix::process::Pid;
use rustix::thread::{gettid, sched_setaffinity, sched_yield, set_name, CpuSet};
use std::ffi::CString;
use std::num::NonZeroU64;
use std::sync::atomic::Ordering;
use std::sync::Arc;
use std::thread;

/// A thread needs little, and many of them are made while others are timed.
pub(crate) const STACK_BYTES: usize = 64 << 10;
/// What the kernel keeps of a name.
const COMM_BYTES: usize = 15;

/// Makes the calling thread the task: name, place, punctual timers.
pub(crate) fn enter(stage: &Stage, task: TaskIx, name: &str) -> Result<()> {
    let mut end = name.len().min(COMM_BYTES);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    let short = CString::new(&name[..end]).tried("a name")?;
    set_name(&short).tried("set_name")?;
    rustix::thread::set_current_timer_slack(NonZeroU64::new(1)).tried("timer slack")?;
    let place = stage.place(task);
    place.thread.get_or_init(thread::current);
    place.tid.store(gettid().as_raw_nonzero().get() as u32, Ordering::Release);
    Ok(())
}

/// What the kernel calls it. Without a deadline or period of its own, a budget has the length of both.
fn class_of(settings: &Settings, ext: bool) -> Class {
    let priority = settings.priority.max(0) as u32;
    match settings.policy {
        Policy::Other if ext => Class::Ext,
        Policy::Other => Class::Other { slice_ns: settings.slice_ns.unwrap_or(0) },
        Policy::Batch => Class::Batch,
        Policy::Idle => Class::Idle,
        Policy::Ext => Class::Ext,
        Policy::Fifo => Class::Fifo(priority),
        Policy::Rr => Class::RoundRobin(priority),
        Policy::Deadline => {
            let runtime_ns = settings.slice_ns.unwrap_or(0);
            let period_ns = settings.dl_period_ns.unwrap_or(runtime_ns);
            let deadline_ns = settings.dl_deadline_ns.unwrap_or(period_ns);
            Class::Deadline { runtime_ns, deadline_ns, period_ns }
        }
    }
}

/// Gives a thread (`None`: the calling one) its settings, as far as they differ.
pub(crate) fn apply(
    stage: &Stage,
    thread: Option<Pid>,
    old: Option<&Settings>,
    new: &Settings,
) -> Result<()> {
    if new.weight.is_some() || new.migrate_disable || new.core_cookie.is_some() {
        return Err(PlayError::Workload(
            "a weight that is no nice value, disabled migration, or a core scheduling cookie, \
             cannot be played"
                .into(),
        ));
    }
    let tid = thread.unwrap_or_else(gettid).as_raw_nonzero().get() as u32;
    let class = class_of(new, stage.options.ext);
    if old.map(|o| (class_of(o, stage.options.ext), o.priority)) != Some((class, new.priority)) {
        let nice = if new.policy.is_real_time() { 0 } else { new.priority };
        set_class(tid, class, nice).tried(format!("{} {}", new.policy, new.priority))?;
    }
    if old.and_then(|o| o.group.as_ref()) != new.group.as_ref() {
        stage.groups.enter(new.group.as_deref(), tid)?;
    }
    if old.and_then(|o| o.cpus.as_ref()) != new.cpus.as_ref() {
        let mut set = CpuSet::new();
        let all: Vec<u32> = (0..stage.options.cpus).collect();
        new.cpus.as_deref().unwrap_or(&all).iter().for_each(|cpu| set.set(*cpu as usize));
        sched_setaffinity(thread, &set).tried(format!("CPUs {:?}", new.cpus))?;
    }
    if let Some(share) = new.share.filter(|share| old.and_then(|o| o.share) != Some(*share)) {
        stage.options.publish_share(tid, share)?;
    }
    Ok(())
}

/// Takes the steps of a task until it is over. CPU time beyond `born_with_ns` counts as work, but
/// for that of forks, which is told.
pub(crate) fn live(
    stage: &Arc<Stage>,
    task: TaskIx,
    mut settings: Settings,
    born_with_ns: u64,
) -> Result<()> {
    // CPU time that all its work so far should have used.
    let mut due_ns = born_with_ns;
    let mut woken = true;
    loop {
        let now_ns = stage.clock.now_ns();
        let step = stage.runner()?.next(task, now_ns);
        if stage.options.part.is_some() && concerns_others(&step) {
            return Err(PlayError::Workload(
                "tasks of several sessions can only run and sleep where they are played".into(),
            ));
        }
        match step {
            Step::Run { work_ns } => {
                due_ns += work_ns;
                stage.clock.work_until(due_ns, work_ns, std::mem::take(&mut woken));
            }
            Step::Runtime { ns } => {
                stage.clock.busy_until(now_ns + ns);
                due_ns = thread_ns();
            }
            Step::Sleep { ns } => {
                stage.clock.sleep_until(now_ns.saturating_add(ns));
                woken = true;
            }
            Step::SleepUntil { at_ns } => {
                stage.clock.sleep_until(at_ns);
                woken = true;
            }
            Step::Yield => sched_yield(),
            Step::Fork { child } => {
                match stage.clock.own_time_of(|| fork(stage, child, &settings))? {
                    Some(took_ns) => {
                        due_ns += took_ns;
                        stage.forks.0.fetch_add(took_ns, Ordering::Relaxed);
                        stage.forks.1.fetch_add(1, Ordering::Relaxed);
                    }
                    None => due_ns += FORK_NS,
                }
            }
            Step::Block => {
                while !stage.place(task).woken.swap(false, Ordering::AcqRel) {
                    thread::park();
                    woken = true;
                }
            }
            Step::Wake { tasks, sync: _ } => {
                wake(stage, &tasks);
            }
            Step::Change(new) => {
                apply(stage, None, Some(&settings), &new)?;
                settings = *new;
            }
            Step::Exit => {
                let woken = stage.runner()?.leave(task);
                wake(stage, &woken);
                if stage.options.count_from_ns.is_some() {
                    stage.place(task).close_account();
                }
                return Ok(());
            }
            Step::Stuck(why) => return Err(PlayError::Workload(why)),
        }
    }
}

fn wake(stage: &Stage, tasks: &[TaskIx]) {
    for place in tasks.iter().map(|woken| stage.place(*woken)) {
        place.woken.store(true, Ordering::Release);
        if let Some(thread) = place.thread.get() {
            thread.unpark();
        }
    }
}

/// Players do not know what those of other sessions do.
fn concerns_others(step: &Step) -> bool {
    matches!(step, Step::Fork { .. } | Step::Block | Step::Wake { .. })
}

fn fork(stage: &Arc<Stage>, child: TaskIx, of_parent: &Settings) -> Result<()> {
    if child.0 as usize >= MOST_TASKS {
        return Err(PlayError::Workload(format!("there are more than {MOST_TASKS} tasks")));
    }
    let (name, settings) = {
        let runner = stage.runner()?;
        (runner.name(child).to_owned(), runner.settings(child).clone())
    };
    let (theirs, inherited) = (Arc::clone(stage), of_parent.clone());
    let builder = thread::Builder::new().stack_size(STACK_BYTES);
    builder
        .spawn(move || {
            let begin = || {
                enter(&theirs, child, &name)?;
                apply(&theirs, None, Some(&inherited), &settings)?;
                live(&theirs, child, settings, 0)
            };
            theirs.note(&name, begin());
        })
        .tried(format!("cannot fork task {}", child.0))?;
    Ok(())
}
