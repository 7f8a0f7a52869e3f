// SPDX-License-Identifier: MIT OR Apache-2.0
//! Packets as they are written, and the numbers that stand for names in them.

use std::io::{self, Write};

use prost::Message as _;
use rustc_hash::FxHashMap;

use super::messages::{
    Argument, Data, DebugAnnotation, EventType, InternedData, InternedName, Trace, TracePacket,
    TrackEvent,
};
use crate::fields::{Form, Value};
use crate::kind::Field;

/// All packets are of one sequence: its names hold for all of them.
const SEQUENCE: u32 = 1;
const INCREMENTAL_STATE_CLEARED: u32 = 1;
const NEEDS_INCREMENTAL_STATE: u32 = 2;
/// Packets that are written together.
const BATCH: usize = 64;

/// Encodes packets and writes them.
pub(super) struct Packets<W: Write> {
    writer: W,
    /// The first error; nothing is written after it.
    error: Option<io::Error>,
    batch: Trace,
    buffer: Vec<u8>,
    first: bool,
    names: Numbers,
    keys: Numbers,
}

impl<W: Write> Packets<W> {
    pub(super) fn new(writer: W) -> Self {
        Packets {
            writer,
            error: None,
            batch: Trace::default(),
            buffer: Vec::new(),
            first: true,
            names: Numbers::default(),
            keys: Numbers::default(),
        }
    }

    /// Writes what is left; returns the output, or the first error that writing met.
    pub(super) fn finish(mut self) -> io::Result<W> {
        self.flush();
        match self.error {
            Some(error) => Err(error),
            None => self.writer.flush().map(|()| self.writer),
        }
    }

    /// Adds a packet.
    pub(super) fn push(&mut self, time_ns: u64, data: Data) {
        let event_names = self.names.take_new();
        let debug_annotation_names = self.keys.take_new();
        let interned = !(event_names.is_empty() && debug_annotation_names.is_empty());
        let first = std::mem::take(&mut self.first);
        self.batch.packet.push(TracePacket {
            timestamp: Some(time_ns),
            trusted_packet_sequence_id: SEQUENCE,
            interned_data: interned.then_some(InternedData { event_names, debug_annotation_names }),
            sequence_flags: NEEDS_INCREMENTAL_STATE
                | if first { INCREMENTAL_STATE_CLEARED } else { 0 },
            data: Some(data),
        });
        if self.batch.packet.len() == BATCH {
            self.flush();
        }
    }

    /// Adds something that happens on a track.
    pub(super) fn event(&mut self, time_ns: u64, track: u64, happening: Happening) {
        let Happening { r#type, name, arguments, starts_flow, ends_flow } = happening;
        let event = TrackEvent {
            debug_annotations: arguments,
            r#type: r#type as i32,
            name_iid: name,
            track_uuid: track,
            flow_ids: starts_flow.into_iter().collect(),
            terminating_flow_ids: ends_flow.into_iter().collect(),
        };
        self.push(time_ns, Data::TrackEvent(event));
    }

    /// The number of an event's name.
    pub(super) fn name(&mut self, name: &str) -> Option<u64> {
        Some(self.names.number(name))
    }

    /// What an event says, as an argument.
    pub(super) fn argument(&mut self, field: Field, value: Value<'_>) -> DebugAnnotation {
        let value = match (value, field.form()) {
            (Value::Number(n), Form::Bits) => Argument::Bits(n),
            (Value::Number(n), _) => Argument::Number(n),
            (Value::Signed(n), _) => Argument::Signed(n),
            (Value::Text(text), _) => Argument::Text(text.to_owned()),
        };
        DebugAnnotation { name_iid: self.keys.number(field.name()), value: Some(value) }
    }

    /// The task that an event is about, as an argument.
    pub(super) fn pid_argument(&mut self, pid: u32) -> DebugAnnotation {
        let value = Argument::Number(u64::from(pid));
        DebugAnnotation { name_iid: self.keys.number("pid"), value: Some(value) }
    }

    fn flush(&mut self) {
        if self.error.is_none() {
            self.buffer.clear();
            let encoded = self.batch.encode(&mut self.buffer).map_err(io::Error::other);
            self.error = encoded.and_then(|()| self.writer.write_all(&self.buffer)).err();
        }
        self.batch.packet.clear();
    }
}

/// Something that happens on a track.
#[derive(Default)]
pub(super) struct Happening {
    pub(super) r#type: EventType,
    pub(super) name: Option<u64>,
    pub(super) arguments: Vec<DebugAnnotation>,
    pub(super) starts_flow: Option<u64>,
    pub(super) ends_flow: Option<u64>,
}

/// Numbers for names, from 1 on.
#[derive(Default)]
struct Numbers {
    known: FxHashMap<String, u64>,
    /// Those that no packet has told yet.
    new: Vec<InternedName>,
}

impl Numbers {
    fn number(&mut self, name: &str) -> u64 {
        if let Some(&number) = self.known.get(name) {
            return number;
        }
        let iid = self.known.len() as u64 + 1;
        self.known.insert(name.to_owned(), iid);
        self.new.push(InternedName { iid, name: name.to_owned() });
        iid
    }

    fn take_new(&mut self) -> Vec<InternedName> {
        std::mem::take(&mut self.new)
    }
}
