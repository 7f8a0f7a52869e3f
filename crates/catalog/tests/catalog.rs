// SPDX-License-Identifier: MIT OR Apache-2.0
//! The embedded policies and the compiler call.

use object::{Object, ObjectSection};
use rota_catalog::{compile, find, policies, CompileError};
use std::collections::BTreeSet;
use std::path::Path;

fn write(dir: &Path, name: &str, text: &str) -> std::path::PathBuf {
    let path = dir.join(name);
    std::fs::write(&path, text).expect("write");
    path
}

fn btf(object: &[u8]) -> Vec<u8> {
    let file = object::File::parse(object).expect("ELF");
    file.section_by_name(".BTF").expect(".BTF").data().expect("data").to_vec()
}

fn contains(data: &[u8], text: &str) -> bool {
    data.windows(text.len()).any(|window| window == text.as_bytes())
}

fn top() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn names() -> BTreeSet<&'static str> {
    policies().iter().map(|policy| policy.name).collect()
}

#[test]
fn every_source_is_a_policy_by_its_name() {
    let files = std::fs::read_dir(top().join("policies")).expect("policies/");
    let files = files.map(|file| file.expect("a file").file_name().into_string().expect("UTF-8"));
    let sources: BTreeSet<String> =
        files.filter_map(|name| name.strip_suffix(".bpf.c").map(str::to_owned)).collect();
    assert_eq!(sources.iter().map(String::as_str).collect::<BTreeSet<_>>(), names());
    assert!(sources.len() > 10, "{sources:?}");
}

#[test]
fn the_page_of_policies_has_a_row_for_each() {
    let page = std::fs::read_to_string(top().join("docs/shipped-policies.md")).expect("the page");
    let table = page.split("| policy | runs next |").nth(1).expect("its table");
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let rows: BTreeSet<&str> = rows.filter_map(|line| line.split('`').nth(1)).collect();
    assert_eq!(rows, names(), "docs/shipped-policies.md (left) and policies/ differ");
}

/// As whoever keeps its results with its hash expects.
#[test]
fn a_source_gives_the_same_object_again_and_elsewhere() {
    let source = "#include \"rota.bpf.h\"\n#include \"mine.h\"\n\
        void BPF_STRUCT_OPS(my_enqueue, struct task_struct *p, u64 flags) { put(p, flags); }\n\
        SCX_OPS_DEFINE(my_ops) = { .enqueue = (void *)my_enqueue, .name = \"my\" };\n";
    let header = "static void put(struct task_struct *p, u64 flags)\n\
        { dsq_insert(p, DSQ_LOCAL, 1000, flags); }\n";
    let object = |dir: &Path| {
        write(dir, "mine.h", header);
        compile(&write(dir, "my.bpf.c", source), &[], &[])
    };
    let [here, there] = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));

    let first = match object(here.path()) {
        Err(CompileError::NoCompiler { reason, .. }) => return eprintln!("skipped: {reason}"),
        first => first.expect("compiles"),
    };

    assert!(first == object(here.path()).expect("compiles"), "the second time");
    assert!(first == object(there.path()).expect("compiles"), "in another folder");
}

#[test]
fn every_policy_describes_itself_in_btf() {
    for policy in policies() {
        let btf = btf(policy.object);
        assert!(contains(&btf, "help:"), "{} has no help", policy.name);
        assert!(contains(&btf, "sched_ext_ops"), "{} has no ops", policy.name);
    }
}

#[test]
fn objects_name_their_source_without_the_build_machines_paths() {
    let checkout =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("path");
    for policy in policies() {
        let btf = btf(policy.object);
        assert!(contains(&btf, &format!("policies/{}.bpf.c", policy.name)), "{}", policy.name);
        assert!(!contains(policy.object, &checkout.display().to_string()), "{}", policy.name);
    }
}

#[test]
fn sources_state_licence_algorithm_and_where_they_are_bad() {
    for policy in policies() {
        assert!(policy.source.starts_with("/* SPDX-License-Identifier: GPL-2.0-only */"));
        assert!(policy.source.contains("Where it is bad"), "{}", policy.name);
        assert!(policy.source.contains("Cost per decision"), "{}", policy.name);
    }
}

#[test]
fn unknown_name_suggests_the_nearest() {
    let error = find("vttr").expect_err("unknown");
    assert_eq!(error.nearest, Some("vtrr"));
    assert!(error.to_string().contains("did you mean 'vtrr'?"), "{error}");
    assert_eq!(find("nothing-like-it").expect_err("unknown").nearest, None);
}

#[test]
fn settings_in_a_name_are_shown_as_options() {
    let said = |name: &str| find(name).expect_err("unknown").to_string();
    let one = said("wfq:quantum_ns=1ms");
    assert!(one.contains("(did you mean 'wfq' with --set quantum_ns=1ms?)"), "{one}");
    let two = said("eevd:a=1:b=2");
    assert!(two.contains("(did you mean 'eevdf' with --set a=1 --set b=2?)"), "{two}");
    let none = said("wfq:x");
    assert!(none.contains("(did you mean 'wfq'?)"), "{none}");
}

#[test]
fn shipped_source_compiles_on_the_fly_to_the_shipped_code() {
    let dir = tempfile::tempdir().expect("dir");
    let rr = find("rr").expect("rr");
    let path = write(dir.path(), "mine.bpf.c", rr.source);
    let object = compile(&path, &[], &[]).expect("compiles");
    let code = |object: &[u8]| {
        let file = object::File::parse(object).expect("ELF");
        let section = file.section_by_name("struct_ops/rr_dispatch").expect("section");
        section.data().expect("data").to_vec()
    };
    assert_eq!(code(&object), code(rr.object));
}

#[test]
fn headers_beside_the_file_and_in_include_directories_are_found() {
    let dir = tempfile::tempdir().expect("dir");
    let other = tempfile::tempdir().expect("dir");
    write(dir.path(), "beside.h", "#define QUANTUM 5\n");
    write(other.path(), "elsewhere.h", "#define FACTOR 3\n");
    let text = "#include \"rota.bpf.h\"\n#include \"beside.h\"\n#include \"elsewhere.h\"\n\
                const volatile u64 q = QUANTUM * FACTOR + EXTRA;\n";
    let path = write(dir.path(), "mine.bpf.c", text);
    let object = compile(&path, &[other.path().into()], &["-DEXTRA=1".into()]).expect("compiles");
    let file = object::File::parse(&*object).expect("ELF");
    let rodata = file.section_by_name(".rodata").expect("section").data().expect("data");
    assert_eq!(rodata, 16u64.to_le_bytes());
}

#[test]
fn compilers_messages_reach_the_user() {
    let dir = tempfile::tempdir().expect("dir");
    let path =
        write(dir.path(), "bad.bpf.c", "#include \"rota.bpf.h\"\nint f(void) { return oops; }\n");
    let error = compile(&path, &[], &[]).expect_err("must fail");
    assert!(matches!(error, CompileError::Rejected { .. }), "{error:?}");
    let message = error.to_string();
    assert!(message.contains("bad.bpf.c:2:") && message.contains("oops"), "{message}");
}

#[test]
fn missing_file_is_named() {
    let error = compile(Path::new("/no/such.bpf.c"), &[], &[]).expect_err("must fail");
    assert!(error.to_string().contains("/no/such.bpf.c"), "{error}");
}

#[test]
fn objects_that_ship_are_of_these_sources() {
    let (shipped, built) =
        (include_str!("../objects/SOURCES"), include_str!(concat!(env!("OUT_DIR"), "/SOURCES")));
    assert_eq!(shipped, built, "make objects compiles them anew");
    for policy in rota_catalog::policies() {
        let path = format!("{}/objects/{}.bpf.o", env!("CARGO_MANIFEST_DIR"), policy.name);
        let object = std::fs::read(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
        assert!(object::File::parse(&*object).is_ok(), "{path}");
    }
}
