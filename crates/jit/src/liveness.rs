// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which registers are read later. Verified code reads no register that it has not written, but code
//! that is run need not be verified: a function can read what its caller left, and the other way round.

use crate::flow::leads;
use rota_vm::engine::{Alu, Change, Insn, Listing, Operand, Simple};

/// A set of r0..=r9.
pub(crate) type Set = u16;

/// r1..=r5.
pub(crate) const ARGUMENTS: Set = 0b11_1110;
/// r6..=r9, which calls keep.
pub(crate) const KEPT: Set = 0b11_1100_0000;
const ALL: Set = 0b11_1111_1111;

/// Live registers of a program.
pub(crate) struct Liveness {
    before: Vec<Set>,
    /// What callers read of what a function leaves.
    pub(crate) at_exit: Set,
    /// What functions that are called back read of r6..=r9.
    pub(crate) inherited: Set,
}

/// Members of a set.
pub(crate) fn members(set: Set) -> impl Iterator<Item = usize> {
    (0..10).filter(move |reg| set >> reg & 1 != 0)
}

fn one(reg: u8) -> Set {
    (1 << reg) & ALL
}

fn of(operand: Operand) -> Set {
    match operand {
        Operand::Reg(reg) => one(reg),
        Operand::Imm(_) => 0,
    }
}

/// Whether the operand becomes what was there.
pub(crate) fn fetches(how: Change) -> bool {
    match how {
        Change::Add { fetch }
        | Change::Or { fetch }
        | Change::And { fetch }
        | Change::Xor { fetch } => fetch,
        Change::Exchange => true,
        Change::CompareExchange => false,
    }
}

/// What a helper reads that calls nothing back.
fn read_by(simple: Simple) -> Set {
    match simple {
        Simple::Clock | Simple::Cpu | Simple::Nothing => 0,
        Simple::Lock | Simple::Unlock | Simple::First => one(1),
        Simple::OfCpu => one(1) | one(2) | one(3),
        Simple::Owned => one(1) | one(2) | one(3) | one(4),
    }
}

impl Liveness {
    pub(crate) fn of(listing: &Listing) -> Self {
        let found = Self::with_exit(listing, 1);
        let reads_leftovers = listing.insns.iter().enumerate().any(|(at, insn)| {
            let is_call = matches!(insn, Insn::Call { .. } | Insn::CallHost { .. });
            is_call && found.before(at + 1) & ARGUMENTS != 0
        });
        if reads_leftovers {
            return Self::with_exit(listing, 1 | ARGUMENTS);
        }
        found
    }

    /// What is read from an instruction on.
    pub(crate) fn before(&self, at: usize) -> Set {
        self.before.get(at).copied().unwrap_or(0)
    }

    /// What is read from an instruction on, or written by it.
    pub(crate) fn touched(&self, listing: &Listing, at: usize) -> Set {
        let (_, writes) = self.access(listing, at, 0);
        self.before(at) | writes
    }

    fn with_exit(listing: &Listing, at_exit: Set) -> Self {
        let before = vec![0; listing.insns.len() + 1];
        let mut found = Self { before, at_exit, inherited: 0 };
        loop {
            let mut changed = false;
            for at in (0..listing.insns.len()).rev() {
                let set = found.transfer(listing, at);
                changed |= set != found.before[at];
                found.before[at] = set;
            }
            let entries = listing.functions.iter().map(|function| found.before[function.start]);
            let inherited = entries.fold(0, |all, set| all | set) & KEPT;
            changed |= inherited != found.inherited;
            found.inherited = inherited;
            if !changed {
                return found;
            }
        }
    }

    /// Whether nothing is read that it does not say.
    #[cfg(test)]
    pub(crate) fn is_complete(&self, listing: &Listing) -> bool {
        let all = (0..listing.insns.len()).all(|at| self.transfer(listing, at) == self.before[at]);
        let entries = listing.functions.iter().map(|function| self.before[function.start]);
        all && entries.fold(0, |all, set| all | set) & KEPT == self.inherited
    }

    fn transfer(&self, listing: &Listing, at: usize) -> Set {
        let insn = &listing.insns[at];
        let (target, goes_on) = leads(insn);
        let mut after = if goes_on { self.before(at + 1) } else { 0 };
        after |= target.map_or(0, |target| self.before(target));
        let (reads, writes) = self.access(listing, at, after);
        reads | (after & !writes)
    }

    /// What an instruction reads and writes, if so much is read after it.
    fn access(&self, listing: &Listing, at: usize, after: Set) -> (Set, Set) {
        match listing.insns[at] {
            Insn::Alu { op: Alu::Mov, dst, by, .. } => (of(by), one(dst)),
            Insn::Alu { dst, by, .. } => (one(dst) | of(by), one(dst)),
            Insn::Neg { dst, .. } | Insn::Swap { dst, .. } => (one(dst), one(dst)),
            Insn::SignExtend { dst, src, .. }
            | Insn::ToArena { dst, src, .. }
            | Insn::FromArena { dst, src } => (one(src), one(dst)),
            Insn::Branch { left, right, .. } => (one(left) | of(right), 0),
            Insn::Load { dst, base, .. } => (one(base), one(dst)),
            Insn::Store { base, value, .. } => (one(base) | of(value), 0),
            Insn::Change { how, base, src, .. } => {
                let reads = one(base) | one(src);
                match how {
                    Change::CompareExchange => (reads | 1, 1),
                    _ if fetches(how) => (reads, one(src)),
                    _ => (reads, 0),
                }
            }
            Insn::Lookup { .. } => (one(2), 1),
            Insn::Call { function } => {
                let callee = listing.functions.get(function).map_or(0, |callee| callee.start);
                // what it does not write of r0 to r5 is the caller's
                (self.before(callee) | (after & ARGUMENTS), 1)
            }
            Insn::CallHost { simple: None, .. } => (ARGUMENTS | self.inherited, 1),
            Insn::CallHost { simple: Some(simple), .. } => (read_by(simple), 1),
            Insn::Exit => (self.at_exit, 0),
            Insn::Other { dst, src } => (one(dst) | one(src) | 1, 0),
            Insn::Jump { .. } | Insn::MayGoto { .. } => (0, 0),
        }
    }
}
