// SPDX-License-Identifier: MIT OR Apache-2.0
//! The reduced types of a kernel are as good as all of them to every scheduler of the third-party
//! set: each object links against both, to the same code but for the numbers of types.

use anyhow::{ensure, Context, Result};
use rota_e2e::command::root;
use rota_e2e::fetch::fetch;
use rota_machine::kernel::Kernel;
use rota_object::btf::{Btf, TypeId};
use rota_object::image::{Image, Insn};
use rota_object::link::{link, Object};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

/// What is not `lddw`, `mov` or a memory access holds no number of a type.
const LOADS_OF_IMMEDIATES: [u8; 3] = [0x18, 0xb4, 0xb7];

/// A kernel's types, and what `scripts/reduce-btf` leaves of them.
fn types() -> Result<(Kernel, Kernel)> {
    let full = fetch("tests/third-party/fetch", "kernel")?.join("vmlinux.btf");
    let scratch = tempfile::tempdir()?;
    let reduced = scratch.path().join("reduced.btf");
    let made = Command::new(root().join("scripts/reduce-btf"))
        .arg(&full)
        .arg("--to")
        .arg(&reduced)
        .output()
        .context("scripts/reduce-btf")?;
    ensure!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let read = |path: &Path| -> Result<Btf> {
        Ok(Btf::from_file(&std::fs::read(path).context(path.display().to_string())?)?)
    };
    let reduced = read(&reduced)?.reduced();
    Ok((Kernel::of_btf(Arc::new(read(&full)?)), Kernel::of_btf(Arc::new(reduced))))
}

/// The same instruction, or the number of the same type.
fn same(full: &Kernel, reduced: &Kernel, a: Insn, b: Insn) -> bool {
    let name = |kernel: &Kernel, number: i32| {
        let id = u32::try_from(number).ok().filter(|id| (*id as usize) < kernel.btf().len())?;
        Some((kernel.btf().kind(TypeId(id)), kernel.btf().name(TypeId(id)).to_owned()))
    };
    let one_type = || {
        let types = (name(full, a.imm), name(reduced, b.imm));
        types.0.is_some() && types.0 == types.1
    };
    a == b || LOADS_OF_IMMEDIATES.contains(&a.op) && Insn { imm: b.imm, ..a } == b && one_type()
}

fn compare(full: &Kernel, reduced: &Kernel, a: &Image, b: &Image) -> Result<()> {
    ensure!(b.untold_types.is_empty(), "the reduced types lack {:?}", b.untold_types);
    ensure!(a.symbols == b.symbols, "symbols differ");
    ensure!(a.kfuncs == b.kfuncs, "kernel functions: {:?}, reduced {:?}", a.kfuncs, b.kfuncs);
    ensure!(a.code.len() == b.code.len(), "{} instructions, {}", a.code.len(), b.code.len());
    for (at, (x, y)) in a.code.iter().zip(&b.code).enumerate() {
        ensure!(same(full, reduced, *x, *y), "instruction {at}: {x:?}, reduced {y:?}");
    }
    for (x, y) in a.maps.iter().zip(&b.maps) {
        ensure!(x.initial == y.initial, "map {} begins otherwise", x.name);
    }
    Ok(())
}

#[test]
fn every_object_links_against_the_reduced_types_as_against_all() {
    let (full, reduced) = types().unwrap();
    let objects = fetch("tests/third-party/fetch", "objects").unwrap();
    let mut checked = 0;
    for entry in std::fs::read_dir(&objects).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "o") {
            continue;
        }
        let bytes = std::fs::read(&path).unwrap();
        let name = path.display().to_string();
        let object = Object::parse(&name, &bytes).unwrap();
        let linked = |kernel: &Kernel| link(&object, kernel.btf(), kernel);
        match (linked(&full), linked(&reduced)) {
            (Ok(a), Ok(b)) => {
                compare(&full, &reduced, &a, &b).unwrap_or_else(|e| panic!("{name}: {e}"));
            }
            (a, b) => assert_eq!(a.err(), b.err(), "{name}"),
        }
        checked += 1;
    }
    assert!(checked >= 8, "{checked} objects");
}

// Not in the objects of the set, but in others': scx_layered, scx_lavd, scx_rusty.
#[test]
fn types_that_others_guard_or_cast_to_are_kept() {
    let (_, reduced) = types().unwrap();
    for name in ["class_rcu_t", "cpufreq_policy", "mempolicy", "task_struct", "cgroup"] {
        let size = |id| reduced.btf().size_of(id);
        let whole = reduced.btf().candidates(name).filter_map(size).max();
        assert!(whole > Some(0), "{name}");
    }
}
