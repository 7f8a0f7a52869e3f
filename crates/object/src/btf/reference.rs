// SPDX-License-Identifier: MIT OR Apache-2.0
//! The bundled BTF of the reference kernel, reduced to what schedulers touch.

use super::Btf;
use std::sync::{Arc, OnceLock};

/// Reduced BTF of the reference kernel (7.2).
static BYTES: &[u8] = include_bytes!("../../data/kernel-7.2.btf");

/// BTF of the reference kernel, parsed once per process.
pub fn reference() -> Arc<Btf> {
    static PARSED: OnceLock<Arc<Btf>> = OnceLock::new();
    // Part of the build, not input: a test parses it.
    PARSED.get_or_init(|| Arc::new(Btf::parse(BYTES).expect("bundled BTF is sound"))).clone()
}
