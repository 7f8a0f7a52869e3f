// SPDX-License-Identifier: MIT OR Apache-2.0
//! `bpf_iter_num`: the loop over integers. Its state is two 32-bit numbers, the
//! current one and the end; the program gets a pointer to the first.

use super::row;
use crate::errno::{code, E2BIG, EINVAL};
use crate::error::Fault;
use crate::host::Host;
use crate::runtime::Runtime;
use crate::table::Kfunc;

const MAX_LOOPS: i64 = 8 << 20;

pub(super) fn rows<H: Host>() -> [Kfunc<H>; 3] {
    [
        row("bpf_iter_num_new", 3..=3, 8, new),
        row("bpf_iter_num_next", 1..=1, 6, next),
        row("bpf_iter_num_destroy", 1..=1, 2, destroy),
    ]
}

fn new<H: Host>(
    host: &mut H,
    _: &mut Runtime<H>,
    &[it, start, end, ..]: &[u64; 5],
) -> Result<u64, Fault> {
    let (start, end) = (start as i32, end as i32);
    let memory = host.memory();
    let count = i64::from(end) - i64::from(start);
    if !(0..=MAX_LOOPS).contains(&count) {
        memory.write(it, 8, 0)?;
        return Ok(code(if count < 0 { EINVAL } else { E2BIG }));
    }
    memory.write(it, 4, u64::from(start.wrapping_sub(1) as u32))?;
    memory.write(it.wrapping_add(4), 4, u64::from(end as u32))?;
    Ok(0)
}

/// The one kernel function that runs once per round of every loop: straight to memory.
fn next<H: Host>(host: &mut H, _: &mut Runtime<H>, &[it, ..]: &[u64; 5]) -> Result<u64, Fault> {
    let memory = host.memory();
    let Some(state) = memory.load::<8>(it) else { return Err(memory.bad_address(it, 8, false)) };
    let (current, end) = (state as u32 as i32, (state >> 32) as i32);
    let more = i64::from(current) + 1 < i64::from(end);
    let state = if more { state & !0xffff_ffff | u64::from((current + 1) as u32) } else { 0 };
    if memory.store::<8>(it, state).is_none() {
        return Err(memory.bad_address(it, 8, true));
    }
    Ok(if more { it } else { 0 })
}

fn destroy<H: Host>(host: &mut H, _: &mut Runtime<H>, &[it, ..]: &[u64; 5]) -> Result<u64, Fault> {
    host.memory().write(it, 8, 0)?;
    Ok(0)
}
