// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every class of instruction against results worked out by hand or by Rust.

use crate::run_support::asm::*;
use crate::run_support::Builder;
use proptest::prelude::*;
use rota_vm::error::FaultKind;

/// r0 after running `code` with r1 and r2 as arguments.
fn run(code: Vec<Line>, args: &[u64]) -> u64 {
    Builder::new().function("main", code).start().result(args)
}

#[test]
fn division_by_zero_gives_zero_and_remainder_the_dividend() {
    for (op, expected) in [(DIV, 0), (MOD, 0x1_0000_0007)] {
        let code = vec![movr(0, 1), alu64r(op, 0, 2), exit()];
        assert_eq!(run(code, &[0x1_0000_0007, 0]), expected);
    }
    // 32-bit forms also cut the dividend.
    for (op, expected) in [(DIV, 0), (MOD, 7)] {
        let code = vec![movr(0, 1), alu32r(op, 0, 2), exit()];
        assert_eq!(run(code, &[0x1_0000_0007, 0]), expected);
    }
}

#[test]
fn signed_division_rounds_to_zero_and_does_not_overflow() {
    let signed = |op: u8, wide: u8, a: i64, b: i64| {
        let code = vec![movr(0, 1), line(op | 0x08 | wide, 0, 2, 1, 0), exit()];
        run(code, &[a as u64, b as u64]) as i64
    };
    assert_eq!(signed(DIV, 7, -7, 2), -3);
    assert_eq!(signed(MOD, 7, -7, 2), -1);
    assert_eq!(signed(DIV, 7, i64::MIN, -1), i64::MIN);
    assert_eq!(signed(MOD, 7, i64::MIN, -1), 0);
    assert_eq!(signed(DIV, 7, 5, 0), 0);
    assert_eq!(signed(MOD, 7, 5, 0), 5);
    assert_eq!(signed(DIV, 4, -7, 2), i64::from((-3i32) as u32));
    assert_eq!(signed(DIV, 4, i64::from(i32::MIN), -1), i64::from(i32::MIN as u32));
}

#[test]
fn immediates_are_sign_extended_in_64_bit_forms_only() {
    assert_eq!(run(vec![mov(0, -1), exit()], &[]), u64::MAX);
    assert_eq!(run(vec![alu32(MOV, 0, -1), exit()], &[]), 0xffff_ffff);
    assert_eq!(
        run(vec![mov(0, 0), store_imm(DW, 10, -8, -2), load(DW, 0, 10, -8), exit()], &[]),
        u64::MAX - 1
    );
}

#[test]
fn sign_extending_moves_and_loads() {
    let from = 0xffff_fff0_8000_8080u64;
    for (op, off, expected) in [
        (0xbf, 8, (-128i64) as u64),
        (0xbf, 16, 0xffff_ffff_ffff_8080),
        (0xbf, 32, 0xffff_ffff_8000_8080),
        (0xbc, 8, 0xffff_ff80),
        (0xbc, 16, 0xffff_8080),
    ] {
        assert_eq!(run(vec![line(op, 0, 1, off, 0), exit()], &[from]), expected, "{op:#x} {off}");
    }
    for (size, expected) in
        [(B, (-128i64) as u64), (H, 0xffff_ffff_ffff_8080), (W, 0xffff_ffff_8000_8080)]
    {
        let code = vec![store(DW, 10, -8, 1), load_signed(size, 0, 10, -8), exit()];
        assert_eq!(run(code, &[from]), expected);
    }
}

#[test]
fn byte_swaps() {
    let from = 0x0102_0304_0506_0708u64;
    for (op, bits, expected) in [
        (0xd4, 16, 0x0708),
        (0xd4, 32, 0x0506_0708),
        (0xd4, 64, from),
        (0xdc, 16, 0x0807),
        (0xdc, 32, 0x0807_0605),
        (0xdc, 64, 0x0807_0605_0403_0201),
        (0xd7, 16, 0x0807),
        (0xd7, 32, 0x0807_0605),
        (0xd7, 64, 0x0807_0605_0403_0201),
    ] {
        assert_eq!(run(vec![movr(0, 1), line(op, 0, 0, 0, bits), exit()], &[from]), expected);
    }
}

#[test]
fn loads_and_stores_of_each_size_touch_only_their_bytes() {
    for (size, expected) in [
        (B, 0xffff_ffff_ffff_ff88),
        (H, 0xffff_ffff_ffff_7788),
        (W, 0xffff_ffff_5566_7788),
        (DW, 0x1122_3344_5566_7788),
    ] {
        let code =
            vec![store_imm(DW, 10, -8, -1), store(size, 10, -8, 1), load(DW, 0, 10, -8), exit()];
        assert_eq!(run(code, &[0x1122_3344_5566_7788]), expected);
    }
}

#[test]
fn atomics_fetch_exchange_and_compare() {
    // The cell starts at 12, the operand is 10; r0 = cell << 32 | fetched.
    let atomic_result = |size: u8, op: i32, r0: i32| {
        let code = vec![
            store_imm(DW, 10, -8, 12),
            mov(3, 10),
            mov(0, r0),
            atomic(size, 10, -8, 3, op),
            movr(4, 0),
            load(DW, 0, 10, -8),
            alu64(LSH, 0, 32),
            jump64(JEQ, 1, 1, 2),
            alu64r(OR, 0, 3),
            exit(),
            alu64r(OR, 0, 4),
            exit(),
        ];
        run(code, &[u64::from(op == 0xf1)])
    };
    let cell = |result: u64| (result >> 32, result & 0xffff_ffff);
    for size in [W, DW] {
        assert_eq!(cell(atomic_result(size, 0x00, 0)), (22, 10), "add");
        assert_eq!(cell(atomic_result(size, 0x01, 0)), (22, 12), "fetch add");
        assert_eq!(cell(atomic_result(size, 0x41, 0)), (14, 12), "fetch or");
        assert_eq!(cell(atomic_result(size, 0x51, 0)), (8, 12), "fetch and");
        assert_eq!(cell(atomic_result(size, 0xa1, 0)), (6, 12), "fetch xor");
        assert_eq!(cell(atomic_result(size, 0xe1, 0)), (10, 12), "exchange");
        assert_eq!(cell(atomic_result(size, 0xf1, 12)), (10, 12), "compare, equal");
        assert_eq!(cell(atomic_result(size, 0xf1, 5)), (12, 12), "compare, different");
    }
    let code = vec![atomic(H, 10, -8, 1, 0x110), line(0xc3 | H, 0, 10, -8, 0x100), exit()];
    assert_eq!(run(code, &[0xabcd_1234]), 0x1234);
}

#[test]
fn long_jumps_and_calls_reach_their_targets() {
    let code = vec![gotol(1), mov(0, 1), mov(0, 2), exit()];
    // The jump skips the first of the two moves.
    assert_eq!(run(code, &[]), 2);
    let mut machine = Builder::new()
        .function("main", vec![mov(6, 5), mov(1, 40), call(1), alu64r(ADD, 0, 6), exit()])
        .function("add_two", vec![mov(6, 99), movr(0, 1), alu64(ADD, 0, 2), exit()])
        .start();
    // r6 is the caller's again: 40 + 2 + 5.
    assert_eq!(machine.result(&[]), 47);
}

#[test]
fn recursion_ends_in_a_stack_fault_after_eight_frames() {
    let mut machine = Builder::new().function("deep", vec![call(0), exit()]).start();
    let fault = machine.call(0, &[]).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Stack);
    assert_eq!((fault.function.as_str(), fault.insn), ("deep", 0));
}

#[test]
fn frames_have_stacks_of_their_own() {
    let mut machine = Builder::new()
        .function("main", vec![store_imm(DW, 10, -8, 7), call(1), load(DW, 0, 10, -8), exit()])
        .function("callee", vec![store_imm(DW, 10, -8, 9), mov(0, 0), exit()])
        .start();
    assert_eq!(machine.result(&[]), 7);
}

#[test]
fn access_outside_the_stack_faults() {
    for code in [
        vec![load(DW, 0, 10, 0), exit()],
        vec![load(W, 0, 10, -2), exit()],
        vec![store_imm(B, 10, -513, 1), exit()],
    ] {
        let fault = Builder::new().function("f", code).start().call(0, &[]).unwrap_err();
        assert_eq!(fault.kind, FaultKind::Stack);
    }
    let code = vec![movr(2, 10), alu64(ADD, 2, -600), load(DW, 0, 2, 0), exit()];
    let fault = Builder::new().function("f", code).start().call(0, &[]).unwrap_err();
    assert!(matches!(fault.kind, FaultKind::BadAddress { size: 8, write: false, .. }));
    assert_eq!(fault.insn, 2);
}

#[test]
fn loads_through_null_read_zero_and_are_counted_but_stores_fault() {
    let mut machine = Builder::new()
        .function("load", vec![mov(1, 0), mov(0, 3), load(W, 0, 1, 24), exit()])
        .function("store", vec![mov(1, 0), store_imm(W, 1, 24, 1), exit()])
        .start();
    assert_eq!(machine.result(&[]), 0);
    assert_eq!(machine.host.memory.unfilled_reads(), vec![("NULL".to_owned(), 24, 1)]);
    let fault = machine.call(1, &[]).unwrap_err();
    assert!(matches!(fault.kind, FaultKind::BadAddress { addr: 24, write: true, .. }));
}

#[test]
fn may_goto_leaves_an_endless_loop_after_eight_million_rounds() {
    let code = vec![mov(0, 0), may_goto(2), alu64(ADD, 0, 1), ja(-3), exit()];
    let mut machine = Builder::new().function("loop", code).start();
    machine.runtime.set_budget(100_000_000);
    assert_eq!(machine.result(&[]), 8 << 20);
}

#[test]
fn endless_loop_exhausts_the_budget() {
    let mut machine = Builder::new().function("spin", vec![mov(0, 0), ja(-1), exit()]).start();
    machine.runtime.set_budget(1000);
    let fault = machine.call(0, &[]).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Budget(1000));
    assert_eq!(fault.function, "spin");
}

#[test]
fn instructions_are_counted_one_by_one() {
    let code = vec![mov(0, 3), alu64(SUB, 0, 1), jump64(JNE, 0, 0, -2), exit()];
    let ret = Builder::new().function("f", code).start().call(0, &[]).unwrap();
    // 1 + 3 rounds of 2 + exit.
    assert_eq!(ret.instructions, 8);
}

#[test]
fn bad_code_faults_only_when_reached() {
    let guarded = vec![jump64(JEQ, 1, 0, 1), line(0xff, 0, 0, 0, 0), mov(0, 1), exit()];
    let mut machine = Builder::new().function("f", guarded).start();
    assert_eq!(machine.result(&[0]), 1);
    assert_eq!(machine.call(0, &[1]).unwrap_err().kind, FaultKind::BadInsn(0xff));
}

#[test]
fn jump_out_of_the_function_faults() {
    for code in [vec![ja(5), exit()], vec![ja(-2), exit()], vec![mov(0, 0)]] {
        let fault = Builder::new().function("f", code).start().call(0, &[]).unwrap_err();
        assert!(matches!(fault.kind, FaultKind::Denied(_)), "{fault}");
    }
}

#[test]
fn frame_pointer_cannot_be_written() {
    let fault = Builder::new().function("f", vec![mov(10, 0), exit()]).start().call(0, &[]);
    assert!(matches!(fault.unwrap_err().kind, FaultKind::Denied(_)));
}

/// What Rust says about an operation on 64-bit operands.
fn reference64(op: u8, a: u64, b: u64) -> u64 {
    match op {
        ADD => a.wrapping_add(b),
        SUB => a.wrapping_sub(b),
        MUL => a.wrapping_mul(b),
        DIV => a.checked_div(b).unwrap_or(0),
        MOD => a.checked_rem(b).unwrap_or(a),
        OR => a | b,
        AND => a & b,
        XOR => a ^ b,
        LSH => a << (b & 63),
        RSH => a >> (b & 63),
        ARSH => ((a as i64) >> (b & 63)) as u64,
        _ => b,
    }
}

fn reference32(op: u8, a: u32, b: u32) -> u32 {
    match op {
        ADD => a.wrapping_add(b),
        SUB => a.wrapping_sub(b),
        MUL => a.wrapping_mul(b),
        DIV => a.checked_div(b).unwrap_or(0),
        MOD => a.checked_rem(b).unwrap_or(a),
        OR => a | b,
        AND => a & b,
        XOR => a ^ b,
        LSH => a << (b & 31),
        RSH => a >> (b & 31),
        ARSH => ((a as i32) >> (b & 31)) as u32,
        _ => b,
    }
}

fn compare(op: u8, a: i128, b: i128, bits: u128) -> bool {
    match op {
        JEQ => a == b,
        JNE => a != b,
        JGT | JSGT => a > b,
        JGE | JSGE => a >= b,
        JLT | JSLT => a < b,
        JLE | JSLE => a <= b,
        _ => bits != 0,
    }
}

/// Numbers with many edge cases among them.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![
        any::<u64>(),
        any::<u32>().prop_map(u64::from),
        any::<i8>().prop_map(|n| n as u64),
        (0u32..64).prop_map(|bit| 1 << bit),
    ]
}

proptest! {
    #[test]
    fn arithmetic_equals_rusts(
        op in prop::sample::select(vec![ADD, SUB, MUL, DIV, OR, AND, LSH, RSH, MOD, XOR, MOV, ARSH]),
        a in number(), b in number(), imm in any::<i32>(),
    ) {
        let with = |step: Line| run(vec![movr(0, 1), step, exit()], &[a, b]);
        prop_assert_eq!(with(alu64r(op, 0, 2)), reference64(op, a, b));
        prop_assert_eq!(with(alu64(op, 0, imm)), reference64(op, a, imm as i64 as u64));
        prop_assert_eq!(with(alu32r(op, 0, 2)), u64::from(reference32(op, a as u32, b as u32)));
        prop_assert_eq!(with(alu32(op, 0, imm)), u64::from(reference32(op, a as u32, imm as u32)));
        prop_assert_eq!(with(line(NEG | 0x07, 0, 0, 0, 0)), (a as i64).wrapping_neg() as u64);
        prop_assert_eq!(with(line(NEG | 0x04, 0, 0, 0, 0)), u64::from((a as u32).wrapping_neg()));
    }

    #[test]
    fn comparisons_equal_rusts(
        op in prop::sample::select(vec![JEQ, JGT, JGE, JSET, JNE, JSGT, JSGE, JLT, JLE, JSLT, JSLE]),
        a in number(), b in number(), imm in any::<i32>(),
    ) {
        let signed = matches!(op, JSGT | JSGE | JSLT | JSLE);
        let taken = |jump: Line| {
            run(vec![mov(0, 1), jump, mov(0, 0), exit()], &[a, b]) == 1
        };
        let wide = |n: u64| if signed { i128::from(n as i64) } else { i128::from(n) };
        let narrow = |n: u64| if signed { i128::from(n as i32) } else { i128::from(n as u32) };
        let extended = imm as i64 as u64;
        let bits = |x: u64, y: u64| u128::from(x & y);
        let low = |x: u64| x & 0xffff_ffff;
        prop_assert_eq!(taken(jump64r(op, 1, 2, 1)), compare(op, wide(a), wide(b), bits(a, b)));
        prop_assert_eq!(taken(jump64(op, 1, imm, 1)), compare(op, wide(a), wide(extended), bits(a, extended)));
        prop_assert_eq!(taken(jump32r(op, 1, 2, 1)), compare(op, narrow(a), narrow(b), bits(low(a), low(b))));
        prop_assert_eq!(taken(jump32(op, 1, imm, 1)), compare(op, narrow(a), narrow(extended), bits(low(a), low(extended))));
    }
}
