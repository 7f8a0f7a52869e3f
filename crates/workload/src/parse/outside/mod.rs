// SPDX-License-Identifier: MIT OR Apache-2.0
//! The section `"events"`: what happens from outside, and when.

use std::collections::HashMap;
use std::sync::Arc;

use super::groups::Groups;
use super::keys;
use super::members::{Object, Scope};
use super::span::MAX_US;
use crate::duration::parse_duration;
use crate::error::WorkloadError;
use crate::events::{Action, OutsideEvent, When};
use crate::json::{Member, Node, Pos, Value};
use crate::model::Task;
use crate::random::MAX_SPAN_NS;

mod subjects;

/// How many events a file may have.
const MAX_EVENTS: usize = 100_000;

/// What a file has that events can be about.
pub(super) struct Known<'a> {
    pub(super) tasks: &'a HashMap<String, u32>,
    pub(super) instances: &'a [Task],
    pub(super) groups: &'a Groups,
    /// Mutexes lend priority.
    pub(super) lends: bool,
    /// Cgroups that events make.
    pub(super) made: Vec<String>,
}

/// Keys of every event.
const COMMON: [&str; 4] = ["name", "at", "after", "delay"];

/// An event whose time may depend on a later one.
struct Draft<'a> {
    at: Pos,
    name: Option<&'a str>,
    start: Start<'a>,
    action: Action,
}

enum Start<'a> {
    At(u64),
    /// The event, and the place where it is named.
    After(&'a str, Pos, u64),
}

/// Reads `events`.
pub(super) fn read(
    root: &Object<'_>,
    mut known: Known<'_>,
) -> Result<Vec<OutsideEvent>, WorkloadError> {
    let Some(member) = root.get("events")? else {
        return Ok(Vec::new());
    };
    let scope = root.scope;
    let Value::Array(nodes) = &member.node.value else {
        return Err(scope.mismatch(member, "an array of events [{…}]"));
    };
    if nodes.len() > MAX_EVENTS {
        let message = format!("{} events: at most {MAX_EVENTS} are possible", nodes.len());
        return Err(scope.error(member.at, message));
    }
    known.made = nodes.iter().filter_map(made).collect();
    let mut drafts = Vec::with_capacity(nodes.len());
    let mut names = HashMap::new();
    for (index, node) in (0u32..).zip(nodes) {
        let object = Object::of(scope, "an event", node)?;
        let draft = draft(&object, &known)?;
        if let Some(name) = draft.name {
            if names.insert(name, index).is_some() {
                let message = format!("another event has the name {name:?} already");
                return Err(scope.error(object.place_of("name"), message));
            }
        }
        drafts.push(draft);
    }
    let times = times(scope, &drafts, &names)?;
    let event = |(draft, (when, at_ns)): (Draft<'_>, (When, u64))| {
        let place = scope.place(draft.at);
        let name = draft.name.map(Arc::from);
        OutsideEvent { place, name, when, at_ns, action: draft.action, by_loader: false }
    };
    Ok(drafts.into_iter().zip(times).map(event).collect())
}

/// The cgroup that an event makes, if it makes one.
fn made(node: &Node) -> Option<String> {
    let Value::Object(members) = &node.value else { return None };
    let value = |key: &str| members.iter().find(|member| member.key == key);
    match (&value("cgroup")?.node.value, value("create")) {
        (Value::String(path), Some(_)) => Some(path.strip_suffix('/').unwrap_or(path).to_owned()),
        _ => None,
    }
}

fn draft<'a>(object: &Object<'a>, known: &Known<'_>) -> Result<Draft<'a>, WorkloadError> {
    let scope = object.scope;
    let name = object.get("name")?.map(|member| scope.string(member)).transpose()?;
    if name.is_some_and(|name| name.is_empty() || name.contains(char::is_control)) {
        let message = format!("{:?} is not a valid name for an event", name.unwrap_or_default());
        return Err(scope.error(object.place_of("name"), message));
    }
    let delay = object.get("delay")?;
    let start = match (object.get("at")?, object.get("after")?) {
        (Some(at), None) => {
            if let Some(delay) = delay {
                let message = "\"delay\" belongs to \"after\": add it to \"at\"";
                return Err(scope.error(delay.at, message));
            }
            Start::At(time(scope, at)?)
        }
        (None, Some(after)) => {
            let delay_ns = delay.map_or(Ok(0), |delay| time(scope, delay))?;
            Start::After(scope.string(after)?, after.node.at, delay_ns)
        }
        (None, None) => {
            let message = "an event needs \"at\" (a time) or \"after\" (the name of another event)";
            return Err(scope.error(object.at, message));
        }
        (Some(_), Some(after)) => {
            let message = "an event has \"at\" or \"after\", not both";
            return Err(scope.error(after.at, message));
        }
    };
    Ok(Draft { at: object.at, name, start, action: subjects::read(object, known)? })
}

/// Microseconds, or a text with a unit.
fn time(scope: Scope<'_>, member: &Member) -> Result<u64, WorkloadError> {
    let ns = match &member.node.value {
        Value::Int(us) if (0..=MAX_US).contains(us) => Some(*us as u64 * 1000),
        Value::String(text) => {
            let ns = parse_duration(text).map_err(|error| {
                scope.error(member.node.at, format!("{:?}: {error}", member.key))
            })?;
            (ns <= MAX_SPAN_NS).then_some(ns)
        }
        _ => None,
    };
    let wanted =
        format_args!("microseconds (a whole number from 0 to {MAX_US}) or a text as \"1.5s\"")
            .to_string();
    ns.ok_or_else(|| scope.mismatch(member, wanted))
}

/// When each event happens.
fn times(
    scope: Scope<'_>,
    drafts: &[Draft<'_>],
    names: &HashMap<&str, u32>,
) -> Result<Vec<(When, u64)>, WorkloadError> {
    let mut whens = Vec::with_capacity(drafts.len());
    for draft in drafts {
        whens.push(match draft.start {
            Start::At(_) => When::At,
            Start::After(name, at, delay_ns) => match names.get(name) {
                Some(index) => When::After(*index, delay_ns),
                None => {
                    let mut known: Vec<&str> = names.keys().copied().collect();
                    known.sort_unstable();
                    let message = if known.is_empty() {
                        format!("unknown event {name:?}: no event has a \"name\"")
                    } else {
                        keys::unknown("event", name, known.into_iter())
                    };
                    return Err(scope.error(at, message));
                }
            },
        });
    }
    let mut times: Vec<Option<u64>> = drafts
        .iter()
        .map(|draft| match draft.start {
            Start::At(ns) => Some(ns),
            Start::After(..) => None,
        })
        .collect();
    for first in 0..drafts.len() {
        // Back to an event whose time is known, then forth again.
        let mut chain = Vec::new();
        let mut at = first;
        while let (None, When::After(before, _)) = (times[at], whens[at]) {
            if chain.len() > drafts.len() {
                return Err(cycle(scope, drafts, &whens, at));
            }
            chain.push(at);
            at = before as usize;
        }
        let mut ns = times[at].unwrap_or(0);
        for at in chain.into_iter().rev() {
            if let When::After(_, delay_ns) = whens[at] {
                ns = ns.saturating_add(delay_ns);
            }
            times[at] = Some(ns);
        }
    }
    Ok(whens.into_iter().zip(times.into_iter().map(Option::unwrap_or_default)).collect())
}

/// The error for events that wait for each other; `at` is one of them.
fn cycle(scope: Scope<'_>, drafts: &[Draft<'_>], whens: &[When], at: usize) -> WorkloadError {
    const MOST: usize = 8;
    let after = |at: usize| match whens[at] {
        When::After(before, _) => before as usize,
        When::At => at,
    };
    let mut circle = vec![at];
    while after(circle[circle.len() - 1]) != at {
        circle.push(after(circle[circle.len() - 1]));
    }
    // From the first in the file, so that the message is the same from wherever it was found.
    let first = circle.iter().enumerate().min_by_key(|(_, event)| **event).map_or(0, |(i, _)| i);
    circle.rotate_left(first);
    let name = |event: &usize| format!("{:?}", drafts[*event].name.unwrap_or_default());
    let mut chain: Vec<String> = circle.iter().take(MOST).map(name).collect();
    if circle.len() > MOST {
        chain.push("…".into());
    }
    chain.push(name(&circle[0]));
    let place = match drafts[circle[0]].start {
        Start::After(_, place, _) => place,
        Start::At(_) => drafts[circle[0]].at,
    };
    let message =
        format!("these events wait for each other and never happen: {}", chain.join(" after "));
    scope.error(place, message)
}

#[cfg(test)]
mod tests;
