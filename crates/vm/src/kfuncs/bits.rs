// SPDX-License-Identifier: MIT OR Apache-2.0
//! `bpf_iter_bits`: the loop over the set bits of some words. The state is the address
//! of a copy of the words, their number of bits, and the current bit.

use super::row;
use crate::errno::{code, E2BIG, EFAULT, EINVAL};
use crate::error::Fault;
use crate::host::Host;
use crate::memory::Perm;
use crate::runtime::Runtime;
use crate::table::Kfunc;

/// `BITS_ITER_NR_WORDS_MAX`.
const MAX_WORDS: u32 = 511;

pub(super) fn rows<H: Host>() -> [Kfunc<H>; 3] {
    [
        row("bpf_iter_bits_new", 3..=3, 40, new),
        row("bpf_iter_bits_next", 1..=1, 12, next),
        row("bpf_iter_bits_destroy", 1..=1, 20, destroy),
    ]
}

fn new<H: Host>(
    host: &mut H,
    _: &mut Runtime<H>,
    &[it, words, count, ..]: &[u64; 5],
) -> Result<u64, Fault> {
    let memory = host.memory();
    let count = count as u32;
    memory.write(it, 8, 0)?;
    memory.write(it.wrapping_add(8), 8, 0)?;
    if words == 0 || count == 0 {
        return Ok(code(EINVAL));
    }
    if count > MAX_WORDS {
        return Ok(code(E2BIG));
    }
    let Ok(bytes) = memory.copy(words, count * 8) else {
        return Ok(code(EFAULT));
    };
    let copy = memory.alloc("bits of an iterator", count * 8, Perm::ReadOnly);
    memory.bytes_mut(copy, count * 8)?.copy_from_slice(&bytes);
    memory.write(it, 8, copy)?;
    memory.write(it.wrapping_add(8), 4, u64::from(count * 64))?;
    memory.write(it.wrapping_add(12), 4, u64::from(u32::MAX))?;
    Ok(0)
}

fn next<H: Host>(host: &mut H, _: &mut Runtime<H>, &[it, ..]: &[u64; 5]) -> Result<u64, Fault> {
    let memory = host.memory();
    // The program may have written the state itself: an end beyond all words, over NULL, which
    // reads as 0, would take seconds for each call.
    let end = (memory.read(it.wrapping_add(8), 4)? as u32).min(MAX_WORDS * 64);
    let copy = memory.read(it, 8)?;
    let mut bit = (memory.read(it.wrapping_add(12), 4)? as u32).wrapping_add(1);
    while bit < end {
        let word = memory.read(copy.wrapping_add(u64::from(bit / 64 * 8)), 8)? >> (bit % 64);
        if word != 0 {
            bit += word.trailing_zeros();
            memory.write(it.wrapping_add(12), 4, bit.into())?;
            return Ok(it.wrapping_add(12));
        }
        bit = (bit / 64 + 1) * 64;
    }
    memory.write(it.wrapping_add(8), 8, 0)?;
    Ok(0)
}

fn destroy<H: Host>(host: &mut H, rt: &mut Runtime<H>, &[it, ..]: &[u64; 5]) -> Result<u64, Fault> {
    let copy = host.memory().read(it, 8)?;
    if copy != 0 {
        rt.free_later(copy);
        host.memory().write(it, 8, 0)?;
    }
    Ok(0)
}
