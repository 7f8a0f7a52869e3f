// SPDX-License-Identifier: MIT OR Apache-2.0
//! Helpers on ring buffers.

use crate::callback::{function_at, Callback, Next};
use crate::errno::{code, EAGAIN, EBUSY, EINVAL};
use crate::error::Fault;
use crate::host::Host;
use crate::maps::{Body, Ring, Sample};
use crate::runtime::Runtime;
use rota_object::image::FuncId;

/// `BPF_MAX_USER_RINGBUF_SAMPLES`.
const MAX_SAMPLES: u32 = 128 << 10;
const RB_NO_WAKEUP: u64 = 1;
const RB_FORCE_WAKEUP: u64 = 2;
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

/// `bpf_ringbuf_commit()`. Who waits for records is woken even if others are still to be read: one
/// that has not read them does not wait.
fn finish<H: Host>(
    host: &mut H,
    rt: &mut Runtime<H>,
    (record, flags): (u64, u64),
    discard: bool,
) -> Result<u64, Fault> {
    let finished = rt.maps.iter_mut().any(|map| match &mut map.body {
        Body::Ring(ring) => ring.holds(record) && ring.finish(record, discard),
        _ => false,
    });
    if finished {
        if flags & RB_NO_WAKEUP == 0 {
            host.ring_has_news();
        }
        Ok(0)
    } else {
        Err(Fault::denied(format!("{record:#x} is not a reserved ring buffer record")))
    }
}

/// `bpf_ringbuf_submit(record, flags)`.
pub(super) fn submit<H: Host>(
    host: &mut H,
    rt: &mut Runtime<H>,
    &[record, flags, ..]: &[u64; 5],
) -> Result<u64, Fault> {
    finish(host, rt, (record, flags), false)
}

/// `bpf_ringbuf_discard(record, flags)`.
pub(super) fn discard<H: Host>(
    host: &mut H,
    rt: &mut Runtime<H>,
    &[record, flags, ..]: &[u64; 5],
) -> Result<u64, Fault> {
    finish(host, rt, (record, flags), true)
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
    let bytes = host.memory().copy(data, size32)?;
    let Some(record) = ring.reserve(size) else { return Ok(code(EAGAIN)) };
    host.memory().bytes_mut(record, size32)?.copy_from_slice(&bytes);
    ring.finish(record, false);
    if flags & RB_NO_WAKEUP == 0 {
        host.ring_has_news();
    }
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

/// `func(dynptr, ctx)` for each sample until it returns non-zero.
struct Drain {
    func: FuncId,
    /// Number of the map.
    map: u32,
    ctx: u64,
    flags: u64,
    /// Samples looked at.
    looked: u32,
    /// Samples that the function was called for.
    called: u32,
    /// Length of the sample that it is called for.
    len: Option<u32>,
}

impl<H: Host> Callback<Runtime<H>, H> for Drain {
    fn next(
        &mut self,
        rt: &mut Runtime<H>,
        host: &mut H,
        last: Option<u64>,
    ) -> Result<Next, Fault> {
        let Some(Body::UserRing(ring)) = rt.maps.get_mut(self.map as usize).map(|m| &mut m.body)
        else {
            return Ok(Next::Done(code(EINVAL)));
        };
        if let Some(len) = self.len.take() {
            ring.release(len);
        }
        let mut result = u64::from(self.called);
        while last.is_none_or(|r0| r0 == 0) && self.looked < MAX_SAMPLES {
            match ring.peek(host.memory()) {
                Err(errno) => {
                    result = code(errno);
                    break;
                }
                Ok(Sample::None) => break,
                Ok(Sample::Discarded) => self.looked += 1,
                Ok(Sample::At(data, len)) => {
                    (self.looked, self.called) = (self.looked + 1, self.called + 1);
                    self.len = Some(len);
                    let memory = host.memory();
                    memory.set_u64(ring.dynptr, data);
                    memory.set_u64(ring.dynptr + 8, len.into());
                    return Ok(Next::Call(self.func, [ring.dynptr, self.ctx, 0, 0, 0]));
                }
            }
        }
        ring.busy = false;
        let forced = self.flags & RB_FORCE_WAKEUP != 0;
        if forced || (self.flags & RB_NO_WAKEUP == 0 && self.called > 0) {
            host.ring_has_news();
        }
        Ok(Next::Done(result))
    }
}

/// `bpf_user_ringbuf_drain(ring, callback, ctx, flags)`.
pub(super) fn user_drain<H: Host>(
    _: &mut H,
    rt: &mut Runtime<H>,
    &[map, callback, ctx, flags, _]: &[u64; 5],
) -> Result<u64, Fault> {
    let (func, number) = (function_at(callback)?, rt.map_number(map)?);
    let Body::UserRing(ring) = &mut rt.map_at(map)?.body else {
        return Err(Fault::denied("the map is not a user ring buffer"));
    };
    if flags & !WAKEUP_FLAGS != 0 {
        return Ok(code(EINVAL));
    }
    if std::mem::replace(&mut ring.busy, true) {
        return Ok(code(EBUSY));
    }
    let drain = Drain { func, map: number, ctx, flags, looked: 0, called: 0, len: None };
    rt.call_back(Box::new(drain));
    Ok(0)
}
