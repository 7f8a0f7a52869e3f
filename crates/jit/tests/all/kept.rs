// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arrays, global data, locks, storage and atomic changes: what compiled code does by itself because it
//! knows the region, or the helper.

use crate::both::{seen, start};
use crate::run_support::asm::*;
use crate::run_support::{data, map, Builder, Hosted};
use proptest::prelude::*;
use rota_object::image::{map_type, FuncId};
use rota_vm::memory::{Perm, SharedBytes};
use rota_vm::runtime::Exec;

const ARRAY: u32 = 0;
const PER_CPU: u32 = 1;
const GLOBALS: u32 = 2;
const CONSTANTS: u32 = 3;
const STORAGE: u32 = 4;
const HASH: u32 = 5;

const LOOKUP: i32 = 1;
const CLOCK: i32 = 5;
const CPU: i32 = 8;
const LOCK: i32 = 93;
const UNLOCK: i32 = 94;
const PROBE_READ: i32 = 113;
const STORAGE_GET: i32 = 156;
const STORAGE_DELETE: i32 = 157;
const LOOKUP_OF_CPU: i32 = 195;

const SIZES: [u8; 4] = [B, H, W, DW];

fn maps(builder: Builder) -> Builder {
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
enum Part {
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
fn program(parts: &[Part]) -> Builder {
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

fn part() -> impl Strategy<Value = Part> {
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

/// Something a register may be: a number, an address in a region that may be written, or in none.
fn argument() -> impl Strategy<Value = (bool, i64)> {
    prop_oneof![
        4 => (Just(true), 0i64..40),
        2 => (Just(true), prop::sample::select(vec![0, 4, 1 << 31, -8, -(1 << 32)])),
        3 => (Just(false), 0i64..20),
        1 => (Just(false), any::<i64>()),
    ]
}

/// A region of the host's, the key 1 of the hash, and the arguments.
fn prepared(mut hosted: Hosted, args: &[(bool, i64); 4]) -> (Hosted, [u64; 4]) {
    let plain = hosted.host.memory.alloc("plain", 40, Perm::ReadWrite);
    let hash = hosted.runtime.map("hash").expect("there is one");
    let put = hosted.runtime.map_put(&mut hosted.host, hash, &[1, 0, 0, 0], &[7; 16]);
    put.expect("there is room");
    let value = |&(near, number): &(bool, i64)| match near {
        true => plain.wrapping_add_signed(number),
        false => number as u64,
    };
    (hosted, args.each_ref().map(value))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn what_compiled_code_does_itself_leaves_the_same(
        parts in prop::collection::vec(part(), 1..40),
        args in [argument(), argument(), argument(), argument()],
        budget in prop_oneof![Just(5_000u64), 1u64..300],
    ) {
        let run = |compiled| {
            let (hosted, args) = prepared(start(program(&parts), compiled), &args);
            seen(hosted, &[&args, &args], budget)
        };
        prop_assert_eq!(run(false), run(true));
    }
}

/// Runs code compiled, twice: its results, or faults.
fn compiled(code: Vec<Line>) -> Vec<Result<u64, String>> {
    let mut hosted = start(maps(Builder::new()).function("main", code), true);
    let mut call = || hosted.call(0, &[]).map(|ret| ret.r0).map_err(|fault| fault.to_string());
    vec![call(), call()]
}

#[test]
fn a_pointer_in_a_slot_that_something_else_overwrote_is_the_new_one() {
    // a slot has an address in global data, and gets one that is the last byte of the array
    let code = vec![
        map_value(6, GLOBALS, 3),
        store(DW, 10, -8, 6),
        map_value(7, ARRAY, 79),
        store(DW, 10, -16, 7),
        movr(1, 10),
        alu64(ADD, 1, -8),
        mov(2, 8),
        movr(3, 10),
        alu64(ADD, 3, -16),
        helper(PROBE_READ),
        load(DW, 6, 10, -8),
        load(W, 0, 6, 0),
        exit(),
    ];

    let results = compiled(code);

    let fault = results[0].as_ref().expect_err("three of four bytes are behind the array");
    assert!(fault.contains("array, 80 bytes"), "{fault}");
}

#[test]
fn an_element_of_a_cpu_is_where_that_cpu_has_it() {
    // three elements of 8 bytes for each of four CPUs: the second one of the third CPU
    let of = |key, cpu| {
        compiled(vec![
            store_imm(W, 10, -4, key),
            map_handle(1, PER_CPU),
            movr(2, 10),
            alu64(ADD, 2, -4),
            lddw(3, cpu),
            helper(LOOKUP_OF_CPU),
            movr(6, 0),
            exit(),
        ])
    };
    let address = |key, cpu| of(key, cpu)[0].clone().expect("no fault");

    let first = address(0, 0);

    assert_ne!(first, 0);
    assert_eq!(address(1, 2), first + 2 * 24 + 8);
    assert_eq!(address(1, 1 << 32 | 2), first + 2 * 24 + 8, "a CPU is 32 bits");
    assert_eq!([address(3, 0), address(0, 4)], [0, 0], "there are none");
}

#[test]
fn a_lock_is_taken_and_given_back_once() {
    let twice =
        |helpers: [i32; 2]| helpers.into_iter().flat_map(|id| [map_value(1, ARRAY, 8), helper(id)]);
    let code = |helpers| twice(helpers).chain([mov(0, 1), exit()]).collect();

    let fine = compiled(code([LOCK, UNLOCK]));
    let again = compiled(code([LOCK, LOCK]));
    let free = compiled(code([UNLOCK, LOCK]));

    assert_eq!(fine, [Ok(1), Ok(1)]);
    assert!(again[0].as_ref().is_err_and(|fault| fault.contains("is already held")), "{again:?}");
    assert!(free[0].as_ref().is_err_and(|fault| fault.contains("is not held")), "{free:?}");
}

#[test]
fn an_object_that_was_unloaded_runs_no_more() {
    for is_compiled in [false, true] {
        let code = vec![map_value(1, GLOBALS, 0), load(W, 0, 1, 0), exit()];
        let mut hosted = start(maps(Builder::new()).function("main", code), is_compiled);
        assert_eq!(hosted.result(&[]), 0x0302_0100);

        hosted.runtime.unload(&mut hosted.host);

        let fault = hosted.call(0, &[]).expect_err("its data is gone").to_string();
        assert!(fault.contains("was unloaded"), "{fault}");
        let mut exec = Exec::new(&hosted.runtime);
        exec.start(&mut hosted.host, FuncId(0), &[]);
        assert!(exec.run(&mut hosted.runtime, &mut hosted.host, 100).is_err());
    }
}

struct Pages(Vec<u8>);

impl SharedBytes for Pages {
    fn bytes(&self) -> &[u8] {
        &self.0
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

#[test]
fn global_data_that_a_program_maps_is_read_where_it_then_is() {
    let code =
        vec![map_value(1, GLOBALS, 4), load(W, 0, 1, 0), mov(2, 9), store(B, 1, 1, 2), exit()];
    let mut hosted = start(maps(Builder::new()).function("main", code), true);
    assert_eq!(hosted.result(&[]), 0x0706_0504);
    let globals = hosted.runtime.map(".bss").and_then(|map| hosted.runtime.map_base(map));
    let globals = globals.expect("it has a place");

    let shared = hosted.host.memory.share(globals, Box::new(Pages(vec![0x11; 37])));

    assert!(shared);
    assert_eq!([hosted.result(&[]), hosted.result(&[])], [0x1111_1111, 0x1111_0911]);
}
