// SPDX-License-Identifier: MIT OR Apache-2.0
//! The terminal: taken for the screen, given back however this ends, and what keys ask for.

use super::control::Wanted;
use super::shared::{Shared, Wish};
use crate::error::Error;
use crate::stop::Stop;
use ratatui::crossterm::event::{self, Event};
use ratatui::DefaultTerminal;
use rota_top::{draw, Action, App};
use std::io;
use std::sync::mpsc::Sender;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The screen is drawn so often, and after a key.
const FRAME: Duration = Duration::from_millis(100);

/// The terminal while it shows the screen.
struct Screen(DefaultTerminal);

impl Screen {
    /// A panic, too, gives it back, before it is reported.
    fn take() -> Result<Self, Error> {
        ratatui::try_init().map(Self).map_err(|e| fail(&e))
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        ratatui::restore();
    }
}

fn fail(error: &io::Error) -> Error {
    Error::Failure(format!("the terminal: {error}"))
}

/// Shows what there is until the user has enough, a signal comes, or there will be no more.
pub(super) fn show(
    app: &mut App,
    shared: &Shared,
    policy: Option<&Sender<Wanted>>,
    stop: &Stop,
    over: impl Fn() -> bool,
) -> Result<(), Error> {
    let mut screen = Screen::take()?;
    // Whoever takes it lives as long as we do.
    let ask = |wanted| drop(policy.map(|policy| policy.send(wanted)));
    while !stop.wanted() && !over() {
        take(app, shared);
        let drawn = screen.0.draw(|frame| draw(app, frame.area(), frame.buffer_mut()));
        drawn.map_err(|e| fail(&e))?;
        let next = Instant::now() + FRAME;
        // All keys that came, then a frame.
        let mut wait = next.saturating_duration_since(Instant::now());
        while event::poll(wait).map_err(|e| fail(&e))? {
            wait = Duration::ZERO;
            let Event::Key(key) = event::read().map_err(|e| fail(&e))? else { continue };
            match app.key(key) {
                Action::None => {}
                Action::Quit => return Ok(()),
                Action::Pause(paused) => shared.pause(paused),
                Action::Record(path) => shared.wish(Wish::Record(path)),
                Action::StopRecording => shared.wish(Wish::StopRecording),
                Action::Set(name, value) => ask(Wanted::Set(name, value)),
                Action::Switch(to) => {
                    app.say(format!("loading {to} …"));
                    ask(Wanted::Switch(to));
                }
            }
        }
    }
    Ok(())
}

/// What is new since the last frame; a picture that is held stays.
pub(super) fn take(app: &mut App, shared: &Shared) {
    let mut latest = shared.latest();
    if !app.is_paused() {
        app.snapshot = Arc::clone(&latest.snapshot);
        app.ended = latest.ended;
    }
    app.policy.clone_from(&latest.policy);
    app.scheduler.clone_from(&latest.scheduler);
    app.recording.clone_from(&latest.recording);
    app.lost = latest.lost;
    if let Some(what) = latest.said.take() {
        app.say(what);
    }
}
