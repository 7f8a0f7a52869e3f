// SPDX-License-Identifier: MIT OR Apache-2.0
//! Damaged and hostile files: an error or an image, never a panic, never a hang.

use super::support::{kernel_btf, TestKernel};
use crate::fixture::compile;
use proptest::prelude::*;
use rota_object::btf::{ext::Ext, Btf};
use rota_object::error::LoadError;
use rota_object::image::Image;
use rota_object::link::{link, Object};
use std::sync::{Arc, OnceLock};

/// Parses, links, and asks an image everything that a host asks.
fn load(bytes: &[u8]) -> Result<Image, LoadError> {
    static KERNEL: OnceLock<Arc<Btf>> = OnceLock::new();
    let kernel = KERNEL.get_or_init(kernel_btf);
    let mut image = link(&Object::parse("hostile", bytes)?, kernel, &TestKernel)?;
    image.tunables();
    for option in image.options() {
        let _ = image.set_variable(&option.name, &option.default);
    }
    for f in &image.functions {
        assert!((f.start + f.len) as usize <= image.code.len());
    }
    for v in &image.variables {
        let data = image.maps[v.map.0 as usize].initial.as_ref().expect("data");
        assert!((v.offset + v.size) as usize <= data.len());
    }
    Ok(image)
}

/// Asks all types all questions.
fn interrogate(btf: &Btf) {
    for id in btf.ids().take(300) {
        btf.type_name(id);
        btf.size_of(id);
        btf.func_proto(id);
        btf.field_name_at(id, 9);
        btf.decl_tags(id, Some(0));
        let _ = btf.field_at(id, "a.b[1]");
        btf.find(btf.kind(id), btf.name(id));
    }
    btf.enum_value("NOWHERE");
}

fn objects() -> &'static [Vec<u8>] {
    static OBJECTS: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    OBJECTS.get_or_init(|| {
        ["load_object.bpf.c", "load_core.bpf.c", "load_settings.bpf.c"]
            .map(|source| compile(source, &[]))
            .to_vec()
    })
}

/// A section of the first object.
fn section(name: &str) -> Vec<u8> {
    use object::{Object as _, ObjectSection as _};
    let file = object::File::parse(&*objects()[0]).expect("sound");
    file.section_by_name(name).expect(name).data().expect("data").to_vec()
}

#[test]
fn every_truncation_is_an_error() {
    let object = &objects()[1];
    assert!(load(object).is_ok());
    for len in (0..object.len()).step_by(7) {
        assert!(load(&object[..len]).is_err(), "{len} of {} bytes", object.len());
    }
}

#[test]
fn other_files_are_told_apart() {
    let message = |bytes: &[u8]| load(bytes).expect_err("not an object").to_string();
    assert!(message(b"").starts_with("hostile: not a 64-bit little-endian ELF object"));
    let mut other = objects()[0].clone();
    other[18] = 62; // e_machine
    assert!(message(&other).contains("ELF machine is 62, expected 247 (BPF)"));
    let mut other = objects()[0].clone();
    other[16] = 2; // e_type
    assert!(message(&other).contains("ELF type is 2, expected 1"));
}

#[test]
fn every_changed_byte_of_headers_is_survived() {
    // Section headers are at the end: names, offsets, sizes, links.
    let object = objects()[0].clone();
    for at in (0..64).chain(object.len() - 64 * 30..object.len()) {
        for value in [0, 0xff, object[at] ^ 1, object[at] ^ 0x80] {
            let mut changed = object.clone();
            changed[at] = value;
            let _ = load(&changed);
        }
    }
}

#[test]
fn enormous_bss_is_refused() {
    let mut object = objects()[0].clone();
    let header = u64::from_le_bytes(object[40..48].try_into().expect("8 bytes")) as usize;
    let count = u16::from_le_bytes(object[60..62].try_into().expect("2 bytes")) as usize;
    let nobits = (0..count)
        .map(|n| header + n * 64)
        .find(|at| object[at + 4..at + 8] == 8u32.to_le_bytes())
        .expect("a .bss");
    object[nobits + 32..nobits + 40].copy_from_slice(&(1u64 << 40).to_le_bytes());
    let error = load(&object).expect_err("too large").to_string();
    assert!(error.contains(".bss of 1099511627776 bytes"), "{error}");
}

proptest! {
    #[test]
    fn arbitrary_bytes_are_refused(bytes in proptest::collection::vec(any::<u8>(), 0..512)) {
        prop_assert!(load(&bytes).is_err());
        if let Ok(btf) = Btf::parse(&bytes) {
            interrogate(&btf);
        }
    }

    #[test]
    fn flipped_bits_are_survived(
        which in 0usize..3,
        flips in proptest::collection::vec((any::<prop::sample::Index>(), 0u8..8), 1..20),
    ) {
        let mut object = objects()[which].clone();
        for (at, bit) in flips {
            let at = at.index(object.len());
            object[at] ^= 1 << bit;
        }
        let _ = load(&object);
    }

    #[test]
    fn flipped_bits_in_btf_are_survived(
        flips in proptest::collection::vec((any::<prop::sample::Index>(), 0u8..8), 1..8),
        cut in proptest::option::of(any::<prop::sample::Index>()),
    ) {
        for name in [".BTF", ".BTF.ext"] {
            let mut bytes = section(name);
            for (at, bit) in &flips {
                let at = at.index(bytes.len());
                bytes[at] ^= 1 << bit;
            }
            if let Some(cut) = &cut {
                bytes.truncate(cut.index(bytes.len()));
            }
            match name {
                ".BTF" => { let _ = Btf::parse(&bytes).map(|btf| interrogate(&btf)); }
                _ => { let _ = Ext::parse(&bytes, &Btf::empty()); }
            }
        }
    }
}
