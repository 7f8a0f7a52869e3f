// SPDX-License-Identifier: MIT OR Apache-2.0
//! Maps as user space has them: by `bpf(2)`, and by mapping their memory.

use crate::run_support::asm::*;
use crate::run_support::operated::operated;
use crate::run_support::{map, Builder, TestHost};
use rota_object::image::{map_type, MapDef, MapId};
use rota_vm::memory::PAGE_SIZE;
use rota_vm::runtime::{RingBytes, Runtime};

const E2BIG: i64 = 7;
const ENOENT: i64 = 2;
const EEXIST: i64 = 17;
const EINVAL: i64 = 22;
const EOPNOTSUPP: i64 = 95;

/// All keys, one after the other, as a program asks for them.
fn keys(rt: &Runtime<TestHost>, map: MapId) -> Vec<Vec<u8>> {
    let mut keys: Vec<Vec<u8>> = Vec::new();
    while let Ok(next) = rt.next_key(map, keys.last().map(Vec::as_slice)) {
        keys.push(next);
    }
    keys
}

#[test]
fn guest_and_user_space_see_the_same_entries() {
    let mut m = operated(map("h", map_type::HASH, 8, 8, 2));
    let key = |number: u64| number.to_le_bytes();
    assert_eq!(m.update(5, 50, 0), 0);
    let (rt, host) = (&mut m.runtime, &mut m.host);
    assert_eq!(rt.element(host, MapId(0), &key(5)), Ok(50_u64.to_le_bytes().to_vec()));
    assert_eq!(rt.element(host, MapId(0), &key(6)), Err(ENOENT));
    assert_eq!(rt.set_element(host, MapId(0), &key(5), &[0; 8], 1), Err(EEXIST));
    assert_eq!(rt.set_element(host, MapId(0), &key(6), &[0; 8], 2), Err(ENOENT));
    assert_eq!(rt.set_element(host, MapId(0), &key(6), &[0; 4], 0), Err(EINVAL), "too short");
    assert_eq!(rt.set_element(host, MapId(0), &key(6), &60_u64.to_le_bytes(), 0), Ok(()));
    assert_eq!(rt.set_element(host, MapId(0), &key(7), &[0; 8], 0), Err(E2BIG));
    assert_eq!(keys(rt, MapId(0)), [key(5), key(6)]);
    // of a key that is not there, the first comes after it
    assert_eq!(rt.next_key(MapId(0), Some(&key(9))), Ok(key(5).to_vec()));
    assert_eq!(rt.delete_element(host, MapId(0), &key(5)), Ok(()));
    assert_eq!(rt.delete_element(host, MapId(0), &key(5)), Err(ENOENT));
    assert_eq!((m.lookup(5), m.lookup(6)), (-1, 60));
}

#[test]
fn values_of_all_cpus_are_apart_by_multiples_of_eight() {
    let mut m = operated(map("p", map_type::PERCPU_ARRAY, 4, 4, 1));
    let (rt, host) = (&mut m.runtime, &mut m.host);
    let values: Vec<u8> = (1..5_u64).flat_map(u64::to_le_bytes).collect();
    assert_eq!(rt.set_element(host, MapId(0), &[0; 4], &values, 0), Ok(()));
    assert_eq!(rt.element(host, MapId(0), &[0; 4]), Ok(values));
    assert_eq!(rt.set_element(host, MapId(0), &[0; 4], &[1; 16], 0), Err(EINVAL));
    // 4 bytes each, and a fourth CPU
    assert_eq!(rt.map_get(host, MapId(0), &[0; 4]).map(|all| all[12]), Some(4));
}

#[test]
fn user_space_takes_values_out_of_a_queue() {
    let mut m = operated(map("q", map_type::QUEUE, 0, 8, 2));
    let (rt, host) = (&mut m.runtime, &mut m.host);
    assert_eq!(rt.queue_pop(MapId(0)), Err(ENOENT));
    for value in [1_u64, 2] {
        assert_eq!(rt.set_element(host, MapId(0), &[], &value.to_le_bytes(), 0), Ok(()));
    }
    assert_eq!(rt.set_element(host, MapId(0), &[], &[3; 8], 0), Err(E2BIG));
    assert_eq!(rt.element(host, MapId(0), &[]), Ok(1_u64.to_le_bytes().to_vec()), "stays there");
    assert_eq!(rt.queue_pop(MapId(0)), Ok(1_u64.to_le_bytes().to_vec()));
    assert_eq!(rt.next_key(MapId(0), None), Err(EOPNOTSUPP));
}

#[test]
fn an_arena_is_where_user_space_has_mapped_it() {
    let page = u64::from(PAGE_SIZE);
    let address = 0x77_u64 << 32;
    let def = MapDef {
        user_address: Some(address),
        initial: Some(vec![9; PAGE_SIZE as usize].into()),
        ..map("a", map_type::ARENA, 0, 0, 8)
    };
    let mut m = Builder::new()
        .map(def)
        .function("load", vec![line(0xbf, 2, 1, 1, 1), load(B, 0, 2, 0), exit()])
        .start();
    assert_eq!(m.runtime.map_base(MapId(0)), Some(address));
    // eight pages from 0 on, of which the last has its contents from the beginning
    assert_eq!(m.result(&[address + 7 * page]), 9);
    assert_eq!(m.host.memory.arena_pages(address), [7]);
    assert_eq!(m.host.memory.arena_alloc(address, None, 6), Some(address + page));
    assert_eq!(m.host.memory.arena_alloc(address, None, 1), None, "page 0 is that of NULL");
    // there is one region of a number
    assert_eq!(m.host.memory.alloc_arena_at("again", 0x77, 8), None);
    assert_eq!(m.host.memory.alloc_arena_at("far", 1 << 20, 8), None);
}

#[test]
fn records_of_a_ring_are_read_by_their_positions() {
    let mut m = Builder::new()
        .map(map("r", map_type::RINGBUF, 0, 0, 4096))
        .function("reserve", vec![movr(2, 1), map_handle(1, 0), mov(3, 0), helper(131), exit()])
        .function("submit", vec![mov(2, 0), helper(132), mov(0, 0), exit()])
        .function("discard", vec![mov(2, 0), helper(133), mov(0, 0), exit()])
        .start();
    let ring = MapId(0);
    let records = [3, 8, 1].map(|size| m.call(0, &[size]).unwrap().r0);
    m.call(1, &[records[0]]).unwrap();
    m.call(2, &[records[1]]).unwrap();
    // BPF_RINGBUF_DISCARD_BIT, BPF_RINGBUF_BUSY_BIT
    let header = |len: u32| u64::from(len).to_le_bytes().to_vec();
    let record =
        |position, len, size| RingBytes { position, bytes: [header(len), vec![0; size]].concat() };
    let expected = [record(0, 3, 3), record(16, 8 | 1 << 30, 8), record(32, 1 | 1 << 31, 1)];
    assert_eq!(m.runtime.ring_records(&mut m.host, ring), expected);
    assert_eq!(m.runtime.ring_positions(ring), Some((0, 48)));
    // nobody gets past a record that is not finished, wherever it says that it is
    m.runtime.ring_consume(ring, 17);
    assert_eq!(m.runtime.ring_positions(ring), Some((16, 48)));
    m.runtime.ring_consume(ring, u64::MAX);
    assert_eq!(m.runtime.ring_positions(ring), Some((32, 48)));
}

#[test]
fn a_callback_gets_each_sample_that_user_space_has_produced() {
    // the callback adds up the samples, of 8 bytes, and stops at one that is 0
    let mut m = Builder::new()
        .map(map("u", map_type::USER_RINGBUF, 0, 0, 4096))
        .map(map("sum", map_type::ARRAY, 4, 8, 1))
        .function(
            "drain",
            vec![map_handle(1, 0), func(2, 1), mov(3, 0), mov(4, 0), helper(209), exit()],
        )
        .function(
            "add",
            vec![
                movr(6, 1),
                // bpf_dynptr_read(stack, 8, dynptr, 0, 0)
                movr(1, 10),
                alu64(ADD, 1, -8),
                mov(2, 8),
                movr(3, 6),
                mov(4, 0),
                mov(5, 0),
                helper(201),
                load(DW, 2, 10, -8),
                map_value(1, 1, 0),
                load(DW, 3, 1, 0),
                alu64r(ADD, 3, 2),
                store(DW, 1, 0, 3),
                mov(0, 0),
                jump64(JNE, 2, 0, 1),
                mov(0, 1),
                exit(),
            ],
        )
        .start();
    let sample = |value: u64| [8, value].map(u64::to_le_bytes).concat();
    let bytes: Vec<u8> = [7, 0, 5].into_iter().flat_map(sample).collect();
    m.runtime.ring_produce(&mut m.host, MapId(0), 48, &bytes);
    assert_eq!(m.result(&[]), 2);
    let sum = |m: &mut crate::run_support::Hosted| {
        let value = m.runtime.element(&mut m.host, MapId(1), &[0; 4]).expect("is there");
        value[0]
    };
    assert_eq!(sum(&mut m), 7);
    assert_eq!(m.runtime.ring_positions(MapId(0)), Some((32, 48)));
    assert_eq!((m.result(&[]), sum(&mut m)), (1, 12));
    assert_eq!(m.result(&[]), 0, "nothing is left");
    // one that is longer than what was produced
    let wrong = [100_u64, 1].map(u64::to_le_bytes).concat();
    m.runtime.ring_produce(&mut m.host, MapId(0), 64, &wrong);
    assert_eq!(m.result(&[]) as i64, -EINVAL);
}
