// SPDX-License-Identifier: MIT OR Apache-2.0
//! Maps as `bpf(2)` has them (`kernel/bpf/syscall.c`): values of all CPUs at a stride of 8 bytes,
//! and the kernel's error numbers.

use super::Runtime;
use crate::errno::{E2BIG, EINVAL, ENOENT, EOPNOTSUPP};
use crate::host::Host;
use crate::maps::{Body, Map};
use rota_object::image::{FuncId, MapId};

/// Bytes from a CPU's value to the next one's: `round_up(value_size, 8)`.
fn stride(map: &Map) -> usize {
    (map.value_size as usize).next_multiple_of(8)
}

fn index(key: &[u8]) -> Option<usize> {
    key.first_chunk().map(|bytes| u32::from_le_bytes(*bytes) as usize)
}

impl<H: Host> Runtime<H> {
    fn element_map(&self, map: MapId) -> Result<&Map, i64> {
        self.maps.get(map.0 as usize).ok_or(EINVAL)
    }

    /// `bpf_map_copy_value()`: the value at a key, of a per-CPU map those of all CPUs; of a queue
    /// or stack (whose key is empty) the value that comes next. Of maps of maps and arrays of
    /// programs it is a map's or function's number, 4 bytes. Locks, timers and kernel pointers
    /// read 0.
    ///
    /// # Errors
    /// `ENOENT` if there is none, `EOPNOTSUPP` of maps that are read otherwise.
    pub fn element(&self, host: &mut H, map: MapId, key: &[u8]) -> Result<Vec<u8>, i64> {
        let this = self.element_map(map)?;
        match &this.body {
            Body::Queue(queue) => return queue.peek().map(<[u8]>::to_vec),
            Body::Maps(maps) => {
                let number = index(key).and_then(|at| *maps.get(at)?);
                return number.map(|number| number.to_le_bytes().to_vec()).ok_or(ENOENT);
            }
            Body::Programs(programs) => {
                let function = index(key).and_then(|at| *programs.get(at)?);
                return function.map(|func| func.0.to_le_bytes().to_vec()).ok_or(ENOENT);
            }
            Body::MapsByKey(hash) => {
                let at = hash.find(key).and_then(|slot| hash.value(slot, 0)).ok_or(ENOENT)?;
                return Ok(host.memory().get_u32(at).to_le_bytes().to_vec());
            }
            Body::Array(_) | Body::Hash(_) | Body::Trie(_) | Body::Storage(_) => {}
            _ => return Err(EOPNOTSUPP),
        }
        let cpus = if this.cpu_stride() > 0 { host.nr_cpus().max(1) } else { 1 };
        let memory = host.memory();
        let mut out = Vec::new();
        for cpu in 0..cpus {
            let at = this.peek(memory, key, cpu).ok_or(ENOENT)?;
            let value = memory.bytes(at, this.value_size).map_err(|_| ENOENT)?;
            let mut shown = vec![0; value.len()];
            this.special.copy(&mut shown, value);
            if this.cpu_stride() > 0 {
                shown.resize(stride(this), 0);
            }
            out.extend(shown);
        }
        Ok(out)
    }

    /// `bpf_map_update_value()`: stores a value under the rules of `flags` (`BPF_ANY`,
    /// `BPF_NOEXIST`, `BPF_EXIST`), and pushes it to a queue or stack. What it takes is what
    /// [`Runtime::element`] gives; of maps of maps and arrays of programs a number, 4 bytes.
    ///
    /// # Errors
    /// As the kernel's.
    pub fn set_element(
        &mut self,
        host: &mut H,
        map: MapId,
        key: &[u8],
        value: &[u8],
        flags: u64,
    ) -> Result<(), i64> {
        let number = value.first_chunk().map(|bytes| u32::from_le_bytes(*bytes)).ok_or(EINVAL);
        let this = self.maps.get_mut(map.0 as usize).ok_or(EINVAL)?;
        match &mut this.body {
            Body::Queue(queue) => return queue.push(value, flags),
            Body::Programs(functions) => {
                let at = index(key).ok_or(EINVAL)?;
                *functions.get_mut(at).ok_or(E2BIG)? = Some(FuncId(number?));
                return Ok(());
            }
            Body::Maps(maps) => {
                let at = index(key).ok_or(EINVAL)?;
                *maps.get_mut(at).ok_or(E2BIG)? = Some(number?);
                return Ok(());
            }
            Body::Bloom(values) => {
                if flags != 0 {
                    return Err(EINVAL);
                }
                values.insert(value.to_vec());
                return Ok(());
            }
            _ => {}
        }
        let (size, stride) = (this.value_size as usize, stride(this));
        let per_cpu = this.cpu_stride() > 0;
        let cpus = if per_cpu { host.nr_cpus().max(1) as usize } else { 1 };
        if value.len() != if per_cpu { stride * cpus } else { size } {
            return Err(EINVAL);
        }
        let mut flags = flags;
        for cpu in 0..cpus {
            let part = &value[cpu * stride..][..size];
            let stored = self.store(host, map.0, key, part, cpu as u32, flags);
            stored.map_err(|_| EINVAL)??;
            // the entry is there from the first CPU's value on
            flags = 0;
        }
        Ok(())
    }

    /// Whether guest code has made nothing yet that a copy of all maps' bytes would not have:
    /// objects that it owns, and timers.
    pub fn is_all_in_maps(&self) -> bool {
        self.objects.is_empty() && self.timers.is_empty()
    }

    /// `map_delete_elem()`.
    ///
    /// # Errors
    /// As the kernel's: `ENOENT` if there is no such entry, `EINVAL` of arrays.
    pub fn delete_element(&mut self, host: &mut H, map: MapId, key: &[u8]) -> Result<(), i64> {
        let this = self.maps.get_mut(map.0 as usize).ok_or(EINVAL)?;
        match &mut this.body {
            Body::Programs(slots) => {
                let slot = index(key).and_then(|at| slots.get_mut(at)).ok_or(E2BIG)?;
                slot.take().map(|_| ()).ok_or(ENOENT)
            }
            Body::Maps(slots) => {
                let slot = index(key).and_then(|at| slots.get_mut(at)).ok_or(E2BIG)?;
                slot.take().map(|_| ()).ok_or(ENOENT)
            }
            _ => self.remove(host, map.0, key),
        }
    }

    /// `map_get_next_key()`: the key after this one, or the first if there is none (any more) like
    /// it.
    ///
    /// # Errors
    /// `ENOENT` after the last one, `EOPNOTSUPP` of maps without keys.
    pub fn next_key(&self, map: MapId, key: Option<&[u8]>) -> Result<Vec<u8>, i64> {
        let this = self.element_map(map)?;
        let slots = match &this.body {
            Body::Programs(slots) => Some(slots.len()),
            Body::Maps(slots) => Some(slots.len()),
            _ => None,
        };
        if let Some(slots) = slots {
            let next = key.and_then(index).filter(|at| *at < slots).map_or(0, |at| at + 1);
            return (next < slots).then(|| (next as u32).to_le_bytes().to_vec()).ok_or(ENOENT);
        }
        if !matches!(this.body, Body::Array(_) | Body::Hash(_) | Body::MapsByKey(_) | Body::Trie(_))
        {
            return Err(EOPNOTSUPP);
        }
        let mut cursor = key.and_then(|key| this.after(key)).unwrap_or(0);
        this.next(&mut cursor, 0).map(|(key, _)| key).ok_or(ENOENT)
    }

    /// `map_pop_elem()`: takes the value that comes next out of a queue or stack.
    ///
    /// # Errors
    /// `ENOENT` if it is empty, `EOPNOTSUPP` of other maps.
    pub fn queue_pop(&mut self, map: MapId) -> Result<Vec<u8>, i64> {
        match self.maps.get_mut(map.0 as usize).map(|map| &mut map.body) {
            Some(Body::Queue(queue)) => queue.pop().map(Vec::from),
            _ => Err(EOPNOTSUPP),
        }
    }
}
