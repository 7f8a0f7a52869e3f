// SPDX-License-Identifier: MIT OR Apache-2.0
//! Loading programs and types, by which libbpf also finds out what the kernel can do
//! (`src/features.c`).

use crate::caller::{insn, returning, word, NewMap, NewProgram, Program, Words, PROBE};
use crate::object::{kernel_types, types, Loaded, SYSCALL};
use rota_object::btf::Kind;
use rota_object::image::map_type;
use rota_program::Errno;

const SOCKET_FILTER: u32 = 1;
const KPROBE: u32 = 2;
const TRACEPOINT: u32 = 5;
const TRACING: u32 = 26;
const PERF_EVENT: u32 = 41;

fn tiny(kind: u32) -> NewProgram {
    NewProgram { kind, code: returning(0), name: "tiny", ..NewProgram::default() }
}

#[test]
fn the_smallest_programs_load() {
    let mut p = Program::new();
    for kind in [SOCKET_FILTER, KPROBE, TRACEPOINT, 9] {
        p.load(tiny(kind)).0.expect("loads");
    }
    assert_eq!(p.load(tiny(0)).0, Err(Errno::EINVAL));
    assert_eq!(p.load(tiny(99)).0, Err(Errno::EINVAL));
    assert_eq!(p.load(NewProgram { code: vec![], ..tiny(1) }).0, Err(Errno::E2BIG));
    // may only be sleepable
    assert_eq!(p.load(tiny(SYSCALL)).0, Err(Errno::EINVAL));
}

#[test]
fn the_log_has_the_words_by_which_libbpf_knows_a_feature() {
    let mut p = Program::new();
    let array = NewMap { kind: map_type::ARRAY, key: 4, value: 1, max: 1, ..NewMap::default() };
    let fd = p.map(array).expect("a map");
    // FEAT_LDIMM64_FULL_RANGE_OFF: offset 1 << 30 of a value of one byte
    let code = vec![insn(0x18, 1, 2, 0, fd), insn(0, 0, 0, 0, 1 << 30), insn(0x95, 0, 0, 0, 0)];
    let (result, log) = p.load(NewProgram { code, logs: true, ..tiny(SOCKET_FILTER) });
    assert_eq!(result, Err(Errno::EINVAL));
    assert!(log.contains("invalid access to map value pointer"), "{log}");
    // libbpf_probe_bpf_prog_type()
    let wrong = NewProgram { attach_type: 24, target: 1, logs: true, ..tiny(TRACING) };
    let (result, log) = p.load(wrong);
    assert_eq!(result, Err(Errno::EINVAL));
    assert!(log.contains("attach_btf_id 1 is not a function"), "{log}");
    assert_eq!(p.load(tiny(27)).0, Err(Errno::ENOTSUPP));
    // of a program that loads, there is a log as well
    let (result, log) = p.load(NewProgram { logs: true, ..tiny(SOCKET_FILTER) });
    assert!(result.is_ok() && log.starts_with("processed 2 insns"), "{log}");
}

#[test]
fn a_link_to_a_performance_event_needs_one() {
    let mut p = Program::new();
    let probe = p.load(tiny(KPROBE)).0.expect("loads");
    let link = |target| Words::new(64).fd(0, probe).fd(4, target).u32(8, PERF_EVENT);
    // FEAT_PERF_LINK
    assert_eq!(p.call(28, link(-1)).err(), Some(Errno::EBADF));
    let reply = p.call(28, link(PROBE)).expect("a link");
    let fd = p.open(reply);
    let info = p.info(fd, Words::new(64)).expect("info");
    // BPF_LINK_TYPE_PERF_EVENT
    assert_eq!(word(&info, 0), 7);
}

#[test]
fn probes_of_many_functions_of_user_space_are_refused_in_the_kernels_order() {
    let mut p = Program::new();
    let program = NewProgram { attach_type: 48, ..tiny(KPROBE) };
    let fd = p.load(program).0.expect("loads");
    let link = |pid| Words::new(64).fd(0, fd).fd(4, -1).u32(8, 48).u32(48, 1).u32(56, pid);
    // FEAT_UPROBE_MULTI_LINK: the path is no file; and its second question
    assert_eq!(p.call(28, link(0)).err(), Some(Errno::EBADF));
    assert_eq!(p.call(28, link(u32::MAX)).err(), Some(Errno::EINVAL));
}

#[test]
fn code_must_name_maps_that_are_there() {
    let mut p = Program::new();
    let with = |fd| vec![insn(0x18, 1, 1, 0, fd), insn(0, 0, 0, 0, 0), insn(0x95, 0, 0, 0, 0)];
    let load = |p: &mut Program, fd| {
        p.load(NewProgram { code: with(fd), logs: true, ..tiny(SOCKET_FILTER) })
    };
    let (result, log) = load(&mut p, 77);
    assert_eq!(result, Err(Errno::EBADF));
    assert_eq!(log, "fd 77 is not pointing to valid bpf_map\n");
    let other = p.load(tiny(SOCKET_FILTER)).0.expect("loads");
    assert_eq!(load(&mut p, other).0, Err(Errno::EINVAL));
    let half = NewProgram { code: with(77)[..1].to_vec(), ..tiny(SOCKET_FILTER) };
    assert_eq!(p.load(half).0, Err(Errno::EINVAL));
}

#[test]
fn information_has_the_fields_of_the_kernel() {
    let mut loaded = Loaded::new();
    let map = loaded.p.info(loaded.bss, Words::new(104)).expect("info");
    assert_eq!([0, 8, 12, 16].map(|at| word(&map, at)), [map_type::ARRAY, 4, 16, 1]);
    assert_eq!(&map[24..33], b"tiny.bss\0");
    let program = loaded.p.info(loaded.count_up, Words::new(232)).expect("info");
    assert_eq!(word(&program, 0), SYSCALL);
    assert_eq!(&program[64..73], b"count_up\0");
    // two maps, one function, types that are the .bss map's, too
    assert_eq!([52, 144].map(|at| word(&program, at)), [2, 1]);
    assert_eq!(word(&program, 128), word(&map, 64));
    // lists come to where the caller says
    let ids = loaded.p.memory.put(&[0; 8]);
    let asked = Words::new(232).u32(52, 2).u64(56, ids);
    loaded.p.info(loaded.count_up, asked).expect("info");
    assert_eq!(word(&loaded.p.memory.get(ids, 8), 0), word(&map, 4));
    // a caller that knows less gets less, one that knows more must leave that 0
    assert_eq!(loaded.p.info(loaded.bss, Words::new(28)).expect("info").len(), 28);
    assert!(loaded.p.info(loaded.bss, Words::new(200)).is_ok());
    let more = Words::new(200).u32(150, 1);
    assert_eq!(loaded.p.info(loaded.bss, more).err(), Some(Errno::E2BIG));
}

#[test]
fn types_can_be_read_back() {
    let mut p = Program::new();
    let bytes = types();
    let fd = p.btf(&bytes).expect("types");
    let room = p.memory.put(&vec![0; bytes.len()]);
    // FEAT_MODULE_BTF: a name may be asked for
    let name = p.memory.put(&[1; 16]);
    let words = Words::new(32).u64(0, room).u32(8, bytes.len() as u32).u64(16, name).u32(24, 16);
    let info = p.info(fd, words).expect("info");
    assert_eq!(p.memory.get(room, bytes.len()), bytes);
    assert_eq!((word(&info, 8), word(&info, 28)), (bytes.len() as u32, 0));
    assert_eq!(p.memory.get(name, 1), [0]);
    assert_eq!(p.btf(&bytes[..40]), Err(Errno::EINVAL));
}

#[test]
fn objects_are_found_by_number() {
    let mut p = Program::new();
    let btf = p.btf(&types()).expect("types");
    let kernel = p.call(19, Words::new(16).u32(0, 1)).map(|reply| p.open(reply)).expect("types");
    let info = p.info(kernel, Words::new(32)).expect("info");
    // the kernel's own types are the first
    assert_eq!(word(&info, 28), 1);
    let (attr, result) = p.call_with(23, Words::new(12).u32(0, 1), None);
    assert!(result.is_ok());
    let next = word(&p.memory.get(attr, 12), 4);
    assert_eq!(next, word(&p.info(btf, Words::new(32)).expect("info"), 12));
    assert_eq!(p.call(23, Words::new(12).u32(0, next)).err(), Some(Errno::ENOENT));
    // of another kind
    assert_eq!(p.call(14, Words::new(16).u32(0, 1)).err(), Some(Errno::ENOENT));
}

#[test]
fn objects_are_pinned_to_paths() {
    let mut p = Program::new();
    let map = NewMap { kind: map_type::HASH, key: 4, value: 4, max: 1, ..NewMap::default() };
    let fd = p.map(map).expect("a map");
    let path = p.memory.put(b"/sys/fs/bpf/hash\0");
    let pin = |fd| Words::new(20).u64(0, path).fd(8, fd);
    assert_eq!(p.call(7, pin(0)).err(), Some(Errno::ENOENT));
    p.call(6, pin(fd)).expect("pins");
    assert_eq!(p.call(6, pin(fd)).err(), Some(Errno::EEXIST));
    p.update(fd, &[1; 4], &[2; 4]).expect("room");
    let reply = p.call(7, pin(0)).expect("is there");
    let again = p.open(reply);
    assert_eq!(p.lookup(again, &[1; 4], 4), Ok(vec![2; 4]));
    assert!(p.played.unpin("/sys/fs/bpf/hash"));
    assert_eq!(p.call(7, pin(0)).err(), Some(Errno::ENOENT));
}

#[test]
fn tracing_programs_keep_where_they_are() {
    let mut loaded = Loaded::new();
    let kernel = kernel_types(&loaded.p);
    let btf = loaded.p.btf(&types()).expect("types");
    let target = |kind, name| kernel.find(kind, name).expect("the kernel has it").0;
    let program = |attach_type, target| NewProgram {
        attach_type,
        target,
        btf,
        functions: vec![(0, crate::object::COUNT_UP)],
        ..tiny(TRACING)
    };
    let fentry = program(24, target(Kind::Func, "set_task_cpu"));
    let point = program(23, target(Kind::Typedef, "btf_trace_sched_switch"));
    let fentry = loaded.p.load(fentry).0.expect("loads");
    loaded.p.load(point).0.expect("loads");
    // a tracepoint is no function
    let wrong = program(24, target(Kind::Typedef, "btf_trace_sched_switch"));
    assert_eq!(loaded.p.load(wrong).0, Err(Errno::EINVAL));
    let link = Words::new(64).fd(0, fentry).u32(8, 24);
    let reply = loaded.p.call(28, link).expect("a link");
    loaded.p.open(reply);
    // they have other types than the scheduler, so they are not of its object
    let image = loaded.image();
    assert!(image.functions.iter().all(|function| !function.section.starts_with("fentry")));
}

#[test]
fn a_program_is_associated_with_a_table_by_kernels_that_can() {
    let mut loaded = Loaded::new();
    let words = |map, program| Words::new(12).fd(0, map).fd(4, program);
    let (table, callback, other) = (loaded.table, loaded.dispatch, loaded.count_up);
    assert!(loaded.p.call(38, words(table, other)).is_ok());
    assert_eq!(loaded.p.call(38, words(table, callback)).err(), Some(Errno::EINVAL));
    assert_eq!(loaded.p.call(38, words(loaded.bss, other)).err(), Some(Errno::EINVAL));
    assert_eq!(loaded.p.call(38, words(99, other)).err(), Some(Errno::EBADF));
    let old = rota_machine::kernel::Kernel::bundled("6.19").expect("bundled");
    loaded.p.played = rota_program::bpf::Played::new(&old, 2);
    assert_eq!(loaded.p.call(38, words(table, other)).err(), Some(Errno::EINVAL));
}

#[test]
fn commands_that_the_kernel_does_not_have_are_invalid() {
    let mut p = Program::new();
    for command in [8, 9, 16, 20, 33, 37, 39, 99, u32::MAX] {
        assert_eq!(p.call(command, Words::new(8)).err(), Some(Errno::EINVAL), "{command}");
    }
    assert_eq!(p.call(36, Words::new(8)).err(), Some(Errno::EOPNOTSUPP));
    // an argument that this kernel does not know
    let words = Words::new(200).u32(180, 1);
    assert_eq!(p.call(0, words).err(), Some(Errno::E2BIG));
    // one that the command does not have
    assert_eq!(p.call(22, Words::new(8).u32(4, 1)).err(), Some(Errno::EINVAL));
}
