// SPDX-License-Identifier: MIT OR Apache-2.0
//! Helpers on ring buffers.

use crate::errno::{code, EAGAIN, EINVAL};
use crate::error::Fault;
use crate::host::Host;
use crate::maps::{Body, Ring};
use crate::runtime::Runtime;

/// `BPF_RB_NO_WAKEUP | BPF_RB_FORCE_WAKEUP`.
const WAKEUP_FLAGS: u64 = 3;

fn ring<H: Host>(rt: &mut Runtime<H>, map: u64) -> Result<&mut Ring, Fault> {
    match &mut rt.map_at(map)?.body {
        Body::Ring(ring) => Ok(ring),
        _ => Err(Fault::denied("the map is not a ring buffer")),
    }
}

/// `bpf_ringbuf_reserve(ring, size, flags)`.
pub(super) fn reserve<H: Host>(
    _: &mut H,
    rt: &mut Runtime<H>,
    &[map, size, flags, ..]: &[u64; 5],
) -> Result<u64, Fault> {
    let ring = ring(rt, map)?;
    Ok(if flags == 0 { ring.reserve(size).unwrap_or(0) } else { 0 })
}

fn finish<H: Host>(rt: &mut Runtime<H>, record: u64, discard: bool) -> Result<u64, Fault> {
    let finished = rt.maps.iter_mut().any(|map| match &mut map.body {
        Body::Ring(ring) => ring.holds(record) && ring.finish(record, discard),
        _ => false,
    });
    if finished {
        Ok(0)
    } else {
        Err(Fault::denied(format!("{record:#x} is not a reserved ring buffer record")))
    }
}

/// `bpf_ringbuf_submit(record, flags)`.
pub(super) fn submit<H: Host>(
    _: &mut H,
    rt: &mut Runtime<H>,
    &[record, ..]: &[u64; 5],
) -> Result<u64, Fault> {
    finish(rt, record, false)
}

/// `bpf_ringbuf_discard(record, flags)`.
pub(super) fn discard<H: Host>(
    _: &mut H,
    rt: &mut Runtime<H>,
    &[record, ..]: &[u64; 5],
) -> Result<u64, Fault> {
    finish(rt, record, true)
}

/// `bpf_ringbuf_output(ring, data, size, flags)`.
pub(super) fn output<H: Host>(
    host: &mut H,
    rt: &mut Runtime<H>,
    &[map, data, size, flags, _]: &[u64; 5],
) -> Result<u64, Fault> {
    let ring = ring(rt, map)?;
    if flags & !WAKEUP_FLAGS != 0 {
        return Ok(code(EINVAL));
    }
    let size32 = u32::try_from(size).unwrap_or(u32::MAX);
    let bytes = host.memory().bytes(data, size32)?.to_vec();
    let Some(record) = ring.reserve(size) else { return Ok(code(EAGAIN)) };
    host.memory().bytes_mut(record, size32)?.copy_from_slice(&bytes);
    ring.finish(record, false);
    Ok(0)
}

/// `bpf_ringbuf_query(ring, what)`.
pub(super) fn query<H: Host>(
    _: &mut H,
    rt: &mut Runtime<H>,
    &[map, what, ..]: &[u64; 5],
) -> Result<u64, Fault> {
    Ok(ring(rt, map)?.query(what))
}

/// `bpf_user_ringbuf_drain(ring, callback, ctx, flags)`: there is no user space that
/// fills one, so there never is a sample.
pub(super) fn user_drain<H: Host>(
    _: &mut H,
    rt: &mut Runtime<H>,
    &[map, ..]: &[u64; 5],
) -> Result<u64, Fault> {
    match rt.map_at(map)?.body {
        Body::UserRing => Ok(0),
        _ => Err(Fault::denied("the map is not a user ring buffer")),
    }
}
