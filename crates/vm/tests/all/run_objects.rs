// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compiled C: what clang really emits, for ISA versions 3 and 4, through the loader.

use crate::run_object::start;
use rota_vm::error::FaultKind;

const CPUS: [&str; 2] = ["v3", "v4"];

#[test]
fn ordinary_c_computes_what_c_says() {
    for cpu in CPUS {
        let mut m = start("run_code.bpf.c", cpu);
        // gcd(48, 36) twice.
        assert_eq!(m.run("subprogram", &[48, 36]), 24);
        let calls = m.runtime.global_addr("calls").unwrap();
        assert_eq!(m.host.memory.get_u64(calls), 2);
        assert_eq!(m.run("iterate", &[]), 45);
        // x -> 3x + i: 1 3 10 32 99 301 908 2730, stopped after i = 6.
        assert_eq!(m.run("loop", &[]), 7 << 32 | 2730);
        // 0x0807060504030201 ^ 0x08070605 ^ 0x0807.
        assert_eq!(m.run("swapped", &[0x0102_0304_0506_0708]), 0x0807_0605_0c04_0c03);
        assert_eq!(m.run("compare", &[]), 1);
        // -1000 - 10 + (-1000 >> 3), and for v4 -1000 / 7 - 1000 % 7 - 10 / 3.
        let expected = -1135 + if cpu == "v4" { -142 - 6 - 3 } else { 0 };
        assert_eq!(m.run("signed_numbers", &[-1000i64 as u64, -10i64 as u64]) as i64, expected);
    }
}

#[test]
fn text_is_formatted_as_the_kernel_does() {
    let mut m = start("run_code.bpf.c", "v3");
    assert_eq!(m.run("print", &[-42i64 as u64]), 24);
    assert_eq!(m.host.printed, ["n=-42 name"]);
    let text = m.runtime.global_addr("text").unwrap();
    assert_eq!(m.host.memory.c_string(text, 64).unwrap(), "  -42|0xbeef|words   |%");
}

#[test]
fn arena_pointers_work_in_both_forms() {
    for cpu in CPUS {
        let mut m = start("run_code.bpf.c", cpu);
        // 0 + 1 + 4 + ... + 81.
        assert_eq!(m.run("arena_list", &[10]), 285);
        let misses = m.host.memory.unfilled_reads();
        assert_eq!(misses, [("unallocated arena page".to_owned(), 0, 2)]);
        // Eight pages, one taken by the global.
        assert_eq!(m.run("pages_until_full", &[]), 7);
    }
}

#[test]
fn tree_gives_items_back_in_order() {
    for cpu in CPUS {
        let mut m = start("run_graph.bpf.c", cpu);
        for _ in 0..3 {
            assert_eq!(m.run("sort", &[]), 1_234_567);
        }
    }
}

#[test]
fn list_takes_items_from_both_ends() {
    // 1 2 3 4 5 pushed front and back by turns: 5 3 1 2 4.
    assert_eq!(start("run_graph.bpf.c", "v3").run("deque", &[]), 54_321);
}

#[test]
fn item_may_be_in_tree_and_list_but_not_twice_in_the_tree() {
    let mut m = start("run_graph.bpf.c", "v3");
    assert_eq!(m.run("shared", &[]) as i64, -22);
    assert_eq!(m.run("sort", &[]), 1_234_567, "the tree is empty again");
}

#[test]
fn map_entry_owns_its_kptr_until_it_is_deleted() {
    let mut m = start("run_graph.bpf.c", "v3");
    // CPUs 1 and 3; CPU 100 does not exist.
    assert_eq!(m.run("give_mask", &[9]), 2);
    let first = m.run("mask_of", &[9]);
    assert!(m.host.memory.is_live(first));
    assert_eq!(m.run("update_note", &[9]), 0);
    assert_eq!(m.run("mask_of", &[9]), first, "an update leaves the kptr alone");
    assert_eq!(m.run("give_mask", &[9]), 2);
    assert!(!m.host.memory.is_live(first), "released by the program");
    let second = m.run("mask_of", &[9]);
    assert_eq!(m.run("forget", &[9]), 0);
    assert!(!m.host.memory.is_live(second), "released with the entry");
}

#[test]
fn taking_a_held_lock_is_a_fault_with_its_source_line() {
    let mut m = start("run_graph.bpf.c", "v3");
    let fault = m.try_run("lock_twice", &[]).unwrap_err();
    assert!(matches!(&fault.kind, FaultKind::Denied(what) if what.contains("deadlock")));
    let source = fault.source.clone().expect("line info");
    assert!(
        source.contains("run_graph.bpf.c:") && source.contains("bpf_spin_lock(&lock);"),
        "{fault}"
    );
}
