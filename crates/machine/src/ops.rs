// SPDX-License-Identifier: MIT OR Apache-2.0
//! The callbacks of a scheduler, `struct sched_ext_ops`, and what calling them needs.

use crate::outside::object::Done;
use crate::run::RunError;
use crate::system::System;
use crate::tracing::{Moment, Place, Places, Stopped};
use crate::user_half::Step;
use rota_vm::error::Fault;
use rota_vm::runtime::CodePlace;
use rota_workload::events::ObjectAction;

macro_rules! ops {
    ($($variant:ident = $name:literal / $cid:literal),* $(,)?) => {
        /// One callback of `struct sched_ext_ops` (or `sched_ext_ops_cid`).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[allow(missing_docs)]
        #[repr(u8)]
        pub enum Op { $($variant),* }

        impl Op {
            /// Every callback.
            pub const ALL: &'static [Op] = &[$(Op::$variant),*];

            /// Member name in `sched_ext_ops`.
            pub fn name(self) -> &'static str {
                match self { $(Op::$variant => $name),* }
            }

            /// Member name in `sched_ext_ops_cid`.
            pub fn cid_name(self) -> &'static str {
                match self { $(Op::$variant => $cid),* }
            }
        }
    };
}

ops! {
    SelectCpu = "select_cpu" / "select_cid",
    Enqueue = "enqueue" / "enqueue",
    Dequeue = "dequeue" / "dequeue",
    Dispatch = "dispatch" / "dispatch",
    Tick = "tick" / "tick",
    Runnable = "runnable" / "runnable",
    Running = "running" / "running",
    Stopping = "stopping" / "stopping",
    Quiescent = "quiescent" / "quiescent",
    Yield = "yield" / "yield",
    CoreSchedBefore = "core_sched_before" / "core_sched_before",
    SetWeight = "set_weight" / "set_weight",
    SetCpumask = "set_cpumask" / "set_cmask",
    UpdateIdle = "update_idle" / "update_idle",
    CpuAcquire = "cpu_acquire" / "cpu_acquire",
    CpuRelease = "cpu_release" / "cpu_release",
    InitTask = "init_task" / "init_task",
    ExitTask = "exit_task" / "exit_task",
    Enable = "enable" / "enable",
    Disable = "disable" / "disable",
    Dump = "dump" / "dump",
    DumpCpu = "dump_cpu" / "dump_cid",
    DumpTask = "dump_task" / "dump_task",
    CgroupInit = "cgroup_init" / "cgroup_init",
    CgroupExit = "cgroup_exit" / "cgroup_exit",
    CgroupPrepMove = "cgroup_prep_move" / "cgroup_prep_move",
    CgroupMove = "cgroup_move" / "cgroup_move",
    CgroupCancelMove = "cgroup_cancel_move" / "cgroup_cancel_move",
    CgroupSetWeight = "cgroup_set_weight" / "cgroup_set_weight",
    CgroupSetBandwidth = "cgroup_set_bandwidth" / "cgroup_set_bandwidth",
    CgroupSetIdle = "cgroup_set_idle" / "cgroup_set_idle",
    SubAttach = "sub_attach" / "sub_attach",
    SubDetach = "sub_detach" / "sub_detach",
    CpuOnline = "cpu_online" / "cid_online",
    CpuOffline = "cpu_offline" / "cid_offline",
    Init = "init" / "init",
    Exit = "exit" / "exit",
}

/// What a finished callback says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpRet {
    /// Return value.
    pub value: u64,
    /// Instructions it took, documented kfunc costs included.
    pub instructions: u64,
}

/// The plain members of `struct sched_ext_ops`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpsParams {
    /// `name`.
    pub name: String,
    /// `flags`, `SCX_OPS_*`.
    pub flags: u64,
    /// `dispatch_max_batch`, 0 for the default.
    pub dispatch_max_batch: u32,
    /// `timeout_ms`, 0 for the default.
    pub timeout_ms: u32,
    /// `exit_dump_len`, 0 for the default.
    pub exit_dump_len: u32,
    /// `hotplug_seq`, 0 for whatever CPUs there are.
    pub hotplug_seq: u64,
}

/// A fair class, and schedulers that are loaded while the machine runs.
pub trait Lifecycle {
    /// The scheduler that is the fair class.
    fn fair(&mut self) -> &mut dyn Ops;
    /// Has another scheduler in place of the one before, to be attached next.
    fn load(&mut self, system: &mut System) -> Result<(), RunError>;
}

/// A scheduler that the machine hosts. Hosted objects implement it through
/// [`crate::policy::BpfOps`]; tests and benchmarks may implement it natively.
pub trait Ops {
    /// Plain members.
    fn params(&self) -> &OpsParams;
    /// Whether it is a `struct sched_ext_ops_cid`, which knows CPUs by cids.
    fn cid_form(&self) -> bool {
        false
    }
    /// Whether the scheduler has this callback.
    fn has(&self, op: Op) -> bool;
    /// Calls it. Arguments are as the kernel passes them: tasks, cgroups and argument
    /// structs as guest addresses.
    fn call(&mut self, system: &mut System, op: Op, args: &[u64]) -> Result<OpRet, Fault>;
    /// Runs an expired `bpf_timer`.
    fn run_timer(&mut self, system: &mut System, timer: u64) -> Result<OpRet, Fault>;
    /// Where the scheduler has tracing programs.
    fn watched(&self) -> Places {
        Places::default()
    }
    /// Runs its programs at a place; the instructions that they took.
    fn pass(
        &mut self,
        system: &mut System,
        at: (Place, Moment),
        args: &[u64],
    ) -> Result<u64, Stopped> {
        let _ = (system, at, args);
        Ok(0)
    }
    /// Gives a task a share of its own (`rota_shares`), where the scheduler knows shares.
    fn set_share(&mut self, system: &mut System, pid: u32, share: u64) -> Result<(), Fault> {
        let _ = (system, pid, share);
        Ok(())
    }
    /// The place of a call, or of a callback's beginning, in the scheduler's code.
    fn place(&self, op: Option<Op>, call: Option<u32>) -> Option<CodePlace> {
        let _ = (op, call);
        None
    }
    /// Whether the scheduler has what user space wants to act on.
    fn fits(&self, action: &ObjectAction) -> Result<(), String> {
        Err(format!("{action}: the scheduler is no object"))
    }
    /// User space acts on the object that the scheduler is of.
    fn act(&mut self, system: &mut System, action: &ObjectAction) -> Done {
        let _ = system;
        Done::Refused(format!("{action}: the scheduler is no object"))
    }
    /// The scheduler's program has the CPU: what it does next; `None`: there is none.
    fn go_on(&mut self, system: &mut System) -> Result<Option<Step>, RunError> {
        let _ = system;
        Ok(None)
    }
    /// A task or cgroup at this guest address is gone: forget what is stored for it.
    fn release_owner(&mut self, system: &mut System, addr: u64);
    /// What else there is where schedulers come and go, see [`crate::stage::Stage`].
    fn lifecycle(&mut self) -> Option<&mut dyn Lifecycle> {
        None
    }
}
