// SPDX-License-Identifier: MIT OR Apache-2.0
//! Puts a relocation's outcome into an instruction.

use super::value::Outcome;
use crate::image::Insn;

/// Patches the first instruction of `code`. `Some` says why it must not be reached.
pub(super) fn apply(code: &mut [Insn], out: &Outcome) -> Result<Option<String>, String> {
    let missing = || Some("is not in this kernel".to_string());
    let Some(insn) = code.first().copied() else { return Err("has no instruction".into()) };
    let class = insn.op & 7;
    match class {
        // ALU and ALU64 with an immediate operand.
        4 | 7 if insn.op & 8 == 0 => {
            if out.missing {
                return Ok(missing());
            }
            expect(out, insn.imm as u32 as u64, "immediate")?;
            code[0].imm = out.value as i32;
            Ok(None)
        }
        // LDX, ST, STX.
        1..=3 => {
            if out.missing {
                return Ok(missing());
            }
            expect(out, insn.off as u64, "offset")?;
            let Ok(off) = i16::try_from(out.value) else {
                return Err(format!("has offset {}, too far for a load or store", out.value));
            };
            if out.bad_access {
                let (old, new) = out.access.unwrap_or_default();
                return Ok(Some(format!(
                    "has {new} bytes in this kernel, the program accesses {old}, and the value \
                     would change"
                )));
            }
            code[0].off = off;
            if let Some((old, new)) = out.access {
                code[0].op = resize(insn.op, old, new)?;
            }
            Ok(None)
        }
        // LDDW.
        0 if insn.op == 0x18 => {
            let plain = |i: &Insn| i.src == 0 && i.off == 0;
            let high = code.get(1).copied();
            let Some(high) = high.filter(|h| plain(&insn) && h.op == 0 && h.dst == 0 && plain(h))
            else {
                return Err("is on an lddw of unexpected form".into());
            };
            if out.missing {
                return Ok(missing());
            }
            expect(out, u64::from(high.imm as u32) << 32 | u64::from(insn.imm as u32), "value")?;
            code[0].imm = out.value as i32;
            code[1].imm = (out.value >> 32) as i32;
            Ok(None)
        }
        _ => Err(format!("is on opcode {:#04x}, which holds no value to relocate", insn.op)),
    }
}

/// The compiler put there what BTF says it did; a 32-bit value may be sign-extended in one
/// and not in the other.
fn expect(out: &Outcome, got: u64, what: &str) -> Result<(), String> {
    let narrow = |n: u64| n >> 32 == 0 || n >> 32 == u64::from(u32::MAX);
    match out.expected {
        Some(want) if want == got => Ok(()),
        Some(want) if narrow(want) && narrow(got) && want as u32 == got as u32 => Ok(()),
        Some(want) => Err(format!("has {what} {got}, expected {want}")),
        None => Ok(()),
    }
}

/// A load or store of another width.
fn resize(op: u8, old: u32, new: u32) -> Result<u8, String> {
    let code = |bytes: u32| match bytes {
        4 => Ok(0x00u8),
        2 => Ok(0x08),
        1 => Ok(0x10),
        8 => Ok(0x18),
        n => Err(format!("has {n} bytes, no load or store has")),
    };
    if op & 0x18 != code(old)? {
        return Err(format!("has {old} bytes, the instruction accesses another number"));
    }
    Ok(op & !0x18 | code(new)?)
}
