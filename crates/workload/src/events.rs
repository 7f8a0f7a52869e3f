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
    /// The scheduler's loader does it, not the workload's author: that it went well is not told.
    pub by_loader: bool,
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
    /// The processes of tasks get a signal.
    Signal(Tasks, Signal),
    /// A cgroup changes, by its path.
    Cgroup(Arc<str>, CgroupAction),
    /// The scheduler is loaded (true), or taken away.
    Load(bool),
    /// A CPU is taken offline or brought online.
    Cpu(u32, bool),
    /// A parameter of a CPU's deadline server is written, in nanoseconds.
    Server(u32, ServerOf, ServerParameter, u64),
    /// The bandwidth of a CPU's root domain is read.
    ReadBandwidth(u32),
    /// Something is done to the scheduler's object.
    Object(ObjectAction),
}

/// The class that a deadline server gives time to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerOf {
    /// `rq->fair_server`.
    Fair,
    /// `rq->ext_server`.
    Ext,
}

/// A file of a deadline server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerParameter {
    /// What it gives in each period.
    Runtime,
    /// How long that is.
    Period,
}

/// A signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// `SIGKILL`.
    Kill,
    /// `SIGSTOP`.
    Stop,
    /// `SIGCONT`.
    Continue,
}

impl Signal {
    /// All of them.
    pub const ALL: [Signal; 3] = [Signal::Kill, Signal::Stop, Signal::Continue];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Signal::Kill => "SIGKILL",
            Signal::Stop => "SIGSTOP",
            Signal::Continue => "SIGCONT",
        }
    }
}

/// Something that user space does to the scheduler's object. Texts are as those that set a variable
/// before the run; a part of a struct has its path, the whole an empty one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ObjectAction {
    /// A global variable is written, by its path.
    Variable {
        /// `name`, `table[3]`, `conf.limit`.
        path: String,
        /// What is written.
        value: String,
    },
    /// An element of a map is written.
    Map {
        /// The map.
        map: String,
        /// Parts of the key.
        key: Vec<(String, String)>,
        /// Parts of the value.
        value: Vec<(String, String)>,
    },
    /// A `syscall` program runs (`BPF_PROG_TEST_RUN`).
    Program {
        /// The program.
        program: String,
        /// The CPU that it runs on.
        cpu: u32,
        /// Parts of its context.
        ctx: Vec<(String, String)>,
    },
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
    /// `prctl(PR_SCHED_CORE)` for the task: the name of its cookie, empty: none.
    CoreCookie(Arc<str>),
    /// A move to a cgroup; `None`: the root.
    Cgroup(Option<Arc<str>>),
}

/// What is done to a cgroup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CgroupAction {
    /// `cpu.weight` is written.
    Weight(u32),
    /// `cpu.max` is written.
    Max {
        /// Microseconds of each period; `None`: no limit.
        quota_us: Option<u64>,
        /// `None`: the period stays.
        period_us: Option<u64>,
    },
    /// `cpu.max.burst` is written, in microseconds.
    Burst(u64),
    /// `cpu.idle` is written.
    Idle(bool),
    /// `cpuset.cpus` is written.
    Cpus(Arc<[u32]>),
    /// `mkdir`.
    Create,
    /// `rmdir`.
    Destroy,
    /// A sub-scheduler is attached to it (true), or taken away.
    Scheduler(bool),
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
            Action::Signal(tasks, signal) => write!(f, "task {} {}", tasks.name, signal.name()),
            Action::Cgroup(path, action) => write!(f, "cgroup {path} {action}"),
            Action::Load(true) => f.write_str("scheduler load"),
            Action::Load(false) => f.write_str("scheduler unload"),
            Action::Cpu(cpu, true) => write!(f, "cpu {cpu} online"),
            Action::Cpu(cpu, false) => write!(f, "cpu {cpu} offline"),
            Action::Server(cpu, of, parameter, ns) => {
                let of = if *of == ServerOf::Fair { "fair" } else { "ext" };
                let parameter =
                    if *parameter == ServerParameter::Runtime { "runtime" } else { "period" };
                write!(f, "cpu {cpu} {of}_server.{parameter} {ns} ns")
            }
            Action::ReadBandwidth(cpu) => write!(f, "cpu {cpu} read total_bw"),
            Action::Object(action) => action.fmt(f),
        }
    }
}

fn numbers(cpus: &[u32]) -> String {
    let cpus: Vec<String> = cpus.iter().map(u32::to_string).collect();
    cpus.join(",")
}

impl fmt::Display for TaskSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TaskSetting::Cpus(cpus) => write!(f, "cpus {}", numbers(cpus)),
            TaskSetting::Nice(nice) => write!(f, "nice {nice}"),
            TaskSetting::Weight(weight) => write!(f, "weight {weight}"),
            TaskSetting::CoreCookie(name) => write!(f, "core_cookie {name:?}"),
            TaskSetting::Cgroup(path) => write!(f, "cgroup {}", path.as_deref().unwrap_or("/")),
        }
    }
}

impl fmt::Display for CgroupAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CgroupAction::Weight(weight) => write!(f, "cpu.weight {weight}"),
            CgroupAction::Max { quota_us, period_us } => {
                let quota = quota_us.map_or("max".to_owned(), |us| us.to_string());
                write!(f, "cpu.max {quota}")?;
                period_us.map_or(Ok(()), |us| write!(f, " {us}"))
            }
            CgroupAction::Burst(us) => write!(f, "cpu.max.burst {us}"),
            CgroupAction::Idle(idle) => write!(f, "cpu.idle {}", u8::from(*idle)),
            CgroupAction::Cpus(cpus) => write!(f, "cpuset.cpus {}", numbers(cpus)),
            CgroupAction::Create => f.write_str("create"),
            CgroupAction::Destroy => f.write_str("destroy"),
            CgroupAction::Scheduler(true) => f.write_str("scheduler load"),
            CgroupAction::Scheduler(false) => f.write_str("scheduler unload"),
        }
    }
}

impl fmt::Display for ObjectAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = |parts: &[(String, String)]| {
            let part = |(path, value): &(String, String)| match path.as_str() {
                "" => value.clone(),
                path => format!("{path}={value}"),
            };
            parts.iter().map(part).collect::<Vec<_>>().join(",")
        };
        match self {
            ObjectAction::Variable { path, value } => write!(f, "variable {path} = {value}"),
            ObjectAction::Map { map, key, value } => {
                write!(f, "map {map}[{}] = {}", parts(key), parts(value))
            }
            ObjectAction::Program { program, cpu, .. } => {
                write!(f, "program {program} on cpu {cpu}")
            }
        }
    }
}
