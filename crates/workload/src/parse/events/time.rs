// SPDX-License-Identifier: MIT OR Apache-2.0
//! `run`, `runtime`, `sleep`, `timer` and `yield`.

use std::collections::HashMap;

use super::{sockets, Place};
use crate::error::WorkloadError;
use crate::event::{Event, TimeEvent, TimerKind, TimerRef};
use crate::json::Member;
use crate::parse::members::Object;
use crate::parse::{keys, span};
use crate::random::Span;
use crate::requests::model::Spend;

/// Timers by name, in order of first mention.
#[derive(Default)]
pub(in crate::parse) struct Timers {
    index: HashMap<String, u32>,
    pub(in crate::parse) kinds: Vec<TimerKind>,
}

impl Timers {
    /// The timer's index. One absolute mention makes it absolute, as in rt-app.
    fn mention(&mut self, name: &str, kind: TimerKind) -> u32 {
        let next = self.kinds.len() as u32;
        let index = *self.index.entry(name.to_owned()).or_insert(next);
        if index == next {
            self.kinds.push(kind);
        }
        if kind == TimerKind::Absolute {
            self.kinds[index as usize] = kind;
        }
        index
    }
}

/// `run`.
pub(in crate::parse) fn run(
    place: &mut Place<'_>,
    member: &Member,
) -> Result<Event, WorkloadError> {
    match sockets::spend(place, member, Spend::Run)? {
        Some(event) => Ok(event),
        None => Ok(Event::Time(TimeEvent::Run(span::read(place.scope, member)?))),
    }
}

/// `runtime`.
pub(in crate::parse) fn runtime(
    place: &mut Place<'_>,
    member: &Member,
) -> Result<Event, WorkloadError> {
    match sockets::spend(place, member, Spend::Runtime)? {
        Some(event) => Ok(event),
        None => Ok(Event::Time(TimeEvent::Runtime(span::read(place.scope, member)?))),
    }
}

/// `sleep`.
pub(in crate::parse) fn sleep(
    place: &mut Place<'_>,
    member: &Member,
) -> Result<Event, WorkloadError> {
    match sockets::spend(place, member, Spend::Sleep)? {
        Some(event) => Ok(event),
        None => Ok(Event::Time(TimeEvent::Sleep(span::read(place.scope, member)?))),
    }
}

/// `yield`. Its value means nothing, to rt-app neither.
pub(in crate::parse) fn yields(_: &mut Place<'_>, _: &Member) -> Result<Event, WorkloadError> {
    Ok(Event::Time(TimeEvent::Yield))
}

/// `timer`.
pub(in crate::parse) fn timer(
    place: &mut Place<'_>,
    member: &Member,
) -> Result<Event, WorkloadError> {
    let scope = place.scope;
    let object = Object::of(scope, "\"timer\"", &member.node)?;
    object.only(&["ref", "period", "mode"])?;
    let name = match object.get("ref")? {
        Some(name) => scope.string(name)?,
        None => "unknown",
    };
    let period = object.get("period")?.map(|m| span::read(scope, m)).transpose()?;
    let kind = match object.get("mode")? {
        None => TimerKind::Relative,
        Some(mode) => match scope.string(mode)? {
            "relative" => TimerKind::Relative,
            "absolute" => TimerKind::Absolute,
            other => {
                let known = ["relative", "absolute"].into_iter();
                let message = keys::unknown("timer mode", other, known);
                return Err(scope.error(mode.node.at, message));
            }
        },
    };
    let timer = if name.starts_with("unique") {
        TimerRef::Own(place.own.timers.mention(name, kind))
    } else {
        TimerRef::Shared(place.names.shared_timers.mention(name, kind))
    };
    let period = period.unwrap_or(Span::Fixed(0));
    Ok(Event::Time(TimeEvent::Timer { timer, period }))
}
