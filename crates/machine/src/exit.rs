// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a scheduler left: `struct scx_exit_info`.

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
}

impl ExitInfo {
    /// Nothing left.
    pub(crate) fn none() -> Self {
        let (message, dump) = (String::new(), String::new());
        Self { kind: ExitKind::Unreg, code: 0, message, cpu: None, dump }
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
