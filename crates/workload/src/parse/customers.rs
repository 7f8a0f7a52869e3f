// SPDX-License-Identifier: MIT OR Apache-2.0
//! Customers: who sends requests from outside, how often, and what they ask for.

use super::members::{Object, Scope};
use super::sockets::Sockets;
use super::{arrivals, span, Files};
use crate::error::WorkloadError;
use crate::json::{Member, Value};
use crate::random::{Span, MAX_SPAN_NS};
use crate::requests::model::{Customers, Pattern};

const KEYS: [&str; 12] = [
    "to", "rate", "every", "at", "users", "think", "demand", "delay", "count", "batch", "on", "off",
];

/// The keys of which one says when customers send.
const WHEN: [&str; 4] = ["rate", "every", "at", "users"];

/// The most users of one kind, and the most requests that arrive together.
const MAX_USERS: i64 = 100_000;
const MAX_BATCH: i64 = 100_000;

/// The most arrivals in a second.
const MAX_RATE: f64 = 1e7;

/// Reads `customers`.
pub(super) fn read(
    root: &Object<'_>,
    sockets: &mut Sockets,
    files: Files<'_>,
) -> Result<Vec<Customers>, WorkloadError> {
    let Some(member) = root.get("customers")? else {
        return Ok(Vec::new());
    };
    let object = Object::of(root.scope, "\"customers\"", &member.node)?;
    let mut all = Vec::with_capacity(object.members.len());
    for (at, member) in object.members.iter().enumerate() {
        let Member { key, at: place, .. } = member;
        if key.is_empty() || key.contains(char::is_control) {
            let message = format!("{key:?} is not a valid name for customers");
            return Err(object.scope.error(*place, message));
        }
        if object.members[..at].iter().any(|m| m.key == *key) {
            let message = format!("other customers have the name {key:?} already");
            return Err(object.scope.error(*place, message));
        }
        all.push(customers(object.scope, member, sockets, files)?);
    }
    Ok(all)
}

fn customers(
    scope: Scope<'_>,
    member: &Member,
    sockets: &mut Sockets,
    files: Files<'_>,
) -> Result<Customers, WorkloadError> {
    let object = Object::of(scope, "customers", &member.node)?;
    object.only(&KEYS)?;
    let Some(to) = object.get("to")? else {
        return Err(scope.error(object.at, "customers need \"to\", the name of a socket"));
    };
    let socket = sockets.find(scope, to)?;
    let class = sockets.class(scope, to, &member.key, socket);
    let pattern = pattern(&object, files)?;
    if matches!(pattern, Pattern::Closed { .. }) {
        sockets.needs_answers(scope, to, socket);
    }
    let duration = |key: &str| object.get(key)?.map(|m| span::read(scope, m)).transpose();
    let count = object.get("count")?.map(|m| scope.integer(m, 1..=i64::MAX)).transpose()?;
    Ok(Customers {
        class,
        demand: duration("demand")?.unwrap_or(Span::Fixed(0)),
        delay: duration("delay")?.unwrap_or(Span::Fixed(0)),
        count: count.map(|count| count as u64),
        pattern,
    })
}

fn pattern(object: &Object<'_>, files: Files<'_>) -> Result<Pattern, WorkloadError> {
    let scope = object.scope;
    let mut given = WHEN.into_iter().filter_map(|key| object.get(key).transpose());
    let Some(first) = given.next().transpose()? else {
        let message = "customers need \"rate\", \"every\", \"at\" or \"users\": when do they send?";
        return Err(scope.error(object.at, message));
    };
    if let Some(second) = given.next().transpose()? {
        let message = format!("{:?} and {:?} exclude each other", first.key, second.key);
        return Err(scope.error(second.at, message));
    }
    suits(object, "think", first, &["users"])?;
    for key in ["batch", "on", "off"] {
        suits(object, key, first, &["rate", "every"])?;
    }
    Ok(match first.key.as_str() {
        "users" => {
            let users = scope.integer(first, 1..=MAX_USERS)? as u32;
            let think = object.get("think")?.map(|m| span::read(scope, m)).transpose()?;
            Pattern::Closed { users, think: think.unwrap_or(Span::Fixed(0)) }
        }
        "at" => Pattern::Listed(arrivals::read(scope, first, files)?.into()),
        key => {
            let gap = if key == "rate" { rate(scope, first)? } else { every(scope, first)? };
            let batch =
                object.get("batch")?.map(|m| scope.integer(m, 1..=MAX_BATCH)).transpose()?;
            Pattern::Open { gap, batch: batch.unwrap_or(1) as u32, windows: windows(object)? }
        }
    })
}

/// A key that goes with some of [`WHEN`] only.
fn suits(
    object: &Object<'_>,
    key: &str,
    when: &Member,
    with: &[&str],
) -> Result<(), WorkloadError> {
    match object.get(key)? {
        Some(member) if !with.contains(&when.key.as_str()) => {
            let message = format!("{key:?} has no effect together with {:?}", when.key);
            Err(object.scope.error(member.at, message))
        }
        _ => Ok(()),
    }
}

/// Poisson arrivals: the gaps are exponential.
fn rate(scope: Scope<'_>, member: &Member) -> Result<Span, WorkloadError> {
    let rate = match member.node.value {
        Value::Int(i) => i as f64,
        Value::Float(x) => x,
        _ => f64::NAN,
    };
    if !(rate > 0.0 && rate <= MAX_RATE) {
        let wanted = format!("requests in a second, above 0 and at most {MAX_RATE}");
        return Err(scope.mismatch(member, wanted));
    }
    Ok(Span::Exp { mean: 1e9 / rate, max: MAX_SPAN_NS })
}

fn every(scope: Scope<'_>, member: &Member) -> Result<Span, WorkloadError> {
    let gap = span::read(scope, member)?;
    if !gap.can_be_positive() {
        let message = "\"every\" must be longer than 0: all requests would arrive at once";
        return Err(scope.error(member.node.at, message));
    }
    Ok(gap)
}

/// `on` and `off`, both or none.
fn windows(object: &Object<'_>) -> Result<Option<(u64, u64)>, WorkloadError> {
    let scope = object.scope;
    let time = |key: &str| {
        let member = object.get(key)?;
        member.map(|m| scope.integer(m, 1..=span::MAX_US)).transpose()
    };
    match (time("on")?, time("off")?) {
        (Some(on), Some(off)) => Ok(Some((on as u64 * 1000, off as u64 * 1000))),
        (None, None) => Ok(None),
        (Some(_), None) => Err(scope.error(object.place_of("on"), "\"on\" needs \"off\" too")),
        (None, Some(_)) => Err(scope.error(object.place_of("off"), "\"off\" needs \"on\" too")),
    }
}
