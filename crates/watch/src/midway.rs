// SPDX-License-Identifier: MIT OR Apache-2.0
//! A stream that begins in the middle of another, as a whole one.

use crate::states::{subject, States};
use rota_trace::{Event, Sink};
use std::collections::BTreeSet;

/// Knows of a stream what one that begins now has to begin with.
#[derive(Debug, Default)]
pub struct Midway {
    states: States,
}

/// The part of a stream from some time on, with times from there.
#[derive(Debug)]
pub struct Part {
    states: States,
    from_ns: u64,
    introduced: BTreeSet<u32>,
}

impl Midway {
    /// Begins a stream at a time after all events so far, and gives a sink the state of all tasks.
    pub fn begin(&self, from_ns: u64, sink: &mut dyn Sink) -> Part {
        Part::begin(self.states.clone(), from_ns, sink)
    }
}

impl Sink for Midway {
    fn event(&mut self, event: &Event) {
        self.states.pass(event);
    }
}

impl Part {
    pub(crate) fn begin(mut states: States, from_ns: u64, sink: &mut dyn Sink) -> Self {
        states.begin(sink);
        Self { states, from_ns, introduced: BTreeSet::new() }
    }

    /// Where it begins, in the time of the whole.
    pub fn from_ns(&self) -> u64 {
        self.from_ns
    }

    /// Takes an event of the whole, and gives a sink that of the part.
    pub fn event(&mut self, mut event: Event, sink: &mut dyn Sink) {
        event.time_ns = event.time_ns.saturating_sub(self.from_ns);
        if let Some(pid) = subject(&event.kind).filter(|pid| self.introduced.insert(*pid)) {
            self.states.introduce(pid, event.time_ns, sink);
        }
        sink.event(&event);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Last;
    use rota_trace::{EventKind, OffCpu, Recorder};

    fn event(time_ns: u64, cpu: Option<u32>, kind: EventKind) -> Event {
        Event { time_ns, cpu, kind }
    }

    fn task(pid: u32) -> Event {
        let (name, instance_of) = (format!("t{pid}"), None);
        event(0, None, EventKind::Task { pid, name, weight: 100, instance_of })
    }

    #[test]
    fn a_part_begins_with_who_runs_and_waits_and_introduces_sleepers_late() {
        let mut midway = Midway::default();
        let before = [
            task(1),
            task(2),
            task(3),
            event(10, Some(0), EventKind::SwitchIn { pid: 1 }),
            event(20, None, EventKind::Wakeup { pid: 2, waker: 1 }),
        ];
        before.iter().for_each(|event| midway.event(event));
        let mut got = Recorder::default();
        let mut part = midway.begin(30, &mut got);
        part.event(event(35, None, EventKind::Wakeup { pid: 3, waker: 0 }), &mut got);
        part.event(
            event(40, Some(0), EventKind::SwitchOut { pid: 1, why: OffCpu::Sleep }),
            &mut got,
        );
        let at = |time_ns, of: Event| Event { time_ns, ..of };
        let expected = [
            task(1),
            event(0, Some(0), EventKind::SwitchIn { pid: 1 }),
            task(2),
            event(0, None, EventKind::SwitchOut { pid: 2, why: OffCpu::Runnable }),
            at(5, task(3)),
            event(5, None, EventKind::Wakeup { pid: 3, waker: 0 }),
            event(10, Some(0), EventKind::SwitchOut { pid: 1, why: OffCpu::Sleep }),
        ];
        assert_eq!(got.events, expected);
        assert_eq!(part.from_ns(), 30);
        // The last part of a stream, kept, is the same.
        let mut last = Last::new(10);
        before.iter().for_each(|event| last.event(event));
        last.event(&event(35, None, EventKind::Wakeup { pid: 3, waker: 0 }));
        last.event(&event(40, Some(0), EventKind::SwitchOut { pid: 1, why: OffCpu::Sleep }));
        let mut kept = Recorder::default();
        last.finish(40, &mut kept);
        assert_eq!(kept.events, got.events);
    }
}
