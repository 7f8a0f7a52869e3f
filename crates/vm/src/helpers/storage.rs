// SPDX-License-Identifier: MIT OR Apache-2.0
//! Helpers on task and cgroup storage.

use crate::errno::{code, EINVAL};
use crate::error::Fault;
use crate::host::Host;
use crate::maps::{Body, ANY};
use crate::runtime::Runtime;

/// `BPF_LOCAL_STORAGE_GET_F_CREATE`.
const CREATE: u64 = 1;

/// `bpf_task_storage_get(map, task, value, flags)`.
pub(super) fn task_get<H: Host>(
    host: &mut H,
    rt: &mut Runtime<H>,
    &[map, owner, value, flags, _]: &[u64; 5],
) -> Result<u64, Fault> {
    let number = rt.map_number(map)?;
    let map = &rt.maps[number as usize];
    let Body::Storage(storage) = &map.body else {
        return Err(Fault::denied("the map is not a storage map"));
    };
    if owner == 0 || flags & !CREATE != 0 {
        return Ok(0);
    }
    if let Some(found) = storage.find(owner) {
        return Ok(found);
    }
    if flags & CREATE == 0 {
        return Ok(0);
    }
    let size = map.value_size;
    let initial = match value {
        0 => vec![0; size as usize],
        value => host.memory().bytes(value, size)?.to_vec(),
    };
    let key = owner.to_le_bytes();
    match rt.store(host, number, &key, &initial, 0, ANY)? {
        Ok(()) => Ok(rt.maps[number as usize].peek(host.memory(), &key, 0).unwrap_or(0)),
        Err(_) => Ok(0),
    }
}

/// `bpf_cgrp_storage_get(map, cgroup, value, flags)`.
pub(super) fn cgroup_get<H: Host>(
    host: &mut H,
    rt: &mut Runtime<H>,
    args: &[u64; 5],
) -> Result<u64, Fault> {
    task_get(host, rt, args)
}

/// `bpf_task_storage_delete(map, task)` and `bpf_cgrp_storage_delete(map, cgroup)`.
pub(super) fn delete<H: Host>(
    host: &mut H,
    rt: &mut Runtime<H>,
    &[map, owner, ..]: &[u64; 5],
) -> Result<u64, Fault> {
    let number = rt.map_number(map)?;
    if owner == 0 {
        return Ok(code(EINVAL));
    }
    Ok(rt.remove(host, number, &owner.to_le_bytes()).map_or_else(code, |()| 0))
}
