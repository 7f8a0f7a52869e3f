// SPDX-License-Identifier: MIT OR Apache-2.0
//! Regions, kernel objects and arenas as guest code and host see them.

use proptest::prelude::*;
use rota_vm::error::FaultKind;
use rota_vm::memory::{Memory, Perm, Shape, PAGE_SIZE};

fn task_shape() -> Shape {
    Shape {
        type_name: "task_struct".into(),
        size: 64,
        filled: vec![0..8, 16..20],
        writable: std::iter::once(16..20).collect(),
    }
}

#[test]
fn an_instance_may_move_to_another_thread() {
    fn check<T: Send>() {}
    check::<crate::run_support::Hosted>();
}

#[test]
fn regions_end_where_they_end() {
    let mut memory = Memory::new();
    let a = memory.alloc("a", 12, Perm::ReadWrite);
    let b = memory.alloc("b", 8, Perm::ReadOnly);
    memory.write(a + 4, 8, 0x1122).unwrap();
    assert_eq!(memory.read(a + 4, 8).unwrap(), 0x1122);
    assert!(memory.read(a + 5, 8).is_err(), "one byte too far");
    assert!(memory.read(a + 12, 1).is_err());
    assert!(memory.write(b, 1, 0).is_err(), "read-only");
    memory.set_u64(b, 7);
    assert_eq!(memory.read(b, 8).unwrap(), 7, "the host may");
    let fault = memory.write(a + 10, 4, 0).unwrap_err();
    assert_eq!(
        fault.kind,
        FaultKind::BadAddress { addr: a + 10, size: 4, write: true, region: "a, 12 bytes".into() }
    );
}

#[test]
fn freed_memory_faults_and_its_address_is_not_reused_soon() {
    let mut memory = Memory::new();
    let stale = memory.alloc("old", 8, Perm::ReadWrite);
    memory.free(stale);
    assert!(memory.read(stale, 1).is_err());
    for _ in 0..60_000 {
        let new = memory.alloc("new", 8, Perm::ReadWrite);
        assert_ne!(new, stale);
        memory.free(new);
    }
    assert!(memory.write(stale, 8, 1).is_err());
}

#[test]
fn many_lives_use_a_bounded_number_of_ids() {
    let mut memory = Memory::new();
    let highest = (0..300_000).map(|_| {
        let region = memory.alloc("short", 1, Perm::ReadWrite);
        memory.free(region);
        region >> 32
    });
    assert!(highest.max().unwrap() < 70_000);
}

#[test]
fn reads_of_unfilled_kernel_fields_are_counted_by_offset() {
    let mut memory = Memory::new();
    let shape = memory.add_shape(task_shape());
    let task = memory.alloc_kernel(shape);
    memory.set_u64(task, 99);
    assert_eq!(memory.read(task, 8).unwrap(), 99);
    for _ in 0..3 {
        assert_eq!(memory.read(task + 32, 4).unwrap(), 0);
    }
    memory.read(task + 8, 8).unwrap();
    let expected = [("task_struct".to_owned(), 8, 1), ("task_struct".to_owned(), 32, 3)];
    assert_eq!(memory.unfilled_reads(), expected);
}

#[test]
fn guest_may_write_only_the_writable_fields_of_kernel_objects() {
    let mut memory = Memory::new();
    let shape = memory.add_shape(task_shape());
    let task = memory.alloc_kernel(shape);
    memory.write(task + 16, 4, 5).unwrap();
    assert_eq!(memory.get_u32(task + 16), 5);
    assert!(memory.write(task + 16, 8, 5).is_err(), "runs over the end of the field");
    assert!(memory.write(task, 8, 5).is_err());
    assert!(memory.guest_bytes_mut(task + 16, 4).is_ok());
    assert!(memory.guest_bytes_mut(task, 4).is_err());
}

#[test]
fn behind_its_own_bytes_a_kernel_object_reads_as_zero() {
    let mut memory = Memory::new();
    let shape = memory.add_shape(task_shape());
    memory.back(shape, 20);
    let task = memory.alloc_kernel(shape);
    memory.set_u32(task + 16, 0x6465_6667);

    // 20 bytes, as whole words
    assert_eq!((memory.own_bytes(task), memory.region_size(task)), (24, 64));
    assert_eq!(memory.read(task + 56, 8).unwrap(), 0);
    assert_eq!(memory.read(task + 19, 8).unwrap(), 0x64, "from the last own byte on");
    assert!(memory.read(task + 57, 8).is_err() && !memory.is_live(task + 64));
    assert!(memory.write(task + 56, 8, 1).is_err());
    assert!(memory.guest_bytes_mut(task + 56, 8).is_err());
    assert!(memory.bytes_mut(task + 56, 8).is_err());
    let mut all = [0; 64];
    all[16..20].copy_from_slice(b"gfed");
    assert_eq!(memory.copy(task, 64).unwrap(), all);
    assert_eq!(memory.bytes(task + 24, 40).unwrap(), [0; 40]);
    assert!(memory.copy(task, 65).is_err() && memory.copy(task + 60, 5).is_err());
    assert!(memory.check(task + 16, 48).is_ok() && memory.check(task + 16, 49).is_err());
    assert_eq!(memory.c_string(task + 16, 100).unwrap(), "gfed");
    let counted = [("task_struct".to_owned(), 56, 1)];
    assert_eq!(memory.unfilled_reads(), counted);

    memory.back(shape, u32::MAX);
    let whole = memory.alloc_kernel(shape);
    assert_eq!((memory.own_bytes(whole), memory.own_bytes(task)), (64, 24));
    memory.back(shape, 20);
    let mut other = Memory::with_shapes_of(&memory);
    let task = other.alloc_kernel(shape);
    assert_eq!((other.own_bytes(task), other.read(task + 56, 8).unwrap()), (24, 0));
}

#[test]
fn null_reads_zero_until_the_end_of_any_kernel_object() {
    let memory = Memory::new();
    assert_eq!(memory.read(0, 8).unwrap(), 0);
    assert_eq!(memory.read(9_000, 4).unwrap(), 0);
    assert!(memory.read(1 << 20, 8).is_err());
    let counted = [("NULL".to_owned(), 0, 1), ("NULL".to_owned(), 9_000, 1)];
    assert_eq!(memory.unfilled_reads(), counted);
}

#[test]
fn arena_gives_the_lowest_free_pages_and_none_at_offset_zero() {
    let mut memory = Memory::new();
    let arena = memory.alloc_arena("arena", 4);
    let page = u64::from(PAGE_SIZE);
    let first = memory.arena_alloc(arena, None, 2).unwrap();
    assert_eq!(first, arena + page);
    assert_eq!(memory.arena_alloc(arena, None, 3), None, "two are left");
    let third = memory.arena_alloc(arena, None, 1).unwrap();
    memory.write(first, 8, 42).unwrap();
    memory.arena_free(first, 2);
    assert_eq!(memory.read(first, 8).unwrap(), 0);
    memory.write(first, 8, 43).unwrap();
    assert_eq!(memory.arena_alloc(arena, None, 2), Some(first));
    assert_eq!(memory.read(first, 8).unwrap(), 0, "pages are zeroed");
    assert_eq!(memory.arena_alloc(arena, Some(third), 1), None, "taken");
    assert!(memory.arena_reserve(arena + 4 * page, 1));
    assert_eq!(memory.arena_alloc(arena, None, 1), None, "reserved");
}

#[test]
fn page_zero_of_an_arena_can_be_reserved_once() {
    let mut memory = Memory::new();
    let arena = memory.alloc_arena("arena", 4);
    assert!(memory.arena_reserve(arena, 2), "as a guard against NULL");
    assert!(!memory.arena_reserve(arena, 1));
    let page = u64::from(PAGE_SIZE);
    assert_eq!(memory.arena_alloc(arena, None, 1), Some(arena + 2 * page));
    assert!(!memory.arena_reserve(arena + 3 * page, 4), "beyond its end");
}

#[test]
fn the_last_pages_of_an_arena_are_those_of_its_globals() {
    let mut memory = Memory::new();
    // As large as an arena can be: only what is used has bytes. Pages 1 to 1,048,575.
    let arena = memory.alloc_arena("arena", 1 << 20);
    let page = u64::from(PAGE_SIZE);
    let globals = memory.arena_tail(arena, 2).unwrap();
    assert_eq!(globals, arena + (1 << 32) - 2 * page);
    assert_eq!(memory.arena_alloc(arena, None, 1), Some(arena + page), "the lowest is free");
    memory.write(globals + 8, 8, 42).unwrap();
    memory.write(globals + page - 2, 4, 0x1234_5678).unwrap();
    assert_eq!(memory.read(globals + 8, 8).unwrap(), 42);
    assert_eq!(memory.read(globals + page, 2).unwrap(), 0x1234, "goes on in the second page");
    assert_eq!(memory.bytes(globals + 8, 2).unwrap(), [42, 0]);
    memory.bytes_mut(globals, 4).unwrap().copy_from_slice(b"text");
    assert_eq!(memory.c_string(globals, 100).unwrap(), "text");
    memory.arena_free(globals, 2);
    assert_eq!(memory.read(globals + 8, 8).unwrap(), 42, "no part of them can be freed");
    // A small one: pages 1 to 4, of which the globals are the last.
    let small = memory.alloc_arena("small", 4);
    assert_eq!(memory.arena_tail(small, 1), Some(small + 4 * page));
    assert_eq!(memory.arena_alloc(small, None, 3), Some(small + page));
    assert_eq!(memory.arena_alloc(small, None, 1), None);
    memory.write(small + 4 * page, 8, 7).unwrap();
    memory.write(small + 4 * page - 8, 8, 8).unwrap();
    assert_eq!(memory.read(small + 4 * page, 8).unwrap(), 7);
    let tiny = memory.alloc_arena("tiny", 1);
    assert_eq!(memory.arena_tail(tiny, 2), None);
}

#[test]
fn null_arena_pointers_swallow_stores() {
    let mut memory = Memory::new();
    assert!(memory.write(8, 4, 1).is_err());
    memory.alloc_arena("arena", 1);
    assert!(memory.write(8, 4, 1).is_ok());
    assert_eq!(memory.read(8, 4).unwrap(), 0);
}

proptest! {
    #[test]
    fn any_access_is_answered_or_refused(addr in any::<u64>(), small in 0u64..9 << 32, value in any::<u64>()) {
        let mut memory = Memory::new();
        let shape = memory.add_shape(task_shape());
        memory.alloc("a", 40, Perm::ReadWrite);
        memory.alloc("b", 0, Perm::ReadOnly);
        memory.alloc_kernel(shape);
        let arena = memory.alloc_arena("arena", u32::MAX);
        memory.arena_alloc(arena, None, 3);
        for addr in [addr, small, small & !0xffff_ff00, u64::MAX] {
            for size in [1, 2, 4, 8] {
                if memory.write(addr, size, value).is_ok() {
                    prop_assert!(memory.read(addr, size).is_ok());
                }
            }
            let _ = memory.c_string(addr, value as u32);
            let _ = memory.bytes(addr, value as u32);
            let _ = memory.guest_bytes_mut(addr, value as u32);
            memory.arena_free(addr, value as u32);
            memory.free(addr);
        }
    }
}

#[test]
fn words_of_the_host_are_stored_one_after_the_other() {
    for count in 0..=5 {
        let mut memory = Memory::new();
        let addr = memory.alloc("words", 48, Perm::ReadOnly);
        let words: Vec<u64> = (1..=count).map(|word| word << 40 | word).collect();

        memory.set_all_u64(addr + 8, &words);

        let stored: Vec<u64> = (0..6).map(|at| memory.get_u64(addr + 8 * at)).collect();
        let mut expected = vec![0; 6];
        expected[1..=words.len()].copy_from_slice(&words);
        assert_eq!(stored, expected);
    }
}
