// SPDX-License-Identifier: MIT OR Apache-2.0
//! One event of a run, equal in form from the simulator and from a kernel.

use crate::fields::Value;
use crate::kind::{EventKind, Field};

/// Something that happened at a time, on a CPU (`None`: on none, e.g. a timer wakeup).
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Nanoseconds since the run began.
    pub time_ns: u64,
    /// CPU it happened on.
    pub cpu: Option<u32>,
    /// What happened.
    pub kind: EventKind,
}

/// Receives events as they happen.
pub trait Sink {
    /// Takes one event; times never go backwards.
    fn event(&mut self, event: &Event);

    /// Whether any events are wanted; who wants none only ends runs.
    fn wants_events(&self) -> bool {
        true
    }

    /// Whether [`EventKind::OpCall`], [`EventKind::Enqueue`] and [`EventKind::Dispatch`]
    /// are wanted: building them costs time.
    fn wants_detail(&self) -> bool {
        false
    }

    /// Whether the run shall end before its time; asked after each instant with an event, and now and then
    /// between them.
    fn has_enough(&self) -> bool {
        false
    }
}

impl Event {
    /// Name of the event and the task that it is about; all else that it says goes to `say`.
    pub(crate) fn describe<'a>(
        &'a self,
        say: impl FnMut(Field, Value<'a>),
    ) -> (&'static str, Option<u32>) {
        self.kind.describe(say)
    }
}
