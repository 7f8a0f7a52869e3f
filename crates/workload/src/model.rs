// SPDX-License-Identifier: MIT OR Apache-2.0
//! A checked workload: task definitions, their instances, and the groups they name.

use std::fmt;
use std::sync::Arc;

use crate::error::WorkloadError;
use crate::event::{Barrier, Event, TaskEvent, TimerKind};
use crate::events::{Action, CgroupAction, OutsideEvent};
use crate::machine_key::MachineKey;
use crate::random::Span;
use crate::requests::{Plan, RequestClass, Socket};
use crate::stream::{Flow, Stream};
use crate::work::WorkKind;

/// Everything a workload file says, checked and with its instances expanded.
#[derive(Clone, Debug)]
pub struct Workload {
    /// End of the run from `global.duration`; `None`: the file sets no end.
    pub duration_ns: Option<u64>,
    /// The run is over when all tasks have ended, if that is before its end.
    pub ends_with_tasks: bool,
    /// The machine that it is made for; `None`: the file names none.
    pub machine: Option<MachineKey>,
    /// The tasks that start by themselves, one per instance, in file order.
    pub tasks: Vec<Task>,
    /// Every task group that is named, parents before children.
    pub groups: Vec<Group>,
    /// What the file says that has no effect or hardly the one meant, each with its place.
    pub warnings: Vec<WorkloadError>,
    pub(crate) definitions: Vec<Definition>,
    pub(crate) timers: Vec<TimerKind>,
    /// Names of the semaphores.
    pub(crate) semaphores: Vec<String>,
    pub(crate) barriers: Vec<Barrier>,
    /// Names of the mutexes.
    pub(crate) mutexes: Vec<String>,
    /// Names of the condition variables.
    pub(crate) conditions: Vec<String>,
    /// Mutexes lend priority (`pi_enabled`).
    pub(crate) pi_enabled: bool,
    /// How many names a `resume` can have: those of the tasks, and with rt-app 1.0 others.
    pub(crate) resume_names: u32,
    pub(crate) requests: Plan,
    pub(crate) streams: Vec<Stream>,
    pub(crate) flows: Vec<Flow>,
    /// What happens from outside, in file order.
    pub outside: Vec<OutsideEvent>,
}

impl Workload {
    /// Names of the tasks as written; instances and forks add numbers to them.
    pub fn task_names(&self) -> impl Iterator<Item = &str> {
        self.definitions.iter().map(|d| &*d.name)
    }

    /// The name of the task that an instance is one of.
    pub fn name_of(&self, instance: &Task) -> &str {
        &self.definitions[instance.definition as usize].name
    }

    /// The settings that instances and forks of a task start with, and whether it is a thread of the
    /// kernel; `None`: there is no such task.
    pub fn settings_of(&self, task: &str) -> Option<(&Settings, bool)> {
        let found = self.definitions.iter().find(|definition| *definition.name == *task)?;
        Some((&found.settings, found.kthread))
    }

    /// Where requests arrive.
    pub fn sockets(&self) -> &[Socket] {
        &self.requests.sockets
    }

    /// Who sends requests where: customers in file order, then tasks.
    pub fn request_classes(&self) -> &[RequestClass] {
        &self.requests.classes
    }

    /// Whether events load or unload the scheduler, and the first of them in time loads it: then it
    /// is not there from the beginning.
    pub fn loads(&self) -> Option<bool> {
        let load = |event: &OutsideEvent| match event.action {
            Action::Load(load) => Some((event.at_ns, load)),
            _ => None,
        };
        let loads = self.outside.iter().filter_map(load);
        loads.min_by_key(|(at_ns, _)| *at_ns).map(|(_, load)| load)
    }

    /// Whether CPUs go offline or come back: schedulers may ask to be loaded again then.
    pub fn plugs(&self) -> bool {
        self.outside.iter().any(|event| matches!(event.action, Action::Cpu(..)))
    }

    /// The first task that is under a real-time or deadline policy at any time, and the policy.
    pub fn real_time(&self) -> Option<(&str, Policy)> {
        let found = |d: &Definition| {
            let phases = d.program.phases.iter().filter_map(|phase| phase.change.policy);
            let mut policies = std::iter::once(d.settings.policy).chain(phases);
            policies.find(|policy| policy.is_real_time())
        };
        self.definitions.iter().find_map(|d| Some((&*d.name, found(d)?)))
    }

    /// The highest CPU number any `cpus` list names, and the task that names it.
    pub fn highest_cpu(&self) -> Option<(u32, &str)> {
        let named = |d: &Definition| {
            let phases = d.program.phases.iter().filter_map(|p| p.change.cpus.as_ref());
            let lists = d.settings.cpus.iter().chain(phases);
            lists.flat_map(|cpus| cpus.iter()).copied().max()
        };
        let per_task = self.definitions.iter().filter_map(|d| named(d).map(|cpu| (cpu, &*d.name)));
        per_task.max_by_key(|(cpu, _)| *cpu)
    }
}

/// One instance of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// `<task>-<index>`, the index counting instances over the whole file, as rt-app names them.
    pub name: String,
    /// Settings it starts with.
    pub settings: Settings,
    /// The task whose process it is a thread of; `None`: it is a process of its own.
    pub thread_of: Option<TaskIx>,
    pub(crate) definition: u32,
}

/// A task of a running workload: initial ones first in file order, then forked ones in the
/// order they were forked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TaskIx(pub u32);

/// Linux scheduling policies as rt-app names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// `SCHED_OTHER` (`SCHED_NORMAL` in the kernel).
    Other,
    /// `SCHED_BATCH`.
    Batch,
    /// `SCHED_IDLE`.
    Idle,
    /// `SCHED_RR`.
    Rr,
    /// `SCHED_FIFO`.
    Fifo,
    /// `SCHED_DEADLINE`.
    Deadline,
    /// `SCHED_EXT`.
    Ext,
}

impl Policy {
    /// Whether Linux runs it before all ordinary tasks.
    pub fn is_real_time(self) -> bool {
        matches!(self, Policy::Rr | Policy::Fifo | Policy::Deadline)
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Policy::Other => "SCHED_OTHER",
            Policy::Batch => "SCHED_BATCH",
            Policy::Idle => "SCHED_IDLE",
            Policy::Rr => "SCHED_RR",
            Policy::Fifo => "SCHED_FIFO",
            Policy::Deadline => "SCHED_DEADLINE",
            Policy::Ext => "SCHED_EXT",
        })
    }
}

/// What the scheduler is told about a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Scheduling policy.
    pub policy: Policy,
    /// Nice value (-20..=19) of `Other`, `Batch` and `Idle`; real-time priority (1..=99) of
    /// `Rr` and `Fifo`.
    pub priority: i32,
    /// Weight (1..=10000, 100 is nice 0), which then overrides the nice value.
    pub weight: Option<u32>,
    /// Share for policies that keep their own (`rota_shares`).
    pub share: Option<u64>,
    /// CPUs allowed, ascending and without repeats; `None`: all.
    pub cpus: Option<Arc<[u32]>>,
    /// Path of the task group; `None`: the root group.
    pub group: Option<Arc<str>>,
    /// It has migration disabled.
    pub migrate_disable: bool,
    /// Name of its core scheduling cookie, `""`: none; `None`: that of who forks it.
    pub core_cookie: Option<Arc<str>>,
    /// NUMA nodes that its memory comes from, ascending and without repeats; `None`: any.
    pub mem_nodes: Option<Arc<[u32]>>,
    /// `dl-runtime`: the slice a task asks for; of `Deadline` the budget of each period.
    pub slice_ns: Option<u64>,
    /// `dl-period` of `Deadline`; `None`: as long as the budget.
    pub dl_period_ns: Option<u64>,
    /// `dl-deadline` of `Deadline`, counted from the start of a period; `None`: its end.
    pub dl_deadline_ns: Option<u64>,
    /// The least and the most utilization that it asks to be taken for (`uclamp`), in 1/1024 of
    /// the most capable CPU; `None`: it does not ask.
    pub util_min: Option<u16>,
    /// See [`Settings::util_min`].
    pub util_max: Option<u16>,
    /// What its work is made of.
    pub work: WorkKind,
}

/// A task group (cgroup), its CPU weight and what its other files hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Absolute path, e.g. `/web/front`.
    pub path: String,
    /// `cpu.weight`, 1..=10000, default 100.
    pub cpu_weight: u32,
    /// `cpu.max`, `cpu.max.burst`, `cpu.idle` and `cpuset.cpus`, where the file gives them.
    pub files: Vec<CgroupAction>,
}

/// A task as written in the file: what its instances and forks are made from.
#[derive(Clone, Debug)]
pub(crate) struct Definition {
    pub(crate) name: Arc<str>,
    pub(crate) settings: Settings,
    /// The `cpus` of the task itself, which a phase without `cpus` returns to.
    pub(crate) task_cpus: Option<Arc<[u32]>>,
    pub(crate) delay: Span,
    pub(crate) arrive: Option<Span>,
    /// Of a process that has another user or session than who forked it.
    pub(crate) uid: Option<u32>,
    pub(crate) session: Option<u32>,
    /// It is a thread of the kernel.
    pub(crate) kthread: bool,
    pub(crate) leaders: Leaders,
    /// Timers of its own ("unique…"), by [`TimerRef::Own`](crate::event::TimerRef::Own).
    pub(crate) own_timers: Vec<TimerKind>,
    pub(crate) program: Arc<Program>,
}

/// What leads the processes of a task's instances and forks.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Leaders {
    /// Each is a process of its own.
    #[default]
    Themselves,
    /// These initial instances: instance k takes entry k modulo the count.
    Initial { first: u32, count: u32 },
    /// A fork of this definition, in the process of which the thread is forked.
    Fork { definition: u32 },
}

/// What a process has of its own and hands on to those it forks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Number of the user.
    pub uid: u32,
    /// Number of the session.
    pub session: u32,
    /// It is a thread of the kernel.
    pub kthread: bool,
    /// One that is bound to its CPU.
    pub bound: bool,
}

/// Of who starts the workload.
const FIRST: Identity = Identity { uid: 0, session: 1, kthread: false, bound: false };

impl Definition {
    /// Of a process that is forked by one with the `inherited`, or starts by itself.
    pub(crate) fn identity(&self, inherited: Option<Identity>) -> Identity {
        if self.kthread {
            let bound = self.task_cpus.as_ref().is_some_and(|cpus| cpus.len() == 1);
            return Identity { uid: 0, session: 0, kthread: true, bound };
        }
        let inherited = inherited.unwrap_or(FIRST);
        Identity {
            kthread: false,
            bound: false,
            uid: self.uid.unwrap_or(inherited.uid),
            session: self.session.unwrap_or(inherited.session),
        }
    }

    /// Its events, phase by phase.
    pub(crate) fn events(&self) -> impl Iterator<Item = &Event> {
        self.program.phases.iter().flat_map(|phase| &phase.events)
    }

    /// Whether it goes on for ever and starts nothing that ends: it only accompanies the others.
    pub(crate) fn is_background(&self) -> bool {
        let mut loops = self.program.phases.iter().map(|phase| phase.loops);
        let endless = self.program.loops.is_none() || loops.any(|loops| loops.is_none());
        let ends = |event: &Event| {
            matches!(event, Event::Task(TaskEvent::Fork { .. } | TaskEvent::Exit { .. }))
        };
        endless && !self.events().any(ends)
    }

    /// Leader of the process that instance or fork `number` is a thread of, if it is an initial
    /// instance.
    pub(crate) fn leader(&self, number: u32) -> Option<TaskIx> {
        match self.leaders {
            Leaders::Initial { first, count } => Some(TaskIx(first + number % count)),
            Leaders::Themselves | Leaders::Fork { .. } => None,
        }
    }
}

/// Phases in order, repeated `loops` times (`None`: for ever).
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) loops: Option<u64>,
    pub(crate) phases: Vec<Phase>,
}

/// Events in order, repeated `loops` times (`None`: for ever).
#[derive(Clone, Debug)]
pub(crate) struct Phase {
    pub(crate) loops: Option<u64>,
    pub(crate) change: Change,
    pub(crate) events: Vec<Event>,
}

/// The settings a phase names; everything else stays (but `cpus`, see `Runner`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) policy: Option<Policy>,
    pub(crate) priority: Option<i32>,
    pub(crate) weight: Option<u32>,
    pub(crate) share: Option<u64>,
    pub(crate) cpus: Option<Arc<[u32]>>,
    pub(crate) group: Option<Option<Arc<str>>>,
    pub(crate) migrate_disable: Option<bool>,
    pub(crate) core_cookie: Option<Arc<str>>,
    /// Empty: any again.
    pub(crate) mem_nodes: Option<Arc<[u32]>>,
    /// 0: none any more.
    pub(crate) slice_ns: Option<u64>,
    pub(crate) dl_period_ns: Option<u64>,
    pub(crate) dl_deadline_ns: Option<u64>,
    /// `None` within: no clamp any more.
    pub(crate) util_min: Option<Option<u16>>,
    pub(crate) util_max: Option<Option<u16>>,
    pub(crate) work: WorkKind,
}
