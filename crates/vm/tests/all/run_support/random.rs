// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs out of arbitrary bytes: mostly well-formed instructions, with maps,
//! functions, helpers and kernel functions to call.

use super::{map, Builder};
use rota_object::image::{map_type, FuncId, Insn, MapDef, MapId, Symbol};
use rota_vm::kfuncs;

/// Bytes of one instruction in the input.
pub const STEP: usize = 8;

/// A program of up to three functions out of `bytes`.
pub fn program(bytes: &[u8]) -> Builder {
    let mut builder = Builder::new();
    builder.image.maps = maps();
    builder.image.kfuncs =
        kfuncs::generic::<super::TestHost>().iter().map(|row| row.name.to_owned()).collect();
    let mut insns = prelude();
    insns.extend(bytes.chunks_exact(STEP).flat_map(instruction));
    let part = insns.len().div_ceil(3).max(1);
    for (number, code) in insns.chunks(part).enumerate() {
        builder = builder.raw(&format!("f{number}"), code);
    }
    for (slot, insn) in insns.iter().enumerate() {
        if let Some(symbol) = symbol(&builder, *insn) {
            builder.image.symbols.insert(slot as u32, symbol);
        }
    }
    builder
}

/// Gives registers something to work with: values of a map, the stack, a map, a function.
fn prelude() -> Vec<Insn> {
    let insn = |op, dst, src, imm| Insn { op, dst, src, off: 0, imm };
    let mut code = Vec::new();
    for (dst, src) in [(1, 2), (3, 1), (5, 3), (6, 2), (8, 1), (9, 3)] {
        code.extend([insn(0x18, dst, src, 0), insn(0, 0, 0, 0)]);
    }
    for (dst, distance) in [(2, -64), (4, -16), (7, -64)] {
        code.extend([insn(0xbf, dst, 10, 0), insn(0x07, dst, 0, distance)]);
    }
    code
}

fn maps() -> Vec<MapDef> {
    let inner =
        MapDef { slots: vec![(0, MapId(0))], ..map("inner", map_type::ARRAY_OF_MAPS, 4, 4, 2) };
    vec![
        map("array", map_type::ARRAY, 4, 16, 4),
        map("hash", map_type::HASH, 4, 16, 4),
        map("lru", map_type::LRU_HASH, 8, 8, 3),
        map("per_cpu", map_type::PERCPU_ARRAY, 4, 8, 2),
        map("queue", map_type::QUEUE, 0, 8, 3),
        map("tasks", map_type::TASK_STORAGE, 4, 24, 0),
        map("ring", map_type::RINGBUF, 0, 0, 4096),
        map("arena", map_type::ARENA, 0, 0, 8),
        inner,
        MapDef { programs: vec![(0, FuncId(0))], ..map("jumps", map_type::PROG_ARRAY, 4, 4, 2) },
    ]
}

/// Helpers that exist.
const HELPERS: [i32; 40] = [
    1, 2, 3, 4, 5, 6, 7, 8, 12, 14, 16, 35, 42, 80, 87, 88, 89, 93, 94, 113, 115, 118, 130, 131,
    132, 133, 134, 153, 154, 156, 157, 164, 165, 169, 170, 171, 172, 181, 182, 194,
];

/// Opcodes worth trying; calls and moves of pointers more than once.
const USEFUL: [u8; 48] = [
    0x85, 0x85, 0x85, 0x85, 0x85, 0x85, 0x85, 0x85, 0x85, 0xbf, 0xbf, 0xbf, 0xbf, 0xb7, 0xb7, 0x18,
    0x18, 0x18, 0x79, 0x79, 0x7b, 0x7b, 0x61, 0x63, 0x71, 0x73, 0x7a, 0x62, 0x81, 0xdb, 0xc3, 0x07,
    0x0f, 0x04, 0x1f, 0x2f, 0x3f, 0x57, 0x67, 0xbc, 0xc4, 0x15, 0x55, 0x2d, 0x16, 0x05, 0xe5, 0x95,
];

/// One instruction; wide loads get their second half.
fn instruction(bytes: &[u8]) -> Vec<Insn> {
    let wild = bytes[7] & 31 == 0;
    let op = if wild { bytes[0] } else { USEFUL[usize::from(bytes[0]) % USEFUL.len()] };
    let (dst, src) = (bytes[1] & 15, bytes[1] >> 4);
    let (dst, src) = if wild { (dst, src) } else { (dst % 10, src % 11) };
    let imm = match bytes[2] & 3 {
        0 => i32::from_le_bytes([bytes[3], bytes[4], bytes[5], bytes[6]]),
        _ => i32::from(bytes[3] as i8),
    };
    // Short jumps, aligned displacements.
    let off = match (op & 7, bytes[7] >> 6) {
        (_, 0) => i16::from_le_bytes([bytes[5], bytes[6]]) % 600,
        (5 | 6, _) => i16::from(bytes[6] as i8) % 8,
        _ => i16::from(bytes[6] as i8) / 16 * 8,
    };
    let insn = match op {
        0x85 if src == 0 => Insn { op, dst, src, off, imm: helper(imm) },
        // Divisions and moves have a second form that `off` selects.
        0xbf | 0xbc | 0x3f if bytes[7] >> 5 != 1 => Insn { op, dst, src, off: 0, imm: 0 },
        0x07 | 0x0f | 0x04 | 0x1f | 0x2f | 0x57 | 0x67 | 0xb7 | 0xc4 => {
            Insn { op, dst, src, off: 0, imm }
        }
        _ => Insn { op, dst, src, off, imm },
    };
    if op == 0x18 {
        return vec![insn, Insn { op: 0, dst: 0, src: 0, off: 0, imm: i32::from(bytes[5]) }];
    }
    vec![insn]
}

fn helper(imm: i32) -> i32 {
    HELPERS[imm.unsigned_abs() as usize % HELPERS.len()]
}

/// What an instruction refers to, by its own bits.
fn symbol(builder: &Builder, insn: Insn) -> Option<Symbol> {
    let number = insn.imm as u32;
    match (insn.op, insn.src & 7) {
        (0x18, 1) => Some(Symbol::Map(MapId(number % 12))),
        (0x18, 2) => Some(Symbol::MapValue(MapId(number % 8), u64::from(number % 32))),
        (0x18, 3) => Some(Symbol::Func(FuncId(number % 4))),
        (0x85, 1 | 3) => Some(Symbol::Func(FuncId(number % 4))),
        (0x85, 2 | 4 | 5) => Some(Symbol::Kfunc(number % (builder.image.kfuncs.len() as u32 + 1))),
        _ => None,
    }
}
