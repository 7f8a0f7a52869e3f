// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lists the headers of libbpf that BPF sources include, for `src/lib.rs` to embed.

use std::fmt::Write as _;
use std::path::Path;

/// Those that are for BPF programs, not for their loaders.
const HEADERS: [&str; 6] = [
    "bpf_core_read.h",
    "bpf_endian.h",
    "bpf_helper_defs.h",
    "bpf_helpers.h",
    "bpf_tracing.h",
    "usdt.bpf.h",
];

fn main() {
    println!("cargo::rerun-if-env-changed=DEP_BPF_INCLUDE");
    // What libbpf-sys tells the crates that depend on it.
    let include = std::env::var("DEP_BPF_INCLUDE").expect("libbpf-sys names its headers");
    let out = std::env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    let mut code = String::from("&[\n");
    for name in HEADERS {
        let path = Path::new(&include).join("bpf").join(name);
        assert!(path.exists(), "{}: libbpf-sys does not have it", path.display());
        let _ = writeln!(code, "    ({name:?}, include_str!({path:?})),");
    }
    code.push_str("]\n");
    std::fs::write(Path::new(&out).join("libbpf.rs"), code).expect("OUT_DIR is writable");
}
