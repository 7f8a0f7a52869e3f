// SPDX-License-Identifier: MIT OR Apache-2.0
//! CO-RE: `load_core.bpf.c` against the layout of `load_kernel.c`. Expected offsets
//! are worked out by hand in the comments there.

use super::support::{code, kernel_btf, load, symbols};
use rota_object::btf::Kind;
use rota_object::image::{Image, Symbol};

/// Opcodes of loads by width.
const LDX_W: u8 = 0x61;
const LDX_H: u8 = 0x69;
const LDX_B: u8 = 0x71;
const LDX_DW: u8 = 0x79;

/// The only load of a function: opcode and offset.
fn access(image: &Image, name: &str) -> (u8, i16) {
    let loads: Vec<_> = code(image, name).into_iter().filter(|(_, i)| i.op & 7 == 1).collect();
    assert_eq!(loads.len(), 1, "{name}: one load");
    assert!(symbols(image, name).is_empty(), "{name}: {:?}", symbols(image, name));
    (loads[0].1.op, loads[0].1.off)
}

/// The constant that a function puts in r0 first.
fn answer(image: &Image, name: &str) -> u64 {
    assert!(symbols(image, name).is_empty(), "{name}: {:?}", symbols(image, name));
    let code = code(image, name);
    let at = code.iter().position(|(_, i)| i.dst == 0 && matches!(i.op, 0xb7 | 0xb4 | 0x18));
    let at = at.unwrap_or_else(|| panic!("{name} sets no r0: {code:?}"));
    match code[at].1.op {
        0x18 => (code[at + 1].1.imm as u32 as u64) << 32 | code[at].1.imm as u32 as u64,
        _ => code[at].1.imm as i64 as u64,
    }
}

/// Why a function's only relocation poisons it.
fn poison(image: &Image, name: &str) -> String {
    match symbols(image, name)[..] {
        [Symbol::Poison(why)] => why.clone(),
        ref other => panic!("{name}: {other:?}"),
    }
}

#[test]
fn loads_take_the_kernel_s_offset_and_width() {
    let image = load("load_core.bpf.c");
    assert_eq!(access(&image, "read_moved"), (LDX_W, 8));
    assert_eq!(access(&image, "read_grows"), (LDX_DW, 16), "u32 became u64");
    assert_eq!(access(&image, "read_link"), (LDX_DW, 96));
}

#[test]
fn paths_go_through_arrays_and_anonymous_members() {
    let image = load("load_core.bpf.c");
    assert_eq!(access(&image, "read_anon"), (LDX_W, 40));
    assert_eq!(access(&image, "read_row_2"), (LDX_H, 48 + 2 * 2));
    assert_eq!(access(&image, "read_point_1_x"), (LDX_W, 64 + 8), "x is first in the kernel");
    assert_eq!(access(&image, "read_tail_3"), (LDX_B, 104 + 3), "flexible array");
}

#[test]
fn stores_are_relocated() {
    let image = load("load_core.bpf.c");
    let code = code(&image, "store_moved");
    let store = code.iter().find(|(_, i)| matches!(i.op, 0x62 | 0x63)).expect("a store");
    assert_eq!(store.1.off, 8);
}

#[test]
fn flavors_stand_for_the_plain_type() {
    let image = load("load_core.bpf.c");
    assert_eq!(access(&image, "read_flavor"), (LDX_W, 8));
    let why = poison(&image, "read_flavor_gone");
    assert!(why.contains("struct thing___older.was_there_once"), "{why}");
}

#[test]
fn missing_field_poisons_the_instruction_and_names_the_field() {
    let image = load("load_core.bpf.c");
    let why = poison(&image, "read_gone");
    assert_eq!(why, "struct thing.gone is not in this kernel");
}

#[test]
fn signed_field_of_another_width_is_poisoned() {
    // Zero extension would change a negative value, so libbpf refuses it too.
    let image = load("load_core.bpf.c");
    let why = poison(&image, "read_signed_grows");
    assert!(why.starts_with("struct thing.signed_grows has 8 bytes"), "{why}");
}

#[test]
fn field_questions_are_answered() {
    let image = load("load_core.bpf.c");
    assert_eq!(answer(&image, "moved_exists"), 1);
    assert_eq!(answer(&image, "gone_exists"), 0);
    assert_eq!(answer(&image, "grows_size"), 8);
    assert_eq!(answer(&image, "row_size"), 16);
    assert_eq!(answer(&image, "signed_is_signed"), 1);
}

#[test]
fn bit_fields_are_read_by_an_aligned_load_and_two_shifts() {
    // Bits 707..713 of the struct: the 4-byte word at byte 88 covers bits 704..735.
    // Left shift puts bit 713 at bit 63: 64 - (707 + 7 - 704); right leaves 7 bits.
    let image = load("load_core.bpf.c");
    assert_eq!(answer(&image, "high_offset"), 88);
    assert_eq!(answer(&image, "high_shift_left"), 54);
    assert_eq!(answer(&image, "high_shift_right"), 57);
    assert_eq!(answer(&image, "high_is_signed"), 1);
}

#[test]
fn type_questions_are_answered() {
    let image = load("load_core.bpf.c");
    let kernel = kernel_btf();
    let pair = kernel.find(Kind::Struct, "pair").expect("pair");
    assert_eq!(answer(&image, "thing_exists"), 1);
    assert_eq!(answer(&image, "not_there_exists"), 0);
    assert_eq!(answer(&image, "thing_size"), 104);
    assert_eq!(answer(&image, "pair_matches"), 1, "order of members does not count");
    assert_eq!(answer(&image, "strict_matches"), 0, "member a has another size");
    assert_eq!(answer(&image, "pair_target_id"), u64::from(pair.0));
    let local = image.btf.find(Kind::Struct, "pair").expect("pair");
    assert_eq!(answer(&image, "pair_local_id"), u64::from(local.0));
}

#[test]
fn enumerators_take_the_kernel_s_values() {
    let image = load("load_core.bpf.c");
    assert_eq!(answer(&image, "red_value"), 7);
    assert_eq!(answer(&image, "red_exists"), 1);
    assert_eq!(answer(&image, "blue_exists"), 0);
    assert!(poison(&image, "blue_value").contains("enum color::BLUE"));
    assert_eq!(answer(&image, "wide_value"), 1 << 63);
}
