// SPDX-License-Identifier: MIT OR Apache-2.0
//! Maps as the host and the helpers see them: whole keys and values.

use super::Runtime;
use crate::errno::{EINVAL, ENOENT};
use crate::error::Fault;
use crate::host::Host;
use crate::maps::{Body, FieldKind, Update, ANY};
use rota_object::image::{FuncId, MapId};

impl<H: Host> Runtime<H> {
    /// Frees arrays, global data and arenas: no code of the object runs any more, and nothing refers
    /// to it. What else it has ends with the memory.
    pub fn unload(&mut self, host: &mut H) {
        // compiled code counts on arrays: it does not begin without instructions
        self.ended = true;
        for base in self.places.values.iter().copied().filter(|base| *base != 0) {
            host.memory().free_arena(base);
            host.memory().end(base);
        }
    }

    /// A map by name.
    pub fn map(&self, name: &str) -> Option<MapId> {
        self.image.maps.iter().position(|map| map.name == name).map(|at| MapId(at as u32))
    }

    /// The value at a key; of a per-CPU map all CPUs' values, one after the other. Task
    /// and cgroup storage is keyed by the owner's guest address, 8 bytes.
    pub fn map_get(&self, host: &mut H, map: MapId, key: &[u8]) -> Option<Vec<u8>> {
        let this = self.maps.get(map.0 as usize)?;
        let cpus = if this.cpu_stride() > 0 { host.nr_cpus().max(1) } else { 1 };
        let memory = host.memory();
        let mut out = Vec::new();
        for cpu in 0..cpus {
            let value = this.peek(memory, key, cpu)?;
            out.extend_from_slice(memory.bytes(value, this.value_size).ok()?);
        }
        Some(out)
    }

    /// Stores the value at a key. A per-CPU map takes one value for all CPUs, or all
    /// CPUs' values one after the other. Maps of maps take a map number, program arrays a
    /// function number, 4 bytes each. Locks, timers and kptrs in the value are left alone.
    pub fn map_put(
        &mut self,
        host: &mut H,
        map: MapId,
        key: &[u8],
        value: &[u8],
    ) -> Result<(), Fault> {
        let refused = |errno: i64| {
            let name = self.image.maps.get(map.0 as usize).map_or("?", |def| &def.name);
            Fault::denied(format!("map {name} refuses the entry: error {errno}"))
        };
        let Some(this) = self.maps.get_mut(map.0 as usize) else { return Err(refused(ENOENT)) };
        let number = value.first_chunk().map(|bytes| u32::from_le_bytes(*bytes));
        let index = key.first_chunk().map_or(usize::MAX, |b| u32::from_le_bytes(*b) as usize);
        match &mut this.body {
            Body::Programs(functions) => {
                let slot = functions.get_mut(index).ok_or_else(|| refused(ENOENT))?;
                *slot = number.map(FuncId);
                return Ok(());
            }
            Body::Maps(maps) => {
                let slot = maps.get_mut(index).ok_or_else(|| refused(ENOENT))?;
                *slot = number;
                return Ok(());
            }
            Body::Queue(queue) => return queue.push(value, ANY).map_err(refused),
            _ => {}
        }
        let size = this.value_size as usize;
        let cpus = if this.cpu_stride() > 0 { host.nr_cpus().max(1) as usize } else { 1 };
        if value.len() != size && value.len() != size * cpus {
            return Err(Fault::denied(format!(
                "map {} has values of {size} bytes, not {}",
                this.name,
                value.len()
            )));
        }
        for cpu in 0..cpus {
            let part = if value.len() == size { value } else { &value[cpu * size..][..size] };
            let put = self.store(host, map.0, key, part, cpu as u32, ANY);
            if let Err(errno) = put? {
                let name = &self.image.maps[map.0 as usize].name;
                return Err(Fault::denied(format!("map {name} refuses the entry: error {errno}")));
            }
        }
        Ok(())
    }

    /// Removes an entry; true if there was one.
    pub fn map_remove(&mut self, host: &mut H, map: MapId, key: &[u8]) -> bool {
        self.remove(host, map.0, key).is_ok()
    }

    /// All keys: by index, by insertion, or of storage by owner address.
    pub fn map_keys(&self, _host: &mut H, map: MapId) -> Vec<Vec<u8>> {
        let Some(this) = self.maps.get(map.0 as usize) else { return Vec::new() };
        if let Body::Storage(storage) = &this.body {
            return storage.owners().iter().map(|owner| owner.to_le_bytes().to_vec()).collect();
        }
        let mut cursor = 0;
        std::iter::from_fn(|| this.next(&mut cursor, 0)).map(|(key, _)| key).collect()
    }

    /// Values of a queue or stack, oldest first.
    pub fn queue_values(&self, map: MapId) -> Vec<Vec<u8>> {
        match self.maps.get(map.0 as usize).map(|map| &map.body) {
            Some(Body::Queue(queue)) => queue.values().map(<[u8]>::to_vec).collect(),
            _ => Vec::new(),
        }
    }

    /// Takes the finished records out of a ring buffer, as its user-space reader would.
    pub fn ring_drain(&mut self, host: &mut H, map: MapId) -> Vec<Vec<u8>> {
        match self.maps.get_mut(map.0 as usize).map(|map| &mut map.body) {
            Some(Body::Ring(ring)) => ring.drain(host.memory()),
            _ => Vec::new(),
        }
    }

    /// The task or cgroup at this address is gone: frees its storage entries.
    pub fn release_owner(&mut self, host: &mut H, owner: u64) {
        for number in 0..self.maps.len() as u32 {
            if let Body::Storage(_) = &self.maps[number as usize].body {
                // Most maps hold nothing for most owners.
                let _ = self.remove(host, number, &owner.to_le_bytes());
            }
        }
        if self.depth == 0 {
            self.bury(host);
        }
    }

    /// Stores one value under the rules of `flags`. The inner error is an error number.
    pub(crate) fn store(
        &mut self,
        host: &mut H,
        map: u32,
        key: &[u8],
        value: &[u8],
        cpu: u32,
        flags: u64,
    ) -> Result<Result<(), i64>, Fault> {
        let Some(this) = self.maps.get_mut(map as usize) else { return Ok(Err(EINVAL)) };
        let (at, evicted) = match this.place(host.memory(), key, cpu, flags) {
            Ok(Update::At(at)) => (at, None),
            Ok(Update::Evicted(at, old)) => (at, Some(old)),
            Err(errno) => return Ok(Err(errno)),
        };
        self.map_views[map as usize] = this.view();
        if let Some(old) = evicted {
            self.dispose_value(host, map, old);
        }
        let this = &self.maps[map as usize];
        let place = host.memory().bytes_mut(at, value.len() as u32)?;
        this.special.copy(place, value);
        Ok(Ok(()))
    }

    /// Removes an entry and what its value owns. `Err` is an error number.
    pub(crate) fn remove(&mut self, host: &mut H, map: u32, key: &[u8]) -> Result<(), i64> {
        let this = self.maps.get_mut(map as usize).ok_or(EINVAL)?;
        let value = this.delete(key)?;
        self.map_views[map as usize] = this.view();
        let own_region = matches!(this.body, Body::Storage(_));
        self.dispose_value(host, map, value);
        if own_region {
            self.free_later(value);
        }
        Ok(())
    }

    /// Gives up what a removed value owns: timers and objects behind kptrs.
    fn dispose_value(&mut self, host: &mut H, map: u32, value: u64) {
        let special = &self.maps[map as usize].special;
        if special.0.is_empty() {
            return;
        }
        let special = special.clone();
        for offset in special.of_kind(FieldKind::Timer) {
            let timer = value + u64::from(offset);
            if self.timers.forget(timer) {
                host.timer_cancel(timer);
            }
        }
        self.dispose_fields(host, &special, value);
    }

    /// The map entry at or after `cursor`: key and value address on the current CPU.
    pub(crate) fn next_element(
        &mut self,
        host: &mut H,
        map: u32,
        cursor: &mut u32,
    ) -> Option<(Vec<u8>, u64)> {
        self.maps.get(map as usize)?.next(cursor, host.cpu())
    }
}
