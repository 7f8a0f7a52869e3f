// SPDX-License-Identifier: MIT OR Apache-2.0
//! What maps of every kind hold when the machine is made, and how commands change it there.

use crate::caller::{insn, word, NewMap, NewProgram, Words};
use crate::object::{in_machine, Loaded, COUNT_UP, SLEEPABLE, SYSCALL};
use rota_machine::user_half::Live;
use rota_object::image::map_type;
use rota_program::bpf::Caller;
use rota_program::Errno;

const NO_PREALLOC: u32 = 1;
const MMAPABLE: u32 = 1 << 10;
const ARENA: u64 = 1 << 44;
const PAGE: u64 = 4096;

fn hash(kind: u32) -> NewMap {
    NewMap { kind, key: 8, value: 4, max: 3, name: "kept", ..NewMap::default() }
}

/// Loads a program that names these maps and does nothing.
fn use_maps(loaded: &mut Loaded, maps: &[i32]) -> i32 {
    let mut code = Vec::new();
    for fd in maps {
        code.extend([insn(0x18, 1, 1, 0, *fd), insn(0, 0, 0, 0, 0)]);
    }
    code.extend([insn(0xb7, 0, 0, 0, 0), insn(0x95, 0, 0, 0, 0)]);
    load(loaded, code)
}

fn load(loaded: &mut Loaded, code: Vec<[u8; 8]>) -> i32 {
    let program = NewProgram {
        kind: SYSCALL,
        code,
        name: "uses_maps",
        flags: SLEEPABLE,
        btf: loaded.btf,
        functions: vec![(0, COUNT_UP)],
        ..NewProgram::default()
    };
    loaded.p.load(program).0.expect("loads")
}

/// Makes the machine and fills it.
fn filled(mut loaded: Loaded, act: impl FnOnce(&mut Loaded, &mut Live<'_>)) {
    let image = loaded.image();
    in_machine(image, |live| {
        loaded.p.played.fill(live, &mut loaded.p.memory).expect("fills");
        act(&mut loaded, live);
    });
}

fn get(
    loaded: &mut Loaded,
    live: &mut Live<'_>,
    fd: i32,
    key: &[u8],
    len: usize,
) -> Result<Vec<u8>, Errno> {
    loaded.p.element(1, fd, key, &vec![0; len], 0, Some(live)).map(|(value, _)| value)
}

fn put(
    loaded: &mut Loaded,
    live: &mut Live<'_>,
    fd: i32,
    key: &[u8],
    value: &[u8],
) -> Result<(), Errno> {
    loaded.p.element(2, fd, key, value, 0, Some(live)).map(|_| ())
}

#[test]
fn hashes_and_tries_keep_their_entries_and_their_order() {
    for kind in [map_type::HASH, map_type::LRU_HASH, map_type::LPM_TRIE] {
        let mut loaded = Loaded::new();
        let flags = if kind == map_type::LPM_TRIE { NO_PREALLOC } else { 0 };
        let fd = loaded.p.map(NewMap { flags, ..hash(kind) }).expect("a map");
        use_maps(&mut loaded, &[fd]);
        // in a trie these are prefixes of 8 bits
        let key = |byte: u8| [8, 0, 0, 0, byte, 0, 0, 0];
        for byte in [9, 4] {
            loaded.p.update(fd, &key(byte), &[byte; 4]).expect("room");
        }
        filled(loaded, |loaded, live| {
            assert_eq!(get(loaded, live, fd, &key(4), 4), Ok(vec![4; 4]));
            put(loaded, live, fd, &key(6), &[6; 4]).expect("room");
            let mut keys = Vec::new();
            let (mut key_at, next) = (0, loaded.p.memory.put(&[0; 8]));
            loop {
                let words = Words::new(24).fd(0, fd).u64(8, key_at).u64(16, next);
                match loaded.p.call_with(4, words, Some(live)).1 {
                    Ok(_) => keys.push(loaded.p.memory.get(next, 8)[4]),
                    Err(error) => break assert_eq!(error, Errno::ENOENT),
                }
                key_at = next;
            }
            assert_eq!(keys, [9, 4, 6], "kind {kind}");
            loaded.p.element(3, fd, &key(9), &[], 0, Some(live)).expect("is there");
            assert_eq!(get(loaded, live, fd, &key(9), 4), Err(Errno::ENOENT));
            let exists = loaded.p.element(2, fd, &key(4), &[0; 4], 1, Some(live));
            assert_eq!(exists.err(), Some(Errno::EEXIST));
        });
    }
}

#[test]
fn per_cpu_maps_keep_a_value_for_each_cpu() {
    for kind in [map_type::PERCPU_ARRAY, map_type::PERCPU_HASH] {
        let mut loaded = Loaded::new();
        let map = NewMap { kind, key: 4, value: 4, max: 2, ..NewMap::default() };
        let fd = loaded.p.map(map).expect("a map");
        use_maps(&mut loaded, &[fd]);
        let values = [1, 1, 1, 1, 0, 0, 0, 0, 2, 2, 2, 2, 0, 0, 0, 0];
        loaded.p.update(fd, &[1, 0, 0, 0], &values).expect("room");
        filled(loaded, |loaded, live| {
            assert_eq!(get(loaded, live, fd, &[1, 0, 0, 0], 16), Ok(values.to_vec()));
            let changed = [values, [3; 16]].concat()[8..24].to_vec();
            put(loaded, live, fd, &[1, 0, 0, 0], &changed).expect("is there");
            let value = get(loaded, live, fd, &[1, 0, 0, 0], 16).expect("is there");
            assert_eq!(value, [2, 2, 2, 2, 0, 0, 0, 0, 3, 3, 3, 3, 0, 0, 0, 0]);
        });
    }
}

#[test]
fn arrays_keep_values_that_are_not_of_whole_words() {
    for flags in [0, MMAPABLE] {
        let mut loaded = Loaded::new();
        let map =
            NewMap { kind: map_type::ARRAY, key: 4, value: 6, max: 3, flags, ..NewMap::default() };
        let fd = loaded.p.map(map).expect("a map");
        use_maps(&mut loaded, &[fd]);
        loaded.p.update(fd, &[2, 0, 0, 0], b"abcdef").expect("is there");
        filled(loaded, |loaded, live| {
            assert_eq!(get(loaded, live, fd, &[2, 0, 0, 0], 6), Ok(b"abcdef".to_vec()));
            assert_eq!(get(loaded, live, fd, &[1, 0, 0, 0], 6), Ok(vec![0; 6]));
            // the same where the machine's programs see it
            let id = live.rt.map("").expect("the map without a name");
            let value = live.rt.map_get(live.system, id, &[2, 0, 0, 0]);
            assert_eq!(value.as_deref(), Some(&b"abcdef"[..]));
        });
    }
}

#[test]
fn maps_in_maps_and_programs_in_arrays_are_those_of_the_machine() {
    let mut loaded = Loaded::new();
    let first = loaded.p.map(hash(map_type::HASH)).expect("a map");
    let second = loaded.p.map(hash(map_type::HASH)).expect("a map");
    let outer = NewMap { inner: first, key: 4, value: 4, max: 2, ..NewMap::default() };
    let array = loaded.p.map(NewMap { kind: map_type::ARRAY_OF_MAPS, ..outer }).expect("a map");
    let by_key = loaded.p.map(NewMap { kind: map_type::HASH_OF_MAPS, ..outer }).expect("a map");
    let programs = NewMap { kind: map_type::PROG_ARRAY, inner: 0, ..outer };
    let programs = loaded.p.map(programs).expect("a map");
    use_maps(&mut loaded, &[array, by_key, programs]);
    loaded.p.update(first, &[5; 8], &[6; 4]).expect("room");
    loaded.p.update(array, &[1, 0, 0, 0], &first.to_le_bytes()).expect("alike");
    loaded.p.update(by_key, &[7; 4], &second.to_le_bytes()).expect("alike");
    let program = loaded.count_up;
    loaded.p.update(programs, &[0; 4], &program.to_le_bytes()).expect("a program");
    let id = |loaded: &mut Loaded, fd, at| {
        let info = loaded.p.info(fd, Words::new(104)).expect("info");
        word(&info, at)
    };
    let ids = [first, second, program].map(|fd| id(&mut loaded, fd, 4));
    filled(loaded, |loaded, live| {
        let found = [
            get(loaded, live, array, &[1, 0, 0, 0], 4),
            get(loaded, live, by_key, &[7; 4], 4),
            get(loaded, live, programs, &[0; 4], 4),
        ];
        assert_eq!(found.map(|id| word(&id.expect("is there"), 0)), ids);
        assert_eq!(get(loaded, live, array, &[0; 4], 4), Err(Errno::ENOENT));
        // they are part of the machine, as a program could reach them
        assert_eq!(get(loaded, live, first, &[5; 8], 4), Ok(vec![6; 4]));
        put(loaded, live, array, &[0; 4], &second.to_le_bytes()).expect("alike");
        let second = get(loaded, live, array, &[0; 4], 4).expect("is there");
        assert_eq!(word(&second, 0), ids[1]);
        loaded.p.element(3, array, &[0; 4], &[], 0, Some(live)).expect("is there");
        assert_eq!(get(loaded, live, array, &[0; 4], 4), Err(Errno::ENOENT));
        // a map that is made later is not
        let late = loaded.p.map(hash(map_type::HASH)).expect("a map");
        let late = put(loaded, live, array, &[0; 4], &late.to_le_bytes());
        assert_eq!(late, Err(Errno::EOPNOTSUPP));
    });
}

#[test]
fn an_arena_has_the_same_addresses_and_bytes_on_both_sides() {
    let mut loaded = Loaded::new();
    let arena = NewMap {
        kind: map_type::ARENA,
        max: 16,
        flags: MMAPABLE,
        name: "arena",
        extra: ARENA,
        ..NewMap::default()
    };
    let fd = loaded.p.map(arena).expect("an arena");
    // where libbpf puts globals: on the last page
    let global = 15 * PAGE + 8;
    let code = vec![
        insn(0x79, 6, 1, 0, 0), // r6 = ctx[0], an address in the arena
        insn(0xbf, 7, 6, 1, 1), // addr_space_cast(r6, 0, 1)
        insn(0x79, 8, 7, 0, 0),
        insn(0x07, 8, 0, 0, 1),
        insn(0x7b, 7, 8, 0, 0), // one more there
        insn(0x18, 2, 2, 0, fd),
        insn(0, 0, 0, 0, global as i32),
        insn(0x7b, 1, 2, 8, 0), // ctx[1] = &global
        insn(0xb7, 0, 0, 0, 0),
        insn(0x95, 0, 0, 0, 0),
    ];
    let program = load(&mut loaded, code);
    let id = loaded.p.memory.object_of(fd).expect("open");
    loaded.p.memory.write_pages(id, global, &41u64.to_le_bytes());
    filled(loaded, |loaded, live| {
        let word_at = |loaded: &Loaded, at| {
            let mut bytes = [0; 8];
            loaded.p.memory.read_pages(id, at, &mut bytes);
            u64::from_le_bytes(bytes)
        };
        let (address, _) = loaded.run_program(program, ARENA + global, Some(live)).expect("runs");
        assert_eq!(address, ARENA + global);
        assert_eq!(word_at(loaded, global), 42);
        // a page that the program touches exists from then on
        loaded.p.memory.write_pages(id, 3 * PAGE, &7u64.to_le_bytes());
        loaded.run_program(program, ARENA + 3 * PAGE, Some(live)).expect("runs");
        assert_eq!(word_at(loaded, 3 * PAGE), 8);
        // and a store to one that neither has touched goes nowhere
        loaded.run_program(program, ARENA + 5 * PAGE, Some(live)).expect("runs");
        assert_eq!(word_at(loaded, 5 * PAGE), 0);
        let pages: Vec<u64> = loaded.p.memory.pages[&id].keys().copied().collect();
        assert_eq!(pages, [3, 15]);
    });
}

#[test]
fn an_arena_that_names_no_address_is_where_the_program_has_mapped_it() {
    const CHOSEN: u64 = 0x7f12_0000_0000;
    let mut loaded = Loaded::new();
    let kind = map_type::ARENA;
    let arena = NewMap { kind, max: 16, flags: MMAPABLE, name: "arena", ..NewMap::default() };
    let fd = loaded.p.map(arena).expect("an arena");
    loaded.p.memory.mapped_at = Some(CHOSEN);
    let code = vec![
        insn(0x18, 2, 2, 0, fd), // its page 15
        insn(0, 0, 0, 0, 15 * PAGE as i32),
        insn(0x7b, 1, 2, 8, 0), // ctx[1] = that address
        insn(0xb7, 0, 0, 0, 0),
        insn(0x95, 0, 0, 0, 0),
    ];
    let program = load(&mut loaded, code);
    let id = loaded.p.memory.object_of(fd).expect("open");
    loaded.p.memory.write_pages(id, 15 * PAGE, &[1]);
    filled(loaded, |loaded, live| {
        let (address, _) = loaded.run_program(program, 0, Some(live)).expect("runs");
        assert_eq!(address, CHOSEN + 15 * PAGE);
        assert!(loaded.p.played.notes().is_empty());
    });
}

#[test]
fn an_arena_that_is_mapped_where_the_machine_can_have_none_is_told() {
    let mut loaded = Loaded::new();
    let kind = map_type::ARENA;
    let arena = NewMap { kind, max: 16, flags: MMAPABLE, name: "arena", ..NewMap::default() };
    let fd = loaded.p.map(arena).expect("an arena");
    loaded.p.memory.mapped_at = Some(0x7f12_3456_0000);
    use_maps(&mut loaded, &[fd]);
    filled(loaded, |loaded, _| {
        let note = "arena arena, which has no map_extra, is mapped at 0x7f1234560000";
        assert!(loaded.p.played.notes()[0].starts_with(note), "{:?}", loaded.p.played.notes());
    });
}

#[test]
fn an_arena_with_globals_at_its_start_is_refused_with_the_reason() {
    let mut loaded = Loaded::new();
    let kind = map_type::ARENA;
    let arena = NewMap { kind, max: 16, flags: MMAPABLE, extra: ARENA, ..NewMap::default() };
    let fd = loaded.p.map(arena).expect("an arena");
    use_maps(&mut loaded, &[fd]);
    let id = loaded.p.memory.object_of(fd).expect("open");
    loaded.p.memory.write_pages(id, 0, &[1]);
    let error = loaded.p.played.image(&loaded.p.memory).expect_err("no such arena");
    assert!(error.to_string().contains("libbpf 1.7 and later"), "{error}");
}
