// SPDX-License-Identifier: MIT OR Apache-2.0
//! Maps before there is a machine: `kernel/bpf/syscall.c` and each type's operations.

use crate::caller::{word, NewMap, Program, Words, CPUS};
use rota_object::image::map_type;
use rota_program::Errno;

const NO_PREALLOC: u32 = 1;
const RDONLY_PROG: u32 = 1 << 7;
const MMAPABLE: u32 = 1 << 10;

fn hash(max: u32) -> NewMap {
    NewMap { kind: map_type::HASH, key: 4, value: 8, max, name: "hash", ..NewMap::default() }
}

fn array(value: u32, max: u32) -> NewMap {
    NewMap { kind: map_type::ARRAY, key: 4, value, max, name: "array", ..NewMap::default() }
}

#[test]
fn entries_of_a_hash_are_found_in_the_order_in_which_they_came() {
    let mut p = Program::new();
    let fd = p.map(hash(3)).expect("a map");
    for key in [7u32, 3, 5] {
        p.update(fd, &key.to_le_bytes(), &u64::from(key * 10).to_le_bytes()).expect("room");
    }
    assert_eq!(p.update(fd, &[9, 0, 0, 0], &[0; 8]), Err(Errno::E2BIG));
    assert_eq!(p.lookup(fd, &[3, 0, 0, 0], 8), Ok(30u64.to_le_bytes().to_vec()));
    assert_eq!(p.lookup(fd, &[4, 0, 0, 0], 8), Err(Errno::ENOENT));

    let mut keys = Vec::new();
    let mut key = Vec::new();
    while let Ok(next) = p.next_key(fd, &key, 4) {
        keys.push(word(&next, 0));
        key = next;
    }
    assert_eq!(keys, [7, 3, 5]);
    // a key that is not there (any more) has the first one after it
    p.delete(fd, &[3, 0, 0, 0]).expect("is there");
    assert_eq!(p.delete(fd, &[3, 0, 0, 0]), Err(Errno::ENOENT));
    assert_eq!(p.next_key(fd, &[3, 0, 0, 0], 4), Ok(vec![7, 0, 0, 0]));
}

#[test]
fn flags_of_an_update_are_rules() {
    let mut p = Program::new();
    let fd = p.map(hash(2)).expect("a map");
    let mut put = |flags| p.element(2, fd, &[1, 0, 0, 0], &[1; 8], flags, None).map(|_| ());
    const NOEXIST: u64 = 1;
    const EXIST: u64 = 2;
    assert_eq!(put(EXIST), Err(Errno::ENOENT));
    assert_eq!(put(NOEXIST), Ok(()));
    assert_eq!(put(NOEXIST), Err(Errno::EEXIST));
    assert_eq!(put(EXIST), Ok(()));
    assert_eq!(put(3), Err(Errno::EINVAL));
}

#[test]
fn an_lru_hash_drops_the_oldest() {
    let mut p = Program::new();
    let fd = p.map(NewMap { kind: map_type::LRU_HASH, ..hash(2) }).expect("a map");
    for key in 1..4u32 {
        p.update(fd, &key.to_le_bytes(), &[0; 8]).expect("room is made");
    }
    assert_eq!(p.lookup(fd, &[1, 0, 0, 0], 8), Err(Errno::ENOENT));
    assert!(p.lookup(fd, &[3, 0, 0, 0], 8).is_ok());
}

#[test]
fn an_array_has_all_its_entries_from_the_beginning() {
    let mut p = Program::new();
    let fd = p.map(array(6, 2)).expect("a map");
    assert_eq!(p.lookup(fd, &[1, 0, 0, 0], 6), Ok(vec![0; 6]));
    assert_eq!(p.lookup(fd, &[2, 0, 0, 0], 6), Err(Errno::ENOENT));
    assert_eq!(p.update(fd, &[2, 0, 0, 0], &[1; 6]), Err(Errno::E2BIG));
    assert_eq!(p.delete(fd, &[0; 4]), Err(Errno::EINVAL));
    let exists = p.element(2, fd, &[0; 4], &[1; 6], 1, None).map(|_| ());
    assert_eq!(exists, Err(Errno::EEXIST));
    p.update(fd, &[1, 0, 0, 0], b"abcdef").expect("is there");
    assert_eq!(p.lookup(fd, &[1, 0, 0, 0], 6), Ok(b"abcdef".to_vec()));
    assert_eq!(p.next_key(fd, &[], 4), Ok(vec![0; 4]));
    assert_eq!(p.next_key(fd, &[1, 0, 0, 0], 4), Err(Errno::ENOENT));
}

#[test]
fn per_cpu_values_come_one_after_the_other_at_a_stride_of_eight() {
    let mut p = Program::new();
    let map = NewMap { kind: map_type::PERCPU_ARRAY, ..array(4, 1) };
    let fd = p.map(map).expect("a map");
    let values = [1, 1, 1, 1, 0, 0, 0, 0, 2, 2, 2, 2, 0, 0, 0, 0];
    assert_eq!(values.len(), 8 * CPUS as usize);
    p.update(fd, &[0; 4], &values).expect("one value for each CPU");
    assert_eq!(p.lookup(fd, &[0; 4], 16), Ok(values.to_vec()));
    // BPF_F_CPU and BPF_F_ALL_CPUS of Linux 7.0
    let second = p.element(1, fd, &[0; 4], &[0; 4], 1 << 32 | 8, None).map(|(value, _)| value);
    assert_eq!(second, Ok(vec![2; 4]));
    assert_eq!(p.element(1, fd, &[0; 4], &[0; 4], 2 << 32 | 8, None).err(), Some(Errno::ERANGE));
    p.element(2, fd, &[0; 4], &[7; 4], 16, None).expect("the same for all");
    let value = p.lookup(fd, &[0; 4], 16).expect("is there");
    assert_eq!((&value[..4], &value[8..12]), (&[7; 4][..], &[7; 4][..]));
}

#[test]
fn a_queue_gives_values_in_their_order_and_a_stack_in_the_other() {
    for (kind, first) in [(map_type::QUEUE, 1u8), (map_type::STACK, 2)] {
        let mut p = Program::new();
        let fd = p.map(NewMap { kind, value: 4, max: 2, ..NewMap::default() }).expect("a map");
        for value in [1, 2] {
            p.update(fd, &[], &[value; 4]).expect("room");
        }
        assert_eq!(p.update(fd, &[], &[3; 4]), Err(Errno::E2BIG));
        assert_eq!(p.lookup(fd, &[], 4), Ok(vec![first; 4]));
        let popped = p.element(21, fd, &[], &[0; 4], 0, None).map(|(value, _)| value);
        assert_eq!(popped, Ok(vec![first; 4]));
        p.element(21, fd, &[], &[0; 4], 0, None).expect("another one");
        assert_eq!(p.element(21, fd, &[], &[0; 4], 0, None).err(), Some(Errno::ENOENT));
        assert_eq!(p.next_key(fd, &[], 4), Err(Errno::EOPNOTSUPP));
    }
}

#[test]
fn a_trie_finds_the_longest_prefix() {
    let mut p = Program::new();
    let trie = NewMap { kind: map_type::LPM_TRIE, key: 8, flags: NO_PREALLOC, ..hash(4) };
    let fd = p.map(trie).expect("a map");
    assert_eq!(p.map(NewMap { flags: 0, ..trie }), Err(Errno::EINVAL));
    let key = |bits: u8, data: [u8; 4]| [&[bits, 0, 0, 0][..], &data].concat();
    p.update(fd, &key(8, [10, 0, 0, 0]), &[8; 8]).expect("room");
    p.update(fd, &key(20, [10, 1, 0x20, 0]), &[20; 8]).expect("room");
    let mut at = |data| p.lookup(fd, &key(32, data), 8).map(|value| value[0]);
    // 20 bits: the upper half of the third byte counts
    assert_eq!(at([10, 1, 0x2f, 9]), Ok(20));
    assert_eq!(at([10, 1, 0x3f, 9]), Ok(8));
    assert_eq!(at([11, 1, 0x20, 0]), Err(Errno::ENOENT));
}

#[test]
fn maps_are_put_into_maps_of_their_kind() {
    let mut p = Program::new();
    let inner = p.map(hash(3)).expect("a map");
    let other = p.map(array(4, 1)).expect("a map");
    let outer = NewMap { kind: map_type::ARRAY_OF_MAPS, inner, ..array(4, 2) };
    let fd = p.map(outer).expect("a map of maps");
    assert_eq!(p.map(NewMap { inner: 99, ..outer }), Err(Errno::EBADF));
    assert_eq!(p.map(NewMap { inner: fd, ..outer }), Err(Errno::ENOTSUPP));
    p.update(fd, &[1, 0, 0, 0], &inner.to_le_bytes()).expect("alike");
    assert_eq!(p.update(fd, &[0; 4], &other.to_le_bytes()), Err(Errno::EINVAL));
    let id = p.lookup(fd, &[1, 0, 0, 0], 4).expect("is there");
    let info = p.info(inner, Words::new(104)).expect("info");
    // a descriptor goes in, an id comes out
    assert_eq!(word(&id, 0), word(&info, 4));
    assert_eq!(p.lookup(fd, &[0; 4], 4), Err(Errno::ENOENT));
}

#[test]
fn a_frozen_map_is_not_written_any_more() {
    let mut p = Program::new();
    let fd = p.map(NewMap { flags: RDONLY_PROG | MMAPABLE, ..array(10, 1) }).expect("a map");
    p.update(fd, &[0; 4], b"constants!").expect("not yet frozen");
    p.call(22, Words::new(4).fd(0, fd)).expect("freezes");
    assert_eq!(p.call(22, Words::new(4).fd(0, fd)).err(), Some(Errno::EBUSY));
    assert_eq!(p.update(fd, &[0; 4], &[0; 10]), Err(Errno::EPERM));
    assert_eq!(p.lookup(fd, &[0; 4], 10), Ok(b"constants!".to_vec()));
}

#[test]
fn bytes_of_a_mapped_array_are_those_of_its_file() {
    let mut p = Program::new();
    let words = Words::new(92).u32(0, map_type::ARRAY).u32(4, 4).u32(8, 6).u32(12, 700);
    let reply = p.call(0, words.u32(16, MMAPABLE)).expect("a map");
    // 700 values at a stride of 8 bytes
    assert!(format!("{reply:?}").ends_with("pages: 8192 }"), "{reply:?}");
    let fd = p.open(reply);
    p.update(fd, &[2, 0, 0, 0], b"abcdef").expect("is there");
    let file = p.memory.pages.values().next().expect("a file");
    assert_eq!(&file[&0][16..22], b"abcdef");
}

#[test]
fn batches_go_on_where_the_last_one_ended() {
    let mut p = Program::new();
    let fd = p.map(hash(8)).expect("a map");
    let keys: Vec<u8> = (0..5u32).flat_map(u32::to_le_bytes).collect();
    let values: Vec<u8> = (0..5u64).flat_map(u64::to_le_bytes).collect();
    let (keys_at, values_at) = (p.memory.put(&keys), p.memory.put(&values));
    let batch =
        |count| Words::new(56).u64(16, keys_at).u64(24, values_at).u32(32, count).fd(36, fd);
    p.call(26, batch(5)).expect("an update");

    let (place, room, out) =
        (p.memory.put(&[0; 4]), p.memory.put(&[0; 40]), p.memory.put(&[0; 64]));
    let read = |from, count| {
        let batch = Words::new(56).u64(0, from).u64(8, place).u64(16, room).u64(24, out);
        batch.u32(32, count).fd(36, fd)
    };
    let (attr, result) = p.call_with(24, read(0, 3), None);
    assert!(result.is_ok());
    assert_eq!(word(&p.memory.get(attr, 56), 32), 3);
    assert_eq!(p.memory.get(room, 12), keys[..12]);
    let (attr, result) = p.call_with(24, read(place, 3), None);
    assert_eq!(result.err(), Some(Errno::ENOENT));
    assert_eq!(word(&p.memory.get(attr, 56), 32), 2);
    assert_eq!(p.memory.get(out, 16), values[24..]);
}

#[test]
fn definitions_that_no_kernel_takes_are_refused() {
    let mut p = Program::new();
    for wrong in [
        NewMap { kind: 99, ..hash(1) },
        NewMap { max: 0, ..hash(1) },
        NewMap { key: 8, ..array(4, 1) },
        NewMap { value: 0, ..array(4, 1) },
        NewMap { flags: MMAPABLE, ..hash(1) },
        NewMap { kind: map_type::RINGBUF, max: 5000, ..NewMap::default() },
        NewMap { kind: map_type::ARENA, max: 4, ..NewMap::default() },
        NewMap { extra: 1, ..hash(1) },
        NewMap { name: "not a name", ..hash(1) },
        NewMap { kind: map_type::STRUCT_OPS, key: 4, value: 8, max: 1, ..NewMap::default() },
    ] {
        assert_eq!(p.map(wrong), Err(Errno::EINVAL));
    }
    assert_eq!(p.map(array(1 << 30, 1 << 10)), Err(Errno::E2BIG));
}
