// SPDX-License-Identifier: MIT OR Apache-2.0
//! What tasks can do: one enum for each group of events, and the things that events share.
//!
//! A group has a file of its own in `parse/events` (from the text) and in `runner` (what it does).

use crate::random::Span;
use crate::requests::model::{How, Spend};

/// One thing a task does.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    Time(TimeEvent),
    Task(TaskEvent),
    Meeting(MeetingEvent),
    Lock(LockEvent),
    Socket(SocketEvent),
    /// By its index in the workload.
    Flow(u32),
}

/// Events that use time, and `yield`.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TimeEvent {
    Run(Span),
    Runtime(Span),
    Sleep(Span),
    Timer { timer: TimerRef, period: Span },
    Yield,
}

/// What a task that has forked does in the same system call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    /// Work before it waits.
    pub(crate) run_ns: u64,
    /// The semaphore that it waits for, by its index in the workload.
    pub(crate) semaphore: u32,
}

/// Events that name tasks.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TaskEvent {
    /// With a call it goes on in the same system call, as `vfork()` does.
    Fork { definition: u32, call: Option<Call> },
    /// The task is over. Once it is gone this semaphore is posted.
    Exit { semaphore: Option<u32> },
    /// Until a resume of this name, by its index; `None`: of the task's own.
    Suspend { name: Option<u32> },
    /// Of this name, by its index, which is that of the task that has it; `None`: no task has it.
    Resume { name: Option<u32> },
}

/// Semaphores and barriers, by their index in the workload.
#[derive(Clone, Copy, Debug)]
pub(crate) enum MeetingEvent {
    SemPost { semaphore: u32 },
    SemWait { semaphore: u32 },
    Barrier { barrier: u32 },
}

/// Mutexes and condition variables, by their index in the workload.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LockEvent {
    Lock { mutex: u32 },
    Unlock { mutex: u32 },
    Signal { condition: u32 },
    Broad { condition: u32 },
    Wait { condition: u32, mutex: u32 },
    Sync { condition: u32, mutex: u32 },
}

/// Requests. Sockets by their index in the workload.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SocketEvent {
    Send {
        socket: u32,
        how: How,
    },
    Recv {
        socket: u32,
    },
    Reply {
        socket: u32,
    },
    /// Uses a part of what the request at hand asks for.
    Spend {
        what: Spend,
        millionths: u64,
    },
}

impl Event {
    /// Whether it can use time or depend on another task: a loop for ever needs such an event.
    pub(crate) fn can_take_time(&self) -> bool {
        match self {
            Event::Time(event) => match event {
                TimeEvent::Run(span) | TimeEvent::Runtime(span) | TimeEvent::Sleep(span) => {
                    span.can_be_positive()
                }
                TimeEvent::Timer { period, .. } => period.can_be_positive(),
                // It takes time where the machine charges for it; the runner watches.
                TimeEvent::Yield => true,
            },
            // A fork ends at its limit, and what exits goes round no more; a resume only wakes.
            Event::Task(event) => !matches!(event, TaskEvent::Resume { .. }),
            Event::Meeting(event) => !matches!(event, MeetingEvent::SemPost { .. }),
            Event::Lock(event) => matches!(
                event,
                LockEvent::Lock { .. } | LockEvent::Wait { .. } | LockEvent::Sync { .. }
            ),
            // A part of a demand may be nothing. Whoever sends for ever fills the queue.
            Event::Socket(event) => {
                matches!(event, SocketEvent::Send { .. } | SocketEvent::Recv { .. })
            }
            // What is only put without work ends when the stream is full; the runner watches.
            Event::Flow(_) => true,
        }
    }
}

/// Which timer an event uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TimerRef {
    /// Index into the workload's timers: one for all tasks.
    Shared(u32),
    /// Index into the timers of its task: one for each instance.
    Own(u32),
}

/// How a late timer goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TimerKind {
    /// From the time it was found late.
    Relative,
    /// From where it should have been.
    Absolute,
}

/// A point that tasks leave together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Barrier {
    pub(crate) name: String,
    /// How many must be there, from 1 up.
    pub(crate) participants: u32,
}
