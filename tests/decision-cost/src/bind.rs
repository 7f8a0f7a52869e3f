// SPDX-License-Identifier: MIT OR Apache-2.0
//! After linking: the bench's hooks lead to the policy's callbacks, and the policy's
//! calls of kernel functions that a `SYSCALL` program cannot call lead to stand-ins.
//!
//! Which of a weak function's versions a policy uses is decided as on the reference
//! kernel: one that it has, exists; one that it lacks, does not. Only instructions that
//! name a function change, and none moves.

use crate::callbacks::{Callbacks, HOOKS};
use crate::elf::{self, Elf, CALL, INSN, LOAD_IMM64, PSEUDO_CALL, R_BPF_64_32, R_BPF_64_64};
use crate::failure::Failure;
use crate::reach;
use object::build::elf::{Relocation, SectionId, SymbolId};
use object::elf::STB_WEAK;
use rota_object::btf::{reference, Btf, Kind};
use std::collections::BTreeSet;
use std::ops::Range;

/// `SCX_OPS_ENQ_LAST` of `ops.flags`.
const OPS_ENQ_LAST: u64 = 1 << 1;

/// Functions that have nothing left to do: a reference that was never taken (the stand-in
/// for `bpf_task_from_pid` has done both) is not given back.
const NOTHING: [&str; 1] = ["bpf_task_release"];
/// `goto +0`.
const NO_OPERATION: [u8; INSN] = [0x05, 0, 0, 0, 0, 0, 0, 0];

/// What a reference to an undefined function becomes.
enum Target {
    /// No instruction at all.
    Nothing,
    /// A function of the bench.
    StandIn(SymbolId),
    /// The running kernel's own; libbpf resolves it.
    Native,
    /// The reference kernel does not have it: a null address.
    Absent,
    /// It would have to be there.
    Missing,
}

/// Binds a joined object whose first `of_bench` bytes of text are the bench's.
pub(crate) fn bind(
    policy: &str,
    joined: &[u8],
    callbacks: &Callbacks,
    of_bench: u64,
    recording: bool,
) -> Result<Vec<u8>, Failure> {
    let object = |reason: String| Failure::object(policy, reason);
    let mut elf = elf::read(joined).map_err(object)?;
    let text = elf::section(&elf, ".text").ok_or_else(|| object("it has no .text".into()))?;
    let hooked: Vec<(usize, SymbolId)> = HOOKS
        .iter()
        .enumerate()
        .filter_map(|(bit, op)| Some((bit, elf::defined(&elf, callbacks.function(op)?)?)))
        .collect();
    let roots: Vec<u64> = hooked.iter().map(|(_, id)| elf.symbols.get(*id).st_value).collect();
    let reachable = reach::from(&elf, text, &roots);

    let missing = bind_policy(&mut elf, text, of_bench, &reachable);
    if !missing.is_empty() {
        let missing = missing.into_iter().collect();
        return Err(Failure::NoStandIn { policy: policy.into(), missing });
    }
    for name in [".text", "syscall"] {
        if let Some(section) = elf::section(&elf, name) {
            bind_hooks(&mut elf, section, &hooked);
        }
    }
    let has = hooked.iter().fold(0u32, |bits, (bit, _)| bits | 1 << bit);
    elf::set_variable(&mut elf, "bench_has_op", &has.to_le_bytes()).map_err(object)?;
    let enq_last = u8::from(callbacks.flags & OPS_ENQ_LAST != 0);
    elf::set_variable(&mut elf, "bench_enq_last", &[enq_last]).map_err(object)?;
    elf::set_variable(&mut elf, "bench_recording", &[recording.into()]).map_err(object)?;
    let preemptible = u8::from(kernel_is_before(6, 15));
    elf::set_variable(&mut elf, "bench_preemptible", &[preemptible]).map_err(object)?;
    elf::write(elf).map_err(object)
}

/// Whether the running kernel is older than that version. Unknown: it is not.
fn kernel_is_before(major: u32, minor: u32) -> bool {
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    let mut numbers = release.split(['.', '-']).map_while(|n| n.parse::<u32>().ok());
    match (numbers.next(), numbers.next()) {
        (Some(a), Some(b)) => (a, b) < (major, minor),
        _ => false,
    }
}

fn target(elf: &Elf<'_>, symbol: SymbolId, kernel: &Btf) -> Target {
    let symbol = elf.symbols.get(symbol);
    let name = elf::name(symbol);
    let essential = rota_object::btf::essential_name(&name);
    if let Some(standin) = elf::defined(elf, &format!("standin_{essential}")) {
        return Target::StandIn(standin);
    }
    if NOTHING.contains(&essential) {
        return Target::Nothing;
    }
    let known = [Kind::Func, Kind::Var].iter().any(|kind| kernel.find(*kind, essential).is_some());
    let of_sched_ext = essential.contains("scx_");
    match (known, symbol.st_bind() == STB_WEAK) {
        (true, _) if of_sched_ext => Target::Missing,
        (true, _) => Target::Native,
        (false, true) => Target::Absent,
        // the reference BTF is reduced, so the running kernel may know it
        (false, false) if of_sched_ext => Target::Missing,
        (false, false) => Target::Native,
    }
}

/// Leads the policy's references away; returns the functions that nothing plays.
fn bind_policy(
    elf: &mut Elf<'_>,
    text: SectionId,
    of_bench: u64,
    reachable: &[Range<u64>],
) -> BTreeSet<String> {
    let kernel = reference();
    let mut missing = BTreeSet::new();
    let mut kept = Vec::new();
    for mut relocation in elf::take_relocations(elf, text) {
        let undefined = |id: &SymbolId| elf.symbols.get(*id).section.is_none();
        let Some(symbol) = relocation.symbol.filter(undefined) else {
            kept.push(relocation);
            continue;
        };
        let at = relocation.r_offset;
        if at < of_bench {
            kept.push(relocation);
            continue;
        }
        let target = target(elf, symbol, &kernel);
        if matches!(target, Target::Missing) && reachable.iter().any(|r| r.contains(&at)) {
            missing.insert(elf::name(elf.symbols.get(symbol)));
        }
        if !matches!(target, Target::Native) {
            elf::weaken(elf.symbols.get_mut(symbol));
        }
        match (target, relocation.r_type) {
            // an address is only compared with null
            (Target::StandIn(_) | Target::Nothing, R_BPF_64_64) => {
                set_imm64(elf, text, at as usize, 1)
            }
            (Target::Absent, R_BPF_64_64) => set_imm64(elf, text, at as usize, 0),
            (Target::Nothing, _) => set_insn(elf, text, at as usize, NO_OPERATION),
            (Target::StandIn(standin), _) => {
                relocation.symbol = Some(standin);
                kept.push(relocation);
            }
            _ => kept.push(relocation),
        }
    }
    kept.extend(bind_helpers(elf, text, of_bench as usize));
    elf::put_relocations(elf, text, kept);
    missing
}

fn set_insn(elf: &mut Elf<'_>, text: SectionId, at: usize, insn: [u8; INSN]) {
    let place = elf::data_mut(elf, text).and_then(|code| code.get_mut(at..at + INSN));
    if let Some(place) = place {
        place.copy_from_slice(&insn);
    }
}

fn set_imm64(elf: &mut Elf<'_>, text: SectionId, at: usize, value: u32) {
    let Some(insn) = elf::data_mut(elf, text).and_then(|t| t.get_mut(at..at + 2 * INSN)) else {
        return;
    };
    insn[1] &= 0x0f; // a plain number
    insn[4..8].copy_from_slice(&value.to_le_bytes());
    insn[12..16].fill(0);
}

/// Helpers have numbers instead of symbols. Turns calls of those that have a stand-in
/// into calls of that, and returns the relocations for them.
fn bind_helpers(elf: &mut Elf<'_>, text: SectionId, from: usize) -> Vec<Relocation> {
    let mut found = Vec::new();
    let code = elf::data(elf, text);
    let mut at = from;
    while at + INSN <= code.len() {
        if code[at] == CALL && code[at + 1] >> 4 == 0 {
            let standin = elf::defined(elf, &format!("standin_helper_{}", elf::imm(code, at)));
            found.extend(standin.map(|symbol| (at, symbol)));
        }
        at += if code[at] == LOAD_IMM64 { 2 * INSN } else { INSN };
    }
    let Some(code) = elf::data_mut(elf, text) else { return Vec::new() };
    found
        .into_iter()
        .map(|(at, symbol)| {
            code[at + 1] = PSEUDO_CALL << 4;
            code[at + 4..at + 8].copy_from_slice(&(-1i32).to_le_bytes());
            Relocation {
                r_offset: at as u64,
                symbol: Some(symbol),
                r_type: R_BPF_64_32,
                r_addend: 0,
            }
        })
        .collect()
}

fn bind_hooks(elf: &mut Elf<'_>, section: SectionId, hooked: &[(usize, SymbolId)]) {
    let mut relocations = elf::take_relocations(elf, section);
    for relocation in &mut relocations {
        let Some(name) = relocation.symbol.map(|id| elf::name(elf.symbols.get(id))) else {
            continue;
        };
        let Some(op) = name.strip_prefix("hook_") else { continue };
        if let Some((_, function)) = hooked.iter().find(|(bit, _)| HOOKS[*bit] == op) {
            relocation.symbol = Some(*function);
        }
    }
    elf::put_relocations(elf, section, relocations);
}
