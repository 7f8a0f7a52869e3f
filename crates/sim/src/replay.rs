// SPDX-License-Identifier: MIT OR Apache-2.0
//! Does again what a scheduler's program did before it attached.

use rota_machine::system::System;
use rota_object::image::{map_type, MapId};
use rota_object::set_up::SetUpStep;
use rota_vm::host::Host;
use rota_vm::memory::{Perm, PAGE_SIZE};
use rota_vm::runtime::Runtime;

/// Takes one step.
///
/// # Errors
/// What of it the instance does not do.
pub(crate) fn replay(
    step: &SetUpStep,
    rt: &mut Runtime<System>,
    system: &mut System,
) -> Result<(), String> {
    let refused = |map: &MapId, errno| format!("map {} refuses a value: error {errno}", map.0);
    match step {
        SetUpStep::Set { map, key, value, flags } => {
            rt.set_element(system, *map, key, value, *flags).map_err(|errno| refused(map, errno))
        }
        SetUpStep::Delete { map, key } => {
            rt.delete_element(system, *map, key).map_err(|errno| refused(map, errno))
        }
        SetUpStep::Pop { map } => rt.queue_pop(*map).map(drop).map_err(|errno| refused(map, errno)),
        SetUpStep::Write { map, at, bytes } => write(*map, *at, bytes, rt, system),
        SetUpStep::Run { function, context } => {
            let size = context.len() as u32;
            let at = system.memory().alloc("context", size, Perm::ReadWrite);
            if let Ok(place) = system.memory().bytes_mut(at, size) {
                place.copy_from_slice(context);
            }
            let result = rt.call(system, *function, &[at]);
            system.memory().free(at);
            result.map(drop).map_err(|fault| fault.to_string())
        }
    }
}

fn write(
    map: MapId,
    at: u32,
    bytes: &[u8],
    rt: &mut Runtime<System>,
    system: &mut System,
) -> Result<(), String> {
    let is_arena = rt.image().maps.get(map.0 as usize).is_some_and(|d| d.kind == map_type::ARENA);
    let outside =
        || format!("map {} has no bytes from {at} to {}", map.0, at as usize + bytes.len());
    let base = rt.map_base(map).ok_or_else(outside)?;
    let base = if is_arena { base >> 32 << 32 } else { base };
    let place = base.checked_add(u64::from(at)).ok_or_else(outside)?;
    let memory = system.memory();
    if is_arena {
        let page = at / PAGE_SIZE;
        if memory.arena_pages(base).binary_search(&page).is_err() {
            memory.arena_alloc(base, Some(place), 1).ok_or_else(outside)?;
        }
    }
    let room = memory.bytes_mut(place, bytes.len() as u32).map_err(|_| outside())?;
    room.copy_from_slice(bytes);
    Ok(())
}
