// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the threads give to each other: pictures of the state one way, wishes the other. Nobody waits
//! for anybody longer than a copy takes.

use crate::error::Error;
use rota_top::{Policy, Snapshot};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What the screen is made of.
#[derive(Debug, Default)]
pub(super) struct Latest {
    pub(super) snapshot: Arc<Snapshot>,
    pub(super) policy: Option<Policy>,
    pub(super) scheduler: Option<String>,
    pub(super) lost: u64,
    /// There are no more events.
    pub(super) ended: bool,
    /// The file that is recorded into.
    pub(super) recording: Option<String>,
    /// To be said to the user.
    pub(super) said: Option<String>,
}

/// What the user wants of the recording.
#[derive(Debug)]
pub(super) enum Wish {
    Record(String),
    StopRecording,
}

#[derive(Debug, Default)]
pub(super) struct Shared {
    latest: Mutex<Latest>,
    wishes: Mutex<VecDeque<Wish>>,
    stop: AtomicBool,
    paused: AtomicBool,
}

impl Shared {
    /// The latest, to be looked at or changed for a moment.
    pub(super) fn latest(&self) -> MutexGuard<'_, Latest> {
        // Each change is complete in itself.
        self.latest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn say(&self, what: String) {
        self.latest().said = Some(what);
    }

    /// An error that does not end anything.
    pub(super) fn complain(&self, error: &Error) {
        self.say(format!("error: {error}"));
    }

    pub(super) fn wish(&self, wish: Wish) {
        self.wishes.lock().unwrap_or_else(PoisonError::into_inner).push_back(wish);
    }

    pub(super) fn next_wish(&self) -> Option<Wish> {
        self.wishes.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }

    pub(super) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    pub(super) fn pause(&self, paused: bool) {
        self.paused.store(paused, Ordering::Relaxed);
    }

    pub(super) fn is_paused(&self) -> bool {
        self.paused.load(Ordering::Relaxed)
    }
}
