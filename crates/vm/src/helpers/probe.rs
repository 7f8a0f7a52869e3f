// SPDX-License-Identifier: MIT OR Apache-2.0
//! Helpers that read memory which may not be there, and compare strings.

use crate::errno::{code, EFAULT};
use crate::error::Fault;
use crate::host::Host;
use crate::runtime::Runtime;

/// `bpf_probe_read_kernel(to, size, from)`: what cannot be read reads as zeroes.
pub(super) fn read_kernel<H: Host>(
    host: &mut H,
    _: &mut Runtime<H>,
    &[to, size, from, ..]: &[u64; 5],
) -> Result<u64, Fault> {
    let memory = host.memory();
    let size = size as u32;
    let bytes = memory.copy(from, size);
    if size > 0 && bytes.is_ok() {
        // A look at the first byte notes reads of fields that nothing filled.
        memory.read(from, 1)?;
    }
    let room = memory.guest_bytes_mut(to, size)?;
    match bytes {
        Ok(bytes) => {
            room.copy_from_slice(&bytes);
            Ok(0)
        }
        Err(_) => {
            room.fill(0);
            Ok(code(EFAULT))
        }
    }
}

/// `bpf_probe_read_user(to, size, from)` and `_str`: there is no user memory.
pub(super) fn read_user<H: Host>(
    host: &mut H,
    _: &mut Runtime<H>,
    &[to, size, ..]: &[u64; 5],
) -> Result<u64, Fault> {
    host.memory().guest_bytes_mut(to, size as u32)?.fill(0);
    Ok(code(EFAULT))
}

/// `bpf_probe_read_kernel_str(to, size, from)`: length with its NUL.
pub(super) fn read_kernel_str<H: Host>(
    host: &mut H,
    _: &mut Runtime<H>,
    &[to, size, from, ..]: &[u64; 5],
) -> Result<u64, Fault> {
    let memory = host.memory();
    let size = size as u32;
    if size == 0 {
        return Ok(0);
    }
    let text = memory.c_string(from, size - 1);
    let room = memory.guest_bytes_mut(to, size)?;
    let Ok(text) = text else {
        room.fill(0);
        return Ok(code(EFAULT));
    };
    let len = text.len().min(room.len() - 1);
    room[..len].copy_from_slice(&text.as_bytes()[..len]);
    room[len] = 0;
    Ok(len as u64 + 1)
}

/// `bpf_strncmp(s1, size, s2)`.
pub(super) fn strncmp<H: Host>(
    host: &mut H,
    _: &mut Runtime<H>,
    &[first, size, second, ..]: &[u64; 5],
) -> Result<u64, Fault> {
    let memory = host.memory();
    for at in 0..size {
        let (a, b) =
            (memory.read(first.wrapping_add(at), 1)?, memory.read(second.wrapping_add(at), 1)?);
        if a != b {
            return Ok(a.wrapping_sub(b) as i64 as u64);
        }
        if a == 0 {
            break;
        }
    }
    Ok(0)
}
