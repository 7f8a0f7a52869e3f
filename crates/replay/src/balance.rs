// SPDX-License-Identifier: MIT OR Apache-2.0
//! What streams hold at first, and how much they can.
//!
//! The recording must be one of the things that the workload can do, so that it cannot come to a
//! standstill of itself: at no time has more been taken than was there, and there was room for all
//! that was put. What was in a stream before the recording, or came from a task that was not recorded,
//! is there from the beginning.

use crate::bounds;
use crate::flows::Stream;
use crate::life::{Life, Step};
use rota_trace::StreamKind;
use std::collections::BTreeMap;

const PAGE: u64 = 4096;

/// All streams that flows use; of each is known what it is and the size of its buffer.
pub(crate) fn streams(
    lives: &[Life],
    kinds: &BTreeMap<u64, (StreamKind, u64)>,
) -> BTreeMap<u64, Stream> {
    let mut calls: BTreeMap<u64, Vec<(u64, bool, u64)>> = BTreeMap::new();
    let bounded = bounds::bounded(lives);
    for step in lives.iter().flat_map(|life| &life.steps) {
        let Step::Flow(flow) = step else { continue };
        let amounts: Vec<(u64, u32)> = flow.parts.iter().map(|(_, amount)| *amount).collect();
        let order = rota_workload::spread(&amounts);
        let count = order.len() as u64;
        let length_ns = flow.to_ns - flow.from_ns;
        for (number, (part, bytes)) in (0u64..).zip(order) {
            let number = number + u64::from(flow.puts);
            let time_ns = flow.from_ns + length_ns * number / count.max(1);
            calls.entry(flow.parts[part].0).or_default().push((time_ns, flow.puts, bytes));
        }
    }
    let of = |(stream, mut calls): (u64, Vec<(u64, bool, u64)>)| {
        calls.sort_unstable();
        let (kind, buffer) = kinds[&stream];
        let drained = bounded.drained.contains(&stream);
        let can_be_full = drained || bounded.single.contains(&stream);
        let buffer = if can_be_full { buffer } else { 0 };
        (stream, balanced(kind, stream, (buffer, drained), &calls))
    };
    calls.into_iter().map(of).collect()
}

/// `drained`: there will be room in any case. `calls`: time, whether it puts, bytes; in order.
fn balanced(
    kind: StreamKind,
    number: u64,
    (buffer, drained): (u64, bool),
    calls: &[(u64, bool, u64)],
) -> Stream {
    let (mut level, mut least, mut most) = (0i64, 0i64, 0i64);
    let (mut put, mut count, mut longest) = (0u64, 0u64, 0u64);
    // What happens at one time may have been in either order: there must be enough, and enough room.
    for at_once in calls.chunk_by(|(one, ..), (other, ..)| one == other) {
        let (mut given, mut taken) = (0u64, 0u64);
        for (_, puts, bytes) in at_once {
            if *puts {
                (given, put, count) = (given + bytes, put + bytes, count + 1);
                longest = longest.max(*bytes);
            } else {
                taken += bytes;
            }
        }
        least = least.min(level - taken as i64);
        most = most.max(level + given as i64);
        level += given as i64 - taken as i64;
    }
    let holds = least.unsigned_abs();
    let peak = most.unsigned_abs() + holds;
    let left = (level + holds as i64).unsigned_abs();
    let room = Room::of(kind, buffer, put.div_ceil(count.max(1)));
    let capacity = room.map(|room| match drained {
        // What it holds at first is there in addition to what was put. What nobody takes must not keep
        // the last ones from putting.
        true => (room.capacity + holds).max(longest).max(left + room.refill),
        // With that it is never fuller in the recording than when a task that waits for room goes on.
        false => room.capacity.max(peak + room.refill),
    });
    let name = format!("{}{number}", kind.name());
    Stream { name, capacity, holds, refill: room.map_or(1, |room| room.refill) }
}

/// How many bytes have room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Room {
    capacity: u64,
    refill: u64,
}

impl Room {
    /// For calls of `each` bytes, with a buffer of the kernel of this size; `None`: not known.
    fn of(kind: StreamKind, buffer: u64, each: u64) -> Option<Self> {
        if buffer == 0 {
            return None;
        }
        let each = each.max(1);
        Some(match kind {
            // fs/pipe.c: what does not fit into the rest of a page begins another one. Who waits is
            // woken when a page is free.
            StreamKind::Pipe => {
                let in_page = if each < PAGE { PAGE / each * each } else { PAGE };
                Self { capacity: (buffer / PAGE).max(1) * in_page, refill: in_page }
            }
            // net/unix/af_unix.c: a message is sent while the buffer has room left for anything, and
            // who waits is woken once three quarters are free (unix_writable()).
            StreamKind::Unix => {
                let capacity = buffer.div_ceil(true_size(each)) * each;
                Self { capacity, refill: (capacity / 4 * 3).max(1) }
            }
            // sk_stream_is_writeable(): once a third is free.
            StreamKind::Tcp => Self { capacity: buffer, refill: (buffer / 3).max(1) },
        })
    }
}

/// What a message takes from the buffer of a socket (SKB_TRUESIZE()): its bytes with `struct
/// skb_shared_info`, as the allocator rounds them, and `struct sk_buff`.
fn true_size(bytes: u64) -> u64 {
    const SHARED: u64 = 320;
    const HEAD: u64 = 256;
    const LONGEST: u64 = 32 << 10;
    let bytes = bytes.min(LONGEST);
    (bytes + SHARED).next_power_of_two().max(512) + HEAD
}
