// SPDX-License-Identifier: MIT OR Apache-2.0
//! Atomic operations. Guest CPUs take turns at instructions, so each is a plain
//! read-modify-write.

use super::op::{atomic as kind, Op};
use crate::error::Fault;
use crate::memory::Memory;

/// Runs one atomic operation of `size` bytes.
pub(super) fn atomic(
    op: Op,
    size: u32,
    regs: &mut [u64; 16],
    memory: &mut Memory,
) -> Result<(), Fault> {
    let (dst, src) = (usize::from(op.dst & 15), usize::from(op.src & 15));
    let what = op.imm as i32;
    if what == kind::LOAD_ACQUIRE {
        regs[dst] = memory.read(regs[src].wrapping_add(op.off as u64), size)?;
        return Ok(());
    }
    let addr = regs[dst].wrapping_add(op.off as u64);
    let operand = regs[src];
    if what == kind::STORE_RELEASE {
        return memory.write(addr, size, operand);
    }
    let old = memory.read(addr, size)?;
    let narrow = |value: u64| if size == 4 { u64::from(value as u32) } else { value };
    let new = match what {
        kind::EXCHANGE => operand,
        _ if what & !kind::FETCH == kind::ADD => old.wrapping_add(operand),
        _ if what & !kind::FETCH == kind::OR => old | operand,
        _ if what & !kind::FETCH == kind::AND => old & operand,
        _ if what & !kind::FETCH == kind::XOR => old ^ operand,
        // A compare-exchange.
        _ if narrow(regs[0]) == old => operand,
        _ => old,
    };
    memory.write(addr, size, new)?;
    match what {
        kind::COMPARE_EXCHANGE => regs[0] = old,
        _ if what & kind::FETCH != 0 => regs[src] = old,
        _ => {}
    }
    Ok(())
}
