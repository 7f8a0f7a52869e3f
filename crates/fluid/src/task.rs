// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is known of a task at the last event.

use crate::crossing::Waiting;
use crate::level::Member;
use crate::sessions::Sleeps;
use libm::log;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum State {
    /// It wakes, or arrives, then.
    Until(f64),
    /// In the scheduled set.
    Scheduled,
    /// It could run, and does not.
    Waiting,
    Over,
}

#[derive(Clone, Debug)]
pub(crate) struct Task {
    pub(crate) state: State,
    /// When its session began, moved by what does not count.
    pub(crate) origin: f64,
    pub(crate) ln_weight: f64,
    /// S: in its session.
    pub(crate) service: f64,
    /// Its logarithm, also where S is too small for a number.
    pub(crate) ln_service: f64,
    /// S at which the step at hand is done.
    pub(crate) goal: f64,
    /// Received before its session.
    pub(crate) before: f64,
    pub(crate) sleeps: Sleeps,
    /// When it went to sleep; `None`: it has not arrived yet.
    pub(crate) asleep_since: Option<f64>,
    /// When it woke, and what it had received in all its life.
    pub(crate) awake_since: (f64, f64),
}

impl Task {
    pub(crate) fn new(arrival: f64, weight: f64) -> Self {
        Self {
            state: State::Until(arrival),
            origin: arrival,
            ln_weight: log(weight),
            service: 0.0,
            ln_service: f64::NEG_INFINITY,
            goal: 0.0,
            before: 0.0,
            sleeps: Sleeps::default(),
            asleep_since: None,
            awake_since: (arrival, 0.0),
        }
    }

    pub(crate) fn member(&self, task: usize) -> Member {
        Member { task, origin: self.origin, ln_weight: self.ln_weight }
    }

    pub(crate) fn waiting(&self, task: usize) -> Waiting {
        Waiting { member: self.member(task), ln_service: self.ln_service }
    }

    /// Received in all its life.
    pub(crate) fn received(&self) -> f64 {
        self.before + self.service
    }

    /// Keeps S, with its logarithm if that is known better.
    pub(crate) fn serve(&mut self, service: f64, ln_service: f64) {
        (self.service, self.ln_service) = (service, ln_service);
    }
}
