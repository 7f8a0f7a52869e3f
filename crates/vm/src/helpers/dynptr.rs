// SPDX-License-Identifier: MIT OR Apache-2.0
//! Helpers on dynptrs (`struct bpf_dynptr_kern` of `kernel/bpf/helpers.c`): an address, then how
//! many bytes are there.

use crate::errno::{code, E2BIG, EINVAL};
use crate::error::Fault;
use crate::host::Host;
use crate::runtime::Runtime;

/// Where the bytes `offset..offset + len` of a dynptr are, or that it has fewer.
fn place<H: Host>(
    host: &mut H,
    dynptr: u64,
    offset: u32,
    len: u32,
) -> Result<Result<u64, i64>, Fault> {
    let memory = host.memory();
    let (data, size) = (memory.read(dynptr, 8)?, memory.read(dynptr + 8, 4)?);
    if data == 0 {
        return Ok(Err(EINVAL));
    }
    let fits = u64::from(offset) + u64::from(len) <= size;
    Ok(if fits { Ok(data + u64::from(offset)) } else { Err(E2BIG) })
}

/// `bpf_dynptr_data(ptr, offset, len)`: NULL if it has fewer bytes.
pub(super) fn data<H: Host>(
    host: &mut H,
    _: &mut Runtime<H>,
    &[dynptr, offset, len, ..]: &[u64; 5],
) -> Result<u64, Fault> {
    Ok(place(host, dynptr, offset as u32, len as u32)?.unwrap_or(0))
}

/// `bpf_dynptr_read(dst, len, src, offset, flags)`.
pub(super) fn read<H: Host>(
    host: &mut H,
    _: &mut Runtime<H>,
    &[to, len, dynptr, offset, flags]: &[u64; 5],
) -> Result<u64, Fault> {
    let len = len as u32;
    if flags != 0 {
        return Ok(code(EINVAL));
    }
    match place(host, dynptr, offset as u32, len)? {
        Ok(from) => {
            let bytes = host.memory().copy(from, len)?;
            host.memory().guest_bytes_mut(to, len)?.copy_from_slice(&bytes);
            Ok(0)
        }
        Err(errno) => Ok(code(errno)),
    }
}

/// `bpf_dynptr_write(dst, offset, src, len, flags)`.
pub(super) fn write<H: Host>(
    host: &mut H,
    _: &mut Runtime<H>,
    &[dynptr, offset, from, len, flags]: &[u64; 5],
) -> Result<u64, Fault> {
    let len = len as u32;
    if flags != 0 {
        return Ok(code(EINVAL));
    }
    match place(host, dynptr, offset as u32, len)? {
        Ok(to) => {
            let bytes = host.memory().copy(from, len)?;
            host.memory().guest_bytes_mut(to, len)?.copy_from_slice(&bytes);
            Ok(0)
        }
        Err(errno) => Ok(code(errno)),
    }
}
