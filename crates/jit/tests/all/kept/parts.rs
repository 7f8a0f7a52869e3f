// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs of parts that compiled code does by itself.

use crate::run_support::asm::*;
use crate::run_support::{data, map, Builder};
use proptest::prelude::*;
use rota_object::image::map_type;

pub(super) const ARRAY: u32 = 0;
pub(super) const PER_CPU: u32 = 1;
pub(super) const GLOBALS: u32 = 2;
const CONSTANTS: u32 = 3;
pub(super) const STORAGE: u32 = 4;
const HASH: u32 = 5;

const LOOKUP: i32 = 1;
const CLOCK: i32 = 5;
const CPU: i32 = 8;
pub(super) const LOCK: i32 = 93;
pub(super) const UNLOCK: i32 = 94;
pub(super) const PROBE_READ: i32 = 113;
const STORAGE_GET: i32 = 156;
const STORAGE_DELETE: i32 = 157;
pub(super) const LOOKUP_OF_CPU: i32 = 195;

const SIZES: [u8; 4] = [B, H, W, DW];

pub(super) fn maps(builder: Builder) -> Builder {
    builder
        .map(map("array", map_type::ARRAY, 4, 12, 5))
        .map(map("per_cpu", map_type::PERCPU_ARRAY, 4, 8, 3))
        .map(data(".bss", (0..37).collect(), false))
        .map(data(".rodata", (0..23).rev().collect(), true))
        .map(map("tasks", map_type::TASK_STORAGE, 4, 24, 0))
        .map(map("hash", map_type::HASH, 4, 16, 4))
}

/// A part of a program. r6 to r9 are addresses or numbers; r1 to r5 are arguments of calls.
#[derive(Clone, Debug)]
pub(super) enum Part {
    /// An address in an array or global data.
    Address {
        dst: u8,
        map: u32,
        offset: u64,
    },
    /// A register's low bits, as an index.
    Index {
        dst: u8,
        src: u8,
        bits: u32,
        scale: i32,
    },
    AddRegister {
        dst: u8,
        src: u8,
    },
    Add {
        dst: u8,
        number: i32,
    },
    Load {
        size: usize,
        dst: u8,
        base: u8,
        offset: i16,
    },
    Store {
        size: usize,
        base: u8,
        offset: i16,
        src: u8,
    },
    /// An atomic operation of 4 or 8 bytes.
    Change {
        wide: bool,
        base: u8,
        offset: i16,
        src: u8,
        op: i32,
    },
    Spill {
        slot: i16,
        src: u8,
    },
    Reload {
        slot: i16,
        dst: u8,
    },
    /// Another address is put into a slot behind the compiler's back.
    Overwrite {
        slot: i16,
        with: i16,
    },
    Lookup {
        map: u32,
        key: i32,
        dst: u8,
    },
    /// The element of a CPU; the key is in the frame, or where a register points.
    LookupOfCpu {
        map: u32,
        key: Option<i32>,
        at: u8,
        cpu: u8,
        dst: u8,
    },
    /// A kernel function that does nothing, or returns its argument.
    Trivial {
        casts: bool,
        src: u8,
        dst: u8,
    },
    Take {
        base: u8,
        lock: bool,
    },
    Owned {
        map: u32,
        owner: u8,
        flags: i32,
        dst: u8,
    },
    Forget {
        owner: u8,
    },
    Now {
        dst: u8,
        cpu: bool,
    },
    /// Goes back by so many parts at most, a few times.
    Again {
        parts: usize,
    },
    /// Leaves out the next part, if a bit of the register is set.
    Skip {
        src: u8,
        bit: u32,
    },
}

fn slot(number: i16) -> i16 {
    -8 * (number + 1)
}

impl Part {
    fn lines(&self) -> Vec<Line> {
        match *self {
            Part::Address { dst, map, offset } => vec![map_value(dst, map, offset)],
            Part::Index { dst, src, bits, scale } => {
                vec![movr(dst, src), alu64(AND, dst, (1 << bits) - 1), alu64(MUL, dst, scale)]
            }
            Part::AddRegister { dst, src } => vec![alu64r(ADD, dst, src)],
            Part::Add { dst, number } => vec![alu64(ADD, dst, number)],
            Part::Load { size, dst, base, offset } => vec![load(SIZES[size], dst, base, offset)],
            Part::Store { size, base, offset, src } => vec![store(SIZES[size], base, offset, src)],
            Part::Change { wide, base, offset, src, op } => {
                vec![movr(0, 9), atomic(if wide { DW } else { W }, base, offset, src, op)]
            }
            Part::Spill { slot: number, src } => vec![store(DW, 10, slot(number), src)],
            Part::Reload { slot: number, dst } => vec![load(DW, dst, 10, slot(number))],
            Part::Overwrite { slot: number, with } => vec![
                movr(1, 10),
                alu64(ADD, 1, slot(number).into()),
                mov(2, 8),
                movr(3, 10),
                alu64(ADD, 3, slot(with).into()),
                helper(PROBE_READ),
            ],
            Part::Lookup { map, key, dst } => vec![
                store_imm(W, 10, -80, key),
                map_handle(1, map),
                movr(2, 10),
                alu64(ADD, 2, -80),
                helper(LOOKUP),
                movr(dst, 0),
            ],
            Part::LookupOfCpu { map, key, at, cpu, dst } => {
                let place = match key {
                    Some(key) => {
                        vec![store_imm(W, 10, -80, key), movr(2, 10), alu64(ADD, 2, -80)]
                    }
                    None => vec![movr(2, at)],
                };
                let call = [map_handle(1, map), movr(3, cpu), helper(LOOKUP_OF_CPU), movr(dst, 0)];
                place.into_iter().chain(call).collect()
            }
            Part::Trivial { casts, src, dst } => {
                let name = if casts { "bpf_cast_to_kern_ctx" } else { "bpf_rcu_read_lock" };
                vec![movr(1, src), kfunc(name), movr(dst, 0)]
            }
            Part::Take { base, lock } => {
                vec![movr(1, base), helper(if lock { LOCK } else { UNLOCK })]
            }
            Part::Owned { map, owner, flags, dst } => vec![
                map_handle(1, map),
                movr(2, owner),
                mov(3, 0),
                mov(4, flags),
                helper(STORAGE_GET),
                movr(dst, 0),
            ],
            Part::Forget { owner } => {
                vec![map_handle(1, STORAGE), movr(2, owner), helper(STORAGE_DELETE)]
            }
            Part::Now { dst, cpu } => vec![helper(if cpu { CPU } else { CLOCK }), movr(dst, 0)],
            Part::Again { .. } | Part::Skip { .. } => Vec::new(),
        }
    }
}

/// Each part with its number of instructions; jumps are between parts.
pub(super) fn program(parts: &[Part]) -> Builder {
    let mut code: Vec<Vec<Line>> = vec![vec![movr(6, 1), movr(7, 2), movr(8, 3), movr(9, 4)]];
    let mut slots: Vec<i16> = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        let mut lines = part.lines();
        match part {
            Part::Again { parts: count } => {
                let back: i16 = slots.iter().rev().take(*count).sum();
                lines = vec![alu64(ADD, 9, -1), jump64(JSGT, 9, 0, -2 - back)];
            }
            Part::Skip { src, bit } => {
                let next = parts.get(at + 1).map_or(0, |next| match next {
                    Part::Again { .. } => 2,
                    Part::Skip { .. } => 1,
                    next => length(&next.lines()),
                });
                lines = vec![jump64(JSET, *src, 1 << bit, next)];
            }
            _ => {}
        }
        slots.push(length(&lines));
        code.push(lines);
    }
    let mut end = vec![movr(0, 6)];
    for reg in 7..10 {
        end.extend([alu64(MUL, 0, 31), alu64r(XOR, 0, reg)]);
    }
    end.push(exit());
    code.push(end);
    maps(Builder::new()).function("main", code.into_iter().flatten().collect())
}

fn length(lines: &[Line]) -> i16 {
    lines.iter().map(|line| line.insns.len() as i16).sum()
}

pub(super) fn part() -> impl Strategy<Value = Part> {
    let reg = || 6u8..10;
    let base = || prop_oneof![6 => 6u8..10, 1 => Just(10u8)];
    let size = || 0..SIZES.len();
    let offset = || prop_oneof![8 => -9i16..48, 1 => any::<i16>()];
    let slots = || 0i16..4;
    let change = prop::sample::select(vec![
        0x00, 0x01, 0x40, 0x41, 0x50, 0x51, 0xa0, 0xa1, 0xe1, 0xf1, 0x100, 0x110,
    ]);
    let values = prop::sample::select(vec![ARRAY, GLOBALS, CONSTANTS]);
    prop_oneof![
        5 => (reg(), values, 0u64..40).prop_map(|(dst, map, offset)| Part::Address { dst, map, offset }),
        2 => (reg(), reg(), 1u32..5, 1i32..13)
            .prop_map(|(dst, src, bits, scale)| Part::Index { dst, src, bits, scale }),
        3 => (reg(), reg()).prop_map(|(dst, src)| Part::AddRegister { dst, src }),
        2 => (reg(), -17i32..40).prop_map(|(dst, number)| Part::Add { dst, number }),
        6 => (size(), reg(), base(), offset())
            .prop_map(|(size, dst, base, offset)| Part::Load { size, dst, base, offset }),
        4 => (size(), base(), offset(), reg())
            .prop_map(|(size, base, offset, src)| Part::Store { size, base, offset, src }),
        3 => (any::<bool>(), base(), offset(), 0u8..10, change)
            .prop_map(|(wide, base, offset, src, op)| Part::Change { wide, base, offset, src, op }),
        2 => (slots(), reg()).prop_map(|(slot, src)| Part::Spill { slot, src }),
        2 => (slots(), reg()).prop_map(|(slot, dst)| Part::Reload { slot, dst }),
        1 => (slots(), slots()).prop_map(|(slot, with)| Part::Overwrite { slot, with }),
        2 => (prop::sample::select(vec![ARRAY, PER_CPU, HASH]), 0i32..6, reg())
            .prop_map(|(map, key, dst)| Part::Lookup { map, key, dst }),
        3 => (
            prop::sample::select(vec![ARRAY, PER_CPU, HASH, STORAGE, 9]),
            prop::option::weighted(0.7, 0i32..6),
            reg(),
            reg(),
            reg(),
        )
            .prop_map(|(map, key, at, cpu, dst)| Part::LookupOfCpu { map, key, at, cpu, dst }),
        1 => (any::<bool>(), reg(), reg())
            .prop_map(|(casts, src, dst)| Part::Trivial { casts, src, dst }),
        3 => (base(), any::<bool>()).prop_map(|(base, lock)| Part::Take { base, lock }),
        3 => (prop::sample::select(vec![STORAGE, ARRAY, 9]), reg(), -1i32..3, reg())
            .prop_map(|(map, owner, flags, dst)| Part::Owned { map, owner, flags, dst }),
        1 => reg().prop_map(|owner| Part::Forget { owner }),
        1 => (reg(), any::<bool>()).prop_map(|(dst, cpu)| Part::Now { dst, cpu }),
        1 => (1usize..8).prop_map(|parts| Part::Again { parts }),
        1 => (reg(), 0u32..8).prop_map(|(src, bit)| Part::Skip { src, bit }),
    ]
}
