// SPDX-License-Identifier: MIT OR Apache-2.0
//! Events of a trace, in its own time.

use super::shared::Shared;
use crate::error::Error;
use crate::stop::LOOK;
use rota_top::State;
use rota_trace::{Event, Sink};
use rota_trace_import::{open, Imported};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often there is another picture.
const PICTURE: Duration = Duration::from_millis(100);

/// Opens a trace.
pub(super) fn opened(path: &Path) -> Result<Imported, Error> {
    Ok(open(path)?)
}

/// Plays a trace to its end, or until the user has enough.
pub(super) fn play(trace: Imported, speed: f64, shared: &Shared) -> Result<(), Error> {
    let state = State::new(trace.header().cpus.unwrap_or(1));
    let clock = Clock { passed: Duration::ZERO, looked: Instant::now(), speed };
    let mut player = Player { state, clock, shown: None, shared };
    match trace.read(&mut player) {
        Ok(facts) => player.wait_until(facts.duration_ns),
        // Of a part nobody can say that it is a trace.
        Err(_) if shared.is_stopped() => {}
        Err(error) => return Err(error.into()),
    }
    player.show();
    shared.latest().ended = true;
    Ok(())
}

/// The state at a time, or at the end, with no time passing.
pub(super) fn until(trace: Imported, ns: Option<u64>) -> Result<State, Error> {
    let state = State::new(trace.header().cpus.unwrap_or(1));
    let mut until = Until { state, ns: ns.unwrap_or(u64::MAX), over: false };
    let end_ns = match trace.read(&mut until) {
        // Of a part nobody can say that it is a trace.
        _ if until.over => until.ns,
        Ok(facts) => facts.duration_ns,
        Err(error) => return Err(error.into()),
    };
    until.state.advance(end_ns);
    Ok(until.state)
}

struct Until {
    state: State,
    ns: u64,
    over: bool,
}

impl Sink for Until {
    fn event(&mut self, event: &Event) {
        self.over |= event.time_ns > self.ns;
        if !self.over {
            self.state.event(event);
        }
    }

    fn has_enough(&self) -> bool {
        self.over
    }
}

/// The time of the trace.
struct Clock {
    passed: Duration,
    looked: Instant,
    speed: f64,
}

impl Clock {
    fn now_ns(&mut self, paused: bool) -> u64 {
        let now = Instant::now();
        let since = now - std::mem::replace(&mut self.looked, now);
        if !paused {
            self.passed += since.mul_f64(self.speed);
        }
        u64::try_from(self.passed.as_nanos()).unwrap_or(u64::MAX)
    }
}

struct Player<'a> {
    state: State,
    clock: Clock,
    shown: Option<Instant>,
    shared: &'a Shared,
}

impl Player<'_> {
    /// Until the trace's time is this.
    fn wait_until(&mut self, ns: u64) {
        while !self.shared.is_stopped() {
            let now_ns = self.clock.now_ns(self.shared.is_paused());
            self.state.advance(now_ns.min(ns));
            if self.shown.is_none_or(|shown| shown.elapsed() >= PICTURE) {
                self.show();
            }
            if now_ns >= ns {
                break;
            }
            let left = Duration::from_nanos(ns - now_ns).div_f64(self.clock.speed);
            std::thread::sleep(left.min(LOOK));
        }
    }

    fn show(&mut self) {
        self.shown = Some(Instant::now());
        self.shared.latest().snapshot = Arc::new(self.state.snapshot());
    }
}

impl Sink for Player<'_> {
    fn event(&mut self, event: &Event) {
        self.wait_until(event.time_ns);
        self.state.event(event);
    }

    fn has_enough(&self) -> bool {
        self.shared.is_stopped()
    }
}
