// SPDX-License-Identifier: MIT OR Apache-2.0
//! Events of this computer's kernel, as `rota record` takes them.

use super::recording::Recording;
use super::shared::{Shared, Wish};
use crate::commands::record::Session;
use crate::error::Error;
use rota_kernel::events::{Facts, Recorder};
use rota_kernel::{sysfs, KernelLog};
use rota_top::State;
use rota_trace::{Event, EventKind, Sink};
use rota_watch::Midway;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often there is another picture.
const PICTURE: Duration = Duration::from_millis(200);

/// The first kind that is the policy's failure (`enum scx_exit_kind`).
const SCX_EXIT_ERROR: u32 = 1024;

/// What takes the events.
pub(super) struct Feed<'a> {
    state: State,
    midway: Midway,
    recording: Option<Recording>,
    shown: Instant,
    /// What it says of schedulers that left; how many it was, and the last one, until the line with
    /// the reason is there.
    log: KernelLog,
    ended: usize,
    leaving: Option<String>,
    cpus: u32,
    /// Stop after so long.
    until_ns: Option<u64>,
    now_ns: u64,
    shared: &'a Shared,
}

/// Shows what happens until the user has enough, or for so long.
pub(super) fn follow(
    session: Session<'_>,
    until_ns: Option<u64>,
    shared: &Shared,
) -> Result<(State, Facts), Error> {
    let cpus = session.cpus();
    let mut feed = Feed {
        state: State::new(cpus),
        midway: Midway::default(),
        recording: None,
        shown: Instant::now(),
        log: KernelLog::from_now(),
        ended: 0,
        leaving: None,
        cpus,
        until_ns,
        now_ns: 0,
        shared,
    };
    let ended = session.run(&mut feed, |feed, recorder| {
        feed.look(recorder);
        Ok(())
    });
    // A recording is completed in any case.
    feed.stop_recording();
    Ok((feed.state, ended?.facts))
}

impl Feed<'_> {
    fn look(&mut self, recorder: &Recorder) {
        self.now_ns = recorder.settled_ns();
        self.state.advance(self.now_ns);
        while let Some(wish) = self.shared.next_wish() {
            match wish {
                Wish::Record(path) => self.record(&path),
                Wish::StopRecording => self.stop_recording(),
            }
        }
        if self.shown.elapsed() < PICTURE {
            return;
        }
        self.shown = Instant::now();
        let scheduler = sysfs::loaded();
        if scheduler.is_some() && self.shared.latest().scheduler != scheduler {
            self.state.loaded();
        }
        if let Some(name) = self.leaving.take() {
            self.left(&name, scheduler.is_none());
        }
        let ended = self.log.ended();
        if ended.len() > self.ended {
            (self.ended, self.leaving) = (ended.len(), ended.last().cloned());
        }
        let snapshot = Arc::new(self.state.snapshot());
        let mut latest = self.shared.latest();
        latest.snapshot = snapshot;
        latest.lost = recorder.counts().lost.total();
        latest.scheduler = scheduler;
    }

    /// A scheduler is gone, and maybe another one has its place.
    fn left(&mut self, name: &str, none_follows: bool) {
        let Some(exit) = self.log.exit_of(name) else { return };
        if !none_follows {
            if exit.is_error() {
                self.shared.say(format!("{name} was ejected: {exit}"));
            }
            return;
        }
        // A reason that is not known here is no ordinary end.
        let kind = if exit.is_error() { exit.kind.max(SCX_EXIT_ERROR) } else { exit.kind };
        let kind = EventKind::PolicyExit { kind, code: exit.code, reason: exit.to_string() };
        self.state.event(&Event { time_ns: self.now_ns, cpu: None, kind });
    }

    fn record(&mut self, path: &str) {
        match Recording::begin(path, self.cpus, &self.midway, self.now_ns) {
            Ok(recording) => {
                self.recording = Some(recording);
                self.shared.latest().recording = Some(path.to_owned());
            }
            Err(error) => self.shared.complain(&error),
        }
    }

    fn stop_recording(&mut self) {
        let Some(recording) = self.recording.take() else { return };
        self.shared.latest().recording = None;
        match recording.finish(self.now_ns) {
            Ok(what) => self.shared.say(what),
            Err(error) => self.shared.complain(&error),
        }
    }
}

impl Sink for Feed<'_> {
    fn event(&mut self, event: &Event) {
        self.state.event(event);
        self.midway.event(event);
        if let Some(recording) = &mut self.recording {
            recording.event(event);
        }
        self.now_ns = self.now_ns.max(event.time_ns);
    }

    fn has_enough(&self) -> bool {
        self.shared.is_stopped() || self.until_ns.is_some_and(|until_ns| self.now_ns >= until_ns)
    }
}
