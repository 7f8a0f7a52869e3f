// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compiles the BPF programs for `src/programs.rs` to embed.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

fn main() {
    if let Err(message) = build() {
        eprintln!("{message}");
        std::process::exit(1);
    }
}

fn build() -> Result<(), String> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (sources, headers) = (here.join("bpf"), here.join("../../policies/include"));
    let headers = headers.canonicalize().map_err(|e| format!("{}: {e}", headers.display()))?;
    let out = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?);
    // Not absolute paths: a build directory may be copied to another checkout.
    println!("cargo::rerun-if-changed=bpf");
    for header in ["kernel.bpf.h", "vmlinux.h"] {
        println!("cargo::rerun-if-changed=../../policies/include/{header}");
    }
    println!("cargo::rerun-if-env-changed=CLANG");

    let clang = rota_clang::find()?;
    let mut map = OsString::from("-ffile-prefix-map=");
    map.push(&headers);
    map.push("=include");
    let include = [map, "-I".into(), headers.into()];
    let object = out.join("boost.bpf.o");
    rota_clang::build(&clang, &sources, "bpf", &include, "boost.bpf.c", &object)
}
