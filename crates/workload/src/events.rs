// SPDX-License-Identifier: MIT OR Apache-2.0
//! Things that happen from outside while the tasks run: the section `"events"`.

use std::fmt;
use std::sync::Arc;

use crate::model::TaskIx;

/// One of them.
#[derive(Clone, Debug, PartialEq)]
pub struct OutsideEvent {
    /// Where it stands: `web.json:12:5`.
    pub place: String,
    /// What the file calls it.
    pub name: Option<Arc<str>>,
    /// What makes it happen.
    pub when: When,
    /// The time that follows from that.
    pub at_ns: u64,
    /// What happens.
    pub action: Action,
}

/// What makes an event happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// A time, counted from the beginning of the run.
    At,
    /// Another event, by its index, and this much time.
    After(u32, u64),
}

/// What happens.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Something of tasks is set.
    Set(Tasks, TaskSetting),
    /// A cgroup changes, by its path.
    Cgroup(Arc<str>, CgroupAction),
    /// The scheduler is loaded (true), or taken away.
    Load(bool),
}

/// Tasks that an event is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tasks {
    /// As the file has it.
    pub name: Arc<str>,
    /// One instance; `None`: every instance and fork of the task with that name.
    pub one: Option<TaskIx>,
}

/// What is set of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskSetting {
    /// `sched_setaffinity()`.
    Cpus(Arc<[u32]>),
    /// `setpriority()`.
    Nice(i32),
    /// The weight as sched_ext counts it.
    Weight(u32),
    /// A move to a cgroup; `None`: the root.
    Cgroup(Option<Arc<str>>),
}

/// What is done to a cgroup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CgroupAction {
    /// `cpu.weight` is written.
    Weight(u32),
}

impl OutsideEvent {
    /// What messages call it.
    pub fn label(&self) -> String {
        match &self.name {
            Some(name) => format!("{}: event {name:?}", self.place),
            None => format!("{}: event", self.place),
        }
    }
}

/// In short, as traces have it.
impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Action::Set(tasks, setting) => write!(f, "task {} {setting}", tasks.name),
            Action::Cgroup(path, action) => write!(f, "cgroup {path} {action}"),
            Action::Load(true) => f.write_str("scheduler load"),
            Action::Load(false) => f.write_str("scheduler unload"),
        }
    }
}

impl fmt::Display for TaskSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TaskSetting::Cpus(cpus) => {
                let cpus: Vec<String> = cpus.iter().map(u32::to_string).collect();
                write!(f, "cpus {}", cpus.join(","))
            }
            TaskSetting::Nice(nice) => write!(f, "nice {nice}"),
            TaskSetting::Weight(weight) => write!(f, "weight {weight}"),
            TaskSetting::Cgroup(path) => write!(f, "cgroup {}", path.as_deref().unwrap_or("/")),
        }
    }
}

impl fmt::Display for CgroupAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CgroupAction::Weight(weight) => write!(f, "cpu.weight {weight}"),
        }
    }
}
