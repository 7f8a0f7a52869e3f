// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arrays, global data, locks, storage and atomic changes: what compiled code does by itself because it
//! knows the region, or the helper.

mod parts;

use crate::both::{seen, start};
use crate::run_support::asm::*;
use crate::run_support::{Builder, Hosted};
use parts::*;
use proptest::prelude::*;
use rota_object::image::FuncId;
use rota_vm::memory::{Perm, SharedBytes};
use rota_vm::runtime::Exec;

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
