// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arithmetic and comparisons as the ISA defines them, where Rust's operators differ,
//! and evaluation of whole operations for constant folding.

use super::op::code;

/// Unsigned division; by zero it gives 0.
#[inline(always)]
pub(super) fn div64(a: u64, b: u64) -> u64 {
    a.checked_div(b).unwrap_or(0)
}

/// Unsigned remainder; by zero it gives the dividend.
#[inline(always)]
pub(super) fn mod64(a: u64, b: u64) -> u64 {
    a.checked_rem(b).unwrap_or(a)
}

/// Signed division; by zero it gives 0, and the most negative number by -1 itself.
#[inline(always)]
pub(super) fn sdiv64(a: u64, b: u64) -> u64 {
    if b == 0 {
        0
    } else {
        (a as i64).wrapping_div(b as i64) as u64
    }
}

/// Signed remainder, sign of the dividend; by zero it gives the dividend.
#[inline(always)]
pub(super) fn smod64(a: u64, b: u64) -> u64 {
    if b == 0 {
        a
    } else {
        (a as i64).wrapping_rem(b as i64) as u64
    }
}

/// [`div64`] of the low halves.
#[inline(always)]
pub(super) fn div32(a: u64, b: u64) -> u64 {
    u64::from((a as u32).checked_div(b as u32).unwrap_or(0))
}

/// [`mod64`] of the low halves.
#[inline(always)]
pub(super) fn mod32(a: u64, b: u64) -> u64 {
    u64::from((a as u32).checked_rem(b as u32).unwrap_or(a as u32))
}

/// [`sdiv64`] of the low halves.
#[inline(always)]
pub(super) fn sdiv32(a: u64, b: u64) -> u64 {
    if b as u32 == 0 {
        0
    } else {
        u64::from((a as i32).wrapping_div(b as i32) as u32)
    }
}

/// [`smod64`] of the low halves.
#[inline(always)]
pub(super) fn smod32(a: u64, b: u64) -> u64 {
    if b as u32 == 0 {
        u64::from(a as u32)
    } else {
        u64::from((a as i32).wrapping_rem(b as i32) as u32)
    }
}

/// Result of a two-operand operation in its immediate form (`_K`); `None` if `op` is not one.
pub(super) fn eval(op: u8, a: u64, b: u64) -> Option<u64> {
    let wide = match op {
        code::ADD64_K => a.wrapping_add(b),
        code::SUB64_K => a.wrapping_sub(b),
        code::MUL64_K => a.wrapping_mul(b),
        code::DIV64_K => div64(a, b),
        code::MOD64_K => mod64(a, b),
        code::SDIV64_K => sdiv64(a, b),
        code::SMOD64_K => smod64(a, b),
        code::OR64_K => a | b,
        code::AND64_K => a & b,
        code::XOR64_K => a ^ b,
        code::MOV64_K => b,
        code::LSH64_K => a.wrapping_shl(b as u32),
        code::RSH64_K => a.wrapping_shr(b as u32),
        code::ARSH64_K => (a as i64).wrapping_shr(b as u32) as u64,
        _ => return eval32(op, a as u32, b as u32).map(u64::from),
    };
    Some(wide)
}

fn eval32(op: u8, a: u32, b: u32) -> Option<u32> {
    let narrow = match op {
        code::ADD32_K => a.wrapping_add(b),
        code::SUB32_K => a.wrapping_sub(b),
        code::MUL32_K => a.wrapping_mul(b),
        code::DIV32_K => div32(a.into(), b.into()) as u32,
        code::MOD32_K => mod32(a.into(), b.into()) as u32,
        code::SDIV32_K => sdiv32(a.into(), b.into()) as u32,
        code::SMOD32_K => smod32(a.into(), b.into()) as u32,
        code::OR32_K => a | b,
        code::AND32_K => a & b,
        code::XOR32_K => a ^ b,
        code::MOV32_K => b,
        code::LSH32_K => a.wrapping_shl(b),
        code::RSH32_K => a.wrapping_shr(b),
        code::ARSH32_K => (a as i32).wrapping_shr(b) as u32,
        _ => return None,
    };
    Some(narrow)
}

/// Whether a conditional jump in its immediate form (`_K`) is taken; `None` if `op` is not one.
pub(super) fn taken(op: u8, a: u64, b: u64) -> Option<bool> {
    let (wa, wb) = (a as i64, b as i64);
    let (na, nb) = (a as u32, b as u32);
    let (sa, sb) = (a as i32, b as i32);
    Some(match op {
        code::JEQ64_K => a == b,
        code::JNE64_K => a != b,
        code::JGT64_K => a > b,
        code::JGE64_K => a >= b,
        code::JLT64_K => a < b,
        code::JLE64_K => a <= b,
        code::JSET64_K => a & b != 0,
        code::JSGT64_K => wa > wb,
        code::JSGE64_K => wa >= wb,
        code::JSLT64_K => wa < wb,
        code::JSLE64_K => wa <= wb,
        code::JEQ32_K => na == nb,
        code::JNE32_K => na != nb,
        code::JGT32_K => na > nb,
        code::JGE32_K => na >= nb,
        code::JLT32_K => na < nb,
        code::JLE32_K => na <= nb,
        code::JSET32_K => na & nb != 0,
        code::JSGT32_K => sa > sb,
        code::JSGE32_K => sa >= sb,
        code::JSLT32_K => sa < sb,
        code::JSLE32_K => sa <= sb,
        _ => return None,
    })
}
