// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the kernel's verifier does with frozen data: branches on it are decided, and
//! code that nothing reaches is removed, so it is neither run nor counted.
//!
//! Constants are followed forward along straight lines of code only; a jump target
//! forgets all of them.

use super::alu;
use super::op::{class, code, field, is_jump, writes_dst, Op};
use crate::memory::handle;
use crate::places::Places;

/// Each round may open branches for the next; real code needs two or three.
const MAX_ROUNDS: usize = 8;

/// `bpf_map_lookup_elem`.
const MAP_LOOKUP: i32 = 1;

/// Decides branches on frozen data in one function and removes dead code.
/// Jumps are relative to `ops`, whose last op is the function's trap.
pub(super) fn simplify(ops: &mut Vec<Op>, slots: &mut Vec<u32>, places: &Places) {
    for _ in 0..MAX_ROUNDS {
        let changed = decide(ops, places);
        if !(compact(ops, slots) || changed) {
            break;
        }
    }
}

/// Known register contents.
type Known = [Option<u64>; 16];

/// Replaces loads of frozen data and branches on constants; true if it did.
fn decide(ops: &mut [Op], places: &Places) -> bool {
    let mut target = vec![false; ops.len()];
    for op in ops.iter().filter(|op| is_jump(op.code)) {
        target[op.off as usize] = true;
    }
    let mut known: Known = [None; 16];
    let mut changed = false;
    for (op, is_target) in ops.iter_mut().zip(target) {
        if is_target {
            known = [None; 16];
        }
        let new = decided(*op, &known, places);
        changed |= new != *op;
        *op = new;
        track(new, &mut known);
    }
    changed
}

/// The op that does the same, given what is known.
fn decided(op: Op, known: &Known, places: &Places) -> Op {
    let (dst, src) = (known[usize::from(op.dst & 15)], known[usize::from(op.src & 15)]);
    match op.code {
        code::LDX_B | code::LDX_H | code::LDX_W | code::LDX_DW => {
            let Some(value) = src.and_then(|base| frozen(op, base, places)) else { return op };
            Op { code: code::MOV64_K, src: 0, off: 0, imm: value, ..op }
        }
        code::CALL_HOST if op.off == MAP_LOOKUP => {
            let number = known[1].and_then(handle::as_map);
            let place = number.and_then(|number| *places.arrays.get(number as usize)?);
            match (number, place) {
                (Some(number), Some(_)) => {
                    Op { code: code::LOOKUP_ARRAY, off: 0, imm: number.into(), ..op }
                }
                _ => op,
            }
        }
        _ if is_jump(op.code) && op.code != code::JA && op.code != code::MAY_GOTO => {
            let operand = if op.code & field::FROM_REGISTER == 0 { Some(op.imm) } else { src };
            let (Some(a), Some(b)) = (dst, operand) else { return op };
            match alu::taken(op.code & !field::FROM_REGISTER, a, b) {
                Some(true) => Op { code: code::JA, dst: 0, src: 0, imm: 0, ..op },
                Some(false) => Op { code: code::NOP, dst: 0, src: 0, off: 0, imm: 0 },
                None => op,
            }
        }
        _ => op,
    }
}

/// The frozen bytes that a load reads.
fn frozen(op: Op, base: u64, places: &Places) -> Option<u64> {
    let addr = base.wrapping_add(op.off as u64);
    let data = places.frozen.get(&(addr >> 32 << 32))?;
    let start = addr as u32 as usize;
    let size = match op.code {
        code::LDX_B => 1,
        code::LDX_H => 2,
        code::LDX_W => 4,
        _ => 8,
    };
    let mut wide = [0; 8];
    wide[..size].copy_from_slice(data.get(start..start + size)?);
    Some(u64::from_le_bytes(wide))
}

/// Follows one op's effect on what is known.
fn track(op: Op, known: &mut Known) {
    let (dst, src) = (usize::from(op.dst & 15), usize::from(op.src & 15));
    match op.code {
        code::LDDW => known[dst] = Some(op.imm),
        code::CALL | code::CALL_HOST | code::LOOKUP_ARRAY => known[..6].fill(None),
        code::ATOMIC_W | code::ATOMIC_DW => {
            // A fetching form writes src, a compare-exchange r0.
            known[src] = None;
            known[dst] = if writes_dst(op) { None } else { known[dst] };
            known[0] = None;
        }
        _ if writes_dst(op) => {
            let binary = matches!(op.code & field::CLASS, class::ALU32 | class::ALU64);
            let operand =
                if op.code & field::FROM_REGISTER == 0 { Some(op.imm) } else { known[src] };
            let is_move = matches!(op.code & !field::FROM_REGISTER, code::MOV64_K | code::MOV32_K);
            let before = if is_move { Some(0) } else { known[dst] };
            known[dst] = match (before, operand) {
                (Some(a), Some(b)) if binary => alu::eval(op.code & !field::FROM_REGISTER, a, b),
                _ => None,
            };
        }
        _ => {}
    }
}

/// Removes ops that nothing reaches, decided branches that fall through, and jumps
/// to the next op; true if any.
fn compact(ops: &mut Vec<Op>, slots: &mut Vec<u32>) -> bool {
    let mut keep = reached(ops);
    // Bad jumps need the trap, reached or not.
    if let Some(trap) = keep.last_mut() {
        *trap = true;
    }
    for at in (0..ops.len()).rev() {
        let next = (at + 1..ops.len()).find(|&later| keep[later]);
        let op = ops[at];
        let onward = op.code == code::JA && op.off as usize > at && {
            let landing = (op.off as usize..ops.len()).find(|&later| keep[later]);
            landing == next
        };
        keep[at] &= op.code != code::NOP && !onward;
    }
    if keep.iter().all(|&kept| kept) {
        return false;
    }
    // A removed target's place is its successor's.
    let mut new_index = Vec::with_capacity(ops.len());
    let mut kept_so_far = 0;
    for &kept in &keep {
        new_index.push(kept_so_far);
        kept_so_far += i32::from(kept);
    }
    for op in ops.iter_mut().filter(|op| is_jump(op.code)) {
        op.off = new_index[op.off as usize];
    }
    let mut flags = keep.iter();
    ops.retain(|_| flags.next().is_some_and(|&kept| kept));
    let mut flags = keep.iter();
    slots.retain(|_| flags.next().is_some_and(|&kept| kept));
    true
}

/// Which ops control can reach from the first one.
fn reached(ops: &[Op]) -> Vec<bool> {
    let mut seen = vec![false; ops.len()];
    let mut open = vec![0];
    while let Some(at) = open.pop() {
        let Some(op) = ops.get(at) else { continue };
        if std::mem::replace(&mut seen[at], true) {
            continue;
        }
        if is_jump(op.code) {
            open.push(op.off as usize);
        }
        if !matches!(op.code, code::JA | code::EXIT | code::TRAP) {
            open.push(at + 1);
        }
    }
    seen
}
