// SPDX-License-Identifier: MIT OR Apache-2.0
//! `--last` and `--when`: only the last part of a recording is kept, and something may end it.

use super::args::RecordArgs;
use super::busy;
use super::session::Ended;
use rota_kernel::events::{Counts, Recorder};
use rota_trace::{Event, Sink};
use rota_watch::{Condition, Kept, Last, Seen, Watch};
use std::collections::VecDeque;

/// Keeps the last part of a recording.
pub(crate) struct Ring {
    last_ns: u64,
    last: Last,
    watch: Option<Watch>,
    met: Option<Seen>,
    /// What was counted at each look, from before the kept part on.
    looks: VecDeque<Look>,
}

struct Look {
    at_ns: u64,
    counts: Counts,
    busy_ns: Option<u64>,
}

/// What was kept of a recording, and why it ended.
pub(crate) struct Ringed {
    pub(crate) asked_ns: u64,
    pub(crate) kept: Kept,
    pub(crate) condition: Option<Outcome>,
}

/// What became of a condition.
pub(crate) struct Outcome {
    pub(crate) condition: Condition,
    pub(crate) met: bool,
    /// Of the last second, if the condition's tasks were to be seen in it.
    pub(crate) seen: Option<Seen>,
}

impl Ring {
    /// As the arguments ask for; `None`: all is to be kept.
    pub(crate) fn of(args: &RecordArgs) -> Option<Self> {
        let last_ns = args.last?;
        let watch = args.when.clone().map(Watch::new);
        Some(Self { last_ns, last: Last::new(last_ns), watch, met: None, looks: VecDeque::new() })
    }

    /// To be called after each look into the buffer.
    pub(crate) fn look(&mut self, recorder: &Recorder) {
        let at_ns = recorder.settled_ns();
        self.last.advance(at_ns);
        self.looks.push_back(Look { at_ns, counts: recorder.counts(), busy_ns: busy::now_ns() });
        let from_ns = at_ns.saturating_sub(self.last_ns);
        // The last look before the kept part stays.
        while self.looks.get(1).is_some_and(|next| next.at_ns <= from_ns) {
            self.looks.pop_front();
        }
        if self.met.is_none() {
            self.met = self.watch.as_mut().and_then(|watch| watch.met(at_ns));
        }
    }

    /// Gives a sink what was kept, and makes the facts those of it. Returns how busy the computer was
    /// when the kept part began, too: `began_busy_ns` if that is the whole recording.
    pub(crate) fn finish(
        mut self,
        ended: &mut Ended,
        began_busy_ns: Option<u64>,
        sink: &mut dyn Sink,
    ) -> (Ringed, Option<u64>) {
        let end_ns = ended.facts.duration_ns;
        let condition = self.watch.as_mut().map(|watch| {
            let met = self.met.is_some();
            let seen = self.met.take().or_else(|| watch.seen(end_ns));
            Outcome { condition: watch.condition().clone(), met, seen }
        });
        let kept = self.last.finish(end_ns, sink);
        let before = self.looks.iter().rev().find(|look| look.at_ns <= kept.from_ns);
        let mut busy_ns = began_busy_ns;
        if let Some(look) = before.filter(|_| kept.from_ns > 0) {
            ended.facts.counts = ended.facts.counts.since(&look.counts);
            busy_ns = look.busy_ns;
        }
        ended.facts.duration_ns = end_ns - kept.from_ns;
        (Ringed { asked_ns: self.last_ns, kept, condition }, busy_ns)
    }
}

impl Sink for Ring {
    fn event(&mut self, event: &Event) {
        if let Some(watch) = &mut self.watch {
            watch.event(event);
        }
        self.last.event(event);
    }

    fn wants_detail(&self) -> bool {
        true
    }

    fn has_enough(&self) -> bool {
        self.met.is_some()
    }
}
