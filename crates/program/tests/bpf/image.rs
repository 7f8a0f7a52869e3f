// SPDX-License-Identifier: MIT OR Apache-2.0
//! Code of several programs as one image.

use crate::caller::{insn, NewProgram};
use crate::object::{
    kernel_types, member, types, Loaded, COUNT_UP, DISPATCH, SLEEPABLE, STRUCT_OPS, SYSCALL,
};
use rota_object::btf::Kind;
use rota_object::image::{Image, Symbol};

const EXIT: [u8; 8] = [0x95, 0, 0, 0, 0, 0, 0, 0];

/// Loads a `syscall` program of two functions, of which the second starts at a slot.
fn load(loaded: &mut Loaded, code: Vec<[u8; 8]>, second: u32) -> i32 {
    let program = NewProgram {
        kind: SYSCALL,
        code,
        name: "two",
        flags: SLEEPABLE,
        btf: loaded.btf,
        functions: vec![(0, COUNT_UP), (second, DISPATCH)],
        ..NewProgram::default()
    };
    loaded.p.load(program).0.expect("loads")
}

/// Functions that are no programs.
fn inner(image: &Image) -> Vec<&str> {
    let inner = image.functions.iter().filter(|function| function.section == ".text");
    inner.map(|function| function.name.as_str()).collect()
}

#[test]
fn a_function_that_two_programs_call_is_there_once() {
    let mut loaded = Loaded::new();
    // the function is one slot further behind in the second program
    let first = vec![insn(0x85, 0, 1, 0, 1), EXIT, insn(0xb7, 0, 0, 0, 7), EXIT];
    let second =
        vec![insn(0xb7, 6, 0, 0, 1), insn(0x85, 0, 1, 0, 1), EXIT, insn(0xb7, 0, 0, 0, 7), EXIT];
    load(&mut loaded, first, 2);
    load(&mut loaded, second, 3);
    let image = loaded.image();
    assert_eq!(inner(&image), ["tiny_dispatch"]);
    let called: Vec<&Symbol> =
        image.symbols.values().filter(|symbol| matches!(symbol, Symbol::Func(_))).collect();
    assert_eq!((called.len(), called[0] == called[1]), (2, true));
    let Symbol::Func(func) = called[0] else { panic!("{called:?}") };
    let function = &image.functions[func.0 as usize];
    assert_eq!((function.len, function.section.as_str()), (2, ".text"));
    assert_eq!(image.code[function.start as usize].imm, 7);
}

#[test]
fn programs_with_types_of_their_own_are_one_object_by_their_table_and_maps() {
    let mut loaded = Loaded::new();
    let kernel = kernel_types(&loaded.p);
    let (index, at) = member(&kernel, "enqueue");
    let own_types = loaded.p.btf(&types()).expect("types");
    let enqueue = loaded.p.load(NewProgram {
        kind: STRUCT_OPS,
        // names the map that the syscall program names, too
        code: vec![insn(0x18, 1, 1, 0, loaded.bss), [0; 8], insn(0xb7, 0, 0, 0, 0), EXIT],
        name: "tiny_enqueue",
        attach_type: index as u32,
        target: kernel.find_struct("sched_ext_ops").expect("sched_ext").0,
        btf: own_types,
        functions: vec![(0, COUNT_UP)],
        ..NewProgram::default()
    });
    let probe = NewProgram {
        kind: SYSCALL,
        code: vec![insn(0xb7, 0, 0, 0, 0), EXIT],
        name: "probe",
        flags: SLEEPABLE,
        btf: own_types,
        functions: vec![(0, COUNT_UP)],
        ..NewProgram::default()
    };
    loaded.p.load(probe).0.expect("loads");
    let mut value = loaded.table_value();
    let at = 64 + at as usize;
    value[at..at + 4].copy_from_slice(&enqueue.0.expect("loads").to_le_bytes());
    loaded.p.element(2, loaded.table, &[0; 4], &value, 0, None).expect("a table");

    let image = loaded.image();
    // both callbacks, and what shares a map with them: not the probe
    assert_eq!(image.functions.len(), 3);
    for function in &image.functions {
        assert_eq!(image.btf.name(function.btf.expect("typed")), function.name);
    }
    let types: Vec<_> = image.functions.iter().filter_map(|function| function.btf).collect();
    assert!(types.iter().all(|ty| types.iter().filter(|other| *other == ty).count() == 1));
    assert_eq!(image.variables[0].name, "counter");
}

#[test]
fn functions_that_differ_stay_apart() {
    let mut loaded = Loaded::new();
    for value in [7, 8] {
        let code = vec![insn(0x85, 0, 1, 0, 1), EXIT, insn(0xb7, 0, 0, 0, value), EXIT];
        load(&mut loaded, code, 2);
    }
    assert_eq!(inner(&loaded.image()).len(), 2);
}

#[test]
fn a_callback_that_names_itself_can_be_placed() {
    let mut loaded = Loaded::new();
    let code = vec![
        insn(0x18, 1, 4, 0, 2),
        insn(0, 0, 0, 0, 0),
        EXIT,
        insn(0x18, 1, 4, 0, -1), // its own address
        insn(0, 0, 0, 0, 0),
        EXIT,
    ];
    load(&mut loaded, code, 3);
    let image = loaded.image();
    let names: Vec<u32> = image
        .symbols
        .values()
        .filter_map(|symbol| if let Symbol::Func(func) = symbol { Some(func.0) } else { None })
        .collect();
    assert_eq!(names.len(), 2);
    assert_eq!(names[0], names[1]);
    let function = &image.functions[names[0] as usize];
    assert_eq!(image.symbols[&function.start], Symbol::Func(rota_object::image::FuncId(names[0])));
}

#[test]
fn what_the_kernel_has_is_named_by_its_types() {
    let mut loaded = Loaded::new();
    let kernel = kernel_types(&loaded.p);
    let id = |kind, name| kernel.find(kind, name).expect("the kernel has it").0 as i32;
    let code = vec![
        insn(0x18, 1, 3, 0, id(Kind::Var, "runqueues")),
        insn(0, 0, 0, 0, 0),
        insn(0x18, 1, 3, 0, id(Kind::Func, "scx_bpf_kick_cpu")),
        insn(0, 0, 0, 0, 0),
        insn(0x85, 0, 2, 0, id(Kind::Func, "bpf_rcu_read_lock")),
        insn(0x85, 0, 0, 0, 0x0bad_2310),
        insn(0x85, 0, 0, 0, 2_001_000_003),
        insn(0x85, 0, 0, 0, 2_002_000_004),
        EXIT,
        EXIT,
    ];
    load(&mut loaded, code, 9);
    let image = loaded.image();
    assert_eq!(
        (&image.ksyms[..], &image.kfuncs[..]),
        (&["runqueues".into()][..], &["bpf_rcu_read_lock".into()][..])
    );
    let of = |text: &str| {
        image.symbols.values().filter(|symbol| format!("{symbol:?}").contains(text)).count()
    };
    assert_eq!(["Ksym(0)", "Value(1)", "Kfunc(0)"].map(of), [1, 1, 1]);
    assert_eq!(["a field or type", "map number 3", "extern number 4"].map(of), [1, 1, 1]);
}

#[test]
fn code_that_refers_to_nothing_is_named() {
    let mut loaded = Loaded::new();
    load(&mut loaded, vec![insn(0x85, 0, 2, 0, 1), EXIT, EXIT], 2);
    let error = loaded.p.played.image(&loaded.p.memory).expect_err("type 1 is no function");
    assert_eq!(
        error.to_string(),
        "count_up at instruction 0: operation 0x85 with source 2 and immediate 1 refers to nothing"
    );
}
