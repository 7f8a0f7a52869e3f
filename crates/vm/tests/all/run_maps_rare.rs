// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kinds of maps that schedulers rarely have: tries, filters, and those that user space would fill.

use crate::run_support::asm::*;
use crate::run_support::operated::operated;
use crate::run_support::{map, Builder};
use rota_object::image::{map_type, MapDef};

const ENOENT: i64 = -2;
const E2BIG: i64 = -7;
const EAGAIN: i64 = -11;
const EFAULT: i64 = -14;
const EINVAL: i64 = -22;
const ENOSPC: i64 = -28;

/// A key of `struct bpf_lpm_trie_key`: so many bits of an address.
fn prefix(bits: u32, address: [u8; 4]) -> u64 {
    u64::from(bits) | u64::from(u32::from_le_bytes(address)) << 32
}

#[test]
fn trie_finds_the_longest_prefix() {
    let def = MapDef { flags: 1, ..map("t", map_type::LPM_TRIE, 8, 8, 3) };
    let mut m = operated(def);
    let host = |address| prefix(32, address);
    assert_eq!(m.lookup(host([10, 0, 0, 1])), -1);
    assert_eq!(m.update(prefix(8, [10, 0, 0, 0]), 8, 0), 0);
    assert_eq!(m.update(prefix(20, [10, 1, 0xf0, 0]), 20, 0), 0);
    assert_eq!(m.lookup(host([10, 0, 0, 1])), 8);
    assert_eq!(m.lookup(host([10, 1, 0xff, 3])), 20);
    // bit 20 is the lowest of 0xf0: 0xef differs in it
    assert_eq!(m.lookup(host([10, 1, 0xef, 3])), 8);
    assert_eq!(m.lookup(host([11, 0, 0, 1])), -1);
    // a key shorter than the longer prefix does not match it
    assert_eq!(m.lookup(prefix(19, [10, 1, 0xf0, 0])), 8);
    // bits after a prefix do not count, when it is stored and when it is removed
    assert_eq!(m.update(prefix(8, [10, 9, 9, 9]), 88, 2), 0);
    assert_eq!(m.lookup(host([10, 0, 0, 1])), 88);
    assert_eq!(m.update(prefix(33, [10, 0, 0, 0]), 1, 0), EINVAL);
    assert_eq!(m.update(prefix(0, [0; 4]), 1, 0), 0);
    assert_eq!(m.lookup(host([11, 0, 0, 1])), 1);
    assert_eq!(m.update(prefix(1, [0; 4]), 1, 0), ENOSPC);
    assert_eq!(m.delete(prefix(9, [10, 0, 0, 0])), ENOENT);
    assert_eq!(m.delete(prefix(8, [10, 1, 2, 3])), 0);
    assert_eq!(m.lookup(host([10, 0, 0, 1])), 1);
}

#[test]
fn bloom_filter_has_what_was_pushed() {
    let mut m = Builder::new()
        .map(map("b", map_type::BLOOM_FILTER, 0, 8, 4))
        .function("push", on_value(87))
        .function("peek", on_value(89))
        .start();
    assert_eq!(m.answer(1, &[7, 0]), ENOENT);
    assert_eq!(m.answer(0, &[7, 0]), 0);
    assert_eq!(m.answer(0, &[8, 1]), EINVAL, "only BPF_ANY");
    assert_eq!((m.answer(1, &[7, 0]), m.answer(1, &[8, 0])), (0, ENOENT));
}

/// A helper of map, value and flags; arguments: value, flags.
fn on_value(number: i32) -> Vec<Line> {
    vec![
        store(DW, 10, -8, 1),
        movr(3, 2),
        movr(2, 10),
        alu64(ADD, 2, -8),
        map_handle(1, 0),
        helper(number),
        exit(),
    ]
}

#[test]
fn counters_read_as_on_a_machine_without() {
    let mut m = Builder::new()
        .map(map("p", map_type::PERF_EVENT_ARRAY, 4, 4, 2))
        .function("read", vec![movr(2, 1), map_handle(1, 0), helper(22), exit()])
        .function(
            "read_value",
            vec![
                store_imm(DW, 10, -24, 5),
                movr(4, 2),
                movr(2, 1),
                movr(3, 10),
                alu64(ADD, 3, -24),
                map_handle(1, 0),
                helper(55),
                load(DW, 1, 10, -24),
                // the buffer must have been zeroed
                jump64(JEQ, 1, 0, 1),
                mov(0, 1),
                exit(),
            ],
        )
        .start();
    assert_eq!(m.answer(0, &[1]), ENOENT);
    assert_eq!(m.answer(0, &[2]), E2BIG);
    assert_eq!(m.answer(0, &[1 << 32]), EINVAL);
    m.host.cpu = 1;
    assert_eq!(m.answer(1, &[0xffff_ffff, 24]), ENOENT, "this CPU's");
    m.host.cpu = 2;
    assert_eq!(m.answer(1, &[0xffff_ffff, 24]), E2BIG);
    assert_eq!(m.answer(1, &[0, 16]), EINVAL);
}

#[test]
fn cgroups_and_stacks_are_not_there() {
    let mut m = Builder::new()
        .map(map("c", map_type::CGROUP_ARRAY, 4, 4, 2))
        .map(map("s", map_type::STACK_TRACE, 4, 1016, 64))
        .function("under", vec![movr(2, 1), map_handle(1, 0), helper(37), exit()])
        .function("stack", vec![mov(3, 0), map_handle(2, 1), helper(27), exit()])
        .start();
    assert_eq!((m.answer(0, &[1]), m.answer(0, &[2])), (EAGAIN, E2BIG));
    assert_eq!(m.answer(1, &[0]), EFAULT);
}

#[test]
fn maps_of_other_subsystems_are_refused_by_name_and_purpose() {
    for (kind, name, purpose) in
        [(15, "SOCKMAP", "sockets"), (28, "INODE_STORAGE", "files"), (14, "DEVMAP", "packets")]
    {
        let image = std::sync::Arc::new(Builder::new().map(map("m", kind, 4, 4, 4)).image);
        let table = crate::run_support::table(Vec::new());
        let mut host = crate::run_support::TestHost::new();
        let error = rota_vm::runtime::Runtime::new(image, &table, &mut host).err().unwrap();
        let error = error.to_string();
        assert!(error.contains(name) && error.contains(purpose), "{error}");
    }
}
