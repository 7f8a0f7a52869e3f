// SPDX-License-Identifier: MIT OR Apache-2.0
//! A stream that begins in the middle of another, as a whole one.

use crate::states::{subject, States};
use rota_trace::{Event, Sink};
use std::collections::BTreeSet;

/// The part of a stream from some time on, with times from there.
#[derive(Debug)]
pub(crate) struct Part {
    states: States,
    from_ns: u64,
    introduced: BTreeSet<u32>,
}

impl Part {
    /// Begins at a time after all events that made `states`, and gives a sink the state of all tasks.
    pub(crate) fn begin(mut states: States, from_ns: u64, sink: &mut dyn Sink) -> Self {
        states.begin(sink);
        Self { states, from_ns, introduced: BTreeSet::new() }
    }

    /// Takes an event of the whole, and gives a sink that of the part.
    pub(crate) fn event(&mut self, mut event: Event, sink: &mut dyn Sink) {
        event.time_ns = event.time_ns.saturating_sub(self.from_ns);
        if let Some(pid) = subject(&event.kind).filter(|pid| self.introduced.insert(*pid)) {
            self.states.introduce(pid, event.time_ns, sink);
        }
        sink.event(&event);
    }
}
