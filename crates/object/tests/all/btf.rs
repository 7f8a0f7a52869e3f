// SPDX-License-Identifier: MIT OR Apache-2.0
//! BTF questions, on fixtures laid out by hand and on the bundled kernel.

use super::support::{kernel_btf, load};
use rota_object::btf::{essential_name, reference, Btf, Field, Kind, PathError, Type, TypeId};
use rota_object::settings::render;

fn field(btf: &Btf, path: &str) -> Field {
    btf.member_at("thing", path).unwrap_or_else(|| panic!("no {path}"))
}

#[test]
fn member_is_found_by_dotted_path() {
    let btf = kernel_btf();
    assert_eq!(field(&btf, "moved").offset(), 8);
    assert_eq!(field(&btf, "anon").offset(), 40, "through two anonymous levels");
    assert_eq!(field(&btf, "row").size, 16);
    assert_eq!(field(&btf, "row[3]").offset(), 54);
    assert_eq!(field(&btf, "point[2].y").offset(), 64 + 2 * 8 + 4);
    let high = field(&btf, "high");
    assert_eq!((high.offset_bits, high.bits), (707, 7));
}

#[test]
fn wrong_path_says_what_is_there_instead() {
    let btf = kernel_btf();
    let thing = btf.find_struct("thing").expect("thing");
    let error = btf.field_at(thing, "mooved").expect_err("no such member");
    assert_eq!(error.to_string(), "struct thing has no member 'mooved'");
    assert!(matches!(error, PathError::NoMember { known, .. } if known.contains(&"moved".into())));
    assert_eq!(btf.field_at(thing, "row[8]"), Err(PathError::Index { index: 8, len: 8 }));
    assert!(matches!(btf.field_at(thing, "moved.x"), Err(PathError::WrongKind { .. })));
    for bad in ["", ".", "row[", "row[x]", "row]0[", "a..b"] {
        assert!(btf.field_at(thing, bad).is_err(), "{bad:?}");
    }
}

#[test]
fn offset_is_named_by_its_path() {
    let btf = kernel_btf();
    let thing = btf.find_struct("thing").expect("thing");
    for (offset, name) in [
        (0, "pad"),
        (8, "moved"),
        (9, "moved+1"),
        (40, "anon"),
        (54, "row[3]"),
        (84, "point[2].y"),
        (110, "tail[6]"),
    ] {
        assert_eq!(btf.field_name_at(thing, offset), name);
    }
}

#[test]
fn elements_of_a_flexible_array_have_names() {
    // struct cgroup ends with a union of `ancestors[]` and its low part
    let btf = rota_object::btf::reference();
    let cgroup = btf.find_struct("cgroup").expect("cgroup");
    let first = btf.field_at(cgroup, "ancestors").expect("ancestors").offset();
    assert_eq!(btf.field_name_at(cgroup, first + 16), "ancestors[2]");
    assert_eq!(btf.field_name_at(cgroup, first + 17), "ancestors[2]+1");
}

#[test]
fn types_are_spelled_as_c_spells_them() {
    let image = load("load_settings.bpf.c");
    let spelled = |name: &str| {
        let v = image.variables.iter().find(|v| v.name == name).expect(name);
        image.btf.type_name(v.ty)
    };
    assert_eq!(spelled("quantum_ns"), "const volatile u64");
    assert_eq!(spelled("table"), "const volatile u32[4]");
    assert_eq!(spelled("limits"), "struct limits");
    assert_eq!(spelled("text"), "char[8]");
    assert_eq!(spelled("pointer"), "void *");
    let kernel = kernel_btf();
    let callback = kernel.member_at("sched_ext_ops", "select_cpu").expect("member");
    assert_eq!(kernel.type_name(callback.ty), "s32 (*)(struct thing *, s32)");
}

#[test]
fn enumerators_are_found_in_any_enum() {
    let btf = kernel_btf();
    assert_eq!(btf.enum_value("GREEN"), Some(9));
    assert_eq!(btf.enum_value("WIDE_BIT"), Some(1 << 63));
    assert_eq!(btf.enum_value("MIRROR_NEGATIVE"), Some(-2i64 as u64));
    assert_eq!(btf.enum_value("PURPLE"), None);
}

#[test]
fn tags_belong_to_variables_and_members() {
    let image = load("load_settings.bpf.c");
    let alpha = image.btf.find(Kind::Var, "alpha").expect("alpha");
    assert_eq!(image.btf.decl_tags(alpha, None), ["help:decay", "scale:1024", "min:0", "max:2"]);
    let limits = image.btf.find_struct("limits").expect("limits");
    assert_eq!(image.btf.decl_tags(limits, Some(1)), ["help:upper end"]);
    assert!(image.btf.decl_tags(limits, Some(0)).is_empty());
}

#[test]
fn flavor_is_cut_at_the_last_separator() {
    for (name, essential) in [
        ("task_struct", "task_struct"),
        ("task_struct___old", "task_struct"),
        ("scx_bpf_dsq_insert___v2___compat", "scx_bpf_dsq_insert___v2"),
        ("a___", "a___"),
        ("___a", "___a"),
        // Four underscores are no separator.
        ("a____b", "a____b"),
        ("", ""),
    ] {
        assert_eq!(essential_name(name), essential);
    }
}

#[test]
fn bundled_kernel_knows_what_schedulers_touch() {
    let btf = reference();
    let slice = btf.member_at("task_struct", "scx.slice").expect("task_struct.scx.slice");
    assert_eq!((slice.size, slice.bits), (8, 0));
    let task = btf.find_struct("task_struct").expect("task_struct");
    assert_eq!(btf.field_name_at(task, slice.offset()), "scx.slice");
    // SCX_DSQ_FLAG_BUILTIN | 2
    assert_eq!(btf.enum_value("SCX_DSQ_LOCAL"), Some(1 << 63 | 2));
    let ops = btf.find_struct("sched_ext_ops").expect("sched_ext_ops");
    let enqueue = btf.field_at(ops, "enqueue").expect("enqueue");
    assert_eq!(btf.func_proto(enqueue.ty).map(|p| p.len()), Some(2));
}

#[test]
fn cyclic_types_end() {
    // 1: typedef of 2, 2: const of 1, 3: array of 3, 4: struct with one anonymous member 4.
    let mut types: Vec<u32> = Vec::new();
    types.extend([1, 8 << 24, 2]);
    types.extend([0, 10 << 24, 1]);
    types.extend([0, 3 << 24, 0, 3, 3, 2]);
    types.extend([1, 4 << 24 | 1, 8, 0, 4, 0]);
    let btf = Btf::parse(&encode(&types, "\0name\0")).expect("well-formed");
    assert_eq!(btf.resolve(TypeId(1)), TypeId(0));
    assert_eq!(btf.size_of(TypeId(3)), None);
    assert!(btf.field_at(TypeId(4), "nowhere").is_err());
    for id in btf.ids() {
        assert!(!btf.type_name(id).is_empty());
        btf.field_name_at(id, 4);
        assert!(btf.func_proto(id).is_none());
    }
}

#[test]
fn text_of_a_branching_type_is_bounded() {
    // Ten structs of 64 members each, all members being the next struct: 64^10 fields.
    let mut types: Vec<u32> = Vec::new();
    for next in 2..12 {
        types.extend([1, 4 << 24 | 64, 8]);
        types.extend([1, next, 0].repeat(64));
    }
    types.extend([0, 1 << 24, 8, 64]);
    let btf = Btf::parse(&encode(&types, "\0name\0")).expect("well-formed");
    let text = render(&btf, TypeId(1), &[0; 8]);
    assert!(text.len() < 100_000, "{} bytes", text.len());
}

#[test]
fn damage_is_described() {
    let good = encode(&[0, 1 << 24, 4, 32], "\0");
    assert!(matches!(Btf::parse(&good).map(|b| b.len()), Ok(2)));
    let message = |bytes: &[u8]| Btf::parse(bytes).expect_err("damaged").to_string();
    assert!(message(&good[..10]).contains("10 bytes"));
    assert!(message(&good[..good.len() - 1]).contains("string section"));
    assert!(message(&encode(&[0, 31 << 24, 4], "\0")).contains("type 1 has unknown kind 31"));
    assert!(message(&encode(&[0, 2 << 24, 9], "\0")).contains("type 1 refers to type 9"));
    assert!(message(&encode(&[0, 4 << 24 | 5, 9], "\0")).contains("Struct of 5 elements"));
    assert!(message(&encode(&[77, 2 << 24, 0], "\0")).contains("name offset 77"));
}

/// A BTF section of these words and strings.
fn encode(types: &[u32], strings: &str) -> Vec<u8> {
    let types: Vec<u8> = types.iter().flat_map(|w| w.to_le_bytes()).collect();
    let mut bytes = vec![0x9f, 0xeb, 1, 0];
    for word in [24, 0, types.len(), types.len(), strings.len()] {
        bytes.extend((word as u32).to_le_bytes());
    }
    bytes.extend(types);
    bytes.extend(strings.as_bytes());
    bytes
}

#[test]
fn every_kind_is_decoded() {
    let image = load("load_settings.bpf.c");
    let (mut ints, mut structs, mut datasecs) = (0, 0, 0);
    for id in image.btf.ids() {
        match image.btf.get(id) {
            Type::Int(i) => {
                assert!(matches!(i.size, 1 | 2 | 4 | 8) && u32::from(i.bits) <= i.size * 8);
                ints += 1;
            }
            Type::Struct(c) => {
                assert_eq!(c.members().count(), c.len());
                structs += 1;
            }
            Type::Datasec(d) => {
                assert!(d.vars().all(|v| v.offset + v.size <= d.size), "{}", d.name);
                datasecs += 1;
            }
            Type::Void => panic!("{id:?} is void"),
            _ => {}
        }
    }
    assert!(ints > 5 && structs > 3 && datasecs > 4, "{ints} {structs} {datasecs}");
}

#[test]
fn types_are_the_same_after_they_were_a_file() {
    for kernel in rota_object::btf::Bundled::all() {
        let btf = kernel.btf();
        let bytes = btf.to_bytes();
        let again = Btf::parse(&bytes).expect("sound");
        assert_eq!(again.to_bytes(), bytes, "{}", kernel.release);
        assert_eq!(again.len(), btf.len());
        for id in btf.ids() {
            assert_eq!(format!("{:?}", again.get(id)), format!("{:?}", btf.get(id)));
        }
    }
}

#[test]
fn added_types_come_behind_those_that_there_are() {
    let btf = kernel_btf();
    let thing = btf.find_struct("thing").expect("thing");
    let mut more = btf.extend();
    let variable = more.variable("the_thing", thing);
    let function = more.function("do_it", 3);
    let point = more.tracepoint("happened");
    let unknown = more.declaration("unknown");
    let pointer = more.pointer(unknown);
    let more = more.finish();
    let added = [variable, function, point, unknown, pointer];
    assert!(added.iter().all(|id| id.0 as usize >= btf.len()), "{added:?}");
    assert_eq!(more.find(Kind::Var, "the_thing"), Some(variable));
    assert_eq!(more.size_of(variable), btf.size_of(thing));
    assert_eq!(more.func_proto(function).map(|proto| proto.len()), Some(3));
    assert_eq!(more.find(Kind::Typedef, "btf_trace_happened"), Some(point));
    assert!(more.func_proto(point).is_some());
    assert!(matches!(more.get(pointer), Type::Ptr(to) if to == unknown));
    assert!(matches!(more.get(unknown), Type::Fwd("unknown", false)));
    let again = Btf::parse(&more.to_bytes()).expect("sound");
    assert_eq!(again.len(), more.len());
}

/// All that a type says, without ids.
fn told(btf: &Btf, id: TypeId) -> String {
    let name = |ty: TypeId| format!("{:?} {}", btf.kind(ty), btf.type_name(ty));
    let parts: Vec<String> = match btf.get(id) {
        Type::Struct(of) | Type::Union(of) => {
            of.members().map(|m| format!("{} {} {}", m.name, m.bit_offset, name(m.ty))).collect()
        }
        Type::Enum(of) => of.values().map(|v| format!("{} {}", v.name, v.value)).collect(),
        Type::FuncProto(of) => of.params().map(|p| format!("{} {}", p.name, name(p.ty))).collect(),
        Type::Datasec(of) => {
            of.vars().map(|v| format!("{} {} {}", v.offset, v.size, btf.name(v.ty))).collect()
        }
        Type::DeclTag(tag) => vec![format!("{} {}", tag.text, name(tag.target))],
        Type::Var(_, ty, _) => vec![name(ty)],
        _ => Vec::new(),
    };
    format!("{} {} {:?} {parts:?}", name(id), btf.name(id), btf.size_of(id))
}

#[test]
fn types_of_several_parts_say_the_same_in_the_whole() {
    let (small, kernel) = (kernel_btf(), reference());
    let empty = Btf::empty();
    let parts: [&Btf; 4] = [&small, &kernel, &empty, &small];
    let (whole, shifts) = Btf::join(&parts);

    assert_eq!(whole.len() - 1, 2 * (small.len() - 1) + kernel.len() - 1);
    for (part, shift) in parts.into_iter().zip(&shifts) {
        for id in part.ids() {
            assert_eq!(told(&whole, shift.of_type(id)), told(part, id), "{id:?}");
        }
    }
    // the first part's ids are those of the whole, and names are still found there
    let thing = small.find_struct("thing").expect("thing");
    assert_eq!((shifts[0].of_type(thing), whole.find_struct("thing")), (thing, Some(thing)));
    assert_eq!(shifts[1].of_type(TypeId(0)), TypeId(0), "void is void");
    assert_eq!(shifts[1].of_string(0), 0);
    // and a parser finds all references there
    let again = Btf::parse(&whole.to_bytes()).expect("sound");
    assert_eq!(again.len(), whole.len());
}
