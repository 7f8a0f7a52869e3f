// SPDX-License-Identifier: MIT OR Apache-2.0
//! Keeps every event, for tests and small runs.

use crate::event::{Event, Sink};

/// A sink that keeps all events in order.
#[derive(Clone, Debug, Default)]
pub struct Recorder {
    /// What happened so far.
    pub events: Vec<Event>,
}

impl Sink for Recorder {
    fn event(&mut self, event: &Event) {
        self.events.push(event.clone());
    }

    fn wants_detail(&self) -> bool {
        true
    }
}
