// SPDX-License-Identifier: MIT OR Apache-2.0
//! Each kind of map: what it keeps, in which order, and its error numbers.

use crate::run_support::asm::*;
use crate::run_support::operated::operated;
use crate::run_support::{map, Builder};
use rota_object::image::{map_type, MapDef, MapId};

const E2BIG: i64 = -7;
const ENOENT: i64 = -2;
const EEXIST: i64 = -17;
const EINVAL: i64 = -22;

#[test]
fn array_has_all_its_entries_and_no_others() {
    let mut m = operated(map("a", map_type::ARRAY, 4, 8, 3));
    assert_eq!(m.lookup(2), 0);
    assert_eq!(m.update(2, 9, 0), 0);
    assert_eq!(m.lookup(2), 9);
    assert_eq!(m.lookup(3), -1);
    assert_eq!(m.update(3, 9, 0), E2BIG);
    assert_eq!(m.update(1, 9, 1), EEXIST);
    assert_eq!(m.delete(1), EINVAL);
}

#[test]
fn array_values_are_apart_by_multiples_of_eight() {
    let mut m = Builder::new()
        .map(map("a", map_type::ARRAY, 4, 5, 4))
        .function(
            "f",
            vec![
                store_imm(W, 10, -4, 2),
                movr(2, 10),
                alu64(ADD, 2, -4),
                map_handle(1, 0),
                helper(1),
                exit(),
            ],
        )
        .start();
    let base = m.runtime.map_base(MapId(0)).unwrap();
    assert_eq!(m.result(&[]), base + 16);
}

#[test]
fn per_cpu_array_keeps_cpus_apart() {
    let mut m = operated(map("p", map_type::PERCPU_ARRAY, 4, 8, 2));
    for cpu in 0..4 {
        m.host.cpu = cpu;
        assert_eq!(m.update(1, u64::from(cpu) + 10, 0), 0);
    }
    m.host.cpu = 2;
    assert_eq!(m.lookup(1), 12);
    let all = m.runtime.map_get(&mut m.host, MapId(0), &[1, 0, 0, 0]).unwrap();
    let values: Vec<u8> = all.chunks(8).map(|value| value[0]).collect();
    assert_eq!(values, [10, 11, 12, 13]);
}

#[test]
fn per_cpu_hash_zeroes_other_cpus_values() {
    let mut m = operated(map("p", map_type::PERCPU_HASH, 8, 8, 1));
    m.host.cpu = 1;
    assert_eq!(m.update(5, 7, 0), 0);
    assert_eq!(m.lookup(5), 7);
    m.host.cpu = 0;
    assert_eq!(m.lookup(5), 0);
    assert_eq!(m.delete(5), 0);
    m.host.cpu = 1;
    assert_eq!(m.update(6, 1, 0), 0);
    assert_eq!(m.lookup(5), -1);
}

#[test]
fn hash_flags_and_capacity() {
    let mut m = operated(map("h", map_type::HASH, 8, 8, 2));
    assert_eq!(m.update(1, 10, 2), ENOENT);
    assert_eq!(m.update(1, 10, 1), 0);
    assert_eq!(m.update(1, 11, 1), EEXIST);
    assert_eq!(m.update(2, 20, 0), 0);
    assert_eq!(m.update(3, 30, 0), E2BIG);
    assert_eq!(m.update(2, 21, 2), 0);
    assert_eq!(m.update(2, 22, 9), EINVAL);
    assert_eq!((m.lookup(1), m.lookup(2), m.lookup(3)), (10, 21, -1));
    assert_eq!((m.delete(1), m.delete(1)), (0, ENOENT));
}

#[test]
fn deleted_value_stays_readable_for_the_rest_of_the_callback() {
    let mut m = Builder::new()
        .map(map("h", map_type::HASH, 8, 8, 4))
        .function(
            "f",
            vec![
                store_imm(DW, 10, -8, 1),
                store_imm(DW, 10, -16, 42),
                map_handle(1, 0),
                movr(2, 10),
                alu64(ADD, 2, -8),
                movr(3, 10),
                alu64(ADD, 3, -16),
                mov(4, 0),
                helper(2),
                map_handle(1, 0),
                movr(2, 10),
                alu64(ADD, 2, -8),
                helper(1),
                movr(6, 0),
                map_handle(1, 0),
                movr(2, 10),
                alu64(ADD, 2, -8),
                helper(3),
                load(DW, 0, 6, 0),
                exit(),
            ],
        )
        .start();
    assert_eq!(m.result(&[]), 42);
}

#[test]
fn queue_and_stack_take_out_in_their_orders() {
    for (kind, expected) in [(map_type::QUEUE, [1, 2]), (map_type::STACK, [2, 1])] {
        let mut m = operated(map("q", kind, 0, 8, 2));
        assert_eq!(m.answer(4, &[]), ENOENT);
        assert_eq!((m.answer(3, &[1, 0]), m.answer(3, &[2, 0])), (0, 0));
        assert_eq!(m.answer(3, &[3, 0]), E2BIG);
        assert_eq!(m.answer(5, &[]), expected[0]);
        assert_eq!([m.answer(4, &[]), m.answer(4, &[])], expected);
    }
    let mut m = operated(map("q", map_type::QUEUE, 0, 8, 2));
    for value in 1..=3 {
        // BPF_EXIST makes room by dropping the oldest.
        assert_eq!(m.answer(3, &[value, 2]), 0);
    }
    assert_eq!([m.answer(4, &[]), m.answer(4, &[])], [2, 3]);
}

#[test]
fn lookup_in_a_map_of_maps_leads_to_the_inner_map() {
    let outer =
        MapDef { slots: vec![(1, MapId(1))], ..map("outer", map_type::ARRAY_OF_MAPS, 4, 4, 2) };
    let mut m = Builder::new()
        .map(outer)
        .map(map("inner", map_type::ARRAY, 4, 8, 3))
        .function(
            "f",
            vec![
                store(W, 10, -4, 1),
                store(W, 10, -8, 2),
                map_handle(1, 0),
                movr(2, 10),
                alu64(ADD, 2, -4),
                helper(1),
                jump64(JNE, 0, 0, 1),
                exit(),
                movr(1, 0),
                movr(2, 10),
                alu64(ADD, 2, -8),
                helper(1),
                load(DW, 0, 0, 0),
                exit(),
            ],
        )
        .start();
    let inner = m.runtime.map("inner").unwrap();
    m.runtime.map_put(&mut m.host, inner, &[2, 0, 0, 0], &55u64.to_le_bytes()).unwrap();
    assert_eq!(m.result(&[1, 2]), 55);
    assert_eq!(m.result(&[0, 2]), 0);
}

#[test]
fn task_storage_lives_with_its_task() {
    let mut m = Builder::new()
        .map(map("t", map_type::TASK_STORAGE, 4, 8, 0))
        .function(
            "get",
            vec![
                movr(4, 2),
                movr(2, 1),
                store_imm(DW, 10, -8, 5),
                movr(3, 10),
                alu64(ADD, 3, -8),
                map_handle(1, 0),
                helper(156),
                jump64(JEQ, 0, 0, 4),
                load(DW, 1, 0, 0),
                alu64(ADD, 1, 1),
                store(DW, 0, 0, 1),
                movr(0, 1),
                exit(),
            ],
        )
        .function("delete", vec![movr(2, 1), map_handle(1, 0), helper(157), exit()])
        .start();
    assert_eq!(m.result(&[0x5_0000_0000, 0]), 0, "nothing there yet");
    assert_eq!(m.result(&[0x5_0000_0000, 1]), 6, "created with the initial value");
    assert_eq!(m.result(&[0x5_0000_0000, 0]), 7);
    assert_eq!(m.result(&[0x6_0000_0000, 1]), 6);
    assert_eq!(m.result(&[0, 1]), 0, "no task, no storage");
    let keys = m.runtime.map_keys(&mut m.host, MapId(0));
    assert_eq!(
        keys,
        [0x5_0000_0000u64.to_le_bytes().to_vec(), 0x6_0000_0000u64.to_le_bytes().to_vec()]
    );
    m.runtime.release_owner(&mut m.host, 0x5_0000_0000);
    assert_eq!(m.result(&[0x5_0000_0000, 0]), 0);
    assert_eq!(m.answer(1, &[0x6_0000_0000]), 0);
    assert_eq!(m.answer(1, &[0x6_0000_0000]), ENOENT);
}

#[test]
fn ring_buffer_passes_records_in_order_until_one_is_pending() {
    let mut m = Builder::new()
        .map(map("r", map_type::RINGBUF, 0, 0, 4096))
        .function(
            "output",
            vec![
                store(DW, 10, -8, 1),
                map_handle(1, 0),
                movr(2, 10),
                alu64(ADD, 2, -8),
                mov(3, 8),
                mov(4, 0),
                helper(130),
                exit(),
            ],
        )
        .function("reserve", vec![movr(2, 1), map_handle(1, 0), mov(3, 0), helper(131), exit()])
        .function("submit", vec![mov(2, 0), helper(132), mov(0, 0), exit()])
        .function("discard", vec![mov(2, 0), helper(133), mov(0, 0), exit()])
        .function("available", vec![map_handle(1, 0), mov(2, 0), helper(134), exit()])
        .start();
    let ring = m.runtime.map("r").unwrap();
    assert_eq!(m.result(&[1]), 0);
    let pending = m.call(1, &[8]).unwrap().r0;
    assert_eq!(m.result(&[3]), 0);
    // Three records of 8 bytes with 8 bytes of header each.
    assert_eq!(m.answer(4, &[]), 48);
    let first = |records: Vec<Vec<u8>>| records.iter().map(|record| record[0]).collect::<Vec<_>>();
    assert_eq!(first(m.runtime.ring_drain(&mut m.host, ring)), [1]);
    m.call(3, &[pending]).unwrap();
    assert_eq!(first(m.runtime.ring_drain(&mut m.host, ring)), [3]);
    assert_eq!(m.answer(1, &[4096]), 0, "larger than the ring");
    let fault = m.call(2, &[pending]).unwrap_err();
    assert!(fault.to_string().contains("not a reserved ring buffer record"), "{fault}");
}

#[test]
fn full_ring_buffer_refuses_until_it_is_drained() {
    let mut m = Builder::new()
        .map(map("r", map_type::RINGBUF, 0, 0, 4096))
        .function(
            "output",
            vec![
                map_handle(1, 0),
                movr(2, 10),
                alu64(ADD, 2, -512),
                mov(3, 504),
                mov(4, 0),
                helper(130),
                exit(),
            ],
        )
        .start();
    let ring = m.runtime.map("r").unwrap();
    // Records take 512 bytes; one byte of the ring always stays free, so seven fit.
    for round in 0..3 {
        let accepted = (0..10).filter(|_| m.result(&[]) == 0).count();
        assert_eq!(accepted, 7, "round {round}");
        assert_eq!(m.result(&[]) as i64, -11);
        assert_eq!(m.runtime.ring_drain(&mut m.host, ring).len(), 7);
    }
}

#[test]
fn impossible_maps_are_load_errors_that_name_the_map() {
    for def in [
        map("zero", map_type::ARRAY, 4, 8, 0),
        map("huge", map_type::ARRAY, 4, u32::MAX, u32::MAX),
        map("odd", map_type::RINGBUF, 0, 0, 5000),
        map("keyless", map_type::HASH, 0, 8, 8),
        map("strange", 999, 4, 4, 4),
    ] {
        let name = def.name.clone();
        let image = std::sync::Arc::new(Builder::new().map(def).image);
        let table = crate::run_support::table(Vec::new());
        let mut host = crate::run_support::TestHost::new();
        let error = rota_vm::runtime::Runtime::new(image, &table, &mut host).err().unwrap();
        assert!(error.to_string().contains(&format!("map {name}")), "{error}");
    }
}
