// SPDX-License-Identifier: MIT OR Apache-2.0
//! The loop: one op after the other until the call returns, faults, or is out of fuel.

use super::op::{accessed, code, Op};
use super::program::Program;
use super::resume::resume;
use super::{alu, atomic};
use crate::code::State;
use crate::error::{Fault, FaultKind};
use crate::host::Host;
use crate::memory::is_null;
use crate::runtime::Runtime;

/// Instructions that the kernel puts in the place of a lookup in an array.
pub(super) const INLINE_LOOKUP_COST: i64 = 6;

/// Runs on from `state`. True: the call returned; false: `left` is used up. Each
/// instruction takes one from `left`, calls of the host take their cost as well.
pub(super) fn interpret<H: Host>(
    program: &Program<H>,
    state: &mut State<Runtime<H>, H>,
    rt: &mut Runtime<H>,
    host: &mut H,
    left: &mut i64,
) -> Result<bool, Box<Fault>> {
    let ops: &[Op] = &program.ops;
    let mut pc = state.pc;
    let mut fuel = *left;
    let result = loop {
        if fuel <= 0 {
            break Ok(false);
        }
        fuel -= 1;
        let Some(op) = ops.get(pc) else {
            break fault(FaultKind::BadInsn(0));
        };
        let r = &mut state.regs;
        let (d, s) = (usize::from(op.dst & 15), usize::from(op.src & 15));
        pc += 1;
        // `dst = f(dst, src or immediate)`.
        macro_rules! k {
            ($f:expr) => {
                r[d] = ($f)(r[d], op.imm)
            };
        }
        macro_rules! x {
            ($f:expr) => {
                r[d] = ($f)(r[d], r[s])
            };
        }
        // The same on the low halves; the high half becomes 0.
        macro_rules! k32 {
            ($f:expr) => {
                r[d] = u64::from(($f)(r[d] as u32, op.imm as u32))
            };
        }
        macro_rules! x32 {
            ($f:expr) => {
                r[d] = u64::from(($f)(r[d] as u32, r[s] as u32))
            };
        }
        // Jumps if the comparison of the operands, read as `$t`, holds.
        macro_rules! jk {
            ($t:ty, $f:expr) => {
                if ($f)(r[d] as $t, op.imm as $t) {
                    pc = op.off as usize;
                }
            };
        }
        macro_rules! jx {
            ($t:ty, $f:expr) => {
                if ($f)(r[d] as $t, r[s] as $t) {
                    pc = op.off as usize;
                }
            };
        }
        // Loads of `$n` bytes, passed through `$f`.
        macro_rules! load {
            ($n:literal, $f:expr) => {{
                let addr = r[s].wrapping_add(op.off as u64);
                match host.memory().load::<$n>(addr) {
                    Some(value) => r[d] = ($f)(value),
                    None => break bad_address(host, addr, $n, false),
                }
            }};
        }
        macro_rules! store {
            ($n:literal, $value:expr) => {{
                let addr = r[d].wrapping_add(op.off as u64);
                if host.memory().store::<$n>(addr, $value).is_none() {
                    break bad_address(host, addr, $n, true);
                }
            }};
        }
        macro_rules! atomic {
            ($n:literal) => {
                if let Err(fault) = atomic::atomic(*op, $n, r, host.memory()) {
                    break Err(Box::new(fault));
                }
            };
        }
        match op.code {
            code::ADD64_K => k!(u64::wrapping_add),
            code::ADD64_X => x!(u64::wrapping_add),
            code::ADD32_K => k32!(u32::wrapping_add),
            code::ADD32_X => x32!(u32::wrapping_add),
            code::SUB64_K => k!(u64::wrapping_sub),
            code::SUB64_X => x!(u64::wrapping_sub),
            code::SUB32_K => k32!(u32::wrapping_sub),
            code::SUB32_X => x32!(u32::wrapping_sub),
            code::MUL64_K => k!(u64::wrapping_mul),
            code::MUL64_X => x!(u64::wrapping_mul),
            code::MUL32_K => k32!(u32::wrapping_mul),
            code::MUL32_X => x32!(u32::wrapping_mul),
            code::DIV64_K => k!(alu::div64),
            code::DIV64_X => x!(alu::div64),
            code::DIV32_K => k!(alu::div32),
            code::DIV32_X => x!(alu::div32),
            code::MOD64_K => k!(alu::mod64),
            code::MOD64_X => x!(alu::mod64),
            code::MOD32_K => k!(alu::mod32),
            code::MOD32_X => x!(alu::mod32),
            code::SDIV64_K => k!(alu::sdiv64),
            code::SDIV64_X => x!(alu::sdiv64),
            code::SDIV32_K => k!(alu::sdiv32),
            code::SDIV32_X => x!(alu::sdiv32),
            code::SMOD64_K => k!(alu::smod64),
            code::SMOD64_X => x!(alu::smod64),
            code::SMOD32_K => k!(alu::smod32),
            code::SMOD32_X => x!(alu::smod32),
            code::OR64_K => k!(|a, b| a | b),
            code::OR64_X => x!(|a, b| a | b),
            code::OR32_K => k32!(|a, b| a | b),
            code::OR32_X => x32!(|a, b| a | b),
            code::AND64_K => k!(|a, b| a & b),
            code::AND64_X => x!(|a, b| a & b),
            code::AND32_K => k32!(|a, b| a & b),
            code::AND32_X => x32!(|a, b| a & b),
            code::XOR64_K => k!(|a, b| a ^ b),
            code::XOR64_X => x!(|a, b| a ^ b),
            code::XOR32_K => k32!(|a, b| a ^ b),
            code::XOR32_X => x32!(|a, b| a ^ b),
            code::MOV64_K => k!(|_, b| b),
            code::MOV64_X => x!(|_, b| b),
            code::MOV32_K => k32!(|_, b| b),
            code::MOV32_X => x32!(|_, b| b),
            code::LSH64_K => k!(|a: u64, b| a.wrapping_shl(b as u32)),
            code::LSH64_X => x!(|a: u64, b| a.wrapping_shl(b as u32)),
            code::LSH32_K => k32!(u32::wrapping_shl),
            code::LSH32_X => x32!(u32::wrapping_shl),
            code::RSH64_K => k!(|a: u64, b| a.wrapping_shr(b as u32)),
            code::RSH64_X => x!(|a: u64, b| a.wrapping_shr(b as u32)),
            code::RSH32_K => k32!(u32::wrapping_shr),
            code::RSH32_X => x32!(u32::wrapping_shr),
            code::ARSH64_K => k!(|a, b| (a as i64).wrapping_shr(b as u32) as u64),
            code::ARSH64_X => x!(|a, b| (a as i64).wrapping_shr(b as u32) as u64),
            code::ARSH32_K => k32!(|a, b| (a as i32).wrapping_shr(b) as u32),
            code::ARSH32_X => x32!(|a, b| (a as i32).wrapping_shr(b) as u32),
            code::NEG64 => r[d] = r[d].wrapping_neg(),
            code::NEG32 => r[d] = u64::from((r[d] as u32).wrapping_neg()),
            code::MOVSX64_B => r[d] = r[s] as i8 as u64,
            code::MOVSX64_H => r[d] = r[s] as i16 as u64,
            code::MOVSX64_W => r[d] = r[s] as i32 as u64,
            code::MOVSX32_B => r[d] = u64::from(r[s] as i8 as u32),
            code::MOVSX32_H => r[d] = u64::from(r[s] as i16 as u32),
            code::SWAP16 => r[d] = u64::from((r[d] as u16).swap_bytes()),
            code::SWAP32 => r[d] = u64::from((r[d] as u32).swap_bytes()),
            code::SWAP64 => r[d] = r[d].swap_bytes(),
            code::LDDW => r[d] = op.imm,

            code::JA => pc = op.off as usize,
            code::JEQ64_K => jk!(u64, |a, b| a == b),
            code::JEQ64_X => jx!(u64, |a, b| a == b),
            code::JEQ32_K => jk!(u32, |a, b| a == b),
            code::JEQ32_X => jx!(u32, |a, b| a == b),
            code::JNE64_K => jk!(u64, |a, b| a != b),
            code::JNE64_X => jx!(u64, |a, b| a != b),
            code::JNE32_K => jk!(u32, |a, b| a != b),
            code::JNE32_X => jx!(u32, |a, b| a != b),
            code::JGT64_K => jk!(u64, |a, b| a > b),
            code::JGT64_X => jx!(u64, |a, b| a > b),
            code::JGT32_K => jk!(u32, |a, b| a > b),
            code::JGT32_X => jx!(u32, |a, b| a > b),
            code::JGE64_K => jk!(u64, |a, b| a >= b),
            code::JGE64_X => jx!(u64, |a, b| a >= b),
            code::JGE32_K => jk!(u32, |a, b| a >= b),
            code::JGE32_X => jx!(u32, |a, b| a >= b),
            code::JLT64_K => jk!(u64, |a, b| a < b),
            code::JLT64_X => jx!(u64, |a, b| a < b),
            code::JLT32_K => jk!(u32, |a, b| a < b),
            code::JLT32_X => jx!(u32, |a, b| a < b),
            code::JLE64_K => jk!(u64, |a, b| a <= b),
            code::JLE64_X => jx!(u64, |a, b| a <= b),
            code::JLE32_K => jk!(u32, |a, b| a <= b),
            code::JLE32_X => jx!(u32, |a, b| a <= b),
            code::JSET64_K => jk!(u64, |a, b| a & b != 0),
            code::JSET64_X => jx!(u64, |a, b| a & b != 0),
            code::JSET32_K => jk!(u32, |a, b| a & b != 0),
            code::JSET32_X => jx!(u32, |a, b| a & b != 0),
            code::JSGT64_K => jk!(i64, |a, b| a > b),
            code::JSGT64_X => jx!(i64, |a, b| a > b),
            code::JSGT32_K => jk!(i32, |a, b| a > b),
            code::JSGT32_X => jx!(i32, |a, b| a > b),
            code::JSGE64_K => jk!(i64, |a, b| a >= b),
            code::JSGE64_X => jx!(i64, |a, b| a >= b),
            code::JSGE32_K => jk!(i32, |a, b| a >= b),
            code::JSGE32_X => jx!(i32, |a, b| a >= b),
            code::JSLT64_K => jk!(i64, |a, b| a < b),
            code::JSLT64_X => jx!(i64, |a, b| a < b),
            code::JSLT32_K => jk!(i32, |a, b| a < b),
            code::JSLT32_X => jx!(i32, |a, b| a < b),
            code::JSLE64_K => jk!(i64, |a, b| a <= b),
            code::JSLE64_X => jx!(i64, |a, b| a <= b),
            code::JSLE32_K => jk!(i32, |a, b| a <= b),
            code::JSLE32_X => jx!(i32, |a, b| a <= b),

            code::LDX_B => load!(1, |v| v),
            code::LDX_H => load!(2, |v| v),
            code::LDX_W => load!(4, |v| v),
            code::LDX_DW => load!(8, |v| v),
            code::LDXS_B => load!(1, |v| v as i8 as u64),
            code::LDXS_H => load!(2, |v| v as i16 as u64),
            code::LDXS_W => load!(4, |v| v as i32 as u64),
            code::LOAD_NULLABLE => {
                let addr = r[s].wrapping_add(op.off as u64);
                if is_null(addr) {
                    break null_argument(program, op.imm);
                }
                let value = match op.imm as u8 {
                    code::LDX_B => host.memory().load::<1>(addr),
                    code::LDX_H => host.memory().load::<2>(addr),
                    code::LDX_W => host.memory().load::<4>(addr),
                    code::LDXS_B => host.memory().load::<1>(addr).map(|v| v as i8 as u64),
                    code::LDXS_H => host.memory().load::<2>(addr).map(|v| v as i16 as u64),
                    code::LDXS_W => host.memory().load::<4>(addr).map(|v| v as i32 as u64),
                    _ => host.memory().load::<8>(addr),
                };
                match value {
                    Some(value) => r[d] = value,
                    None => break bad_load(host, addr, op),
                }
            }
            code::ST_B => store!(1, op.imm),
            code::ST_H => store!(2, op.imm),
            code::ST_W => store!(4, op.imm),
            code::ST_DW => store!(8, op.imm),
            code::STX_B => store!(1, r[s]),
            code::STX_H => store!(2, r[s]),
            code::STX_W => store!(4, r[s]),
            code::STX_DW => store!(8, r[s]),
            code::ATOMIC_B => atomic!(1),
            code::ATOMIC_H => atomic!(2),
            code::ATOMIC_W => atomic!(4),
            code::ATOMIC_DW => atomic!(8),
            code::CAST_KERN => {
                let low = r[s] as u32;
                r[d] = if low == 0 { 0 } else { program.arena + u64::from(low) };
            }
            // Arena pointers have one form here, but the NULL check is the same.
            code::CAST_USER => r[d] = if r[s] as u32 == 0 { 0 } else { r[s] },

            code::CALL => {
                if let Err(fault) = state.frames.push(r, pc, None, host.memory()) {
                    break Err(Box::new(fault));
                }
                pc = op.off as usize;
            }
            code::CALL_HOST => {
                match call_host(program, op.imm as usize, pc - 1, r, rt, host) {
                    Ok(cost) => fuel -= cost,
                    Err(fault) => break Err(fault),
                }
                if rt.wants_callback() {
                    let Some(callback) = rt.take_callback() else { continue };
                    state.pc = pc;
                    if let Err(fault) = resume(callback, program, state, rt, host, None) {
                        break Err(Box::new(fault));
                    }
                    pc = state.pc;
                }
            }
            code::LOOKUP_ARRAY => {
                let place = program.arrays.get(op.imm as usize).copied().unwrap_or_default();
                match host.memory().load::<4>(r[2]) {
                    Some(index) if index < u64::from(place.entries) => {
                        let copy = u64::from(host.cpu()) * u64::from(place.cpu_stride);
                        r[0] = place.base + copy + index * u64::from(place.stride);
                    }
                    Some(_) => r[0] = 0,
                    None => break bad_address(host, r[2], 4, false),
                }
                fuel -= INLINE_LOOKUP_COST;
            }
            code::EXIT => match state.frames.pop(r) {
                None => break Ok(true),
                Some(saved) => {
                    pc = saved.pc;
                    if let Some(callback) = saved.callback {
                        let last = Some(r[0]);
                        state.pc = pc;
                        let step = resume(callback, program, state, rt, host, last);
                        if let Err(fault) = step {
                            break Err(Box::new(fault));
                        }
                        pc = state.pc;
                    }
                }
            },
            code::MAY_GOTO => {
                if !state.frames.may_loop() {
                    pc = op.off as usize;
                }
            }
            code::TRAP => {
                let kind = program.traps.get(op.imm as usize).cloned();
                break fault(kind.unwrap_or(FaultKind::BadInsn(op.code)));
            }
            other => break fault(FaultKind::BadInsn(other)),
        }
    };
    // A fault is the doing of the op before `pc`, which a jump's target is not.
    state.pc = if result.is_err() { pc.saturating_sub(1) } else { pc };
    *left = fuel;
    result
}

/// A helper or kernel function, by a place of its own: what it needs is not kept in registers for
/// all the other ops. Returns what the call costs.
#[inline(never)]
fn call_host<H: Host>(
    program: &Program<H>,
    callee: usize,
    site: usize,
    r: &mut [u64; 16],
    rt: &mut Runtime<H>,
    host: &mut H,
) -> Result<i64, Box<Fault>> {
    run_callee(program, callee, site, r, rt, host)
}

/// The same, as a part of where it is called from.
#[inline(always)]
pub(super) fn run_callee<H: Host>(
    program: &Program<H>,
    callee: usize,
    site: usize,
    r: &mut [u64; 16],
    rt: &mut Runtime<H>,
    host: &mut H,
) -> Result<i64, Box<Fault>> {
    let Some(callee) = program.callees.get(callee) else {
        return Err(Box::new(Fault::new(FaultKind::BadInsn(code::CALL_HOST))));
    };
    if let Some((contexts, name)) = callee.limit {
        host.may_call(contexts, name)?;
    }
    host.calls_from(site as u32);
    if let Some(absent) = callee.absent.filter(|_| host.is_bare()) {
        r[0] = absent;
        return Ok(callee.cost.into());
    }
    // in their place, as to copy them waits for what has just put them there
    let args = r[1..].first_chunk().unwrap_or(&[0; 5]);
    r[0] = (callee.run)(host, rt, args)?;
    Ok(i64::from(callee.cost) + rt.take_charge())
}

#[cold]
fn fault(kind: FaultKind) -> Result<bool, Box<Fault>> {
    Err(Box::new(Fault::new(kind)))
}

#[cold]
#[inline(never)]
fn null_argument<H>(program: &Program<H>, imm: u64) -> Result<bool, Box<Fault>> {
    let name = program.names.get((imm >> 8) as usize).cloned().unwrap_or_default();
    fault(FaultKind::NullArgument(name))
}

/// Of a load of which `imm` has the code.
#[cold]
#[inline(never)]
fn bad_load<H: Host>(host: &mut H, addr: u64, op: &Op) -> Result<bool, Box<Fault>> {
    let load = Op { code: op.imm as u8, ..*op };
    let size = accessed(load).map_or(8, |(_, size)| size as u32);
    bad_address(host, addr, size, false)
}

#[cold]
#[inline(never)]
fn bad_address<H: Host>(
    host: &mut H,
    addr: u64,
    size: u32,
    write: bool,
) -> Result<bool, Box<Fault>> {
    Err(Box::new(host.memory().bad_address(addr, size, write)))
}
