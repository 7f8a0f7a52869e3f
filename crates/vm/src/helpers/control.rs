// SPDX-License-Identifier: MIT OR Apache-2.0
//! Helpers that call back, jump, and lock.

use crate::callback::{function_at, Callback, Next};
use crate::errno::{code, E2BIG, EINVAL, ENOENT};
use crate::error::Fault;
use crate::host::Host;
use crate::maps::Body;
use crate::memory::handle;
use crate::runtime::Runtime;
use rota_object::image::FuncId;

/// `BPF_MAX_LOOPS`.
const MAX_LOOPS: u32 = 8 << 20;

/// `func(i, ctx)` for `i` below `count` until it returns non-zero.
struct Loop {
    func: FuncId,
    ctx: u64,
    /// Calls made.
    done: u32,
    /// Calls to make.
    count: u32,
}

impl<R, H> Callback<R, H> for Loop {
    fn next(&mut self, _: &mut R, _: &mut H, last: Option<u64>) -> Result<Next, Fault> {
        if last.is_some_and(|r0| r0 != 0) || self.done >= self.count {
            return Ok(Next::Done(u64::from(self.done)));
        }
        let args = [u64::from(self.done), self.ctx, 0, 0, 0];
        self.done += 1;
        Ok(Next::Call(self.func, args))
    }
}

/// `bpf_loop(count, callback, ctx, flags)`.
pub(super) fn bpf_loop<H: Host>(
    _: &mut H,
    rt: &mut Runtime<H>,
    &[count, callback, ctx, flags, _]: &[u64; 5],
) -> Result<u64, Fault> {
    let (func, count) = (function_at(callback)?, count as u32);
    if flags != 0 {
        return Ok(code(EINVAL));
    }
    if count > MAX_LOOPS {
        return Ok(code(E2BIG));
    }
    rt.call_back(Box::new(Loop { func, ctx, done: 0, count }));
    Ok(0)
}

/// `func(map, key, value, ctx)` until it returns non-zero.
struct EachElem {
    func: FuncId,
    /// Number of the map.
    map: u32,
    ctx: u64,
    /// Where to go on in the map.
    cursor: u32,
    /// Calls made.
    done: u32,
}

impl<H: Host> Callback<Runtime<H>, H> for EachElem {
    fn next(
        &mut self,
        rt: &mut Runtime<H>,
        host: &mut H,
        last: Option<u64>,
    ) -> Result<Next, Fault> {
        let more = last.is_none_or(|r0| r0 == 0);
        let element = more.then(|| rt.next_element(host, self.map, &mut self.cursor)).flatten();
        let Some((key, value)) = element else { return Ok(Next::Done(u64::from(self.done))) };
        self.done += 1;
        let args = [handle::map(self.map), 0, value, self.ctx, 0];
        Ok(Next::CallWithKey(self.func, args, key))
    }
}

/// `bpf_for_each_map_elem(map, callback, ctx, flags)`.
pub(super) fn for_each_map_elem<H: Host>(
    _: &mut H,
    rt: &mut Runtime<H>,
    &[map, callback, ctx, flags, _]: &[u64; 5],
) -> Result<u64, Fault> {
    let (func, map) = (function_at(callback)?, rt.map_number(map)?);
    let walkable = matches!(rt.maps[map as usize].body, Body::Array(_) | Body::Hash(_));
    if flags != 0 || !walkable {
        return Ok(code(EINVAL));
    }
    rt.call_back(Box::new(EachElem { func, map, ctx, cursor: 0, done: 0 }));
    Ok(0)
}

/// The function replaces the caller.
struct Tail {
    func: FuncId,
    ctx: u64,
}

impl<R, H> Callback<R, H> for Tail {
    fn next(&mut self, _: &mut R, _: &mut H, _: Option<u64>) -> Result<Next, Fault> {
        Ok(Next::Become(self.func, self.ctx))
    }
}

/// `bpf_tail_call(ctx, programs, index)`: an empty slot goes on after the call.
pub(super) fn tail_call<H: Host>(
    _: &mut H,
    rt: &mut Runtime<H>,
    &[ctx, map, index, ..]: &[u64; 5],
) -> Result<u64, Fault> {
    let Body::Programs(programs) = &rt.map_at(map)?.body else {
        return Err(Fault::denied("the map is not a program array"));
    };
    match programs.get(index as u32 as usize).copied().flatten() {
        Some(func) => {
            rt.call_back(Box::new(Tail { func, ctx }));
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
