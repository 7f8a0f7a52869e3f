// SPDX-License-Identifier: MIT OR Apache-2.0
//! What linking `load_object.bpf.c` gives: maps, globals, externs, functions, ops.

use super::support::{function, kernel_btf, load, symbols, try_load, TestKernel};
use crate::fixture::{compile, compile_to_file};
use rota_object::image::{map_type, Image, Initial, MapDef, MapId, OpsField, Symbol};
use rota_object::link::{link, Object};
use std::process::Command;

fn map<'a>(image: &'a Image, name: &str) -> (MapId, &'a MapDef) {
    let at = image.maps.iter().position(|m| m.name == name);
    let at = at.unwrap_or_else(|| panic!("no map {name}"));
    (MapId(at as u32), &image.maps[at])
}

/// Place of a variable, and its initial bytes as an integer.
fn global(image: &Image, name: &str) -> (Symbol, u64) {
    let v = image.variables.iter().find(|v| v.name == name).expect(name);
    let bytes = image.maps[v.map.0 as usize].initial.as_ref().expect("data");
    let bytes = bytes.get(v.offset as usize..(v.offset + v.size) as usize).expect("inside");
    let value = bytes.iter().rev().fold(0, |value, b| value << 8 | u64::from(*b));
    (Symbol::MapValue(v.map, v.offset.into()), value)
}

#[test]
fn maps_have_what_their_definitions_say() {
    let image = load("load_object.bpf.c");
    let hash = map(&image, "by_key").1;
    assert_eq!((hash.kind, hash.key_size, hash.value_size), (map_type::HASH, 8, 16));
    assert_eq!((hash.max_entries, hash.flags), (100, 1));
    let value = hash.value_type.expect("value has a type");
    assert_eq!(image.btf.type_name(value), "struct value");
    // 5000 bytes are rounded up to a power of two of pages.
    assert_eq!(map(&image, "ring").1.max_entries, 8192);
    let arena = map(&image, "arena").1;
    assert_eq!((arena.kind, arena.max_entries, arena.extra), (map_type::ARENA, 16, 1 << 44));
    assert_eq!(arena.initial.as_ref().map(Initial::len), Some(16));
}

#[test]
fn inner_maps_and_programs_fill_their_slots() {
    let image = load("load_object.bpf.c");
    let outer = map(&image, "outer").1;
    let (a, b) = (map(&image, "inner_a").0, map(&image, "inner_b").0);
    assert_eq!(outer.slots, [(1, a), (3, b)]);
    let inner = outer.inner.as_ref().expect("prototype");
    assert_eq!((inner.kind, inner.value_size, inner.max_entries), (map_type::ARRAY, 8, 7));
    let target = function(&image, "tail_target").0;
    assert_eq!(map(&image, "jumps").1.programs, [(1, target)]);
}

#[test]
fn globals_keep_their_initial_values() {
    let image = load("load_object.bpf.c");
    assert_eq!(global(&image, "zeroed").1, 0);
    assert_eq!(global(&image, "initialised").1, 0x0123_4567_89ab_cdef);
    assert_eq!(global(&image, "counter").1, 5);
    assert_eq!(global(&image, "in_section").0, Symbol::MapValue(map(&image, ".data.own").0, 0));
    let arena = map(&image, "arena").0;
    assert_eq!(global(&image, "in_arena").0, Symbol::MapValue(arena, 0));
    assert!(map(&image, ".rodata").1.read_only && !map(&image, ".data").1.read_only);
}

#[test]
fn enum_mirrors_take_the_kernel_s_values() {
    let image = load("load_object.bpf.c");
    assert_eq!(global(&image, "__MIRROR_A").1, 42);
    assert_eq!(global(&image, "__MIRROR_NEGATIVE").1, u64::from(-2i32 as u32));
    assert_eq!(global(&image, "__MIRROR_UNKNOWN").1, 3, "no such enumerator: left alone");
}

#[test]
fn relocations_mean_what_the_source_says() {
    let image = load("load_object.bpf.c");
    let used = symbols(&image, "uses_everything");
    let has = |s: &Symbol| used.contains(&s);
    assert!(has(&Symbol::Map(map(&image, "by_key").0)));
    assert!(has(&Symbol::Func(function(&image, "on_each").0)), "callback address");
    assert!(has(&Symbol::Func(function(&image, "twice").0)), "call");
    for name in ["zeroed", "initialised", "in_section"] {
        assert!(has(&global(&image, name).0), "{name}");
    }
    let arena = map(&image, "arena").0;
    assert!(has(&Symbol::MapValue(arena, 0)), "in_arena");
    assert!(has(&Symbol::Ksym(0)) && image.ksyms == ["known_variable"]);
    let twice = symbols(&image, "twice");
    assert_eq!(twice, [&Symbol::Func(function(&image, "add_one").0)], "static function");
    // A static variable is its section plus an offset.
    let counter = global(&image, "counter").0;
    assert_ne!(counter, Symbol::MapValue(map(&image, ".data").0, 0));
    assert!(symbols(&image, "add_one").contains(&&counter));
}

#[test]
fn kernel_functions_are_found_by_their_essential_name() {
    let image = load("load_object.bpf.c");
    let used = symbols(&image, "uses_everything");
    // Only the last suffix is cut: ___v2 belongs to the kernel's name.
    let optional = image.kfuncs.iter().position(|k| k == "optional___v2").expect("cut once");
    assert!(used.contains(&&Symbol::Kfunc(optional as u32)));
    assert!(used.contains(&&Symbol::MissingKfunc("missing".into())));
    assert!(used.contains(&&Symbol::Value(1)), "optional___v2 exists");
    // Two absent weak symbols: a function and a variable.
    assert_eq!(used.iter().filter(|s| ***s == Symbol::Value(0)).count(), 2);
    let needed = image.kfuncs.iter().position(|k| k == "needed").expect("needed");
    assert!(symbols(&image, "add_one").contains(&&Symbol::Kfunc(needed as u32)));
}

#[test]
fn unknown_strong_kernel_function_is_named() {
    let error = try_load("load_strong.bpf.c").expect_err("cannot link").to_string();
    assert!(error.starts_with("load_strong.bpf.c: calls_it instruction "), "{error}");
    assert!(error.contains("'nobody_has_this'"), "{error}");
}

#[test]
fn kernel_function_with_other_arguments_is_absent_where_it_is_weak() {
    let image = load("load_arguments.bpf.c");
    let used = symbols(&image, "guards_it");
    assert!(used.contains(&&Symbol::Value(0)), "{used:?}");
    assert!(used.contains(&&Symbol::MissingKfunc("optional___v2".into())), "{used:?}");
}

#[test]
fn kernel_function_with_other_arguments_is_an_error_where_it_is_needed() {
    let source = "load_arguments.bpf.c";
    let object = Object::parse(source, &compile(source, &["-DSTRONG"])).expect("parses");
    let error = link(&object, &kernel_btf(), &TestKernel).expect_err("cannot link").to_string();
    assert!(error.starts_with("load_arguments.bpf.c: calls_it instruction "), "{error}");
    assert!(error.contains("'needed' takes 1 arguments, the object declares 2"), "{error}");
}

#[test]
fn configuration_values_are_a_read_only_map() {
    let image = load("load_object.bpf.c");
    assert!(map(&image, ".kconfig").1.read_only);
    assert_eq!(global(&image, "CONFIG_HZ").1, 250);
    assert_eq!(global(&image, "CONFIG_NOT_THERE").1, 0);
    assert_eq!(global(&image, "LINUX_KERNEL_VERSION").1, 0x7020c);
    assert!(symbols(&image, "uses_everything").contains(&&global(&image, "CONFIG_HZ").0));
}

#[test]
fn ops_table_lists_what_is_not_zero() {
    let image = load("load_object.bpf.c");
    let ops = &image.struct_ops[0];
    assert_eq!((ops.name.as_str(), ops.type_name.as_str()), ("ops", "sched_ext_ops"));
    assert_eq!(ops.tags, ["help:a test", "paper:none"]);
    let expected = [
        ("flags", OpsField::Int(0x80_0000_0001)),
        ("name", OpsField::Str("fixture".into())),
        ("select_cpu", OpsField::Func(function(&image, "op_select_cpu").0)),
        ("tick", OpsField::Func(function(&image, "op_tick").0)),
        ("timeout_ms", OpsField::Int(5000)),
    ];
    assert!(ops.fields.iter().map(|(k, v)| (k.as_str(), v.clone())).eq(expected));
}

#[test]
fn functions_carry_section_prototype_and_lines() {
    let image = load("load_object.bpf.c");
    let tick = function(&image, "op_tick").1;
    assert_eq!(tick.section, "struct_ops.s/op_tick");
    assert_eq!(function(&image, "on_each").1.args, 2);
    let line = image.lines.iter().rev().find(|l| l.slot <= tick.start).expect("a line");
    assert!(line.file.ends_with("load_object.bpf.c"), "{}", line.file);
    assert!(image.lines.windows(2).all(|w| w[0].slot <= w[1].slot), "sorted");
    let body = function(&image, "twice").1;
    let inside =
        |l: &&rota_object::image::Line| (body.start..body.start + body.len).contains(&l.slot);
    assert!(image.lines.iter().filter(inside).any(|l| &*l.text == "return add_one(x) * 2;"));
}

#[test]
fn statically_linked_object_gives_the_same() {
    let source = compile_to_file("load_object.bpf.c", &[]);
    let linked = source.with_extension("linked");
    let tool = ["bpftool", "/usr/sbin/bpftool"].into_iter().find(|t| {
        Command::new(t).args(["gen", "object"]).arg(&linked).arg(&source).status().is_ok()
    });
    let Some(tool) = tool else {
        eprintln!("bpftool is not installed: not tested");
        return;
    };
    let bytes = std::fs::read(&linked).unwrap_or_else(|e| panic!("{tool} gen object: {e}"));
    for file in [&linked, &source] {
        std::fs::remove_file(file).expect("can be removed");
    }
    let object = Object::parse("linked", &bytes).unwrap_or_else(|e| panic!("{e}"));
    let linked = link(&object, &kernel_btf(), &TestKernel).unwrap_or_else(|e| panic!("{e}"));
    let plain = load("load_object.bpf.c");
    assert_eq!(linked.code.len(), plain.code.len());
    for f in &plain.functions {
        let names = |image: &Image| {
            symbols(image, &f.name).into_iter().map(|s| name_of(image, s)).collect::<Vec<_>>()
        };
        assert_eq!(names(&linked), names(&plain), "{}", f.name);
    }
    assert_eq!(linked.struct_ops[0].fields.len(), plain.struct_ops[0].fields.len());
}

/// A symbol without the numbers that depend on order.
fn name_of(image: &Image, symbol: &Symbol) -> String {
    match symbol {
        Symbol::Map(m) => image.maps[m.0 as usize].name.clone(),
        Symbol::MapValue(m, at) => format!("{}+{at}", image.maps[m.0 as usize].name),
        Symbol::Func(f) => image.functions[f.0 as usize].name.clone(),
        Symbol::Kfunc(k) => image.kfuncs[*k as usize].clone(),
        Symbol::Ksym(k) => image.ksyms[*k as usize].clone(),
        other => format!("{other:?}"),
    }
}
