// SPDX-License-Identifier: MIT OR Apache-2.0
//! The events of a phase.

use std::collections::HashMap;

use super::keys::{self, EventKey, Kind};
use super::members::{Object, Scope};
use super::{span, Names};
use crate::error::WorkloadError;
use crate::json::Member;
use crate::model::{Event, TimerKind, TimerRef};
use crate::random::Span;

/// Timers by name, in order of first mention.
#[derive(Default)]
pub(super) struct Timers {
    index: HashMap<String, u32>,
    pub(super) kinds: Vec<TimerKind>,
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

/// What the events of a task share.
pub(super) struct Own {
    /// Its "unique…" timers.
    pub(super) timers: Timers,
    /// How many of it start by themselves.
    pub(super) instances: u32,
}

/// The events of a phase (or of a task without phases) in file order.
pub(super) fn read(
    object: &Object<'_>,
    names: &mut Names,
    own: &mut Own,
) -> Result<Vec<Event>, WorkloadError> {
    let mut events = Vec::new();
    for member in object.members {
        if let Kind::Event(kind) = keys::kind(&member.key) {
            events.push(event(object.scope, member, kind, names, own)?);
        }
    }
    if events.is_empty() {
        let message = "there is no event: it needs at least one of run, runtime, sleep, timer, \
                       yield, fork, suspend, resume, barrier, sem_post or sem_wait";
        return Err(object.scope.error(object.line, message));
    }
    Ok(events)
}

fn event(
    scope: Scope<'_>,
    member: &Member,
    kind: EventKey,
    names: &mut Names,
    own: &mut Own,
) -> Result<Event, WorkloadError> {
    Ok(match kind {
        EventKey::Run => Event::Run(span::read(scope, member)?),
        EventKey::Runtime => Event::Runtime(span::read(scope, member)?),
        EventKey::Sleep => Event::Sleep(span::read(scope, member)?),
        EventKey::Timer => timer(scope, member, &mut names.shared_timers, &mut own.timers)?,
        // Its value means nothing, to rt-app neither.
        EventKey::Yield => Event::Yield,
        EventKey::Fork => Event::Fork { definition: task(scope, member, names)? },
        EventKey::Suspend => suspend(scope, member)?,
        EventKey::Resume => Event::Resume { definition: task(scope, member, names)? },
        EventKey::SemPost => Event::SemPost { semaphore: names.meetings.semaphore(scope, member)? },
        EventKey::SemWait => Event::SemWait { semaphore: names.meetings.semaphore(scope, member)? },
        EventKey::Barrier => {
            Event::Barrier { barrier: names.meetings.barrier(scope, member, own.instances)? }
        }
    })
}

/// The task that an event names.
fn task(scope: Scope<'_>, member: &Member, names: &Names) -> Result<u32, WorkloadError> {
    let name = scope.string(member)?;
    match names.tasks.get(name) {
        Some(definition) => Ok(*definition),
        None => {
            let mut known: Vec<&str> = names.tasks.keys().map(String::as_str).collect();
            known.sort_unstable();
            let message = keys::unknown("task", name, known.into_iter());
            Err(scope.error(member.node.line, message))
        }
    }
}

/// A task suspends itself only; rt-app does not look at the value.
fn suspend(scope: Scope<'_>, member: &Member) -> Result<Event, WorkloadError> {
    let name = scope.string(member)?;
    if name.is_empty() || scope.task_name() == Some(name) {
        return Ok(Event::Suspend);
    }
    let wanted = format!("\"\" or {:?}: a task suspends itself", scope.task_name().unwrap_or(""));
    Err(scope.mismatch(member, wanted))
}

fn timer(
    scope: Scope<'_>,
    member: &Member,
    shared: &mut Timers,
    own: &mut Timers,
) -> Result<Event, WorkloadError> {
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
                return Err(scope.error(mode.node.line, message));
            }
        },
    };
    let timer = if name.starts_with("unique") {
        TimerRef::Own(own.mention(name, kind))
    } else {
        TimerRef::Shared(shared.mention(name, kind))
    };
    Ok(Event::Timer { timer, period: period.unwrap_or(Span::Fixed(0)) })
}
