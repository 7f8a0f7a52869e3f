// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arguments that the kernel marks nullable (`prev__nullable` of `sched_ext_ops__dispatch()`): its
//! verifier refuses a load through one that was not compared with NULL. Here such loads get an op
//! of their own, which faults where others read 0.
//!
//! Which loads they are follows from where the argument can get to: registers, stack slots, and
//! functions that are called with it. Whether it was compared does not matter: then it is not NULL.
//!
//! A load that no way leads to on which the argument was compared with anything is one that the
//! verifier refuses for certain: [`Code::unchecked_loads`](crate::code::Code::unchecked_loads).

use super::op::{class, code, field, is_jump, mode, writes_dst, Op};
use super::program::Program;
use crate::code::UncheckedLoad;
use rota_object::btf::{Kind, Type};
use rota_object::image::{FuncId, Image, OpsField};
use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;

/// Frame pointer.
const R10: usize = 10;
/// Slots of 8 bytes in a frame.
const SLOTS: usize = crate::frames::STACK_SIZE as usize / 8;

/// Ops looked at for one argument; real callbacks have a few thousand.
const MAX_STEPS: u32 = 1_000_000;
/// Arguments looked at; a scheduler has two.
const MAX_ARGUMENTS: usize = 64;

/// The suffix of a nullable argument's name (`MAYBE_NULL_SUFFIX`, `kernel/bpf/bpf_struct_ops.c`).
const SUFFIX: &str = "__nullable";

/// A callback's argument that may be NULL.
struct Argument {
    func: FuncId,
    member: String,
    /// Where the context has it.
    offset: i32,
    name: String,
}

/// Gives loads through nullable arguments an op of their own.
pub(super) fn mark<H>(program: &mut Program<H>) {
    for argument in arguments(&program.image) {
        let mut entry = Place { unchecked: true, ..Place::default() };
        entry.context[1] = true;
        let (loads, unchecked) = Walk::of(program, &argument).run(argument.func, entry);
        for pc in unchecked {
            let Some((function, insn, source)) = program.place(pc) else { continue };
            let (member, argument) = (argument.member.clone(), argument.name.clone());
            program.unchecked.push(UncheckedLoad { member, argument, function, insn, source });
        }
        for pc in loads {
            program.names.push(argument.name.clone());
            let (op, name) = (program.ops[pc], program.names.len() as u64 - 1);
            let imm = u64::from(op.code) | name << 8;
            program.ops[pc] = Op { code: code::LOAD_NULLABLE, imm, ..op };
        }
    }
}

/// The nullable arguments of an image's callbacks, as the kernel's types have them.
fn arguments(image: &Image) -> Vec<Argument> {
    let btf = &image.kernel_btf;
    let mut all = Vec::new();
    for ops in &image.struct_ops {
        for (member, field) in &ops.fields {
            let OpsField::Func(func) = field else { continue };
            let stub = format!("{}__{member}", ops.type_name);
            let Some(stub) = btf.find(Kind::Func, &stub) else { continue };
            let Type::Func(_, proto, _) = btf.get(stub) else { continue };
            let Type::FuncProto(proto) = btf.get(proto) else { continue };
            for (number, param) in (0..).zip(proto.params()) {
                let known = |a: &Argument| a.func == *func && a.offset == 8 * number;
                if all.len() == MAX_ARGUMENTS || all.iter().any(known) {
                    continue;
                }
                if let Some(name) = param.name.strip_suffix(SUFFIX) {
                    let (name, member) = (name.to_owned(), member.clone());
                    all.push(Argument { func: *func, member, offset: 8 * number, name });
                }
            }
        }
    }
    all
}

/// What is known at one op: which registers and stack slots hold the argument, or a pointer that
/// was made from it, which registers hold the context, and whether no way here compares the
/// argument, or gives it to a function that could.
#[derive(Clone, PartialEq, Eq)]
struct Place {
    argument: [bool; 16],
    context: [bool; 16],
    slots: [bool; SLOTS],
    unchecked: bool,
}

impl Default for Place {
    fn default() -> Self {
        let slots = [false; SLOTS];
        Self { argument: [false; 16], context: [false; 16], slots, unchecked: false }
    }
}

impl Place {
    /// Adds what another way to the same op brings; true if that is more.
    fn join(&mut self, other: &Self) -> bool {
        let before = self.clone();
        let all = |to: &mut [bool], from: &[bool]| {
            to.iter_mut().zip(from).for_each(|(to, from)| *to |= from);
        };
        all(&mut self.argument, &other.argument);
        all(&mut self.context, &other.context);
        all(&mut self.slots, &other.slots);
        self.unchecked &= other.unchecked;
        *self != before
    }

    fn holds_nothing(&self) -> bool {
        *self == Self { unchecked: self.unchecked, ..Self::default() }
    }
}

struct Walk<'a, H> {
    program: &'a Program<H>,
    argument: &'a Argument,
    /// By op: what is known before it, once it was reached.
    known: FxHashMap<usize, Place>,
    open: Vec<usize>,
    steps_left: u32,
    loads: Vec<usize>,
}

impl<'a, H> Walk<'a, H> {
    fn of(program: &'a Program<H>, argument: &'a Argument) -> Self {
        let known = FxHashMap::default();
        let steps_left = MAX_STEPS;
        Self { program, argument, known, open: Vec::new(), steps_left, loads: Vec::new() }
    }

    /// The ops that load through the argument, from the entry of a function on, and those of them
    /// that are surely unchecked.
    fn run(mut self, func: FuncId, entry: Place) -> (Vec<usize>, Vec<usize>) {
        if let Some(first) = self.program.first_op(func) {
            self.reach(first, &entry);
        }
        while let Some(pc) = self.open.pop().filter(|_| self.steps_left > 0) {
            self.steps_left -= 1;
            self.step(pc);
        }
        self.loads.sort_unstable();
        self.loads.dedup();
        // what was not walked to the end is not known for certain
        let sure = self.open.is_empty() && self.steps_left > 0;
        let unchecked = |pc: &&usize| self.known.get(pc).is_some_and(|place| place.unchecked);
        let unchecked = self.loads.iter().filter(|_| sure).filter(unchecked).copied().collect();
        (self.loads, unchecked)
    }

    fn reach(&mut self, pc: usize, place: &Place) {
        let more = match self.known.entry(pc) {
            Entry::Occupied(mut known) => known.get_mut().join(place),
            Entry::Vacant(unknown) => {
                unknown.insert(place.clone());
                true
            }
        };
        if more {
            self.open.push(pc);
        }
    }

    fn step(&mut self, pc: usize) {
        let (Some(&op), Some(mut place)) = (self.program.ops.get(pc), self.known.get(&pc).cloned())
        else {
            return;
        };
        let (dst, src) = (usize::from(op.dst & 15), usize::from(op.src & 15));
        match op.code & field::CLASS {
            class::LDX if op.code & field::MODE != mode::ATOMIC => {
                if place.argument[src] {
                    self.loads.push(pc);
                }
                let wide = op.code == code::LDX_DW;
                let slot = slot(op).filter(|_| src == R10);
                let holds = match slot {
                    Some(slot) => place.slots[slot],
                    None => place.context[src] && op.off == self.argument.offset,
                };
                (place.argument[dst], place.context[dst]) = (wide && holds, false);
            }
            class::STX if dst == R10 && op.code & field::MODE == mode::MEM => {
                if let Some(slot) = slot(op) {
                    place.slots[slot] = op.code == code::STX_DW && place.argument[src];
                }
            }
            class::ST if dst == R10 => {
                if let Some(slot) = slot(op) {
                    place.slots[slot] = false;
                }
            }
            class::ALU32 | class::ALU64 => match op.code {
                code::MOV64_X => {
                    place.argument[dst] = place.argument[src];
                    place.context[dst] = place.context[src];
                }
                // A member's address.
                code::ADD64_K => place.context[dst] = false,
                code::ADD64_X => {
                    place.argument[dst] |= place.argument[src];
                    place.context[dst] = false;
                }
                _ => (place.argument[dst], place.context[dst]) = (false, false),
            },
            _ if op.code == code::CALL => {
                let mut entry = Place { unchecked: place.unchecked, ..Place::default() };
                entry.argument[1..6].copy_from_slice(&place.argument[1..6]);
                entry.context[1..6].copy_from_slice(&place.context[1..6]);
                if !entry.holds_nothing() {
                    self.reach(op.off as usize, &entry);
                    place.unchecked = false;
                }
                clobber(&mut place);
            }
            _ if matches!(op.code, code::CALL_HOST | code::LOOKUP_ARRAY) => {
                place.unchecked &= !place.argument[1..6].contains(&true);
                clobber(&mut place);
            }
            _ if writes_dst(op) => (place.argument[dst], place.context[dst]) = (false, false),
            _ => {}
        }
        if is_jump(op.code) {
            // not every one has a second register: then it says nothing more
            place.unchecked &= !(place.argument[dst] || place.argument[src]);
            self.reach(op.off as usize, &place);
        }
        if !matches!(op.code, code::JA | code::EXIT | code::TRAP) {
            self.reach(pc + 1, &place);
        }
    }
}

/// A call leaves nothing in the registers of its arguments and result.
fn clobber(place: &mut Place) {
    place.argument[..6].fill(false);
    place.context[..6].fill(false);
}

/// The stack slot that an access by the frame pointer touches.
fn slot(op: Op) -> Option<usize> {
    usize::try_from(op.off + crate::frames::STACK_SIZE as i32)
        .ok()
        .map(|at| at / 8)
        .filter(|&at| at < SLOTS)
}
