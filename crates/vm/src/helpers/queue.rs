// SPDX-License-Identifier: MIT OR Apache-2.0
//! Helpers on queues and stacks.

use crate::errno::{code, EINVAL, ENOENT};
use crate::error::Fault;
use crate::host::Host;
use crate::maps::{Body, Queue, ANY};
use crate::runtime::Runtime;
use std::collections::BTreeSet;

/// The queue behind a pointer and the size of its values.
fn queue<H: Host>(rt: &mut Runtime<H>, map: u64) -> Result<Option<(&mut Queue, u32)>, Fault> {
    let map = rt.map_at(map)?;
    let size = map.value_size;
    Ok(match &mut map.body {
        Body::Queue(queue) => Some((queue, size)),
        _ => None,
    })
}

/// What a filter has seen.
type Values = BTreeSet<Vec<u8>>;

/// The filter behind a pointer and the size of its values.
fn filter<H: Host>(rt: &mut Runtime<H>, map: u64) -> Result<Option<(&mut Values, u32)>, Fault> {
    let map = rt.map_at(map)?;
    let size = map.value_size;
    Ok(match &mut map.body {
        Body::Bloom(values) => Some((values, size)),
        _ => None,
    })
}

/// `bpf_map_push_elem(map, value, flags)`.
pub(super) fn push<H: Host>(
    host: &mut H,
    rt: &mut Runtime<H>,
    &[map, value, flags, ..]: &[u64; 5],
) -> Result<u64, Fault> {
    if let Some((values, size)) = filter(rt, map)? {
        let value = host.memory().bytes(value, size)?.to_vec();
        if flags != ANY {
            return Ok(code(EINVAL));
        }
        values.insert(value);
        return Ok(0);
    }
    let Some((queue, size)) = queue(rt, map)? else { return Ok(code(EINVAL)) };
    let value = host.memory().bytes(value, size)?;
    Ok(queue.push(value, flags).map_or_else(code, |()| 0))
}

/// `bpf_map_pop_elem(map, value)`: an empty one zeroes the value.
pub(super) fn pop<H: Host>(
    host: &mut H,
    rt: &mut Runtime<H>,
    &[map, value, ..]: &[u64; 5],
) -> Result<u64, Fault> {
    let Some((queue, size)) = queue(rt, map)? else { return Ok(code(EINVAL)) };
    let room = host.memory().guest_bytes_mut(value, size)?;
    Ok(hand_over(room, queue.pop().as_deref().map_err(|&errno| errno)))
}

/// `bpf_map_peek_elem(map, value)`: of a filter, whether it may have the value.
pub(super) fn peek<H: Host>(
    host: &mut H,
    rt: &mut Runtime<H>,
    &[map, value, ..]: &[u64; 5],
) -> Result<u64, Fault> {
    if let Some((values, size)) = filter(rt, map)? {
        let is_there = values.contains(host.memory().bytes(value, size)?);
        return Ok(if is_there { 0 } else { code(ENOENT) });
    }
    let Some((queue, size)) = queue(rt, map)? else { return Ok(code(EINVAL)) };
    let room = host.memory().guest_bytes_mut(value, size)?;
    Ok(hand_over(room, queue.peek()))
}

fn hand_over(room: &mut [u8], value: Result<&[u8], i64>) -> u64 {
    match value {
        Ok(value) => {
            let len = room.len().min(value.len());
            room[..len].copy_from_slice(&value[..len]);
            0
        }
        Err(errno) => {
            room.fill(0);
            code(errno)
        }
    }
}
