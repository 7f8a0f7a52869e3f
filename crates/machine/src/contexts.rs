// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which kernel functions a program may call: `scx_kfunc_context_filter()`, `scx_kf_allow_flags[]`
//! and the sets they look at (`kernel/sched/ext/ext.c`). The kernel asks when it loads a program,
//! about every call that the program can reach; so does the machine, and once more at the call.

use crate::ops::Op;
use crate::running::Running;
use rota_vm::error::Fault;

/// `SCX_KF_ALLOW_*`: the sets that a kernel function is in.
pub(crate) mod allow {
    /// Callbacks that hold no lock, syscall programs, timers.
    pub(crate) const UNLOCKED: u32 = 1;
    pub(crate) const INIT: u32 = 1 << 1;
    pub(crate) const CPU_RELEASE: u32 = 1 << 2;
    pub(crate) const DISPATCH: u32 = 1 << 3;
    pub(crate) const ENQUEUE: u32 = 1 << 4;
    pub(crate) const SELECT_CPU: u32 = 1 << 5;
    /// Every program may call it (`scx_kfunc_ids_any`, `scx_kfunc_ids_idle`).
    pub(crate) const EVERYWHERE: u32 = 1 << 6;
    /// Only schedulers in cpu form, beside what the other bits say (`scx_kfunc_ids_cpu_only`).
    pub(crate) const CPU_FORM: u32 = 1 << 7;
    /// Only programs that may sleep (`KF_SLEEPABLE`).
    pub(crate) const SLEEPS: u32 = 1 << 8;
    /// Into a queue.
    pub(crate) const INSERT: u32 = ENQUEUE;
    /// From a queue that is walked.
    pub(crate) const MOVE: u32 = UNLOCKED | DISPATCH;
    /// Choosing a CPU.
    pub(crate) const SELECT: u32 = UNLOCKED | SELECT_CPU | CPU_FORM;
    /// CPUs by their numbers and masks.
    pub(crate) const CPUS: u32 = EVERYWHERE | CPU_FORM;
    /// Whatever the program.
    pub(crate) const ANY: u32 = rota_vm::table::ANY_CONTEXT;
}

/// What kind of program calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Caller {
    /// A callback of `struct sched_ext_ops`.
    Op(Op),
    /// One that user space runs, or a timer.
    Syscall,
    /// One at a tracepoint, or before or after a function.
    Tracing,
    /// A callback of another struct_ops type, as TCP has one.
    OtherTable,
    /// A kprobe or kretprobe, for which sched_ext registers no functions.
    Probe,
}

impl Caller {
    /// For messages.
    pub(crate) fn name(self) -> String {
        match self {
            Self::Op(op) => format!("ops.{}()", op.name()),
            Self::Syscall => "a syscall program".into(),
            Self::Tracing => "a tracing program".into(),
            Self::OtherTable => "a callback that is not sched_ext's".into(),
            Self::Probe => "a kprobe program".into(),
        }
    }

    /// The sets that it may call.
    #[inline]
    fn permitted(self) -> u32 {
        match self {
            Self::Op(op) => OF_OPS[op as usize],
            other => other.sets(),
        }
    }

    const fn sets(self) -> u32 {
        use allow::{CPU_RELEASE, DISPATCH, ENQUEUE, EVERYWHERE, INIT, SELECT_CPU, UNLOCKED};
        if matches!(self, Self::OtherTable | Self::Probe) {
            return 0;
        }
        EVERYWHERE
            | match self {
                Self::Tracing | Self::OtherTable | Self::Probe => 0,
                Self::Syscall => UNLOCKED | SELECT_CPU,
                Self::Op(Op::SelectCpu | Op::Enqueue) => SELECT_CPU | ENQUEUE,
                Self::Op(Op::Dispatch) => ENQUEUE | DISPATCH,
                Self::Op(Op::CpuRelease) => CPU_RELEASE,
                Self::Op(Op::Init) => UNLOCKED | INIT,
                Self::Op(
                    Op::InitTask
                    | Op::Dump
                    | Op::CgroupInit
                    | Op::CgroupExit
                    | Op::CgroupPrepMove
                    | Op::CgroupCancelMove
                    | Op::CgroupSetWeight
                    | Op::CgroupSetBandwidth
                    | Op::CgroupSetIdle
                    | Op::SubAttach
                    | Op::SubDetach
                    | Op::CpuOnline
                    | Op::CpuOffline
                    | Op::Exit,
                ) => UNLOCKED,
                Self::Op(_) => 0,
            }
    }

    /// Whether it may call a function that is in these sets.
    #[inline]
    pub(crate) fn may_call(self, contexts: u32) -> bool {
        self.permitted() & contexts != 0
    }
}

/// What each callback may call.
static OF_OPS: [u32; Op::ALL.len()] = {
    let mut sets = [0; Op::ALL.len()];
    let mut at = 0;
    while at < sets.len() {
        sets[Op::ALL[at] as usize] = Caller::Op(Op::ALL[at]).sets();
        at += 1;
    }
    sets
};

/// Whether a program of this callback may sleep: `bpf_scx_check_member()`.
pub(crate) fn may_sleep(op: Op) -> bool {
    matches!(
        op,
        Op::InitTask
            | Op::CgroupInit
            | Op::CgroupExit
            | Op::CgroupPrepMove
            | Op::CpuOnline
            | Op::CpuOffline
            | Op::Init
            | Op::Exit
            | Op::SubAttach
            | Op::SubDetach
    )
}

/// Who may call a function that is in these sets, for messages.
pub(crate) fn callers(contexts: u32) -> String {
    let ops = Op::ALL.iter().map(|&op| Caller::Op(op));
    let all =
        ops.chain([Caller::Syscall, Caller::Tracing]).filter(|caller| caller.may_call(contexts));
    let mut names: Vec<String> = all.map(Caller::name).collect();
    match names.pop() {
        Some(last) if names.is_empty() => last,
        Some(last) => format!("{} and {last}", names.join(", ")),
        None => "nothing".into(),
    }
}

/// A later form of a function has the same name in sources.
pub(crate) fn name_in_sources(kfunc: &str) -> &str {
    kfunc.strip_suffix("___v2").unwrap_or(kfunc)
}

#[cold]
fn refusal(caller: Caller, name: &str) -> Fault {
    let (name, place) = (name_in_sources(name), caller.name());
    Fault::denied(format!("{name}() may not be called from {place}"))
}

impl Running {
    /// Refuses a call from the program that runs now.
    #[inline]
    pub(crate) fn allow(&self, contexts: u32, name: &str) -> Result<(), Fault> {
        let permitted = match self.ctx.op {
            Some(op) => OF_OPS[op as usize],
            None => self.caller().sets(),
        };
        if permitted & contexts != 0 {
            return Ok(());
        }
        Err(refusal(self.caller(), name))
    }

    fn caller(&self) -> Caller {
        match self.ctx.op {
            Some(op) => Caller::Op(op),
            None if self.ctx.tracing => Caller::Tracing,
            None => Caller::Syscall,
        }
    }
}
