// SPDX-License-Identifier: MIT OR Apache-2.0
//! `lock`, `unlock`, `wait`, `signal`, `broad` and `sync`: mutexes and condition variables.

use super::{NameList, Place};
use crate::error::WorkloadError;
use crate::event::{Event, LockEvent};
use crate::json::Member;
use crate::parse::members::Object;

/// The mutexes and condition variables of a file. A mutex and a condition may share a name.
#[derive(Default)]
pub(in crate::parse) struct Locks {
    pub(in crate::parse) mutexes: NameList,
    pub(in crate::parse) conditions: NameList,
}

/// What rt-app calls a resource without a name.
const UNNAMED: &str = "unknown";

/// `lock`.
pub(in crate::parse) fn lock(
    place: &mut Place<'_>,
    member: &Member,
) -> Result<Event, WorkloadError> {
    Ok(Event::Lock(LockEvent::Lock { mutex: mutex(place, member)? }))
}

/// `unlock`.
pub(in crate::parse) fn unlock(
    place: &mut Place<'_>,
    member: &Member,
) -> Result<Event, WorkloadError> {
    Ok(Event::Lock(LockEvent::Unlock { mutex: mutex(place, member)? }))
}

/// `signal`.
pub(in crate::parse) fn signal(
    place: &mut Place<'_>,
    member: &Member,
) -> Result<Event, WorkloadError> {
    Ok(Event::Lock(LockEvent::Signal { condition: condition(place, member)? }))
}

/// `broad`.
pub(in crate::parse) fn broad(
    place: &mut Place<'_>,
    member: &Member,
) -> Result<Event, WorkloadError> {
    Ok(Event::Lock(LockEvent::Broad { condition: condition(place, member)? }))
}

/// `wait`.
pub(in crate::parse) fn wait(
    place: &mut Place<'_>,
    member: &Member,
) -> Result<Event, WorkloadError> {
    let (condition, mutex) = pair(place, member)?;
    Ok(Event::Lock(LockEvent::Wait { condition, mutex }))
}

/// `sync`.
pub(in crate::parse) fn sync(
    place: &mut Place<'_>,
    member: &Member,
) -> Result<Event, WorkloadError> {
    let (condition, mutex) = pair(place, member)?;
    Ok(Event::Lock(LockEvent::Sync { condition, mutex }))
}

fn mutex(place: &mut Place<'_>, member: &Member) -> Result<u32, WorkloadError> {
    Ok(place.names.locks.mutexes.mention(place.scope.string(member)?))
}

fn condition(place: &mut Place<'_>, member: &Member) -> Result<u32, WorkloadError> {
    Ok(place.names.locks.conditions.mention(place.scope.string(member)?))
}

/// The condition and the mutex of `{"ref": …, "mutex": …}`.
fn pair(place: &mut Place<'_>, member: &Member) -> Result<(u32, u32), WorkloadError> {
    let object = Object::of(place.scope, &format!("{:?}", member.key), &member.node)?;
    object.only(&["ref", "mutex"])?;
    let name = |key| object.get(key)?.map_or(Ok(UNNAMED), |m| place.scope.string(m));
    let (condition, mutex) = (name("ref")?, name("mutex")?);
    let locks = &mut place.names.locks;
    Ok((locks.conditions.mention(condition), locks.mutexes.mention(mutex)))
}
