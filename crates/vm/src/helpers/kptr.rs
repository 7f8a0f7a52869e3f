// SPDX-License-Identifier: MIT OR Apache-2.0
//! The helper that moves owned pointers in and out of maps.

use crate::error::Fault;
use crate::host::Host;
use crate::runtime::Runtime;

/// `bpf_kptr_xchg(place, pointer)`: the caller now owns what was there.
pub(super) fn kptr_xchg<H: Host>(
    host: &mut H,
    _: &mut Runtime<H>,
    &[place, pointer, ..]: &[u64; 5],
) -> Result<u64, Fault> {
    let memory = host.memory();
    let old = memory.read(place, 8)?;
    memory.write(place, 8, pointer)?;
    Ok(old)
}
