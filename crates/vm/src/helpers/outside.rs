// SPDX-License-Identifier: MIT OR Apache-2.0
//! Helpers on maps that only user space fills: performance counters, cgroups. Nothing does here, so
//! they answer as on a machine without.

use crate::errno::{code, E2BIG, EAGAIN, EFAULT, EINVAL, ENOENT};
use crate::error::Fault;
use crate::host::Host;
use crate::runtime::Runtime;

/// `BPF_F_INDEX_MASK`, which as an index means the current CPU.
const INDEX: u64 = 0xffff_ffff;
/// Bytes of `struct bpf_perf_event_value`.
const COUNTS: u64 = 24;

/// Why the slot that `flags` name has no counter (`get_map_perf_counter()`).
fn no_counter<H: Host>(
    host: &mut H,
    rt: &mut Runtime<H>,
    map: u64,
    flags: u64,
) -> Result<i64, Fault> {
    let number = rt.map_number(map)? as usize;
    let slots = rt.image().maps[number].max_entries;
    // libbpf sizes an array of counters by CPUs where the object does not
    let slots = if slots == 0 { host.nr_cpus() } else { slots };
    let index = if flags & INDEX == INDEX { host.cpu() } else { flags as u32 };
    Ok(match flags {
        _ if flags & !INDEX != 0 => EINVAL,
        _ if index >= slots => E2BIG,
        _ => ENOENT,
    })
}

/// `bpf_perf_event_read(map, flags)`, and `bpf_perf_event_output(ctx, map, …)` of its map.
pub(super) fn perf_event_read<H: Host>(
    host: &mut H,
    rt: &mut Runtime<H>,
    &[map, flags, ..]: &[u64; 5],
) -> Result<u64, Fault> {
    Ok(code(no_counter(host, rt, map, flags)?))
}

/// `bpf_perf_event_read_value(map, flags, buffer, size)`: zeroes the buffer.
pub(super) fn perf_event_read_value<H: Host>(
    host: &mut H,
    rt: &mut Runtime<H>,
    &[map, flags, buffer, size, _]: &[u64; 5],
) -> Result<u64, Fault> {
    let size32 = u32::try_from(size).map_err(|_| Fault::denied("a buffer of that size"))?;
    host.memory().guest_bytes_mut(buffer, size32)?.fill(0);
    let errno = match size == COUNTS {
        true => no_counter(host, rt, map, flags)?,
        false => EINVAL,
    };
    Ok(code(errno))
}

/// `bpf_perf_event_output(ctx, map, flags, data, size)`: nobody opened a buffer.
pub(super) fn perf_event_output<H: Host>(
    host: &mut H,
    rt: &mut Runtime<H>,
    &[_, map, flags, ..]: &[u64; 5],
) -> Result<u64, Fault> {
    Ok(code(no_counter(host, rt, map, flags)?))
}

/// `bpf_current_task_under_cgroup(map, index)`.
pub(super) fn under_cgroup<H: Host>(
    _: &mut H,
    rt: &mut Runtime<H>,
    &[map, index, ..]: &[u64; 5],
) -> Result<u64, Fault> {
    let number = rt.map_number(map)? as usize;
    let slots = u64::from(rt.image().maps[number].max_entries);
    Ok(code(if index >= slots { E2BIG } else { EAGAIN }))
}

/// `bpf_get_stackid(ctx, map, flags)`: simulated tasks have no stack to walk.
pub(super) fn get_stackid<H: Host>(
    _: &mut H,
    rt: &mut Runtime<H>,
    &[_, map, ..]: &[u64; 5],
) -> Result<u64, Fault> {
    rt.map_number(map)?;
    Ok(code(EFAULT))
}

/// `bpf_get_stack(ctx, buffer, size, flags)` and `bpf_get_task_stack(task, buffer, size, flags)`.
pub(super) fn get_stack<H: Host>(
    host: &mut H,
    _: &mut Runtime<H>,
    &[_, buffer, size, ..]: &[u64; 5],
) -> Result<u64, Fault> {
    let size = u32::try_from(size).map_err(|_| Fault::denied("a buffer of that size"))?;
    host.memory().guest_bytes_mut(buffer, size)?.fill(0);
    Ok(code(EFAULT))
}
