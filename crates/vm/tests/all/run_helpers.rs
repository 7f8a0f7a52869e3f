// SPDX-License-Identifier: MIT OR Apache-2.0
//! Helpers: what they return and what they refuse.

use crate::run_support::asm::*;
use crate::run_support::{data, Builder, Hosted, TestHost};
use rota_object::btf::{reference, Btf, Kind, Type};
use rota_vm::error::FaultKind;
use rota_vm::memory::{Perm, Shape};

fn calls(id: i32) -> Hosted {
    Builder::new().function("main", vec![helper(id), exit()]).start()
}

/// The offset of a member of a struct.
fn offset(btf: &Btf, parent: &str, member: &str) -> u64 {
    let Type::Struct(composite) = btf.get(btf.find(Kind::Struct, parent).unwrap()) else {
        panic!()
    };
    u64::from(composite.members().find(|m| m.name == member).unwrap().bit_offset / 8)
}

#[test]
fn clocks_cpu_and_random_numbers_come_from_the_host() {
    for (id, expected) in
        [(5, 1_000_000_000), (125, 1_000_000_000), (160, 1_000_000_000), (118, 250)]
    {
        assert_eq!(calls(id).result(&[]), expected, "helper {id}");
    }
    let mut m = calls(8);
    m.host.cpu = 3;
    assert_eq!(m.result(&[]), 3);
    let mut m = calls(7);
    let expected = 1_664_525u32 + 1_013_904_223;
    assert_eq!(m.result(&[]), u64::from(expected));
}

#[test]
fn missing_helper_is_named() {
    let fault = calls(51).call(0, &[]).unwrap_err();
    assert_eq!(
        fault.kind,
        FaultKind::Missing("helper 51 (redirect_map) does not exist here".into())
    );
}

#[test]
fn current_task_is_read_through_kernel_btf() {
    let btf = reference();
    let size = btf.size_of(btf.find(Kind::Struct, "task_struct").unwrap()).unwrap();
    let fields = ["pid", "tgid", "comm"].map(|member| offset(&btf, "task_struct", member));
    let mut host = TestHost::new();
    let filled = fields.iter().map(|&at| at as u32..at as u32 + 16).collect();
    let shape = Shape { type_name: "task_struct".into(), size, filled, writable: Vec::new() };
    let shape = host.memory.add_shape(shape);
    host.task = host.memory.alloc_kernel(shape);
    host.memory.set_u32(host.task + fields[0], 42);
    host.memory.set_u32(host.task + fields[1], 40);
    host.memory.bytes_mut(host.task + fields[2], 6).unwrap().copy_from_slice(b"worker");
    let mut builder = Builder::new()
        .function("pids", vec![helper(14), exit()])
        .function(
            "comm",
            vec![
                movr(1, 10),
                alu64(ADD, 1, -8),
                mov(2, 5),
                helper(16),
                load(DW, 0, 10, -8),
                exit(),
            ],
        )
        .function("task", vec![helper(158), exit()]);
    builder.image.kernel_btf = btf;
    let mut m = builder.start_with(host, Vec::new());
    assert_eq!(m.result(&[]), 40 << 32 | 42);
    // Five bytes: four letters and the NUL.
    assert_eq!(m.call(1, &[]).unwrap().r0 & 0xff_ffff_ffff, u64::from_le_bytes(*b"work\0\0\0\0"));
    assert_eq!(m.call(2, &[]).unwrap().r0, m.host.task);
    assert!(m.host.memory.unfilled_reads().is_empty());
    m.host.task = 0;
    assert_eq!(m.result(&[]) as i64, -22);
}

#[test]
fn probe_read_of_bad_memory_gives_zeroes_and_an_error() {
    let mut m = Builder::new()
        .function(
            "main",
            vec![
                movr(3, 1),
                store_imm(DW, 10, -8, -1),
                movr(1, 10),
                alu64(ADD, 1, -8),
                mov(2, 8),
                helper(113),
                movr(6, 0),
                load(DW, 0, 10, -8),
                alu64r(ADD, 0, 6),
                exit(),
            ],
        )
        .start();
    let source = m.host.memory.alloc("source", 8, Perm::ReadWrite);
    m.host.memory.set_u64(source, 1234);
    assert_eq!(m.result(&[source]), 1234);
    assert_eq!(m.result(&[0xdead_0000_0000]) as i64, -14);
}

#[test]
fn probe_read_str_cuts_and_terminates() {
    let mut m = Builder::new()
        .map(data(".rodata", b"scheduler\0".to_vec(), true))
        .function(
            "main",
            vec![
                movr(2, 1),
                movr(1, 10),
                alu64(ADD, 1, -16),
                map_value(3, 0, 0),
                helper(115),
                alu64(LSH, 0, 32),
                load(W, 1, 10, -16),
                alu64r(OR, 0, 1),
                exit(),
            ],
        )
        .start();
    assert_eq!(m.result(&[16]), 10 << 32 | u64::from(u32::from_le_bytes(*b"sche")));
    assert_eq!(m.result(&[4]), 4 << 32 | u64::from(u32::from_le_bytes(*b"sch\0")));
}

#[test]
fn helpers_write_only_where_the_program_may() {
    let mut m = Builder::new()
        .map(data(".rodata", vec![0; 16], true))
        .function(
            "main",
            vec![
                map_value(1, 0, 0),
                mov(2, 8),
                movr(3, 10),
                alu64(ADD, 3, -8),
                helper(113),
                exit(),
            ],
        )
        .start();
    let fault = m.call(0, &[]).unwrap_err();
    assert!(matches!(fault.kind, FaultKind::BadAddress { write: true, size: 8, .. }), "{fault}");
}

#[test]
fn resilient_lock_reports_what_would_deadlock() {
    let mut m = Builder::new()
        .map(data(".data", vec![0; 8], false))
        .function(
            "main",
            vec![
                map_value(6, 0, 0),
                movr(1, 6),
                kfunc("bpf_res_spin_lock"),
                movr(7, 0),
                movr(1, 6),
                kfunc("bpf_res_spin_lock"),
                movr(8, 0),
                movr(1, 6),
                kfunc("bpf_res_spin_unlock"),
                movr(0, 7),
                alu64(LSH, 0, 8),
                alu64r(SUB, 0, 8),
                exit(),
            ],
        )
        .start();
    // First 0, then -EDEADLK (35); and the same again, as it was unlocked.
    assert_eq!(m.result(&[]), 35);
    assert_eq!(m.result(&[]), 35);
}

#[test]
fn strings_are_compared_measured_and_searched() {
    let text = b"policy\0POLICY\0ic\0";
    let two = |name: &'static str, a: u64, b: u64| {
        let code = vec![map_value(1, 0, a), map_value(2, 0, b), kfunc(name), exit()];
        Builder::new()
            .map(data(".rodata", text.to_vec(), true))
            .function("f", code)
            .start()
            .result(&[]) as i64
    };
    assert_eq!(two("bpf_strcmp", 0, 0), 0);
    assert_eq!(two("bpf_strcmp", 0, 7), 1);
    assert_eq!(two("bpf_strcmp", 7, 0), -1);
    assert_eq!(two("bpf_strcasecmp", 0, 7), 0);
    assert_eq!(two("bpf_strstr", 0, 14), 3);
    assert_eq!(two("bpf_strstr", 7, 14), -2);
    assert_eq!(two("bpf_strlen", 0, 0), 6);
}

#[test]
fn strings_are_searched_for_sets_of_characters() {
    let text = b"policy\0lop\0yz\0\0";
    let call = |name: &'static str, second: Line| {
        let code = vec![map_value(1, 0, 0), second, kfunc(name), exit()];
        Builder::new()
            .map(data(".rodata", text.to_vec(), true))
            .function("f", code)
            .start()
            .result(&[]) as i64
    };
    let (lop, yz, empty) = (7, 11, 14);
    // "pol" of "policy", and all before its y.
    assert_eq!(call("bpf_strspn", map_value(2, 0, lop)), 3);
    assert_eq!(call("bpf_strcspn", map_value(2, 0, yz)), 5);
    assert_eq!(call("bpf_strspn", map_value(2, 0, empty)), 0);
    assert_eq!(call("bpf_strcspn", map_value(2, 0, empty)), 6);
    // The first i; the end where there is no x.
    assert_eq!(call("bpf_strchrnul", mov(2, i32::from(b'i'))), 3);
    assert_eq!(call("bpf_strchrnul", mov(2, i32::from(b'x'))), 6);
}
