// SPDX-License-Identifier: MIT OR Apache-2.0
//! Images for the tests of this crate, which have no kernel to link against.

use rota_object::btf;
use rota_object::image::Image;
use rota_object::link::{link, Kernel, Object};
use std::ops::RangeInclusive;

struct AnyKernel;

impl Kernel for AnyKernel {
    fn kfunc(&self, _: &str) -> Option<RangeInclusive<u8>> {
        Some(0..=u8::MAX)
    }
    fn has_ksym(&self, _: &str) -> bool {
        true
    }
    fn kconfig(&self, _: &str) -> Option<u64> {
        Some(0)
    }
    fn kernel_version(&self) -> u32 {
        0
    }
}

/// A shipped policy, linked against the types of the bundled kernel.
pub(crate) fn image(policy: &str) -> Image {
    let object = rota_catalog::find(policy).expect("ships").object;
    let object = Object::parse(policy, object).expect("an object");
    link(&object, &btf::reference(), &AnyKernel).expect("links")
}
