// SPDX-License-Identifier: MIT OR Apache-2.0
//! The last seconds of an event stream, as a stream that begins there.

use crate::part::Part;
use crate::states::States;
use rota_trace::{Event, Sink};
use std::collections::VecDeque;

/// Memory for events, without the names in them.
const MOST_BYTES: usize = 512 << 20;

/// Keeps the last part of a stream; of what was before, the state that it left.
#[derive(Debug)]
pub struct Last {
    length_ns: u64,
    most: usize,
    events: VecDeque<Event>,
    states: States,
    /// What is kept begins here or earlier. Until there was more, it is the stream's beginning.
    from_ns: u64,
    /// Something younger than the length had to go.
    overflowed: bool,
}

/// Which part was kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept {
    /// Where it begins, in the stream's time.
    pub from_ns: u64,
    /// The memory did not suffice for all that was asked for.
    pub overflowed: bool,
}

impl Last {
    /// Keeps so many nanoseconds, or what 512 MiB hold.
    pub fn new(length_ns: u64) -> Self {
        Self::with_most(length_ns, MOST_BYTES / size_of::<Event>())
    }

    fn with_most(length_ns: u64, most: usize) -> Self {
        Self {
            length_ns,
            most,
            events: VecDeque::new(),
            states: States::default(),
            from_ns: 0,
            overflowed: false,
        }
    }

    /// Forgets what is too old, now that it is `now_ns`.
    pub fn advance(&mut self, now_ns: u64) {
        let from_ns = now_ns.saturating_sub(self.length_ns);
        if from_ns > self.from_ns {
            self.overflowed = false;
            self.begin_at(from_ns);
        }
    }

    /// Ends the stream, gives a sink what is kept, with times from its beginning on.
    pub fn finish(mut self, end_ns: u64, sink: &mut dyn Sink) -> Kept {
        self.advance(end_ns);
        let Last { from_ns, overflowed, events, states, .. } = self;
        if from_ns == 0 {
            events.iter().for_each(|event| sink.event(event));
            return Kept { from_ns, overflowed };
        }
        let mut part = Part::begin(states, from_ns, sink);
        events.into_iter().for_each(|event| part.event(event, sink));
        Kept { from_ns, overflowed }
    }

    fn begin_at(&mut self, from_ns: u64) {
        while self.events.front().is_some_and(|event| event.time_ns < from_ns) {
            if let Some(event) = self.events.pop_front() {
                self.states.pass(&event);
            }
        }
        self.from_ns = from_ns;
    }
}

impl Sink for Last {
    fn event(&mut self, event: &Event) {
        self.events.push_back(event.clone());
        self.advance(event.time_ns);
        if self.events.len() <= self.most {
            return;
        }
        // Events of one time stay together.
        if let Some(first_ns) = self.events.front().map(|first| first.time_ns) {
            self.begin_at(first_ns + 1);
            self.overflowed = true;
        }
    }

    fn wants_detail(&self) -> bool {
        true
    }
}

#[cfg(test)]
#[path = "last_tests.rs"]
mod tests;
