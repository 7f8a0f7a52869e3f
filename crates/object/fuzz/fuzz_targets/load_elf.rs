// SPDX-License-Identifier: MIT OR Apache-2.0
//! Any bytes as an object file: parse, link against the bundled kernel, ask about
//! and set its options.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rota_object::btf::reference;
use rota_object::link::{link, Kernel, Object};
use std::ops::RangeInclusive;

/// Has half of everything, so that both outcomes of a look-up are taken.
struct HalfKernel;

impl Kernel for HalfKernel {
    fn kfunc(&self, name: &str) -> Option<RangeInclusive<u8>> {
        (name.len() % 2 == 0).then_some(1..=4)
    }
    fn has_ksym(&self, name: &str) -> bool {
        name.len() % 2 == 0
    }
    fn kconfig(&self, name: &str) -> Option<u64> {
        (name.len() % 2 == 0).then_some(name.len() as u64)
    }
    fn kernel_version(&self) -> u32 {
        0x70200
    }
}

fuzz_target!(|bytes: &[u8]| {
    let Ok(object) = Object::parse("fuzz", bytes) else { return };
    let Ok(mut image) = link(&object, &reference(), &HalfKernel) else { return };
    for option in image.options() {
        let _ = image.set_variable(&option.name, &option.default);
    }
    for at in 0..image.variables.len().min(20) {
        let name = image.variables[at].name.clone();
        let _ = image.variable_text(&name);
        let _ = image.resize_array(&name, 3);
    }
});
