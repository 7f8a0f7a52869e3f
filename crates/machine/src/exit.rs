// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a scheduler left: `struct scx_exit_info`.

use rota_vm::runtime::CodePlace;
use std::fmt;

/// `enum scx_exit_kind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum ExitKind {
    /// The run ended and user space took the scheduler away.
    Unreg = 64,
    /// The scheduler asked to leave.
    UnregBpf = 65,
    /// The kernel took it away.
    UnregKern = 66,
    /// The scheduler above it left.
    Parent = 68,
    /// It broke a rule.
    Error = 1024,
    /// It called `scx_bpf_error()`.
    ErrorBpf = 1025,
    /// It left a runnable task waiting longer than its timeout.
    ErrorStall = 1026,
}

impl ExitKind {
    /// `scx_exit_reason()`.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Unreg => "unregistered from user space",
            Self::UnregBpf => "unregistered from BPF",
            Self::UnregKern => "unregistered from the main kernel",
            Self::Parent => "parent exiting",
            Self::Error => "runtime error",
            Self::ErrorBpf => "scx_bpf_error",
            Self::ErrorStall => "runnable task stall",
        }
    }

    /// Whether the kernel would count it as the scheduler's failure.
    pub fn is_error(self) -> bool {
        self as u32 >= Self::Error as u32
    }
}

/// Why and how a scheduler left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExitInfo {
    /// Kind.
    pub kind: ExitKind,
    /// Exit code of a graceful exit.
    pub code: i64,
    /// Details; empty for an ordinary end.
    pub message: String,
    /// CPU that noticed.
    pub cpu: Option<u32>,
    /// Debug dump, as `ops.dump()` and the kernel wrote it.
    pub dump: String,
    /// What of the scheduler it comes from; a kernel does not tell.
    pub origin: Origin,
}

/// What of a scheduler an exit comes from, as far as one callback or task is to blame.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The callback: `ops.enqueue()`.
    pub callback: Option<String>,
    /// The place in the code.
    pub place: Option<CodePlace>,
    /// The task that it is about.
    pub task: Option<ExitTask>,
}

/// A task that an exit is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExitTask {
    /// Name.
    pub name: String,
    /// Number.
    pub pid: u32,
    /// CPUs that it may use: `0-3,5`.
    pub cpus: String,
    /// Where it waits, if that is what is wrong.
    pub waits: Option<String>,
}

impl Origin {
    /// In words, a line for the code and one for the task.
    pub fn lines(&self) -> Vec<String> {
        let place = self.place.as_ref().map(|place| {
            let source = place.source.as_ref().map_or(String::new(), |line| format!(" ({line})"));
            format!("{}() at instruction {}{source}", place.function, place.insn)
        });
        let code = match (&self.callback, place) {
            (Some(callback), Some(place)) => Some(format!("in {callback}: {place}")),
            (Some(callback), None) => Some(format!("in {callback}")),
            (None, place) => place.map(|place| format!("in {place}")),
        };
        let task = self.task.as_ref().map(|task| {
            let waits = task.waits.as_ref().map_or(String::new(), |at| format!(", waits {at}"));
            format!("task {}[{}], cpus={}{waits}", task.name, task.pid, task.cpus)
        });
        code.into_iter().chain(task).collect()
    }
}

impl ExitInfo {
    /// Nothing left.
    pub(crate) fn none() -> Self {
        let (message, dump) = (String::new(), String::new());
        Self { kind: ExitKind::Unreg, code: 0, message, cpu: None, dump, origin: Origin::default() }
    }
}

impl fmt::Display for ExitInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.reason())?;
        if self.message.is_empty() {
            return Ok(());
        }
        write!(f, " ({})", self.message)
    }
}
