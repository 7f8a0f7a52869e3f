// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compiles the recorder's BPF programs for `src/events` to embed.

use std::path::{Path, PathBuf};
use std::process::Command;

#[path = "../catalog/src/clang.rs"]
#[allow(dead_code)] // the catalog uses the rest of it
mod clang;

const PROGRAMS: [&str; 2] = ["record", "op"];

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
    println!("cargo::rerun-if-changed={}", sources.display());
    println!("cargo::rerun-if-changed={}", headers.join("vmlinux.h").display());
    println!("cargo::rerun-if-env-changed=CLANG");
    println!("cargo::rerun-if-env-changed=PATH");

    let clang = clang::find()?;
    for name in PROGRAMS {
        let object = out.join(format!("{name}.bpf.o"));
        compile(&clang, &sources, &headers, &format!("{name}.bpf.c"), &object)?;
    }
    Ok(())
}

fn compile(
    clang: &Path,
    sources: &Path,
    headers: &Path,
    source: &str,
    object: &Path,
) -> Result<(), String> {
    // Neither the checkout's path nor the time of day gets into the object.
    let mut args: Vec<std::ffi::OsString> =
        ["-Wextra", "-Wno-unused-parameter", "-Werror", "-fdebug-compilation-dir=bpf"]
            .map(Into::into)
            .into();
    let mut map = std::ffi::OsString::from("-ffile-prefix-map=");
    map.push(headers);
    map.push("=include");
    args.extend([map, "-I".into(), headers.into(), "-c".into(), source.into()]);
    args.extend(["-o".into(), object.into()]);
    let run = clang::run(clang, sources, &args).map_err(|e| format!("{}: {e}", clang.display()))?;
    if !run.status.success() {
        return Err(String::from_utf8_lossy(&run.stderr).into_owned());
    }
    strip(clang, object);
    Ok(())
}

/// Drops DWARF, which nobody reads, and keeps BTF; without llvm-strip objects are larger.
fn strip(clang: &Path, object: &Path) {
    let name = clang.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let suffix = name.trim_start_matches("clang");
    for strip in [clang.with_file_name(format!("llvm-strip{suffix}")), "llvm-strip".into()] {
        if Command::new(strip).arg("-g").arg(object).status().is_ok_and(|s| s.success()) {
            return;
        }
    }
}
