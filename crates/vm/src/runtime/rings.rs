// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ring buffers as user space maps them (`kernel/bpf/ringbuf.c`): records at positions that only
//! grow, each behind 8 bytes with its length and state.

use super::Runtime;
use crate::host::Host;
use crate::maps::{Body, RingBytes};
use rota_object::image::MapId;

impl<H: Host> Runtime<H> {
    /// Positions up to which records of a ring are consumed and produced; `None` of other maps.
    pub fn ring_positions(&self, map: MapId) -> Option<(u64, u64)> {
        match &self.maps.get(map.0 as usize)?.body {
            Body::Ring(ring) => Some(ring.positions()),
            Body::UserRing(ring) => Some((ring.consumed, ring.produced)),
            _ => None,
        }
    }

    /// Records of a ring that guest code fills, of those that user space has not consumed.
    pub fn ring_records(&self, host: &mut H, map: MapId) -> Vec<RingBytes> {
        match self.maps.get(map.0 as usize).map(|map| &map.body) {
            Some(Body::Ring(ring)) => ring.unread(host.memory()),
            _ => Vec::new(),
        }
    }

    /// User space has consumed the records of such a ring up to this position.
    pub fn ring_consume(&mut self, map: MapId, position: u64) {
        if let Some(Body::Ring(ring)) = self.maps.get_mut(map.0 as usize).map(|m| &mut m.body) {
            ring.consume(position);
        }
    }

    /// User space has produced these bytes in a ring that it fills. They go on where guest code is:
    /// more than the ring has room for are none.
    pub fn ring_produce(&mut self, host: &mut H, map: MapId, produced: u64, bytes: &[u8]) {
        if let Some(Body::UserRing(ring)) = self.maps.get_mut(map.0 as usize).map(|m| &mut m.body) {
            ring.produced = produced;
            let at = ring.at(ring.consumed);
            if let Ok(place) = host.memory().bytes_mut(at, bytes.len() as u32) {
                place.copy_from_slice(bytes);
            }
        }
    }
}
