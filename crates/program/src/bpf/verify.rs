// SPDX-License-Identifier: MIT OR Apache-2.0
//! What loading refuses at once, and the log in which it says so. The machine checks the rest: when
//! a scheduler is attached, and when instructions are reached.

use super::Caller;
use crate::Errno;
use rota_object::image::Insn;

/// `lddw`.
pub(super) const LDDW: u8 = 0x18;
/// `call`.
pub(super) const CALL: u8 = 0x85;

/// What `lddw` loads (`BPF_PSEUDO_*`): its source register.
pub(super) mod wide {
    pub(crate) const MAP_FD: u8 = 1;
    pub(crate) const MAP_VALUE: u8 = 2;
    pub(crate) const BTF_ID: u8 = 3;
    pub(crate) const FUNC: u8 = 4;
    pub(crate) const MAP_IDX: u8 = 5;
    pub(crate) const MAP_IDX_VALUE: u8 = 6;
}

/// What is called (`BPF_PSEUDO_*`): the source register of `call`.
pub(super) mod callee {
    pub(crate) const HELPER: u8 = 0;
    pub(crate) const FUNCTION: u8 = 1;
    pub(crate) const KFUNC: u8 = 2;
}

/// A program that is refused, and the log of it.
#[derive(Debug)]
pub(super) struct Refused {
    pub(super) errno: Errno,
    pub(super) log: String,
}

/// A refusal with its reason.
pub(super) fn refused<T>(errno: Errno, log: String) -> Result<T, Refused> {
    Err(Refused { errno, log: log + "\n" })
}

impl From<Errno> for Refused {
    fn from(errno: Errno) -> Self {
        Self { errno, log: String::new() }
    }
}

/// Slots and their instructions, second slots of `lddw` left out.
pub(super) fn instructions(code: &[Insn]) -> impl Iterator<Item = (usize, Insn)> + '_ {
    let mut slot = 0;
    std::iter::from_fn(move || {
        let insn = *code.get(slot)?;
        let at = slot;
        slot += if insn.op == LDDW { 2 } else { 1 };
        Some((at, insn))
    })
}

/// `resolve_pseudo_ldimm64()` and `check_subprogs()`, as far as any code must have that form.
pub(super) fn shape(code: &[Insn]) -> Result<(), Refused> {
    for (slot, insn) in instructions(code) {
        if insn.dst > 10 || insn.src > 10 {
            let register = insn.dst.max(insn.src);
            return refused(Errno::EINVAL, format!("R{register} is invalid"));
        }
        if insn.op == LDDW {
            let second = code.get(slot + 1).filter(|second| {
                second.op == 0 && second.dst == 0 && second.src == 0 && second.off == 0
            });
            if second.is_none() {
                return refused(Errno::EINVAL, "invalid bpf_ld_imm64 insn".into());
            }
            if insn.src > wide::MAP_IDX_VALUE {
                return refused(Errno::EINVAL, "unrecognized bpf_ld_imm64 insn".into());
            }
        }
        let function = match (insn.op, insn.src) {
            (CALL, callee::FUNCTION) | (LDDW, wide::FUNC) => slot as i64 + i64::from(insn.imm) + 1,
            _ => continue,
        };
        if !(0..code.len() as i64).contains(&function) {
            return refused(Errno::EINVAL, format!("call to invalid destination {function}"));
        }
    }
    Ok(())
}

/// `bpf_verifier_log_attr_valid()`.
pub(super) fn log_is_sound(at: u64, size: u32, level: u32) -> bool {
    (at != 0) == (size != 0) && (at == 0 || level != 0) && level <= 15 && size <= u32::MAX >> 2
}

/// `bpf_vlog_finalize()`: the log, or the end of one that is too long; its true size.
pub(super) fn write_log(
    caller: &mut dyn Caller,
    at: u64,
    size: u32,
    text: &str,
) -> Result<u32, Errno> {
    let full = text.len() as u32 + 1;
    if at == 0 || size == 0 {
        return Ok(full);
    }
    let room = (size as usize - 1).min(text.len());
    let mut bytes = text.as_bytes()[text.len() - room..].to_vec();
    bytes.push(0);
    caller.write(at, &bytes)?;
    Ok(full)
}
