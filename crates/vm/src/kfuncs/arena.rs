// SPDX-License-Identifier: MIT OR Apache-2.0
//! Pages of an arena.

use super::row;
use crate::errno::{code, EBUSY, EINVAL};
use crate::error::Fault;
use crate::host::Host;
use crate::maps::Body;
use crate::memory::PAGE_SIZE;
use crate::runtime::Runtime;
use crate::table::Kfunc;
use rota_object::image::MapId;

pub(super) fn rows<H: Host>() -> [Kfunc<H>; 3] {
    [
        row("bpf_arena_alloc_pages", 5..=5, 500, alloc),
        row("bpf_arena_free_pages", 3..=3, 300, free),
        row("bpf_arena_reserve_pages", 3..=3, 100, reserve),
    ]
}

/// The region of the arena that a map pointer means.
fn arena<H: Host>(rt: &Runtime<H>, map: u64) -> Result<Option<u64>, Fault> {
    let number = rt.map_number(map)?;
    let is_arena = matches!(rt.maps[number as usize].body, Body::Arena);
    Ok(rt.map_base(MapId(number)).filter(|_| is_arena).map(|base| base >> 32 << 32))
}

fn alloc<H: Host>(
    host: &mut H,
    rt: &mut Runtime<H>,
    &[map, at, count, _, flags]: &[u64; 5],
) -> Result<u64, Fault> {
    let (count, unaligned) = (count as u32, at as u32 % PAGE_SIZE != 0);
    match arena(rt, map)? {
        Some(arena) if flags == 0 && count > 0 && !unaligned => {
            let at = (at as u32 != 0).then_some(at);
            Ok(host.memory().arena_alloc(arena, at, count).unwrap_or(0))
        }
        _ => Ok(0),
    }
}

fn free<H: Host>(
    host: &mut H,
    rt: &mut Runtime<H>,
    &[map, at, count, ..]: &[u64; 5],
) -> Result<u64, Fault> {
    if let Some(arena) = arena(rt, map)?.filter(|_| at as u32 != 0) {
        host.memory().arena_free(arena | u64::from(at as u32), count as u32);
    }
    Ok(0)
}

fn reserve<H: Host>(
    host: &mut H,
    rt: &mut Runtime<H>,
    &[map, at, count, ..]: &[u64; 5],
) -> Result<u64, Fault> {
    let Some(arena) = arena(rt, map)? else { return Ok(code(EINVAL)) };
    if count as u32 == 0 || at as u32 % PAGE_SIZE != 0 {
        return Ok(0);
    }
    let reserved = host.memory().arena_reserve(arena | u64::from(at as u32), count as u32);
    Ok(if reserved { 0 } else { code(EBUSY) })
}
