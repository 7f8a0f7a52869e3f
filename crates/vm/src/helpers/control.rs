// SPDX-License-Identifier: MIT OR Apache-2.0
//! Helpers that call back, jump, and lock.

use crate::errno::{code, E2BIG, EINVAL, ENOENT};
use crate::error::Fault;
use crate::host::Host;
use crate::interpreter::Callback;
use crate::maps::Body;
use crate::runtime::Runtime;

/// `BPF_MAX_LOOPS`.
const MAX_LOOPS: u32 = 8 << 20;

/// `bpf_loop(count, callback, ctx, flags)`.
pub(super) fn bpf_loop<H: Host>(
    _: &mut H,
    rt: &mut Runtime<H>,
    &[count, callback, ctx, flags, _]: &[u64; 5],
) -> Result<u64, Fault> {
    let (func, count) = (Callback::function(callback)?, count as u32);
    if flags != 0 {
        return Ok(code(EINVAL));
    }
    if count > MAX_LOOPS {
        return Ok(code(E2BIG));
    }
    rt.call_back(Callback::Loop { func, ctx, done: 0, count });
    Ok(0)
}

/// `bpf_for_each_map_elem(map, callback, ctx, flags)`.
pub(super) fn for_each_map_elem<H: Host>(
    _: &mut H,
    rt: &mut Runtime<H>,
    &[map, callback, ctx, flags, _]: &[u64; 5],
) -> Result<u64, Fault> {
    let (func, map) = (Callback::function(callback)?, rt.map_number(map)?);
    let walkable = matches!(rt.maps[map as usize].body, Body::Array(_) | Body::Hash(_));
    if flags != 0 || !walkable {
        return Ok(code(EINVAL));
    }
    rt.call_back(Callback::EachElem { func, map, ctx, cursor: 0, done: 0 });
    Ok(0)
}

/// `bpf_tail_call(ctx, programs, index)`: an empty slot goes on after the call.
pub(super) fn tail_call<H: Host>(
    _: &mut H,
    rt: &mut Runtime<H>,
    &[ctx, map, index, ..]: &[u64; 5],
) -> Result<u64, Fault> {
    let Body::Programs(programs) = &rt.map_at(map)?.body else {
        return Err(Fault::denied("the map is no program array"));
    };
    match programs.get(index as u32 as usize).copied().flatten() {
        Some(func) => {
            rt.call_back(Callback::Tail { func, ctx });
            Ok(0)
        }
        None => Ok(code(ENOENT)),
    }
}

/// `bpf_spin_lock(lock)`: nobody else runs meanwhile, so waiting would never end.
pub(super) fn spin_lock<H: Host>(
    host: &mut H,
    _: &mut Runtime<H>,
    &[lock, ..]: &[u64; 5],
) -> Result<u64, Fault> {
    let word = host.memory().guest_bytes_mut(lock, 4)?;
    if word != [0; 4] {
        return Err(Fault::denied(format!("deadlock: the lock at {lock:#x} is already held")));
    }
    word.copy_from_slice(&[1, 0, 0, 0]);
    Ok(0)
}

/// `bpf_spin_unlock(lock)`.
pub(super) fn spin_unlock<H: Host>(
    host: &mut H,
    _: &mut Runtime<H>,
    &[lock, ..]: &[u64; 5],
) -> Result<u64, Fault> {
    let word = host.memory().guest_bytes_mut(lock, 4)?;
    if word == [0; 4] {
        return Err(Fault::denied(format!("the lock at {lock:#x} is not held")));
    }
    word.fill(0);
    Ok(0)
}
