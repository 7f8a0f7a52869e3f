// SPDX-License-Identifier: MIT OR Apache-2.0
//! `fork`, `vfork`, `exit`, `suspend` and `resume`: events of whole tasks.

use super::{meetings, Place};
use crate::error::WorkloadError;
use crate::event::{Call, Event, TaskEvent};
use crate::json::{Member, Value};
use crate::parse::keys;
use crate::parse::members::Object;
use crate::parse::span::MAX_US;

/// `fork`.
pub(in crate::parse) fn fork(
    place: &mut Place<'_>,
    member: &Member,
) -> Result<Event, WorkloadError> {
    Ok(Event::Task(TaskEvent::Fork { definition: task(place, member)?, call: None }))
}

/// `vfork`.
pub(in crate::parse) fn vfork(
    place: &mut Place<'_>,
    member: &Member,
) -> Result<Event, WorkloadError> {
    let object = Object::of(place.scope, &format!("{:?}", member.key), &member.node)?;
    object.only(&["fork", "run", "sem_wait"])?;
    let (Some(forked), Some(semaphore)) = (object.get("fork")?, object.get("sem_wait")?) else {
        let message = format!("{:?} needs \"fork\" and \"sem_wait\"", member.key);
        return Err(place.scope.error(object.at, message));
    };
    let definition = task(place, forked)?;
    let semaphore = meetings::semaphore(place, semaphore)?;
    let run_us = object.get("run")?.map_or(Ok(0), |run| place.scope.integer(run, 0..=MAX_US))?;
    let call = Some(Call { run_ns: run_us as u64 * 1000, semaphore });
    Ok(Event::Task(TaskEvent::Fork { definition, call }))
}

/// `exit`. The semaphore may be left out.
pub(in crate::parse) fn exit(
    place: &mut Place<'_>,
    member: &Member,
) -> Result<Event, WorkloadError> {
    let is_named = match member.node.value {
        Value::Missing => false,
        _ => !place.scope.string(member)?.is_empty(),
    };
    let semaphore = is_named.then(|| meetings::semaphore(place, member)).transpose()?;
    Ok(Event::Task(TaskEvent::Exit { semaphore }))
}

/// The index of a name that a `resume` can have, where rt-app 1.0 takes any.
fn resume_name(place: &mut Place<'_>, name: &str) -> Option<u32> {
    if let Some(definition) = place.names.tasks.get(name) {
        return Some(*definition);
    }
    let tasks = place.names.tasks.len() as u32;
    let others = place.names.resumes.as_mut()?;
    let next = tasks + others.len() as u32;
    Some(*others.entry(name.to_owned()).or_insert(next))
}

/// `resume`. As in rt-app, a name that no task has wakes no task; in version 1.0 a name is free.
pub(in crate::parse) fn resume(
    place: &mut Place<'_>,
    member: &Member,
) -> Result<Event, WorkloadError> {
    let scope = place.scope;
    let text = scope.string(member)?;
    let name = resume_name(place, text);
    if name.is_none() {
        let message = format!("\"resume\" wakes no task: {}", unknown(place, text));
        place.names.warnings.push(place.scope.error(member.node.at, message));
    }
    Ok(Event::Task(TaskEvent::Resume { name }))
}

/// `suspend`. A task suspends itself, whatever the value says; it may also be left out. In rt-app
/// 1.0 the value names what resumes it.
pub(in crate::parse) fn suspend(
    place: &mut Place<'_>,
    member: &Member,
) -> Result<Event, WorkloadError> {
    let scope = place.scope;
    let own = scope.task_name().unwrap_or_default();
    let name = match member.node.value {
        Value::Missing => "",
        _ => scope.string(member)?,
    };
    if place.names.resumes.is_some() && !name.is_empty() {
        return Ok(Event::Task(TaskEvent::Suspend { name: resume_name(place, name) }));
    }
    if !name.is_empty() && name != own {
        let message = format!(
            "\"suspend\" names {name:?}, but a task suspends itself: only a resume of {own:?} wakes it"
        );
        place.names.warnings.push(scope.error(member.node.at, message));
    }
    Ok(Event::Task(TaskEvent::Suspend { name: None }))
}

/// The task that an event names.
fn task(place: &Place<'_>, member: &Member) -> Result<u32, WorkloadError> {
    let name = place.scope.string(member)?;
    match place.names.tasks.get(name) {
        Some(definition) => Ok(*definition),
        None => Err(place.scope.error(member.node.at, unknown(place, name))),
    }
}

fn unknown(place: &Place<'_>, name: &str) -> String {
    let mut known: Vec<&str> = place.names.tasks.keys().map(String::as_str).collect();
    known.sort_unstable();
    keys::unknown("task", name, known.into_iter())
}
