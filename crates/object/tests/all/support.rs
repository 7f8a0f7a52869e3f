// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compiles fixtures and links them against a small kernel of their own.

use crate::fixture::compile;
use rota_object::btf::Btf;
use rota_object::error::LoadError;
use rota_object::image::{FuncId, Function, Image, Insn, Symbol};
use rota_object::link::{link, Kernel, Object};
use std::ops::RangeInclusive;
use std::sync::Arc;

/// A kernel that has what `load_object.bpf.c` expects.
pub(crate) struct TestKernel;

impl Kernel for TestKernel {
    fn kfunc(&self, name: &str) -> Option<RangeInclusive<u8>> {
        matches!(name, "needed" | "optional___v2").then_some(1..=1)
    }
    fn has_ksym(&self, name: &str) -> bool {
        name == "known_variable"
    }
    fn kconfig(&self, name: &str) -> Option<u64> {
        (name == "CONFIG_HZ").then_some(250)
    }
    fn kernel_version(&self) -> u32 {
        7 << 16 | 2 << 8 | 12
    }
}

/// BTF of `load_kernel.c`.
pub(crate) fn kernel_btf() -> Arc<Btf> {
    Object::parse("kernel", &compile("load_kernel.c", &[])).expect("parses").btf().clone()
}

/// Compiles and links a fixture.
pub(crate) fn try_load(source: &str) -> Result<Image, LoadError> {
    link(&Object::parse(source, &compile(source, &[]))?, &kernel_btf(), &TestKernel)
}

/// As `try_load`, for fixtures that must link.
pub(crate) fn load(source: &str) -> Image {
    try_load(source).unwrap_or_else(|e| panic!("{e}"))
}

/// As `load`, with options for the compiler.
pub(crate) fn load_with(source: &str, options: &[&str]) -> Image {
    let object = Object::parse(source, &compile(source, options));
    link(&object.expect("parses"), &kernel_btf(), &TestKernel).unwrap_or_else(|e| panic!("{e}"))
}

/// A function by name.
pub(crate) fn function<'a>(image: &'a Image, name: &str) -> (FuncId, &'a Function) {
    let at = image.functions.iter().position(|f| f.name == name);
    let at = at.unwrap_or_else(|| panic!("no function {name}"));
    (FuncId(at as u32), &image.functions[at])
}

/// Instructions of a function with their slots.
pub(crate) fn code<'a>(image: &'a Image, name: &str) -> Vec<(u32, &'a Insn)> {
    let f = function(image, name).1;
    (f.start..f.start + f.len).map(|s| (s, &image.code[s as usize])).collect()
}

/// Symbols inside a function, in order.
pub(crate) fn symbols<'a>(image: &'a Image, name: &str) -> Vec<&'a Symbol> {
    let f = function(image, name).1;
    image.symbols.range(f.start..f.start + f.len).map(|(_, s)| s).collect()
}
