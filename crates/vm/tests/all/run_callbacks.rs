// SPDX-License-Identifier: MIT OR Apache-2.0
//! Loops over callbacks, tail calls, timers, and calls that stop half-way.

use crate::run_support::asm::*;
use crate::run_support::{map, Builder, Hosted, TestHost};
use rota_object::image::{map_type, FuncId, MapDef};
use rota_vm::error::Fault;
use rota_vm::runtime::Runtime;
use rota_vm::runtime::{Exec, Step};
use rota_vm::table::Kfunc;

const LOOP: i32 = 181;
const FOR_EACH: i32 = 164;

/// `bpf_loop(r1, add, &sum, 0)`; `add` adds its index to the sum and stops at `stop`.
fn sums(stop: i32) -> Hosted {
    Builder::new()
        .function(
            "main",
            vec![
                store_imm(DW, 10, -8, 0),
                func(2, 1),
                movr(3, 10),
                alu64(ADD, 3, -8),
                mov(4, 0),
                helper(LOOP),
                load(DW, 1, 10, -8),
                alu64(LSH, 1, 32),
                alu64r(OR, 0, 1),
                exit(),
            ],
        )
        .function(
            "add",
            vec![
                load(DW, 3, 2, 0),
                alu64r(ADD, 3, 1),
                store(DW, 2, 0, 3),
                mov(0, 0),
                jump64(JNE, 1, stop, 1),
                mov(0, 1),
                exit(),
            ],
        )
        .start()
}

#[test]
fn bpf_loop_counts_calls_and_stops_when_told() {
    // 0+1+...+9 = 45 in 10 calls; stopping at 4: 0+1+2+3+4 = 10 in 5 calls.
    assert_eq!(sums(-1).result(&[10]), 45 << 32 | 10);
    assert_eq!(sums(4).result(&[10]), 10 << 32 | 5);
    assert_eq!(sums(-1).result(&[0]), 0);
    // BPF_MAX_LOOPS is 8 Mi: -E2BIG.
    assert_eq!(sums(-1).result(&[(8 << 20) + 1]), (-7i64) as u64);
}

#[test]
fn caller_registers_survive_callbacks() {
    let mut machine = Builder::new()
        .function(
            "main",
            vec![
                mov(6, 40),
                mov(1, 3),
                func(2, 1),
                mov(3, 0),
                mov(4, 0),
                helper(LOOP),
                alu64r(ADD, 0, 6),
                exit(),
            ],
        )
        .function("callee", vec![mov(6, 0), mov(7, 0), mov(0, 0), exit()])
        .start();
    assert_eq!(machine.result(&[]), 43);
}

#[test]
fn for_each_map_elem_visits_entries_in_insertion_order() {
    let mut machine = Builder::new()
        .map(map("pairs", map_type::HASH, 8, 8, 10))
        .function(
            "main",
            vec![
                store_imm(DW, 10, -8, 0),
                map_handle(1, 0),
                func(2, 1),
                movr(3, 10),
                alu64(ADD, 3, -8),
                mov(4, 0),
                helper(FOR_EACH),
                load(DW, 0, 10, -8),
                exit(),
            ],
        )
        .function(
            "digits",
            // *ctx = *ctx * 100 + *key * 10 + *value
            vec![
                load(DW, 5, 4, 0),
                alu64(MUL, 5, 10),
                load(DW, 1, 2, 0),
                alu64r(ADD, 5, 1),
                alu64(MUL, 5, 10),
                load(DW, 1, 3, 0),
                alu64r(ADD, 5, 1),
                store(DW, 4, 0, 5),
                mov(0, 0),
                exit(),
            ],
        )
        .start();
    let pairs = machine.runtime.map("pairs").unwrap();
    for (key, value) in [(7u64, 1u64), (3, 2), (5, 3)] {
        let (key, value) = (key.to_le_bytes(), value.to_le_bytes());
        machine.runtime.map_put(&mut machine.host, pairs, &key, &value).unwrap();
    }
    assert_eq!(machine.result(&[]), 71_32_53);
}

#[test]
fn tail_call_replaces_the_frame_and_an_empty_slot_falls_through() {
    let jumps =
        MapDef { programs: vec![(1, FuncId(1))], ..map("jumps", map_type::PROG_ARRAY, 4, 4, 2) };
    let mut machine = Builder::new()
        .map(jumps)
        .function(
            "main",
            vec![movr(3, 1), mov(1, 77), map_handle(2, 0), helper(12), mov(0, 5), exit()],
        )
        .function("target", vec![movr(0, 1), exit()])
        .start();
    assert_eq!(machine.result(&[1]), 77);
    assert_eq!(machine.result(&[0]), 5);
    assert_eq!(machine.result(&[9]), 5);
}

/// A map of two timers; `main(index, nsecs, flags)` starts one, its callback notes its
/// key in the value and starts it again.
fn timers() -> Hosted {
    Builder::new()
        .map(map("timers", map_type::ARRAY, 4, 24, 2))
        .function(
            "main",
            vec![
                movr(7, 2),
                movr(8, 3),
                store(W, 10, -4, 1),
                map_handle(1, 0),
                movr(2, 10),
                alu64(ADD, 2, -4),
                helper(1),
                movr(6, 0),
                movr(1, 6),
                map_handle(2, 0),
                mov(3, 1),
                helper(169),
                movr(1, 6),
                func(2, 1),
                helper(170),
                movr(1, 6),
                movr(2, 7),
                movr(3, 8),
                helper(171),
                exit(),
            ],
        )
        .function(
            "expired",
            vec![
                movr(6, 3),
                load(W, 1, 2, 0),
                alu64(ADD, 1, 100),
                store(DW, 6, 16, 1),
                movr(1, 6),
                helper(172),
                movr(7, 0),
                movr(1, 6),
                mov(2, 50),
                mov(3, 0),
                helper(171),
                movr(0, 7),
                exit(),
            ],
        )
        .start()
}

#[test]
fn timer_runs_its_callback_with_key_and_value() {
    let mut machine = timers();
    assert_eq!(machine.result(&[1, 1000, 0]), 0);
    let (&timer, &(at, cpu)) = machine.host.timers.iter().next().unwrap();
    assert_eq!((at, cpu), (1_000_001_000, None));
    machine.host.now_ns = at;
    machine.host.timers.clear();
    let ret = machine.runtime.run_timer(&mut machine.host, timer).unwrap();
    // Cancelling itself is a deadlock (-35), starting itself again is fine.
    assert_eq!(ret.r0 as i64, -35);
    assert_eq!(machine.host.timers[&timer], (at + 50, None));
    let value =
        machine.runtime.map_get(&mut machine.host, rota_object::image::MapId(0), &[1, 0, 0, 0]);
    assert_eq!(value.unwrap()[16], 101);
}

#[test]
fn absolute_and_pinned_timers_reach_the_host_as_such() {
    let mut machine = timers();
    machine.host.cpu = 3;
    assert_eq!(machine.result(&[0, 2_000_000_000, 3]), 0);
    assert_eq!(machine.host.timers.values().next(), Some(&(2_000_000_000, Some(3))));
    // An unknown flag is -EINVAL.
    assert_eq!(machine.result(&[1, 0, 8]) as i64, -22);
}

#[test]
fn call_pauses_at_any_instruction_and_goes_on() {
    let whole = sums(-1).call(0, &[10]).unwrap();
    for fuel in [1, 2, 7] {
        let Hosted { mut host, mut runtime } = sums(-1);
        let mut exec = Exec::new(&runtime);
        exec.start(&mut host, FuncId(0), &[10]);
        let mut pauses = 0;
        let ret = loop {
            match exec.run(&mut runtime, &mut host, fuel).unwrap() {
                Step::Done(ret) => break ret,
                Step::Paused => pauses += 1,
            }
        };
        assert_eq!(ret, whole);
        assert!(pauses > 10 / fuel, "{pauses} pauses with fuel {fuel}");
    }
}

#[test]
fn kernel_functions_may_call_back_into_the_image() {
    fn twice(
        host: &mut TestHost,
        rt: &mut Runtime<TestHost>,
        args: &[u64; 5],
    ) -> Result<u64, Fault> {
        let inner = rt.call(host, FuncId(1), &[args[0]])?;
        rt.charge(1000);
        Ok(inner.r0 * 2)
    }
    let rows = vec![Kfunc {
        name: "twice",
        arity: 1..=1,
        contexts: 0,
        cost: 7,
        run: twice,
        absent: None,
        simple: None,
    }];
    let builder = Builder::new()
        .function("main", vec![mov(6, 1), mov(1, 20), kfunc("twice"), alu64r(ADD, 0, 6), exit()])
        .function("inner", vec![mov(6, 9), movr(0, 1), alu64(ADD, 0, 1), exit()]);
    let mut machine = builder.start_with(TestHost::new(), rows);
    let ret = machine.call(0, &[]).unwrap();
    assert_eq!(ret.r0, 43);
    // 5 of its own, the documented cost, and what was charged; the inner call counts itself.
    assert_eq!(ret.instructions, 5 + 7 + 1000);
}

#[test]
fn endless_nesting_by_kernel_functions_is_a_fault() {
    fn again(host: &mut TestHost, rt: &mut Runtime<TestHost>, _: &[u64; 5]) -> Result<u64, Fault> {
        rt.call(host, FuncId(0), &[]).map(|ret| ret.r0)
    }
    let rows = vec![Kfunc {
        name: "again",
        arity: 0..=0,
        contexts: 0,
        cost: 0,
        run: again,
        absent: None,
        simple: None,
    }];
    let builder = Builder::new().function("main", vec![kfunc("again"), exit()]);
    let mut machine = builder.start_with(TestHost::new(), rows);
    let fault = machine.call(0, &[]).unwrap_err();
    assert_eq!(fault.kind, rota_vm::error::FaultKind::Stack);
}
