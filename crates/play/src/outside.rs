// SPDX-License-Identifier: MIT OR Apache-2.0
//! What happens to the tasks from outside: the events of a workload, each at its time, from a thread
//! that no task keeps from a CPU.

use crate::error::{PlayError, Result, Tried};
use crate::stage::Stage;
use rota_workload::events::{Action, CgroupAction, OutsideEvent, TaskSetting, Tasks};
use rota_workload::TaskIx;
use rustix::process::{setpriority_process, Pid};
use rustix::thread::{sched_setaffinity, CpuSet};
use std::fs;
use std::sync::atomic::Ordering;
use std::sync::Arc;
use std::thread;

/// What the player can do.
#[derive(Clone, Debug, PartialEq)]
enum Deed {
    ToTasks(Tasks, TaskDeed),
    Group(Arc<str>, CgroupAction),
    Plug(u32, bool),
}

/// What it can do to a task.
#[derive(Clone, Debug, PartialEq)]
enum TaskDeed {
    Cpus(Arc<[u32]>),
    Nice(i32),
    Group(Option<Arc<str>>),
}

/// Starts the thread, which sleeps until the first event. The caller is above all tasks, and so is
/// a thread of its.
pub(crate) fn begin(stage: &Arc<Stage>, events: &[OutsideEvent]) -> Result<()> {
    let mut plan = plan(events)?;
    if plan.is_empty() {
        return Ok(());
    }
    plan.sort_by_key(|(at_ns, ..)| *at_ns);
    let stage = Arc::clone(stage);
    thread::Builder::new()
        .name("outside".into())
        .spawn(move || {
            for (at_ns, label, deed) in plan {
                stage.clock.sleep_until(at_ns);
                stage.note(&label, act(&stage, &deed));
            }
        })
        .tried("cannot start the thread of the events")?;
    Ok(())
}

/// The events in the order of the file; an error if one of them cannot be played.
fn plan(events: &[OutsideEvent]) -> Result<Vec<(u64, String, Deed)>> {
    let deed = |event: &OutsideEvent| {
        let to_tasks = |tasks: &Tasks, deed| Deed::ToTasks(tasks.clone(), deed);
        let deed = match &event.action {
            Action::Set(tasks, TaskSetting::Cpus(cpus)) => {
                to_tasks(tasks, TaskDeed::Cpus(Arc::clone(cpus)))
            }
            Action::Set(tasks, TaskSetting::Nice(nice)) => to_tasks(tasks, TaskDeed::Nice(*nice)),
            Action::Set(tasks, TaskSetting::Cgroup(group)) => {
                to_tasks(tasks, TaskDeed::Group(group.clone()))
            }
            Action::Cgroup(group, action) => Deed::Group(Arc::clone(group), action.clone()),
            Action::Cpu(cpu, online) => Deed::Plug(*cpu, *online),
            other => {
                return Err(PlayError::Workload(format!(
                    "{}: only nice values, CPUs, cgroups and hotplug can be played, not {other}",
                    event.label()
                )))
            }
        };
        Ok((event.at_ns, event.label(), deed))
    };
    events.iter().map(deed).collect()
}

fn act(stage: &Stage, deed: &Deed) -> Result<()> {
    match deed {
        Deed::ToTasks(tasks, deed) => to_all(stage, tasks, deed),
        Deed::Group(group, action) => stage.groups.act(group, action),
        Deed::Plug(cpu, online) => {
            let path = format!("/sys/devices/system/cpu/cpu{cpu}/online");
            fs::write(&path, if *online { "1" } else { "0" }).tried(path)
        }
    }
}

/// To each of the tasks that has a thread.
fn to_all(stage: &Stage, tasks: &Tasks, deed: &TaskDeed) -> Result<()> {
    let named: Vec<TaskIx> = {
        let runner = stage.runner()?;
        let all = (0..runner.task_count() as u32).map(TaskIx);
        all.filter(|ix| match tasks.one {
            Some(one) => *ix == one,
            None => *runner.instance_of(*ix) == tasks.name,
        })
        .collect()
    };
    for ix in named {
        let tid = stage.place(ix).tid.load(Ordering::Acquire);
        let Some(thread) = Pid::from_raw(tid as i32) else { continue };
        match deed {
            TaskDeed::Group(group) => stage.groups.enter(group.as_deref(), tid)?,
            TaskDeed::Nice(nice) => setpriority_process(Some(thread), *nice)
                .tried(format!("nice value {nice} from outside"))?,
            TaskDeed::Cpus(cpus) => {
                let mut set = CpuSet::new();
                cpus.iter().for_each(|cpu| set.set(*cpu as usize));
                sched_setaffinity(Some(thread), &set)
                    .tried(format!("CPUs {cpus:?} from outside"))?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(section: &str) -> Vec<OutsideEvent> {
        let text = format!(r#"{{"tasks": {{"a": {{"run": 10}}}}, "events": [{section}]}}"#);
        rota_workload::parse("w.json", &text).unwrap().outside.to_vec()
    }

    #[test]
    fn changes_of_tasks_groups_and_cpus_are_played_at_their_times() {
        let plan = plan(&events(
            r#"{"at": "2ms", "task": "a", "nice": 5}, {"at": "1ms", "task": "a", "cpus": [0]},
               {"at": "3ms", "cpu": 1, "online": false}"#,
        ))
        .unwrap();

        let told: Vec<_> = plan
            .iter()
            .map(|(at_ns, _, deed)| match deed {
                Deed::ToTasks(tasks, deed) => (*at_ns, format!("{} {deed:?}", tasks.name)),
                other => (*at_ns, format!("{other:?}")),
            })
            .collect();
        let expected =
            [(2_000_000, "a Nice(5)"), (1_000_000, "a Cpus([0])"), (3_000_000, "Plug(1, false)")];
        assert_eq!(told, expected.map(|(at_ns, deed)| (at_ns, deed.to_owned())));
    }

    #[test]
    fn an_event_that_cannot_be_played_is_an_error_that_names_it() {
        let why = plan(&events(r#"{"at": "1ms", "task": "a", "weight": 50}"#)).unwrap_err();
        let why = why.to_string();
        assert!(why.contains("w.json:1:") && why.ends_with("not task a weight 50"), "{why}");
    }
}
