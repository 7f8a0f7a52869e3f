// SPDX-License-Identifier: MIT OR Apache-2.0
//! `flow`: work during which bytes are taken and put.

use super::Place;
use crate::error::WorkloadError;
use crate::event::Event;
use crate::json::{Member, Value};
use crate::parse::members::{Object, Scope};
use crate::parse::span::MAX_US;
use crate::parse::streams::MOST_BYTES;
use crate::stream::{Flow, Transfer};

/// The most calls of one transfer.
const MOST_CALLS: i64 = 10_000_000;

/// `flow`.
pub(in crate::parse) fn flow(
    place: &mut Place<'_>,
    member: &Member,
) -> Result<Event, WorkloadError> {
    let scope = place.scope;
    let object = Object::of(scope, &format!("{:?}", member.key), &member.node)?;
    object.only(&["take", "run", "put"])?;
    let run_us = object.get("run")?.map_or(Ok(0), |run| scope.integer(run, 0..=MAX_US))?;
    let mut transfers = Vec::new();
    for (key, puts) in [("take", false), ("put", true)] {
        let Some(of) = object.get(key)? else { continue };
        let streams = Object::of(scope, &format!("{key:?}"), &of.node)?;
        for stream in streams.members {
            let (bytes, calls) = amount(scope, stream)?;
            let stream = place.names.streams.mention(&stream.key);
            transfers.push(Transfer { stream, puts, bytes, calls });
        }
    }
    if transfers.is_empty() {
        let message = "a flow needs \"take\" or \"put\": streams with the bytes to move";
        return Err(scope.error(object.at, message));
    }
    let flows = &mut place.names.streams.flows;
    flows.push(Flow { run_ns: run_us as u64 * 1000, transfers });
    Ok(Event::Flow(flows.len() as u32 - 1))
}

/// Bytes, or bytes and calls: no more calls than bytes.
fn amount(scope: Scope<'_>, member: &Member) -> Result<(u64, u32), WorkloadError> {
    let whole = |value: &Value, most: i64| match value {
        Value::Int(number) if (1..=most).contains(number) => Some(*number),
        _ => None,
    };
    let read = match &member.node.value {
        Value::Array(parts) => match parts.as_slice() {
            [bytes, calls] => whole(&bytes.value, MOST_BYTES)
                .and_then(|bytes| Some((bytes, whole(&calls.value, MOST_CALLS.min(bytes))?))),
            _ => None,
        },
        bytes => whole(bytes, MOST_BYTES).map(|bytes| (bytes, 1)),
    };
    let (bytes, calls) = read.ok_or_else(|| {
        let wanted = format_args!(
            "bytes (a whole number from 1 to {MOST_BYTES}) or [bytes, calls], with from 1 to \
             {MOST_CALLS} calls of at least a byte"
        );
        scope.mismatch(member, wanted)
    })?;
    Ok((bytes as u64, calls as u32))
}
