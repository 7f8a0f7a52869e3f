// SPDX-License-Identifier: MIT OR Apache-2.0
//! Atomic operations. Guest CPUs take turns at instructions, so each is a plain
//! read-modify-write.

use super::op::Op;
use crate::error::Fault;
use crate::memory::Memory;

const FETCH: u64 = 0x01;
const XCHG: u64 = 0xe1;
const CMPXCHG: u64 = 0xf1;
const LOAD_ACQUIRE: u64 = 0x100;
const STORE_RELEASE: u64 = 0x110;

/// Runs one atomic operation of `size` bytes.
pub(super) fn atomic(
    op: Op,
    size: u32,
    regs: &mut [u64; 16],
    memory: &mut Memory,
) -> Result<(), Fault> {
    let (dst, src) = (usize::from(op.dst & 15), usize::from(op.src & 15));
    if op.imm == LOAD_ACQUIRE {
        regs[dst] = memory.read(regs[src].wrapping_add(op.off as u64), size)?;
        return Ok(());
    }
    let addr = regs[dst].wrapping_add(op.off as u64);
    let operand = regs[src];
    if op.imm == STORE_RELEASE {
        return memory.write(addr, size, operand);
    }
    let old = memory.read(addr, size)?;
    let narrow = |value: u64| if size == 4 { u64::from(value as u32) } else { value };
    let new = match op.imm & !FETCH {
        0x00 => old.wrapping_add(operand),
        0x40 => old | operand,
        0x50 => old & operand,
        0xa0 => old ^ operand,
        // Exchanges: their numbers include the fetch bit.
        0xe0 => operand,
        _ if narrow(regs[0]) == old => operand,
        _ => old,
    };
    memory.write(addr, size, new)?;
    match op.imm {
        CMPXCHG => regs[0] = old,
        XCHG => regs[src] = old,
        imm if imm & FETCH != 0 => regs[src] = old,
        _ => {}
    }
    Ok(())
}
