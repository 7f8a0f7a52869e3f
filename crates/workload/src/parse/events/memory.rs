// SPDX-License-Identifier: MIT OR Apache-2.0
//! `mem`, `memrun` and `iorun`: how much memory is touched, as the work it is.

use std::collections::HashMap;

use super::Place;
use crate::error::WorkloadError;
use crate::event::{Event, TimeEvent};
use crate::json::Member;
use crate::memory::{chase_ns, fill_ns, touch_ns, write_ns, BUFFER_BYTES};
use crate::parse::keys;
use crate::parse::members::Object;
use crate::random::{Span, MAX_SPAN_NS};

/// The most bytes or steps, as rt-app counts them.
const MOST: i64 = i32::MAX as i64;

/// What `global` says of memory, and the buffers that tasks share.
pub(in crate::parse) struct Memory {
    pub(in crate::parse) buffer_bytes: u64,
    pub(in crate::parse) device: String,
    /// By type and `ref`: the size, and for a chase stride and pattern.
    shared: HashMap<(String, String), (i64, i64, bool)>,
}

impl Default for Memory {
    fn default() -> Self {
        let device = "/dev/null".to_owned();
        Memory { buffer_bytes: BUFFER_BYTES, device, shared: HashMap::new() }
    }
}

/// `mem`.
pub(in crate::parse) fn mem(
    place: &mut Place<'_>,
    member: &Member,
) -> Result<Event, WorkloadError> {
    let bytes = place.scope.integer(member, 0..=MOST)? as u64;
    Ok(work(fill_ns(bytes, place.names.memory.buffer_bytes)))
}

/// `iorun`.
pub(in crate::parse) fn iorun(
    place: &mut Place<'_>,
    member: &Member,
) -> Result<Event, WorkloadError> {
    let bytes = place.scope.integer(member, 0..=MOST)? as u64;
    let memory = &place.names.memory;
    Ok(work(write_ns(bytes, memory.buffer_bytes, &memory.device)))
}

/// `memrun`.
pub(in crate::parse) fn memrun(
    place: &mut Place<'_>,
    member: &Member,
) -> Result<Event, WorkloadError> {
    let scope = place.scope;
    let object = Object::of(scope, "\"memrun\"", &member.node)?;
    let kind = object.required("type")?;
    let (name, chases) = match scope.string(kind)? {
        name @ ("read" | "write") => (name, false),
        name @ "chase" => (name, true),
        other => {
            let known = ["read", "write", "chase"].into_iter();
            let message = keys::unknown("type of memrun", other, known);
            return Err(scope.error(kind.node.at, message));
        }
    };
    object.only(match chases {
        true => &["type", "size", "count", "ref", "stride", "pattern"],
        false => &["type", "size", "count", "ref"],
    })?;
    let size = scope.integer(object.required("size")?, 1..=MOST)?;
    let count = scope.integer(object.required("count")?, 0..=MOST)? as u64;
    let stride = object.get("stride")?.map_or(Ok(64), |m| scope.integer(m, 8..=MOST))?;
    let pattern = object.get("pattern")?.map_or(Ok("random"), |m| scope.string(m))?;
    if !matches!(pattern, "random" | "sequential") {
        let message = keys::unknown("pattern", pattern, ["random", "sequential"].into_iter());
        return Err(scope.error(object.place_of("pattern"), message));
    }
    if chases && size / stride < 2 {
        let message = format!("a buffer of {size} bytes has no room for two strides of {stride}");
        return Err(scope.error(object.place_of("size"), message));
    }
    let random = pattern == "random";
    if let Some(reference) = object.get("ref")? {
        let buffer = (name.to_owned(), scope.string(reference)?.to_owned());
        let shape = (size, stride, random);
        if *place.names.memory.shared.entry(buffer).or_insert(shape) != shape {
            let message =
                "another memrun shares this buffer but gives a different size, stride or \
                           pattern";
            return Err(scope.error(reference.node.at, message));
        }
    }
    Ok(work(match chases {
        true => chase_ns(count, size as u64, random),
        false => touch_ns(count),
    }))
}

fn work(ns: u64) -> Event {
    Event::Time(TimeEvent::Run(Span::Fixed(ns.min(MAX_SPAN_NS))))
}
