// SPDX-License-Identifier: MIT OR Apache-2.0
//! Loads and stores at and beyond the bounds of regions of each kind.

use crate::both::{seen, start};
use crate::run_support::asm::*;
use crate::run_support::{Builder, Hosted};
use proptest::prelude::*;
use rota_vm::memory::{Perm, Shape, PAGE_SIZE};

const SIZES: [u8; 4] = [B, H, W, DW];
/// Bytes of each region.
const SIZE: u32 = 64;

/// A region that may be written, one that may not, a kernel object with holes; and of an arena, where a
/// hole begins, where it ends, where its bytes end, and where its globals begin.
fn regions(hosted: &mut Hosted) -> [u64; 7] {
    let memory = &mut hosted.host.memory;
    let shape = memory.add_shape(Shape {
        type_name: "object".to_owned(),
        size: SIZE,
        filled: vec![0..16, 24..28, 40..64],
        writable: std::iter::once(8..16).collect(),
    });
    let plain = memory.alloc("plain", SIZE, Perm::ReadWrite);
    let fixed = memory.alloc("fixed", SIZE, Perm::ReadOnly);
    let object = memory.alloc_kernel(shape);
    for region in [plain, fixed, object] {
        for at in (0..u64::from(SIZE)).step_by(8) {
            memory.set_u64(region + at, 0x8182_8384_8586_8788_u64.rotate_left(at as u32) ^ at);
        }
    }
    let [hole, behind, end, globals] = arena(hosted);
    [plain, fixed, object, hole, behind, end, globals]
}

/// Of six pages, the first and the third are there, and the last for globals.
fn arena(hosted: &mut Hosted) -> [u64; 4] {
    let memory = &mut hosted.host.memory;
    let arena = memory.alloc_arena("arena", 6);
    let globals = memory.arena_tail(arena, 1).expect("there is room");
    let first = memory.arena_alloc(arena, None, 3).expect("there is room");
    let page = u64::from(PAGE_SIZE);
    memory.arena_free(first + page, 1);
    for (byte, at) in
        (1u8..).zip([first + page - 8, first + 2 * page, first + 3 * page - 8, globals])
    {
        memory.set_u64(at, u64::from_le_bytes([byte; 8]));
    }
    let near = u64::from(SIZE) / 2;
    [first + page - near, first + 2 * page - near, first + 3 * page - near, globals - near]
}

/// A part of a program. r1 and r2 are addresses, r6 to r8 become some; r3 to r5 are numbers.
#[derive(Clone, Debug)]
enum Part {
    Load {
        signed: bool,
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
    StoreNumber {
        size: usize,
        base: u8,
        offset: i16,
        number: i32,
    },
    Move {
        dst: u8,
        base: u8,
    },
    Add {
        base: u8,
        number: i32,
    },
    /// Leaves out the next part, if a bit of r3 is set.
    Skip {
        bit: u32,
    },
}

impl Part {
    fn line(&self) -> Line {
        match *self {
            Part::Load { signed: true, size, dst, base, offset } if size < 3 => {
                load_signed(SIZES[size], dst, base, offset)
            }
            Part::Load { size, dst, base, offset, .. } => load(SIZES[size], dst, base, offset),
            Part::Store { size, base, offset, src } => store(SIZES[size], base, offset, src),
            Part::StoreNumber { size, base, offset, number } => {
                store_imm(SIZES[size], base, offset, number)
            }
            Part::Move { dst, base } => movr(dst, base),
            Part::Add { base, number } => alu64(ADD, base, number),
            Part::Skip { bit } => jump64(JSET, 3, 1 << bit, 1),
        }
    }
}

fn offset() -> impl Strategy<Value = i16> {
    prop_oneof![8 => -9i16..72, 1 => Just(i16::MIN), 1 => Just(i16::MAX), 1 => any::<i16>()]
}

fn base() -> impl Strategy<Value = u8> {
    prop::sample::select(vec![1u8, 2, 6, 7, 8, 10])
}

fn part() -> impl Strategy<Value = Part> {
    let size = || 0..SIZES.len();
    let kept = || prop::sample::select(vec![1u8, 2, 6, 7, 8]);
    let number = prop_oneof![
        6 => -17i32..17,
        1 => prop::sample::select(vec![1 << 28, 1 << 29, 1 << 30, i32::MAX, i32::MIN]),
    ];
    prop_oneof![
        6 => (any::<bool>(), size(), 0u8..10, base(), offset())
            .prop_map(|(signed, size, dst, base, offset)| Part::Load { signed, size, dst, base, offset }),
        3 => (size(), base(), offset(), 0u8..11)
            .prop_map(|(size, base, offset, src)| Part::Store { size, base, offset, src }),
        1 => (size(), base(), offset(), any::<i32>())
            .prop_map(|(size, base, offset, number)| Part::StoreNumber { size, base, offset, number }),
        2 => (kept(), base()).prop_map(|(dst, base)| Part::Move { dst, base }),
        2 => (kept(), number).prop_map(|(base, number)| Part::Add { base, number }),
        1 => (0u32..8).prop_map(|bit| Part::Skip { bit }),
    ]
}

/// Ends with a number that each register is a part of.
fn program(parts: &[Part]) -> Builder {
    let mut code: Vec<Line> =
        [(0, 3), (6, 1), (7, 2), (8, 1), (9, 4)].map(|(to, of)| movr(to, of)).into();
    code.extend(parts.iter().map(Part::line));
    // what a last one leaves out
    code.push(mov(9, 1));
    for reg in 1..10 {
        code.extend([alu64(MUL, 0, 31), alu64r(XOR, 0, reg)]);
    }
    code.push(exit());
    Builder::new().function("main", code)
}

/// An address in or near a region, or one that no region has.
fn address() -> impl Strategy<Value = (usize, i64)> {
    let near = (0usize..7, -9i64..80);
    let far = prop::sample::select(vec![
        (0, 1 << 31),
        (0, (1 << 31) - 8),
        (0, (1 << 32) - 8),
        (1, -(1 << 32)),
        (2, 1 << 40),
        (2, i64::MAX),
    ]);
    prop_oneof![6 => near, 1 => far]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn accesses_anywhere_leave_the_same_compiled(
        parts in prop::collection::vec(part(), 1..24),
        calls in prop::collection::vec((address(), address(), any::<[u64; 3]>()), 1..6),
    ) {
        let run = |compiled| {
            let mut hosted = start(program(&parts), compiled);
            let regions = regions(&mut hosted);
            let at = |(region, distance): (usize, i64)| regions[region].wrapping_add_signed(distance);
            let calls: Vec<[u64; 5]> =
                calls.iter().map(|&(one, other, [a, b, c])| [at(one), at(other), a, b, c]).collect();
            let calls: Vec<&[u64]> = calls.iter().map(|args| &args[..]).collect();
            seen(hosted, &calls, 1_000)
        };
        prop_assert_eq!(run(false), run(true));
    }
}
