// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ring buffers as the program maps them (`struct bpf_ringbuf` of `kernel/bpf/ringbuf.c`): a page
//! with the position up to which records are consumed, one with that up to which they are
//! produced, then the records, twice, so that each is in one piece.

use super::{Caller, Live, MapId, ObjectId, PAGE};
use crate::bpf::objects::Map;
use crate::bpf::played::Played;
use rota_object::image::map_type;

const CONSUMED: u64 = 0;
const PRODUCED: u64 = PAGE as u64;
const DATA: u64 = 2 * PAGE as u64;

/// For what a descriptor is ready (`ringbuf_map_poll_kern()`, `ringbuf_map_poll_user()`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ready {
    /// `EPOLLIN`.
    pub readable: bool,
    /// `EPOLLOUT`.
    pub writable: bool,
}

fn position(id: ObjectId, at: u64, caller: &dyn Caller) -> u64 {
    let mut bytes = [0; 8];
    caller.read_pages(id, at, &mut bytes);
    u64::from_le_bytes(bytes)
}

/// What the program has read, the machine may use again.
pub(super) fn ring_in(id: ObjectId, number: MapId, live: &mut Live<'_>, caller: &dyn Caller) {
    live.rt.ring_consume(number, position(id, CONSUMED, caller));
}

pub(super) fn ring_out(
    id: ObjectId,
    number: MapId,
    size: u32,
    live: &mut Live<'_>,
    caller: &mut dyn Caller,
) {
    let Some((_, produced)) = live.rt.ring_positions(number) else { return };
    for record in live.rt.ring_records(live.system, number) {
        caller.write_pages(id, DATA + record.position % u64::from(size), &record.bytes);
    }
    caller.write_pages(id, PRODUCED, &produced.to_le_bytes());
}

/// What the program has written. It may write any position: what does not fit is not there.
pub(super) fn user_ring_in(
    id: ObjectId,
    number: MapId,
    size: u32,
    live: &mut Live<'_>,
    caller: &dyn Caller,
) {
    let Some((consumed, _)) = live.rt.ring_positions(number) else { return };
    let produced = position(id, PRODUCED, caller);
    let len = produced.saturating_sub(consumed).min(size.into());
    let mut bytes = vec![0; len as usize];
    caller.read_pages(id, DATA + consumed % u64::from(size), &mut bytes);
    live.rt.ring_produce(live.system, number, produced, &bytes);
}

pub(super) fn user_ring_out(
    id: ObjectId,
    number: MapId,
    live: &mut Live<'_>,
    caller: &mut dyn Caller,
) {
    let Some((consumed, _)) = live.rt.ring_positions(number) else { return };
    caller.write_pages(id, CONSUMED, &consumed.to_le_bytes());
}

impl Map {
    fn is_ring(&self) -> bool {
        matches!(self.kind, map_type::RINGBUF | map_type::USER_RINGBUF)
    }
}

impl Played {
    /// For what `poll()` and its like find a map ready, while the program runs; `None` of objects
    /// that cannot be polled.
    pub fn ready(&self, id: ObjectId, caller: &dyn Caller) -> Option<Ready> {
        let map = self.objects.map(id).ok().filter(|map| map.is_ring())?;
        // the file has what both sides have by now
        let (consumed, produced) = (position(id, CONSUMED, caller), position(id, PRODUCED, caller));
        let waiting = produced.saturating_sub(consumed);
        Some(if map.kind == map_type::RINGBUF {
            Ready { readable: waiting > 0, writable: false }
        } else {
            Ready { readable: false, writable: waiting < map.max_entries.into() }
        })
    }
}
