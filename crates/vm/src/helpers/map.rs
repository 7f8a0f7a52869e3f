// SPDX-License-Identifier: MIT OR Apache-2.0
//! Helpers on maps of keys and values.

use crate::errno::{code, EINVAL};
use crate::error::Fault;
use crate::host::Host;
use crate::maps::Body;
use crate::runtime::Runtime;

/// `bpf_map_lookup_elem(map, key)`.
pub(super) fn lookup<H: Host>(
    host: &mut H,
    rt: &mut Runtime<H>,
    &[map, key, ..]: &[u64; 5],
) -> Result<u64, Fault> {
    let cpu = host.cpu();
    let map = rt.map_at(map)?;
    if let Body::Storage(_) = map.body {
        return Err(Fault::denied("lookup in a storage map"));
    }
    let memory = host.memory();
    let key = memory.bytes(key, map.key_size)?;
    Ok(map.lookup(memory, key, cpu).unwrap_or(0))
}

/// `bpf_map_lookup_percpu_elem(map, key, cpu)`.
pub(super) fn lookup_percpu<H: Host>(
    host: &mut H,
    rt: &mut Runtime<H>,
    &[map, key, cpu, ..]: &[u64; 5],
) -> Result<u64, Fault> {
    let cpu = cpu as u32;
    if cpu >= host.nr_cpus() {
        return Ok(0);
    }
    let map = rt.map_at(map)?;
    let memory = host.memory();
    let key = memory.bytes(key, map.key_size)?;
    Ok(map.lookup(memory, key, cpu).unwrap_or(0))
}

/// `bpf_map_update_elem(map, key, value, flags)`.
pub(super) fn update<H: Host>(
    host: &mut H,
    rt: &mut Runtime<H>,
    &[map, key, value, flags, _]: &[u64; 5],
) -> Result<u64, Fault> {
    let cpu = host.cpu();
    let number = rt.map_number(map)?;
    let (key_size, value_size) = {
        let map = &rt.maps[number as usize];
        if matches!(map.body, Body::Storage(_) | Body::Maps(_) | Body::MapsByKey(_)) {
            return Ok(code(EINVAL));
        }
        (map.key_size, map.value_size)
    };
    let mut buffer = std::mem::take(&mut rt.scratch);
    buffer.clear();
    buffer.extend_from_slice(host.memory().bytes(key, key_size)?);
    buffer.extend_from_slice(host.memory().bytes(value, value_size)?);
    let (key, value) = buffer.split_at(key_size as usize);
    let stored = rt.store(host, number, key, value, cpu, flags);
    rt.scratch = buffer;
    Ok(stored?.map_or_else(code, |()| 0))
}

/// `bpf_map_delete_elem(map, key)`.
pub(super) fn delete<H: Host>(
    host: &mut H,
    rt: &mut Runtime<H>,
    &[map, key, ..]: &[u64; 5],
) -> Result<u64, Fault> {
    let number = rt.map_number(map)?;
    let key_size = rt.maps[number as usize].key_size;
    let key = host.memory().bytes(key, key_size)?.to_vec();
    Ok(rt.remove(host, number, &key).map_or_else(code, |()| 0))
}
