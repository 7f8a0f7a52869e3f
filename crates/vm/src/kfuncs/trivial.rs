// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernel functions that have little to do where callbacks take turns.

use super::{row, simple};
use crate::engine::Simple;
use crate::error::Fault;
use crate::format;
use crate::host::Host;
use crate::runtime::Runtime;
use crate::table::Kfunc;

pub(super) fn rows<H: Host>() -> [Kfunc<H>; 14] {
    [
        simple("bpf_rcu_read_lock", 0..=0, 1, nothing, Simple::Nothing),
        simple("bpf_rcu_read_unlock", 0..=0, 1, nothing, Simple::Nothing),
        simple("bpf_preempt_disable", 0..=0, 1, nothing, Simple::Nothing),
        simple("bpf_preempt_enable", 0..=0, 1, nothing, Simple::Nothing),
        simple("bpf_task_acquire", 1..=1, 5, first, Simple::First),
        simple("bpf_task_release", 1..=1, 5, nothing, Simple::Nothing),
        simple("bpf_cgroup_acquire", 1..=1, 5, first, Simple::First),
        simple("bpf_cgroup_release", 1..=1, 5, nothing, Simple::Nothing),
        simple("bpf_cast_to_kern_ctx", 1..=1, 0, first, Simple::First),
        simple("bpf_rdonly_cast", 2..=2, 0, first, Simple::First),
        simple("bpf_get_kmem_cache", 1..=1, 10, nothing, Simple::Nothing),
        row("bpf_throw", 1..=1, 0, throw),
        row("__bpf_trap", 0..=0, 0, trap),
        row("bpf_stream_vprintk", 4..=5, 300, stream_vprintk),
    ]
}

fn nothing<H: Host>(_: &mut H, _: &mut Runtime<H>, _: &[u64; 5]) -> Result<u64, Fault> {
    Ok(0)
}

/// Casts and references to objects that the host keeps alive.
fn first<H: Host>(_: &mut H, _: &mut Runtime<H>, args: &[u64; 5]) -> Result<u64, Fault> {
    Ok(args[0])
}

fn throw<H: Host>(_: &mut H, _: &mut Runtime<H>, args: &[u64; 5]) -> Result<u64, Fault> {
    Err(Fault::denied(format!("the program threw exception {}", args[0])))
}

fn trap<H: Host>(_: &mut H, _: &mut Runtime<H>, _: &[u64; 5]) -> Result<u64, Fault> {
    Err(Fault::denied("the compiler marked this place unreachable"))
}

fn stream_vprintk<H: Host>(
    host: &mut H,
    _: &mut Runtime<H>,
    &[_, fmt, data, data_len, _]: &[u64; 5],
) -> Result<u64, Fault> {
    let text = format::bstr(host.memory(), fmt, data, data_len)?;
    host.print(&text);
    Ok(0)
}
