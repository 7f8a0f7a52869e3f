// SPDX-License-Identifier: MIT OR Apache-2.0
//! The streams of a file: those that it describes, and those that only events name.

use std::collections::HashMap;

use super::members::Object;
use crate::error::WorkloadError;
use crate::json::Member;
use crate::stream::{Flow, Stream};

/// The most bytes that a stream can hold, and that a flow can move.
pub(super) const MOST_BYTES: i64 = 1 << 53;

/// The streams of a file, and what tasks do with them.
#[derive(Default)]
pub(super) struct Streams {
    index: HashMap<String, u32>,
    pub(super) list: Vec<Stream>,
    pub(super) flows: Vec<Flow>,
}

impl Streams {
    /// Reads `streams`.
    pub(super) fn read(root: &Object<'_>) -> Result<Streams, WorkloadError> {
        let mut streams = Streams::default();
        let Some(member) = root.get("streams")? else {
            return Ok(streams);
        };
        let object = Object::of(root.scope, "\"streams\"", &member.node)?;
        for member in object.members {
            if streams.index.contains_key(&member.key) {
                let message = format!("another stream has the name {:?} already", member.key);
                return Err(object.scope.error(member.at, message));
            }
            let index = streams.mention(&member.key);
            streams.list[index as usize] = described(&object, member)?;
        }
        Ok(streams)
    }

    /// The stream of this name, which comes into being where it is first named.
    pub(super) fn mention(&mut self, name: &str) -> u32 {
        let next = self.list.len() as u32;
        let index = *self.index.entry(name.to_owned()).or_insert(next);
        if index == next {
            self.list.push(Stream::plain(name.to_owned()));
        }
        index
    }
}

fn described(streams: &Object<'_>, member: &Member) -> Result<Stream, WorkloadError> {
    let scope = streams.scope;
    let object = Object::of(scope, &format!("stream {:?}", member.key), &member.node)?;
    object.only(&["capacity", "holds", "refill"])?;
    let capacity = object.get("capacity")?.map(|m| scope.integer(m, 1..=MOST_BYTES)).transpose()?;
    let most = capacity.unwrap_or(MOST_BYTES);
    let holds = object.get("holds")?.map_or(Ok(0), |m| scope.integer(m, 0..=most))?;
    let refill = object.get("refill")?.map_or(Ok(1), |m| scope.integer(m, 1..=most))?;
    Ok(Stream {
        name: member.key.clone(),
        capacity: capacity.map(|bytes| bytes as u64),
        holds: holds as u64,
        refill: refill as u64,
    })
}
