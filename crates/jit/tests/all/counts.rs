// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where instructions run out, and whether compiled code ran at all.

use crate::both::{seen, seen_in_parts, start};
use crate::run_support::asm::*;
use crate::run_support::{map, Builder};
use rota_jit::Jit;
use rota_object::image::{map_type, MapId};
use rota_vm::engine::{Compiled, End, Engine, Guest, Listing};
use std::sync::{Arc, Mutex};

const LOOP: i32 = 181;
const LOOKUP: i32 = 1;

/// Everything that counts: calls of functions and of the host, callbacks, lookups in arrays, atomic
/// operations, loops, and at last a store that is out of bounds.
fn everything() -> Builder {
    let main = vec![
        mov(6, 0),
        store_imm(DW, 10, -16, 0),
        store_imm(W, 10, -4, 1),
        map_handle(1, 0),
        movr(2, 10),
        alu64(ADD, 2, -4),
        helper(LOOKUP),
        jump64(JEQ, 0, 0, 15),
        movr(7, 0),
        mov(3, 5),
        atomic(DW, 7, 0, 3, 0x01),
        movr(1, 6),
        call(1),
        alu64r(ADD, 6, 0),
        may_goto(1),
        jump64(JLT, 6, 20, -5),
        mov(1, 4),
        func(2, 2),
        movr(3, 10),
        alu64(ADD, 3, -16),
        mov(4, 0),
        helper(LOOP),
        load(DW, 6, 10, -16),
        store(DW, 7, 4096, 6),
        movr(0, 6),
        exit(),
    ];
    let next = vec![movr(0, 1), alu64(AND, 0, 3), alu64(ADD, 0, 1), exit()];
    let step = vec![load(DW, 3, 2, 0), alu64r(ADD, 3, 1), store(DW, 2, 0, 3), mov(0, 0), exit()];
    Builder::new()
        .map(map("array", map_type::PERCPU_ARRAY, 4, 16, 2))
        .function("main", main)
        .function("next", next)
        .function("step", step)
}

#[test]
fn instructions_run_out_at_the_same_one_wherever_that_is() {
    let last = seen(start(everything(), false), &[&[]], 10_000);
    let fault = last.calls[0].as_ref().expect_err("a store out of bounds");
    assert!(fault.contains("array, "), "{fault}");
    for budget in 0..400 {
        let run = |compiled| seen(start(everything(), compiled), &[&[], &[]], budget);
        assert_eq!(run(false), run(true), "budget {budget}");
    }
}

#[test]
fn code_that_is_stopped_at_any_instruction_goes_on() {
    let whole = seen_in_parts(start(everything(), false), &[], 10_000, u64::MAX);
    for part in 1..60 {
        let parts = seen_in_parts(start(everything(), true), &[], 10_000, part);
        assert_eq!(whole, parts, "{part} at a time");
    }
}

/// Notes how compiled code ends.
struct Noting(Jit, Arc<Mutex<Vec<End>>>);

struct Noted(Arc<dyn Compiled>, Arc<Mutex<Vec<End>>>);

impl Engine for Noting {
    fn compile(&self, listing: &Listing) -> Option<Arc<dyn Compiled>> {
        let code = self.0.compile(listing)?;
        Some(Arc::new(Noted(code, Arc::clone(&self.1))))
    }
}

impl Compiled for Noted {
    fn run(&self, function: usize, guest: &mut dyn Guest) -> End {
        let end = self.0.run(function, guest);
        self.1.lock().expect("no panic").push(end);
        end
    }

    fn interpreted(&self, at: usize, instructions: u64) {
        self.0.interpreted(at, instructions);
    }
}

#[test]
fn a_call_is_compiled_from_beginning_to_end() {
    let ends = Arc::default();
    let mut hosted = start(everything(), false);
    hosted.host.engine = Some(Arc::new(Noting(Jit::at_once(), Arc::clone(&ends))));
    let mut other = hosted
        .runtime
        .another(&crate::run_support::table(Vec::new()), &mut hosted.host)
        .expect("loads");
    other.call(&mut hosted.host, rota_object::image::FuncId(1), &[6]).expect("no fault");
    other.call(&mut hosted.host, rota_object::image::FuncId(0), &[]).expect_err("out of bounds");
    assert_eq!(*ends.lock().expect("no panic"), [End::Returned, End::Fault]);
}

#[test]
fn a_function_is_compiled_once_it_has_run_often() {
    let ends = Arc::default();
    let mut hosted = start(everything(), false);
    hosted.host.engine = Some(Arc::new(Noting(Jit::after(1_000), Arc::clone(&ends))));
    let mut other = hosted
        .runtime
        .another(&crate::run_support::table(Vec::new()), &mut hosted.host)
        .expect("loads");
    for _ in 0..5_000 {
        other.call(&mut hosted.host, rota_object::image::FuncId(1), &[6]).expect("no fault");
    }
    let ends = ends.lock().expect("no panic");
    let first = ends.iter().position(|end| *end == End::Returned).expect("it is compiled");
    assert_eq!(first, 1_000);
    assert!(ends[first..].iter().all(|end| *end == End::Returned));
}

#[test]
fn a_function_is_compiled_after_fewer_runs_if_they_are_long() {
    // 2 + 3 × 10,000 instructions a run: 10 runs are more than 1,000 of 250.
    let long = vec![mov(0, 0), alu64(ADD, 0, 1), may_goto(1), jump64(JLT, 0, 10_000, -3), exit()];
    let ends = Arc::default();
    let mut hosted = start(Builder::new().function("long", long), false);
    hosted.host.engine = Some(Arc::new(Noting(Jit::after(1_000), Arc::clone(&ends))));
    let table = crate::run_support::table(Vec::new());
    let mut other = hosted.runtime.another(&table, &mut hosted.host).expect("loads");
    for _ in 0..20 {
        other.call(&mut hosted.host, rota_object::image::FuncId(0), &[]).expect("no fault");
    }
    let ends = ends.lock().expect("no panic");
    assert_eq!(ends.iter().position(|end| *end == End::Returned), Some(9));
}

#[test]
fn functions_that_are_compiled_and_others_call_each_other() {
    // `main` and what it calls become compiled one after the other, each at a call of its own.
    let run = |engine| {
        let mut hosted = start(everything(), false);
        hosted.host.engine = engine;
        let table = crate::run_support::table(Vec::new());
        let mut other = hosted.runtime.another(&table, &mut hosted.host).expect("loads");
        let call = |_| other.call(&mut hosted.host, rota_object::image::FuncId(0), &[]);
        let results: Vec<_> = (0..6_000).map(call).map(|result| format!("{result:?}")).collect();
        let value = other.map_get(&mut hosted.host, MapId(0), &1u32.to_le_bytes());
        (results, value.expect("an entry"))
    };
    assert!(run(None) == run(Some(Arc::new(Jit::after(1_000)))));
}
