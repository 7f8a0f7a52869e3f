// SPDX-License-Identifier: MIT OR Apache-2.0
//! `fork`, `suspend` and `resume`: events that name tasks.

use super::Place;
use crate::error::WorkloadError;
use crate::event::{Event, TaskEvent};
use crate::json::{Member, Value};
use crate::parse::keys;

/// `fork`.
pub(in crate::parse) fn fork(
    place: &mut Place<'_>,
    member: &Member,
) -> Result<Event, WorkloadError> {
    Ok(Event::Task(TaskEvent::Fork { definition: task(place, member)? }))
}

/// `resume`. As in rt-app, a name that no task has wakes nobody.
pub(in crate::parse) fn resume(
    place: &mut Place<'_>,
    member: &Member,
) -> Result<Event, WorkloadError> {
    let name = place.scope.string(member)?;
    let definition = place.names.tasks.get(name).copied();
    if definition.is_none() {
        let message = format!("\"resume\" wakes nobody: {}", unknown(place, name));
        place.names.warnings.push(place.scope.error(member.node.at, message));
    }
    Ok(Event::Task(TaskEvent::Resume { definition }))
}

/// `suspend`. A task suspends itself, whatever the value says; it may also be left out.
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
    if !name.is_empty() && name != own {
        let message = format!(
            "\"suspend\" names {name:?}, but a task suspends itself: only a resume of {own:?} wakes it"
        );
        place.names.warnings.push(scope.error(member.node.at, message));
    }
    Ok(Event::Task(TaskEvent::Suspend))
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
