// SPDX-License-Identifier: MIT OR Apache-2.0
//! Helpers that format text.

use crate::error::Fault;
use crate::format;
use crate::host::Host;
use crate::runtime::Runtime;

/// `bpf_trace_printk(fmt, size, a, b, c)`.
pub(super) fn trace_printk<H: Host>(
    host: &mut H,
    _: &mut Runtime<H>,
    &[fmt, size, a, b, c]: &[u64; 5],
) -> Result<u64, Fault> {
    let memory = host.memory();
    let template = memory.c_string(fmt, size as u32)?;
    let text = format::format(memory, &template, &[a, b, c]);
    host.print(&text);
    Ok(text.len() as u64)
}

/// `bpf_trace_vprintk(fmt, size, data, data_len)`.
pub(super) fn trace_vprintk<H: Host>(
    host: &mut H,
    _: &mut Runtime<H>,
    &[fmt, _, data, data_len, _]: &[u64; 5],
) -> Result<u64, Fault> {
    let text = format::bstr(host.memory(), fmt, data, data_len)?;
    host.print(&text);
    Ok(text.len() as u64)
}

/// `bpf_snprintf(to, size, fmt, data, data_len)`: length with its NUL, uncut.
pub(super) fn snprintf<H: Host>(
    host: &mut H,
    _: &mut Runtime<H>,
    &[to, size, fmt, data, data_len]: &[u64; 5],
) -> Result<u64, Fault> {
    let memory = host.memory();
    let text = format::bstr(memory, fmt, data, data_len)?;
    let room = memory.guest_bytes_mut(to, size as u32)?;
    if let Some(last) = room.len().checked_sub(1) {
        let len = text.len().min(last);
        room[..len].copy_from_slice(&text.as_bytes()[..len]);
        room[len] = 0;
    }
    Ok(text.len() as u64 + 1)
}
