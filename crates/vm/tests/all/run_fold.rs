// SPDX-License-Identifier: MIT OR Apache-2.0
//! Branches on frozen data are decided when code is loaded, and neither they nor the
//! code behind them are counted.

use crate::run_support::asm::*;
use crate::run_support::{data, Builder, Hosted};

/// `.rodata` with the two words 5 and 0, and `main`.
fn with_rodata(read_only: bool, code: Vec<Line>) -> Hosted {
    let content = [5u32.to_le_bytes(), 0u32.to_le_bytes()].concat();
    Builder::new().map(data(".rodata", content, read_only)).function("main", code).start()
}

/// Returns 1 if the word at `offset` is not 0, else 2.
fn branch(offset: i16) -> Vec<Line> {
    vec![
        map_value(1, 0, 0),
        load(W, 2, 1, offset),
        jump64(JEQ, 2, 0, 2),
        mov(0, 1),
        exit(),
        mov(0, 2),
        exit(),
    ]
}

#[test]
fn decided_branch_costs_nothing() {
    // lddw, load, mov, exit: the jump is gone, whichever way it goes.
    for (offset, expected) in [(0, 1), (4, 2)] {
        let ret = with_rodata(true, branch(offset)).call(0, &[]).unwrap();
        assert_eq!((ret.r0, ret.instructions), (expected, 4));
    }
}

#[test]
fn branch_on_writable_data_stays() {
    let mut machine = with_rodata(false, branch(0));
    assert_eq!(machine.call(0, &[]).unwrap().instructions, 5);
    let addr = machine.runtime.map_base(rota_object::image::MapId(0)).unwrap();
    machine.host.memory.set_u32(addr, 0);
    assert_eq!(machine.result(&[]), 2);
}

#[test]
fn constants_pass_through_arithmetic() {
    // 5 * 3 - 1 = 14 > 13.
    let code = vec![
        map_value(1, 0, 0),
        load(W, 2, 1, 0),
        alu64(MUL, 2, 3),
        mov(3, 13),
        alu64(SUB, 2, 1),
        jump64r(JGT, 2, 3, 1),
        ja(-1),
        mov(0, 0),
        exit(),
    ];
    let ret = with_rodata(true, code).call(0, &[]).unwrap();
    assert_eq!(ret.instructions, 7);
}

#[test]
fn jump_targets_forget_constants() {
    // A loop: r2 is 5 only on the way in.
    let code = vec![
        map_value(1, 0, 0),
        load(W, 2, 1, 0),
        mov(0, 0),
        alu64(ADD, 0, 1),
        alu64(SUB, 2, 1),
        jump64(JNE, 2, 0, -3),
        exit(),
    ];
    assert_eq!(with_rodata(true, code).result(&[]), 5);
}

#[test]
fn calls_forget_scratch_registers() {
    let code = vec![
        map_value(6, 0, 0),
        load(W, 1, 6, 0),
        call(1),
        // r1 is whatever the callee left: 0.
        jump64(JEQ, 1, 5, 2),
        mov(0, 7),
        exit(),
        mov(0, 8),
        exit(),
    ];
    let content = 5u64.to_le_bytes().to_vec();
    let mut machine = Builder::new()
        .map(data(".rodata", content, true))
        .function("main", code)
        .function("callee", vec![mov(1, 0), mov(0, 0), exit()])
        .start();
    assert_eq!(machine.result(&[]), 7);
}

#[test]
fn opened_branches_decide_further_ones() {
    // The first branch skips the code that would have made the second one's operand unknown.
    let code = vec![
        map_value(1, 0, 0),
        load(W, 2, 1, 0),
        jump64(JNE, 2, 0, 1),
        movr(2, 6),
        jump64(JEQ, 2, 5, 2),
        mov(0, 1),
        exit(),
        mov(0, 2),
        exit(),
    ];
    let ret = with_rodata(true, code).call(0, &[]).unwrap();
    assert_eq!((ret.r0, ret.instructions), (2, 4));
}

#[test]
fn faults_name_the_original_instruction_after_folding() {
    let code = vec![
        map_value(1, 0, 0),
        load(W, 2, 1, 0),
        jump64(JEQ, 2, 0, 2),
        lddw(3, 0x12_3456_0000_0000),
        load(DW, 0, 3, 0),
        exit(),
        exit(),
    ];
    let fault = with_rodata(true, code).call(0, &[]).unwrap_err();
    // lddw takes two slots, twice.
    assert_eq!(fault.insn, 6);
}

#[test]
fn stores_to_rodata_fault() {
    let code = vec![map_value(1, 0, 0), store_imm(W, 1, 0, 1), exit()];
    let fault = with_rodata(true, code).call(0, &[]).unwrap_err();
    assert!(fault.to_string().contains(".rodata, 8 bytes"), "{fault}");
}
