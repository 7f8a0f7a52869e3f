// SPDX-License-Identifier: MIT OR Apache-2.0
//! Linking a policy's object into the bench: what changes in it, and what is refused.
//! Needs a compiler, but no permission to use BPF.
#![allow(missing_docs)]

use object::{Object, ObjectSection, ObjectSymbol, SymbolKind};
use rota_decision_cost::link::Bench;
use rota_decision_cost::Failure;
use std::collections::BTreeMap;

const INSN: usize = 8;

/// Functions of an object by name: their code.
fn functions(object: &[u8]) -> BTreeMap<String, Vec<u8>> {
    let file = object::File::parse(object).unwrap();
    file.symbols()
        .filter(|s| s.kind() == SymbolKind::Text && s.size() > 0)
        .map(|s| {
            let section = file.section_by_index(s.section_index().unwrap()).unwrap();
            let at = s.address() as usize;
            let code = &section.data().unwrap()[at..at + s.size() as usize];
            (s.name().unwrap().to_owned(), code.to_vec())
        })
        .collect()
}

fn sections(object: &[u8]) -> Vec<String> {
    let file = object::File::parse(object).unwrap();
    file.sections().map(|section| section.name().unwrap().to_owned()).collect()
}

/// The opcode of a call, of a 64-bit immediate load and its second slot, of `goto +0`.
const MAY_CHANGE: [u8; 4] = [0x85, 0x18, 0x00, 0x05];

fn compile(callbacks: &str) -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("own.bpf.c");
    std::fs::write(&path, format!("#include \"rota.bpf.h\"\n{callbacks}\n")).unwrap();
    rota_catalog::compile(&path, &[], &[]).unwrap()
}

fn missing(result: Result<Vec<u8>, Failure>) -> Vec<String> {
    match result {
        Err(Failure::NoStandIn { missing, .. }) => missing,
        Err(other) => panic!("{other}"),
        Ok(_) => Vec::new(),
    }
}

const REENQUEUES: &str = "
    u32 scx_bpf_reenqueue_local(void) __ksym;
    void BPF_STRUCT_OPS(own_CALLBACK, s32 cpu, void *args)
    {
        scx_bpf_reenqueue_local();
    }
    SCX_OPS_DEFINE(own_ops) = {.CALLBACK = (void *)own_CALLBACK, .name = \"own\"};";

#[test]
fn only_instructions_that_name_functions_or_data_change() {
    let bench = Bench::compile().unwrap();
    for policy in rota_catalog::policies() {
        let linked = functions(&bench.link(policy.name, policy.object, false).unwrap());
        let original = functions(policy.object);
        let sections = sections(policy.object);
        // Each is alone in a section with its name.
        let is_callback = |name: &str| sections.iter().any(|s| s.ends_with(&format!("/{name}")));
        let callbacks: Vec<_> = original.iter().filter(|(name, _)| is_callback(name)).collect();
        assert!(callbacks.len() > 4, "{}: {} callbacks", policy.name, callbacks.len());
        for (name, code) in callbacks {
            let after = &linked[name];
            assert_eq!(after.len(), code.len(), "{name} keeps its length");
            for (i, (new, old)) in after.chunks(INSN).zip(code.chunks(INSN)).enumerate() {
                if !MAY_CHANGE.contains(&old[0]) {
                    assert_eq!(new, old, "{name}, instruction {i}");
                }
            }
        }
    }
}

#[test]
fn a_function_without_a_stand_in_is_named() {
    let bench = Bench::compile().unwrap();
    let object = compile(&REENQUEUES.replace("CALLBACK", "dispatch"));
    assert_eq!(missing(bench.link("own", &object, false)), ["scx_bpf_reenqueue_local"]);
}

#[test]
fn a_callback_that_is_not_timed_may_call_anything() {
    let bench = Bench::compile().unwrap();
    let object = compile(&REENQUEUES.replace("CALLBACK", "cpu_release"));
    assert_eq!(missing(bench.link("own", &object, false)), [""; 0]);
}

#[test]
fn what_is_no_object_is_refused() {
    let bench = Bench::compile().unwrap();
    for bytes in [&b""[..], b"#include \"rota.bpf.h\"", &[0x7f, b'E', b'L', b'F', 2, 1]] {
        let failure = bench.link("own", bytes, false).unwrap_err();
        assert!(matches!(failure, Failure::Object { .. }), "{failure}");
    }
}
