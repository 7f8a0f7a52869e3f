// SPDX-License-Identifier: MIT OR Apache-2.0
//! `send`, `recv` and `reply`, and the events whose length is a part of a request's demand.

use super::Place;
use crate::error::WorkloadError;
use crate::event::{Event, SocketEvent};
use crate::json::{Member, Value};
use crate::parse::members::Object;
use crate::parse::span;
use crate::random::Span;
use crate::requests::model::{Amount, How, Spend};

/// The largest part of a demand: a thousand times all of it.
const MAX_PART: f64 = 1000.0;

/// `send`: the name of a socket, or an object.
pub(in crate::parse) fn send(
    place: &mut Place<'_>,
    member: &Member,
) -> Result<Event, WorkloadError> {
    let scope = place.scope;
    let sender = scope.task_name().unwrap_or("");
    if let Value::String(_) = member.node.value {
        let socket = place.names.sockets.find(scope, member)?;
        let class = place.names.sockets.class(scope, member, sender, socket);
        let how = How::New { class, demand: Amount::Span(Span::Fixed(0)), wait: false };
        return Ok(Event::Socket(SocketEvent::Send { socket, how }));
    }
    let Value::Object(_) = member.node.value else {
        return Err(scope.mismatch(member, "the name of a socket or {\"to\": …}"));
    };
    let object = Object::of(scope, "\"send\"", &member.node)?;
    object.only(&["to", "demand", "wait", "forward"])?;
    let Some(to) = object.get("to")? else {
        return Err(scope.error(object.at, "\"send\" needs \"to\", the name of a socket"));
    };
    let socket = place.names.sockets.find(scope, to)?;
    let wait = object.get("wait")?.map_or(Ok(false), |m| scope.boolean(m))?;
    let demand = object.get("demand")?;
    if let Some(forward) = object.get("forward")? {
        if scope.boolean(forward)? {
            if wait || demand.is_some() {
                let message = "\"forward\" hands over the request that the task serves: that \
                               has its demand, and its sender gets the answer";
                return Err(scope.error(forward.at, message));
            }
            place.own.sockets.serves(scope, forward);
            place.own.sockets.forwards(socket);
            // Others may arrive here too, but somebody must receive what is handed over.
            place.names.sockets.hears(scope, to, socket);
            return Ok(Event::Socket(SocketEvent::Send { socket, how: How::Forward }));
        }
    }
    let demand = match demand {
        Some(demand) => amount(place, demand)?,
        None => Amount::Span(Span::Fixed(0)),
    };
    let class = place.names.sockets.class(scope, to, sender, socket);
    if wait {
        place.names.sockets.needs_answers(scope, to, socket);
    }
    let how = How::New { class, demand, wait };
    Ok(Event::Socket(SocketEvent::Send { socket, how }))
}

/// `recv`.
pub(in crate::parse) fn recv(
    place: &mut Place<'_>,
    member: &Member,
) -> Result<Event, WorkloadError> {
    let socket = place.names.sockets.find(place.scope, member)?;
    place.own.sockets.receives(socket);
    Ok(Event::Socket(SocketEvent::Recv { socket }))
}

/// `reply`.
pub(in crate::parse) fn reply(
    place: &mut Place<'_>,
    member: &Member,
) -> Result<Event, WorkloadError> {
    let socket = place.names.sockets.find(place.scope, member)?;
    place.own.sockets.replies(place.scope, member, socket);
    Ok(Event::Socket(SocketEvent::Reply { socket }))
}

/// The event for `{"request": part}` in place of a duration; `None`: it is a duration.
pub(super) fn spend(
    place: &mut Place<'_>,
    member: &Member,
    what: Spend,
) -> Result<Option<Event>, WorkloadError> {
    let part = part(place, member)?;
    Ok(part.map(|millionths| Event::Socket(SocketEvent::Spend { what, millionths })))
}

fn amount(place: &mut Place<'_>, member: &Member) -> Result<Amount, WorkloadError> {
    match part(place, member)? {
        Some(millionths) => Ok(Amount::OfRequest { millionths }),
        None => Ok(Amount::Span(span::read(place.scope, member)?)),
    }
}

/// Millionths of `{"request": part}`.
fn part(place: &mut Place<'_>, member: &Member) -> Result<Option<u64>, WorkloadError> {
    let Value::Object(members) = &member.node.value else {
        return Ok(None);
    };
    if !members.iter().any(|m| m.key == "request") {
        return Ok(None);
    }
    let object = Object::of(place.scope, "a part of a request", &member.node)?;
    object.only(&["request"])?;
    let Some(part) = object.get("request")? else {
        return Ok(None);
    };
    let number = match part.node.value {
        Value::Int(i) => i as f64,
        Value::Float(x) => x,
        _ => f64::NAN,
    };
    if !(number > 0.0 && number <= MAX_PART) {
        let wanted = format!("a part of the request's demand, above 0 and at most {MAX_PART}");
        return Err(place.scope.mismatch(part, wanted));
    }
    place.own.sockets.serves(place.scope, member);
    Ok(Some(libm::round(number * 1e6) as u64))
}
