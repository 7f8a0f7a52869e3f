// SPDX-License-Identifier: MIT OR Apache-2.0
//! Events of this computer's kernel, as `rota record` takes them: where it does not count.

use super::around::Around;
use super::schedulers::News;
use crate::commands::record::Session;
use crate::error::Error;
use rota_kernel::events::{Facts, Recorder};
use rota_top::{Snapshot, State};
use rota_trace::{Event, EventKind, Sink};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often there is another picture.
const PICTURE: Duration = Duration::from_millis(200);

/// What takes the events.
struct Feed<'a, 'b> {
    state: State,
    shown: Instant,
    /// Stop after so long.
    until_ns: Option<u64>,
    now_ns: u64,
    around: &'a mut Around<'b>,
}

/// Shows what happens until the user has enough, or for so long; returns the last picture.
pub(super) fn follow(
    session: Session<'_>,
    until_ns: Option<u64>,
    around: &mut Around<'_>,
) -> Result<(Snapshot, Facts), Error> {
    let state = State::new(session.cpus());
    let mut feed = Feed { state, shown: Instant::now(), until_ns, now_ns: 0, around };
    let ended = session.run(&mut feed, |feed, recorder| {
        feed.look(recorder);
        Ok(())
    })?;
    Ok((feed.state.snapshot(), ended.facts))
}

impl Feed<'_, '_> {
    fn look(&mut self, recorder: &Recorder) {
        self.now_ns = recorder.settled_ns();
        self.state.advance(self.now_ns);
        self.around.recordings.look();
        if self.shown.elapsed() < PICTURE {
            return;
        }
        self.shown = Instant::now();
        let (state, now_ns) = (&mut self.state, self.now_ns);
        self.around.schedulers(|news| match news {
            News::Loaded => state.loaded(),
            News::Left { kind, code, reason } => {
                let kind = EventKind::PolicyExit { kind, code, reason };
                state.event(&Event { time_ns: now_ns, cpu: None, kind });
            }
            News::Replaced(_) => {}
        });
        let snapshot = Arc::new(self.state.snapshot());
        self.around.show(snapshot, recorder.counts().lost.total());
    }
}

impl Sink for Feed<'_, '_> {
    fn event(&mut self, event: &Event) {
        self.state.event(event);
        self.now_ns = self.now_ns.max(event.time_ns);
    }

    fn has_enough(&self) -> bool {
        let over = |until_ns| self.now_ns >= until_ns;
        self.around.shared.is_stopped() || self.until_ns.is_some_and(over)
    }
}
