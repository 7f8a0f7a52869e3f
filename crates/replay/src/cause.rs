// SPDX-License-Identifier: MIT OR Apache-2.0
//! What ended a sleep, from the call that the task slept in and what woke it.

use crate::life::Step;
use rota_trace::WakeSource;
use std::sync::Arc;

/// A kind of wait of a task: it ends by what is done for this kind, in any order.
pub(crate) type Wait = Arc<str>;

/// A sleep that is over, which no recorded task ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sleep<'a> {
    pub(crate) call: &'a Wait,
    pub(crate) deep: bool,
    pub(crate) absolute: bool,
    pub(crate) source: Option<WakeSource>,
    /// When it began and ended, after the task's birth.
    pub(crate) from_ns: u64,
    pub(crate) to_ns: u64,
}

/// Why it ended, where no recorded task did it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outside {
    /// A timer ran out.
    Timer,
    /// Something that the task asked for is done, as by a disk.
    Service,
    /// Something arrives at its own time, as from a network.
    Arrival,
    /// The recording does not say.
    Unknown,
}

impl Sleep<'_> {
    /// What it waited for.
    pub(crate) fn outside(&self) -> Outside {
        match (self.source, &**self.call) {
            (Some(WakeSource::Timer), _) => Outside::Timer,
            (_, "nanosleep" | "clock_nanosleep") => Outside::Timer,
            _ if self.deep => Outside::Service,
            (_, call) if takes(call) => Outside::Arrival,
            // A trace without calls: nothing tells a timer from a device.
            _ => Outside::Unknown,
        }
    }

    /// The same in another run: an arrival keeps its time, all else its length.
    pub(crate) fn step(&self) -> Step {
        match self.outside() {
            Outside::Arrival => Step::Until(self.to_ns),
            Outside::Timer => Step::Timed {
                call: self.call.clone(),
                from_ns: self.from_ns,
                to_ns: self.to_ns,
                absolute: self.absolute,
            },
            _ => Step::Sleep(self.to_ns.saturating_sub(self.from_ns)),
        }
    }
}

/// Whether a sleep that no signal ends, and that another task ended, was for a lock of the kernel: who
/// had it was in the way then, and need not be there in another run. A child that has a program of its
/// own now, a thread that made way for one, and a thread of the kernel did what had to happen.
pub(crate) fn is_contention(call: &str, waker: &str, is_child: bool) -> bool {
    let is_kernel_thread = waker.starts_with('[');
    !is_child && !is_kernel_thread && !matches!(call, "execve" | "execveat")
}

/// Calls that give, and wait while what they give to is full, as a pipe is until it is read.
pub(crate) fn gives(call: &str) -> bool {
    const GIVES: [&str; 11] = [
        "pwritev2",
        "sendfile",
        "sendmmsg",
        "sendmsg",
        "sendto",
        "splice",
        "tee",
        "vmsplice",
        "write",
        "writev",
        "mq_timedsend",
    ];
    GIVES.contains(&call)
}

/// Calls that wait for any of several files.
pub(crate) fn looks_at_several(call: &str) -> bool {
    const LOOKS: [&str; 9] = [
        "epoll_pwait",
        "epoll_pwait2",
        "epoll_wait",
        "io_getevents",
        "io_uring_enter",
        "poll",
        "ppoll",
        "pselect6",
        "select",
    ];
    LOOKS.contains(&call)
}

/// Calls that take what comes.
pub(crate) fn takes(call: &str) -> bool {
    const TAKES: [&str; 9] = [
        "accept",
        "accept4",
        "read",
        "readv",
        "recvfrom",
        "recvmmsg",
        "recvmsg",
        "rt_sigtimedwait",
        "signalfd4",
    ];
    TAKES.contains(&call) || looks_at_several(call)
}
