// SPDX-License-Identifier: MIT OR Apache-2.0
//! This computer's kernel, now: what it counts, or else its events.

use super::around::Around;
use super::shared::Shared;
use super::{counted, events};
use crate::commands::record::{warn, Session, TargetArgs, Wanted};
use crate::error::Error;
use crate::output::messages;
use crate::stop::Stop;
use rota_kernel::counts::{CountOptions, Counter};
use rota_kernel::events::{Facts, RecordError};
use rota_top::{Snapshot, HALF_NS};
use std::sync::Arc;

/// Where numbers come from.
pub(super) enum Live<'a> {
    Counts(Box<Counter>, Stop),
    Events(Box<Session<'a>>),
}

/// How it ended.
pub(super) struct Ended {
    /// The last picture.
    pub(super) snapshot: Snapshot,
    /// What must be known of events; or how much was not counted.
    lost: Lost,
}

enum Lost {
    Events(Box<Facts>),
    Counts(u64),
}

/// Events are shown as they come, and of tasks that ended nothing is kept for longer than that.
const LIVE: Wanted = Wanted { live: true, last_ns: Some(2 * HALF_NS), transfers: false };

/// Begins, and says what is not as it should be.
pub(super) fn begin(target: &TargetArgs) -> Result<(Live<'_>, Option<String>), Error> {
    let options =
        CountOptions { scope: target.scope()?, kernel_threads: !target.no_kernel_threads };
    match Counter::start(&options) {
        Ok(counter) => Ok((Live::Counts(Box::new(counter), Stop::listen()?), None)),
        // Events need less of a kernel.
        Err(error @ RecordError::Refused { .. }) => {
            let why = error.to_string();
            let why = why.lines().next().unwrap_or_default();
            let note = format!("this kernel counts nothing, events cost more CPU time: {why}");
            let session = Session::start(target, LIVE)?;
            Ok((Live::Events(Box::new(session)), Some(note)))
        }
        Err(error) => Err(error.into()),
    }
}

/// Shows what happens until the user has enough, or for so long.
pub(super) fn follow(
    live: Live<'_>,
    target: &TargetArgs,
    until_ns: Option<u64>,
    shared: &Arc<Shared>,
) -> Result<Ended, Error> {
    let mut around = Around::new(target, shared);
    match live {
        Live::Counts(counter, stop) => {
            let (snapshot, lost) = counted::follow(*counter, &stop, until_ns, &mut around);
            Ok(Ended { snapshot, lost: Lost::Counts(lost) })
        }
        Live::Events(session) => {
            let (snapshot, facts) = events::follow(*session, until_ns, &mut around)?;
            Ok(Ended { snapshot, lost: Lost::Events(Box::new(facts)) })
        }
    }
}

impl Ended {
    /// Losses are never silent.
    pub(super) fn warn(&self, target: &TargetArgs) {
        match &self.lost {
            Lost::Events(facts) => warn(facts, target.buffer),
            Lost::Counts(0) => {}
            Lost::Counts(lost) => messages::warning(&format!(
                "{lost} wakeups or tasks were not counted for want of room: numbers are too low"
            )),
        }
    }
}
