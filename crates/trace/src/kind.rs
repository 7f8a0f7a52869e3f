// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kinds of event: what each is, what it is called and what it says. Who adds one does it here;
//! all formats write what `describe` tells them.

use crate::cause::Cause;
use crate::cpu_list::CpuList;
use crate::fields::{fields, Form, Value};
use crate::lock::{Job, Lock};
use crate::request::Request;
use crate::setting::Setting;
use crate::transfer::Transfer;
use std::borrow::Cow;
use std::sync::Arc;

/// Why a task left its CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OffCpu {
    /// Still runnable: slice used up, preempted, or yielded.
    Runnable,
    /// Blocked or sleeping.
    Sleep,
    /// Exited.
    Exit,
}

/// Scheduling class of a task, the lowest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SchedClass {
    /// sched_ext: the policy schedules it.
    Ext,
    /// Linux's own fair class.
    Fair,
    /// `SCHED_FIFO`, `SCHED_RR`, or with priority lent by a task of these.
    Realtime,
    /// `SCHED_DEADLINE`, or with a deadline lent.
    Deadline,
}

/// What a callback of the policy cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cost {
    /// Instructions, kfuncs included: from the simulator, where a callback takes no time.
    Instructions(u64),
    /// Nanoseconds from its call to its end: from a kernel.
    Nanoseconds(u64),
}

/// The kinds of event. `pid` is the task it is about.
#[derive(Clone, Debug, PartialEq)]
pub enum EventKind {
    /// A task's name and weight become known (before its first other event) or change.
    Task {
        /// The task.
        pid: u32,
        /// Its name.
        name: String,
        /// Its weight as sched_ext counts it (1..=10000, 100 is nice 0).
        weight: u32,
        /// Name of the workload's task that it is an instance or a fork of; `None`: of no workload,
        /// as on a recorded machine. No file has it.
        instance_of: Option<Arc<str>>,
    },
    /// The task is the program that loaded the scheduler, in the simulator: no part of the workload.
    Program {
        /// The task.
        pid: u32,
    },
    /// A task goes over to another class. One of which nothing is said is the policy's.
    SchedClass {
        /// The task.
        pid: u32,
        /// The class from now on.
        class: SchedClass,
    },
    /// A task was given a share of its own, which counts instead of its weight.
    Share {
        /// The task.
        pid: u32,
        /// The share; only its ratio to those of others matters.
        share: u64,
    },
    /// A task may use these CPUs only; said of those that were ever tied to some.
    Affinity {
        /// The task.
        pid: u32,
        /// The CPUs.
        cpus: CpuList,
    },
    /// A task is in this group from now on; one of which nothing is said is in the root.
    Cgroup {
        /// The task.
        pid: u32,
        /// The group, as `/a/b`.
        path: Arc<str>,
    },
    /// A group has this weight and this limit.
    CgroupSet {
        /// The group, as `/a/b`.
        path: Arc<str>,
        /// `cpu.weight`.
        weight: u32,
        /// `cpu.max`: CPU time in each period, and the period.
        limit_ns: Option<(u64, u64)>,
        /// `cpu.idle`; from a kernel only.
        idle: bool,
    },
    /// How a task was set to be scheduled, from a kernel.
    Setting(Setting),
    /// A task was created. It becomes runnable with its first wakeup.
    Fork {
        /// The new task.
        pid: u32,
        /// The task that created it; 0: the workload.
        parent: u32,
    },
    /// A task ended.
    Exit {
        /// The task.
        pid: u32,
    },
    /// A task became runnable.
    Wakeup {
        /// The task.
        pid: u32,
        /// The task that woke it; 0: a timer, or another interrupt.
        waker: u32,
    },
    /// Why a task sleeps, or what wakes it, from a kernel.
    Cause(Cause),
    /// Bytes that a task gave to another, or got, from a kernel.
    Transfer(Transfer),
    /// The policy was handed the task (ops.enqueue, or directly dispatched).
    Enqueue {
        /// The task.
        pid: u32,
        /// `SCX_ENQ_*` flags.
        enq_flags: u64,
    },
    /// A task entered a dispatch queue.
    Dispatch {
        /// The task.
        pid: u32,
        /// The queue's id.
        dsq: u64,
    },
    /// The CPU starts a slice of a task, also of the same task again.
    Pick {
        /// The task.
        pid: u32,
        /// Length of the slice.
        slice_ns: u64,
    },
    /// A task starts running after another one (or idle).
    SwitchIn {
        /// The task.
        pid: u32,
    },
    /// A task stops running for another one (or idle).
    SwitchOut {
        /// The task.
        pid: u32,
        /// Why it stops.
        why: OffCpu,
    },
    /// What a task got done since it came onto the event's CPU, or since the last such event: just
    /// before it leaves, at the end of the warm-up, and at the end of the run. From a simulated
    /// machine that is not flat.
    Work {
        /// The task.
        pid: u32,
        /// Work, in 1/1024 ns of a CPU at full speed, without what the kernel did meanwhile.
        done: u64,
        /// Energy that the CPU took for it, in nanojoules, with what the kernel did meanwhile;
        /// `None`: the machine does not know its power.
        energy_nj: Option<u64>,
    },
    /// The event's CPU has nothing to run, though the task that just left it can go on (its group is
    /// out of CPU time, or another CPU has taken it), or tasks that are not recorded were there. From
    /// a kernel only.
    Idle,
    /// A task moved between CPUs.
    Migrate {
        /// The task.
        pid: u32,
        /// CPU it ran on before.
        from: u32,
        /// CPU it runs on next.
        to: u32,
    },
    /// A callback of the policy ran.
    OpCall {
        /// The callback's name in `sched_ext_ops`.
        op: Cow<'static, str>,
        /// Task it was about; 0: none.
        pid: u32,
        /// What it cost.
        cost: Cost,
    },
    /// Its reservation holds a runnable task back, in the simulator, or does so no more.
    Throttle {
        /// The task.
        pid: u32,
        /// Whether no CPU may run it.
        throttled: bool,
    },
    /// The event's CPU goes offline or comes back, in the simulator.
    Plug {
        /// Whether it is there.
        online: bool,
    },
    /// A task waits at a lock or goes on, in the simulator.
    Lock(Lock),
    /// A job of a periodic task begins or ends, in the simulator.
    Job(Job),
    /// Something happened to a request, in the simulator.
    Request(Request),
    /// A task has this core scheduling cookie from now on; one of which nothing is said has none.
    /// From a simulator.
    CoreCookie {
        /// The task.
        pid: u32,
        /// Its name; empty: none.
        cookie: Arc<str>,
    },
    /// Core scheduling keeps the event's CPU from its tasks, or does so no more, in the simulator.
    ForcedIdle {
        /// Whether it has tasks that may not run.
        forced: bool,
    },
    /// Something happened from outside, in the simulator.
    Outside {
        /// What, in short.
        what: String,
    },
    /// The policy left: kind, code and reason as the kernel prints them.
    PolicyExit {
        /// `enum scx_exit_kind`.
        kind: u32,
        /// The policy's own exit code.
        code: i64,
        /// Why, in words.
        reason: String,
    },
}

fields! {
    Weight "weight" Number,
    SchedClass "sched_class" Text,
    Share "share" Number,
    ParentPid "parent_pid" Number,
    WakerPid "waker_pid" Number,
    EnqFlags "enq_flags" Bits,
    DsqId "dsq_id" Bits,
    SliceNs "slice_ns" Number,
    Why "why" Text,
    FromCpu "from_cpu" Number,
    ToCpu "to_cpu" Number,
    Op "op" Text,
    OpInstructions "op_instructions" Number,
    OpNs "op_ns" Number,
    Request "request" Number,
    Class "class" Number,
    Socket "socket" Text,
    DemandNs "demand_ns" Number,
    ThinkNs "think_ns" Number,
    ClassName "class_name" Text,
    ExitKind "exit_kind" Number,
    ExitCode "exit_code" Signed,
    ExitReason "exit_reason" Text,
    Cpus "cpus" Text,
    What "what" Text,
    LockKind "lock_kind" Text,
    HolderPid "holder_pid" Number,
    Lock "lock" Text,
    JobKind "job_kind" Text,
    ResponseNs "response_ns" Number,
    SlackNs "slack_ns" Signed,
    PeriodNs "period_ns" Number,
    QuotaNs "quota_ns" Number,
    Cgroup "cgroup" Text,
    Cookie "cookie" Text,
    Work "work" Number,
    EnergyNj "energy_nj" Number,
    SleepState "sleep_state" Text,
    Call "call" Text,
    Source "source" Text,
    Absolute "absolute" Number,
    Idle "idle" Number,
    Process "process" Number,
    Session "session" Number,
    Priority "priority" Signed,
    RuntimeNs "runtime_ns" Number,
    DeadlineNs "deadline_ns" Number,
    Policy "policy" Text,
    Stream "stream" Number,
    Bytes "bytes" Number,
    Calls "calls" Number,
    FirstAgoNs "first_ago_ns" Number,
    LastAgoNs "last_ago_ns" Number,
    Buffer "buffer" Number,
    StreamKind "stream_kind" Text,
}

impl EventKind {
    /// Name of the event and the task that it is about. All else that it says goes to `say`,
    /// a text that may hold blanks last.
    pub(crate) fn describe<'a>(
        &'a self,
        mut say: impl FnMut(Field, Value<'a>),
    ) -> (&'static str, Option<u32>) {
        let mut number = |field, value: u64| say(field, Value::Number(value));
        match self {
            EventKind::Task { pid, weight, .. } => {
                number(Field::Weight, u64::from(*weight));
                ("task", Some(*pid))
            }
            EventKind::Program { pid } => ("program", Some(*pid)),
            EventKind::SchedClass { pid, class } => {
                say(Field::SchedClass, Value::Text(class.name()));
                ("sched_class", Some(*pid))
            }
            EventKind::Share { pid, share } => {
                number(Field::Share, *share);
                ("share", Some(*pid))
            }
            EventKind::Affinity { pid, cpus } => {
                say(Field::Cpus, Value::Text(cpus.as_str()));
                ("affinity", Some(*pid))
            }
            EventKind::Cgroup { pid, path } => {
                say(Field::Cgroup, Value::Text(path));
                ("cgroup", Some(*pid))
            }
            EventKind::Setting(setting) => setting.describe(say),
            EventKind::CgroupSet { path, weight, limit_ns, idle } => {
                number(Field::Weight, u64::from(*weight));
                if *idle {
                    number(Field::Idle, 1);
                }
                if let Some((quota_ns, period_ns)) = limit_ns {
                    say(Field::QuotaNs, Value::Number(*quota_ns));
                    say(Field::PeriodNs, Value::Number(*period_ns));
                }
                say(Field::Cgroup, Value::Text(path));
                ("cgroup_set", None)
            }
            EventKind::Fork { pid, parent } => {
                number(Field::ParentPid, u64::from(*parent));
                ("fork", Some(*pid))
            }
            EventKind::Exit { pid } => ("exit", Some(*pid)),
            EventKind::Wakeup { pid, waker } => {
                number(Field::WakerPid, u64::from(*waker));
                ("wakeup", Some(*pid))
            }
            EventKind::Cause(cause) => cause.describe(say),
            EventKind::Transfer(transfer) => transfer.describe(say),
            EventKind::Enqueue { pid, enq_flags } => {
                number(Field::EnqFlags, *enq_flags);
                ("enqueue", Some(*pid))
            }
            EventKind::Dispatch { pid, dsq } => {
                number(Field::DsqId, *dsq);
                ("dispatch", Some(*pid))
            }
            EventKind::Pick { pid, slice_ns } => {
                number(Field::SliceNs, *slice_ns);
                ("pick", Some(*pid))
            }
            EventKind::SwitchIn { pid } => ("switch_in", Some(*pid)),
            EventKind::SwitchOut { pid, why } => {
                say(Field::Why, Value::Text(why.name()));
                ("switch_out", Some(*pid))
            }
            EventKind::Work { pid, done, energy_nj } => {
                number(Field::Work, *done);
                if let Some(energy_nj) = energy_nj {
                    number(Field::EnergyNj, *energy_nj);
                }
                ("work", Some(*pid))
            }
            EventKind::Idle => ("idle", None),
            EventKind::Migrate { pid, from, to } => {
                number(Field::FromCpu, u64::from(*from));
                number(Field::ToCpu, u64::from(*to));
                ("migrate", Some(*pid))
            }
            EventKind::OpCall { op, pid, cost } => {
                say(Field::Op, Value::Text(op));
                match cost {
                    Cost::Instructions(count) => say(Field::OpInstructions, Value::Number(*count)),
                    Cost::Nanoseconds(ns) => say(Field::OpNs, Value::Number(*ns)),
                }
                ("op_call", (*pid != 0).then_some(*pid))
            }
            EventKind::Throttle { pid, throttled: true } => ("throttle", Some(*pid)),
            EventKind::Throttle { pid, throttled: false } => ("unthrottle", Some(*pid)),
            EventKind::Plug { online: true } => ("cpu_online", None),
            EventKind::Plug { online: false } => ("cpu_offline", None),
            EventKind::Lock(lock) => lock.describe(say),
            EventKind::Job(job) => job.describe(say),
            EventKind::Request(request) => request.describe(say),
            EventKind::CoreCookie { pid, cookie } => {
                say(Field::Cookie, Value::Text(cookie));
                ("core_cookie", Some(*pid))
            }
            EventKind::ForcedIdle { forced: true } => ("forced_idle", None),
            EventKind::ForcedIdle { forced: false } => ("forced_idle_end", None),
            EventKind::Outside { what } => {
                say(Field::What, Value::Text(what));
                ("outside", None)
            }
            EventKind::PolicyExit { kind, code, reason } => {
                number(Field::ExitKind, u64::from(*kind));
                say(Field::ExitCode, Value::Signed(*code));
                say(Field::ExitReason, Value::Text(reason));
                ("policy_exit", None)
            }
        }
    }
}

impl Request {
    fn describe<'a>(
        &'a self,
        mut say: impl FnMut(Field, Value<'a>),
    ) -> (&'static str, Option<u32>) {
        match self {
            Request::Class { class, name, socket } => {
                say(Field::Class, Value::Number(u64::from(*class)));
                say(Field::Socket, Value::Text(socket));
                say(Field::ClassName, Value::Text(name));
                ("request_class", None)
            }
            Request::Begin { request, class, sender, demand_ns, think_ns } => {
                say(Field::Request, Value::Number(*request));
                say(Field::Class, Value::Number(u64::from(*class)));
                say(Field::DemandNs, Value::Number(*demand_ns));
                if let Some(ns) = think_ns {
                    say(Field::ThinkNs, Value::Number(*ns));
                }
                ("request_begin", (*sender != 0).then_some(*sender))
            }
            Request::Drop { class } => {
                say(Field::Class, Value::Number(u64::from(*class)));
                ("request_drop", None)
            }
            Request::Serve { request, pid } => {
                say(Field::Request, Value::Number(*request));
                ("request_serve", Some(*pid))
            }
            Request::End { request, pid } => {
                say(Field::Request, Value::Number(*request));
                ("request_end", Some(*pid))
            }
        }
    }
}

impl SchedClass {
    /// What files and tables call it.
    pub fn name(self) -> &'static str {
        match self {
            SchedClass::Ext => "ext",
            SchedClass::Fair => "fair",
            SchedClass::Realtime => "rt",
            SchedClass::Deadline => "deadline",
        }
    }
}

impl OffCpu {
    fn name(self) -> &'static str {
        match self {
            OffCpu::Runnable => "runnable",
            OffCpu::Sleep => "sleep",
            OffCpu::Exit => "exit",
        }
    }
}
