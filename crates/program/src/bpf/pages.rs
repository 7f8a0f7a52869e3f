// SPDX-License-Identifier: MIT OR Apache-2.0
//! Maps that the program maps: their bytes are in files of its own, and in the machine's memory.
//! Program and machine never run at the same time, so they are copied when one stops and the other
//! goes on.

mod rings;

use super::image::MapBytes;
use super::objects::{Map, ObjectId};
use super::played::Played;
use super::Caller;
pub use rings::Ready;
use rings::{ring_in, ring_out, user_ring_in, user_ring_out};
use rota_machine::user_half::Live;
use rota_object::image::{map_type, MapId};
use rota_vm::host::Host;
use std::ops::Range;

const PAGE: usize = 4096;

/// Indexes of those in a row that are set.
fn runs(set: &[bool]) -> Vec<Range<usize>> {
    let mut at = 0;
    let mut all = Vec::new();
    for same in set.chunk_by(|one, next| one == next) {
        if same[0] {
            all.push(at..at + same.len());
        }
        at += same.len();
    }
    all
}

impl Played {
    /// The program stops, the machine goes on: what the program has written is copied.
    pub fn pages_in(&mut self, live: &mut Live<'_>, caller: &mut dyn Caller) {
        for (id, number, bytes) in self.mapped() {
            match bytes {
                MapBytes::Ring(_) => ring_in(id, number, live, caller),
                MapBytes::UserRing(size) => user_ring_in(id, number, size, live, caller),
                MapBytes::Array(len) => self.array_in(id, number, len, live, caller),
                MapBytes::Arena => self.arena_in(id, number, live, caller),
            }
        }
        self.settle(live);
    }

    /// The machine stops, the program goes on: what the machine has written is copied.
    pub fn pages_out(&mut self, live: &mut Live<'_>, caller: &mut dyn Caller) {
        let settled = self.in_machine.as_ref().and_then(|machine| machine.settled_at);
        let is_settled = settled == Some(live.rt.runs());
        for (id, number, bytes) in self.mapped() {
            match bytes {
                MapBytes::Ring(size) => ring_out(id, number, size, live, caller),
                MapBytes::UserRing(_) => user_ring_out(id, number, live, caller),
                MapBytes::Array(len) => self.array_out(id, number, len, live, caller),
                MapBytes::Arena if is_settled => {}
                MapBytes::Arena => self.arena_out(id, number, live, caller),
            }
        }
        self.settle(live);
    }

    /// Both sides have the same arenas.
    fn settle(&mut self, live: &Live<'_>) {
        if let Some(machine) = &mut self.in_machine {
            machine.settled_at = Some(live.rt.runs());
        }
    }

    /// Gives the machine the very pages of the program, where that is possible: those need no copies.
    pub(super) fn share_pages(&mut self, live: &mut Live<'_>, caller: &dyn Caller) {
        for (id, number, bytes) in self.mapped() {
            let (MapBytes::Array(len), Some(base)) = (bytes, live.rt.map_base(number)) else {
                continue;
            };
            let Some(pages) = caller.share_pages(id, len) else { continue };
            if live.system.memory().share(base, pages) {
                if let Some(machine) = &mut self.in_machine {
                    machine.shared.insert(id);
                    machine.synced.remove(&id);
                }
            }
        }
    }

    /// Maps of the machine that the program maps, and which bytes are to be copied.
    fn mapped(&self) -> Vec<(ObjectId, MapId, MapBytes)> {
        let shared = self.in_machine.as_ref().map(|machine| &machine.shared);
        let is_copied = |id: &ObjectId| shared.is_none_or(|shared| !shared.contains(id));
        self.mapped_ones().into_iter().filter(|(id, ..)| is_copied(id)).collect()
    }

    /// Maps of the machine that the program maps, copied or not.
    pub(super) fn mapped_ones(&self) -> Vec<(ObjectId, MapId, MapBytes)> {
        let Some(machine) = self.in_machine.as_ref().filter(|machine| machine.filled) else {
            return Vec::new();
        };
        let of = |(id, number): (&ObjectId, &MapId)| {
            let map = self.objects.map(*id).ok()?;
            let bytes = match map.kind {
                map_type::ARENA => MapBytes::Arena,
                map_type::RINGBUF => MapBytes::Ring(map.max_entries),
                map_type::USER_RINGBUF => MapBytes::UserRing(map.max_entries),
                _ if !map.is_mapped() || map.is_constant() => return None,
                _ if map.max_entries == 1 => MapBytes::Array(map.value_size),
                _ => MapBytes::Array((map.stride() * u64::from(map.max_entries)) as u32),
            };
            Some((*id, *number, bytes))
        };
        machine.maps.iter().filter_map(of).collect()
    }

    fn array_in(
        &mut self,
        id: ObjectId,
        number: MapId,
        len: u32,
        live: &mut Live<'_>,
        caller: &dyn Caller,
    ) {
        let (Some(base), Some(machine)) = (live.rt.map_base(number), &mut self.in_machine) else {
            return;
        };
        let synced = machine.synced.entry(id).or_default();
        synced.resize(len as usize, 0);
        caller.read_pages(id, 0, synced);
        if let Ok(place) = live.system.memory().bytes_mut(base, len) {
            place.copy_from_slice(synced);
        }
    }

    fn array_out(
        &mut self,
        id: ObjectId,
        number: MapId,
        len: u32,
        live: &mut Live<'_>,
        caller: &mut dyn Caller,
    ) {
        let (Some(base), Some(machine)) = (live.rt.map_base(number), &mut self.in_machine) else {
            return;
        };
        let Ok(now) = live.system.memory().bytes(base, len) else { return };
        let synced = machine.synced.entry(id).or_default();
        synced.resize(len as usize, 0);
        for (at, (page, old)) in (0u64..).zip(now.chunks(PAGE).zip(synced.chunks_mut(PAGE))) {
            if page != old {
                caller.write_pages(id, at * PAGE as u64, page);
                old.copy_from_slice(page);
            }
        }
    }

    /// Pages that the program has touched exist from then on (`arena_vm_fault()`). Others are not even
    /// read: arenas are large, and few programs look into theirs.
    fn arena_in(
        &mut self,
        id: ObjectId,
        number: MapId,
        live: &mut Live<'_>,
        caller: &mut dyn Caller,
    ) {
        let address = self.objects.map(id).map_or(0, |map| map.extra);
        let (Some(base), Some(machine)) = (live.rt.map_base(number), &mut self.in_machine) else {
            return;
        };
        // what is there before the machine wrote any is the program's, and so may all be of an arena
        // that is mapped nobody knows where
        let whole = machine.read_whole.insert(id) || address == 0;
        let arena = base >> 32 << 32;
        let known = machine.arena_pages.entry(id).or_default();
        let there = live.system.memory().arena_pages(arena);
        for range in caller.data_in_pages(id) {
            let first = (range.start / PAGE as u64) as u32;
            let count = (range.end.div_ceil(PAGE as u64) as u32).saturating_sub(first);
            let touched = match whole {
                true => vec![true; count as usize],
                false => caller.touched(address + u64::from(first) * PAGE as u64, count),
            };
            for run in runs(&touched) {
                let start = (first as usize + run.start) * PAGE;
                let mut bytes = vec![0; run.len() * PAGE];
                caller.read_pages(id, start as u64, &mut bytes);
                for (page, bytes) in ((start / PAGE) as u32..).zip(bytes.chunks_exact(PAGE)) {
                    if known.get(&page).is_some_and(|known| known == bytes) {
                        continue;
                    }
                    let at = arena + u64::from(page) * PAGE as u64;
                    let memory = live.system.memory();
                    let is_there = there.binary_search(&page).is_ok();
                    if !is_there && memory.arena_alloc(arena, Some(at), 1).is_none() {
                        continue;
                    }
                    if let Ok(place) = memory.bytes_mut(at, PAGE as u32) {
                        place.copy_from_slice(bytes);
                    }
                    known.insert(page, bytes.to_vec());
                }
                if address != 0 {
                    caller.untouch(id, start as u64, &bytes);
                }
            }
        }
    }

    fn arena_out(
        &mut self,
        id: ObjectId,
        number: MapId,
        live: &mut Live<'_>,
        caller: &mut dyn Caller,
    ) {
        let (Some(base), Some(machine)) = (live.rt.map_base(number), &mut self.in_machine) else {
            return;
        };
        let arena = base >> 32 << 32;
        let memory = live.system.memory();
        let known = machine.arena_pages.entry(id).or_default();
        let there = memory.arena_pages(arena);
        for page in &there {
            let offset = u64::from(*page) * PAGE as u64;
            let Ok(bytes) = memory.bytes(arena + offset, PAGE as u32) else { continue };
            let old = known.entry(*page).or_default();
            if old != bytes {
                caller.write_pages(id, offset, bytes);
                old.clear();
                old.extend_from_slice(bytes);
            }
        }
        known.retain(|page, _| {
            let is_there = there.binary_search(page).is_ok();
            if !is_there {
                let start = u64::from(*page) * PAGE as u64;
                caller.drop_pages(id, start..start + PAGE as u64);
            }
            is_there
        });
    }

    /// Arenas are where the program has mapped them: pointers in them are such addresses from then
    /// on (`arena_map_mmap()`). The machine has them at multiples of 4 GiB only.
    pub(super) fn find_arenas(&mut self, caller: &dyn Caller) {
        let nowhere = |map: &Map| map.kind == map_type::ARENA && map.extra == 0;
        let all: Vec<ObjectId> =
            self.objects.maps().filter(|(_, map)| nowhere(map)).map(|(id, _)| id).collect();
        for id in all {
            let (Some(address), Ok(map)) = (caller.mapped_at(id), self.objects.map_mut(id)) else {
                continue;
            };
            if address as u32 == 0 {
                map.extra = address;
            } else {
                let what = format!(
                    "arena {}, which has no map_extra, is mapped at {address:#x}: pointers into it \
                     mean something else to the scheduler",
                    map.name
                );
                self.notes.push(what);
            }
        }
    }
}
