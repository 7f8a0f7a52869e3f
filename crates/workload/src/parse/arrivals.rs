// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arrival times from a list in the file, or from a file of their own.

use super::members::Scope;
use super::span::MAX_US;
use super::Files;
use crate::error::WorkloadError;
use crate::json::{Member, Node, Pos, Value};
use crate::requests::model::Arrival;

/// `at`: an array, or the name of a file.
pub(super) fn read(
    scope: Scope<'_>,
    member: &Member,
    files: Files<'_>,
) -> Result<Vec<Arrival>, WorkloadError> {
    match &member.node.value {
        Value::Array(items) => list(scope, items),
        Value::String(name) => {
            let read = files(name);
            let text = read.map_err(|why| {
                scope.error(member.node.at, format!("cannot read arrivals from {name:?}: {why}"))
            })?;
            file(Scope::file(name), &text)
        }
        _ => Err(scope.mismatch(member, "an array of times or the name of a file")),
    }
}

/// Times in microseconds, or `[time, demand]`.
fn list(scope: Scope<'_>, items: &[Node]) -> Result<Vec<Arrival>, WorkloadError> {
    let mut arrivals = Vec::with_capacity(items.len());
    for item in items {
        let time = |node: &Node| match node.value {
            Value::Int(us) => ns(us as f64),
            Value::Float(us) => ns(us),
            _ => None,
        };
        let found = match &item.value {
            Value::Array(pair) if pair.len() == 2 => time(&pair[0]).zip(time(&pair[1]).map(Some)),
            _ => time(item).map(|at_ns| (at_ns, None)),
        };
        let Some((at_ns, demand_ns)) = found else {
            let message = format!(
                "an arrival is a time from 0 to {MAX_US} microseconds or [time, demand], not {}",
                item.value
            );
            return Err(scope.error(item.at, message));
        };
        push(&mut arrivals, scope, item.at, Arrival { at_ns, demand_ns })?;
    }
    Ok(arrivals)
}

/// A line for each arrival: its time and, if it has one, its demand, separated by a comma or
/// blanks. What follows a `#` is a comment.
fn file(scope: Scope<'_>, text: &str) -> Result<Vec<Arrival>, WorkloadError> {
    let mut arrivals = Vec::new();
    for (line, text) in (1u32..).zip(text.lines()) {
        let place = Pos { line, column: 1 };
        let text = text.split('#').next().unwrap_or("");
        let mut fields = text.split([',', ' ', '\t', '\r']).filter(|field| !field.is_empty());
        let Some(first) = fields.next() else {
            continue;
        };
        let bad = |field: &str| {
            let message = format!(
                "{field:?} is not a time from 0 to {MAX_US} microseconds: a line holds the time of \
                 an arrival and perhaps its demand"
            );
            scope.error(place, message)
        };
        let time = |field: &str| field.parse().ok().and_then(ns).ok_or_else(|| bad(field));
        let arrival =
            Arrival { at_ns: time(first)?, demand_ns: fields.next().map(time).transpose()? };
        if let Some(more) = fields.next() {
            return Err(bad(more));
        }
        push(&mut arrivals, scope, place, arrival)?;
    }
    Ok(arrivals)
}

fn push(
    arrivals: &mut Vec<Arrival>,
    scope: Scope<'_>,
    place: Pos,
    arrival: Arrival,
) -> Result<(), WorkloadError> {
    if arrivals.last().is_some_and(|last| last.at_ns > arrival.at_ns) {
        let message = "this arrival is before the one above it: they must be in order of time";
        return Err(scope.error(place, message));
    }
    arrivals.push(arrival);
    Ok(())
}

fn ns(us: f64) -> Option<u64> {
    (us >= 0.0 && us <= MAX_US as f64).then(|| libm::round(us * 1000.0) as u64)
}
