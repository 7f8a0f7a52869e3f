// SPDX-License-Identifier: MIT OR Apache-2.0
//! Any text as a manifest: parse it, and work out its values for two machines.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rota_manifest::{CpuFacts, Manifest, Object};

/// An object that has about half of what it is asked for.
struct Half;

impl Object for Half {
    // Some names are constants of the kernel, also ones with extreme values.
    fn constant(&self, name: &str) -> Option<i128> {
        match name.len() {
            3 => Some(i128::from(i64::MIN)),
            9.. => Some(1 << 63),
            _ => None,
        }
    }

    fn has_function(&self, name: &str) -> bool {
        name.len() % 2 == 0
    }

    fn size_of(&self, name: &str) -> Option<u32> {
        (name.len() % 2 == 0).then_some(u32::MAX)
    }

    fn has_variable(&self, path: &str) -> bool {
        path.len() % 2 == 0
    }

    fn has_member(&self, name: &str) -> bool {
        name.len() % 2 == 0
    }

    fn has_program(&self, name: &str) -> bool {
        name.len() % 2 == 0
    }
}

fuzz_target!(|text: &str| {
    let manifest = match Manifest::parse("fuzz.toml", text) {
        Ok(manifest) => manifest,
        Err(error) => {
            let lines = text.lines().count() + 1;
            assert!(error.line.is_none_or(|line| line >= 1 && line <= lines), "{error}");
            return;
        }
    };
    let pairs = CpuFacts { core: vec![0, 0, 1, 1], llc: vec![0; 4], node: vec![0, 0, 1, 1] };
    for facts in [CpuFacts::flat(1), pairs] {
        let _ = manifest.expand(&facts, &Half);
    }
});
