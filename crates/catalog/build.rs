// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compiles `policies/*.bpf.c` and lists the objects, their sources and the headers
//! for `src/lib.rs` to embed.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

#[path = "src/clang.rs"]
#[allow(dead_code)] // the library uses the rest of it
mod clang;

fn main() {
    if let Err(message) = build() {
        eprintln!("{message}");
        std::process::exit(1);
    }
}

fn build() -> Result<(), String> {
    let policies = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../policies");
    let policies = policies.canonicalize().map_err(|e| format!("{}: {e}", policies.display()))?;
    let out = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?);
    println!("cargo::rerun-if-changed={}", policies.display());
    println!("cargo::rerun-if-env-changed=CLANG");
    println!("cargo::rerun-if-env-changed=PATH");

    let clang = clang::find()?;
    let mut code = String::from("static POLICIES: &[Policy] = &[\n");
    for source in files(&policies, ".bpf.c")? {
        let name = file_name(&source).trim_end_matches(".bpf.c").to_string();
        let object = out.join(format!("{name}.bpf.o"));
        compile(&clang, &policies, &source, &object)?;
        let _ = writeln!(
            code,
            "Policy {{ name: {name:?}, object: &Aligned(*include_bytes!({object:?})).0, \
             source: include_str!({source:?}) }},"
        );
    }
    code.push_str("];\nstatic HEADERS: &[(&str, &str)] = &[\n");
    for header in files(&policies.join("include"), ".h")? {
        let _ = writeln!(code, "({:?}, include_str!({header:?})),", file_name(&header));
    }
    code.push_str("];\n");
    std::fs::write(out.join("embedded.rs"), code).map_err(|e| e.to_string())
}

fn compile(clang: &Path, dir: &Path, source: &Path, object: &Path) -> Result<(), String> {
    // Neither the checkout's path nor the time of day gets into the object.
    let mut args: Vec<std::ffi::OsString> =
        ["-Wextra", "-Wno-unused-parameter", "-Werror", "-fdebug-compilation-dir=policies"]
            .map(Into::into)
            .into();
    args.extend(["-Iinclude".into(), "-c".into(), file_name(source).into()]);
    args.extend(["-o".into(), object.into()]);
    let run = clang::run(clang, dir, &args).map_err(|e| format!("{}: {e}", clang.display()))?;
    if !run.status.success() {
        return Err(String::from_utf8_lossy(&run.stderr).into_owned());
    }
    strip(clang, object);
    Ok(())
}

/// Drops DWARF, which nobody reads, and keeps BTF; without llvm-strip objects are larger.
fn strip(clang: &Path, object: &Path) {
    let suffix = file_name(clang).trim_start_matches("clang").to_string();
    for strip in [clang.with_file_name(format!("llvm-strip{suffix}")), "llvm-strip".into()] {
        if Command::new(strip).arg("-g").arg(object).status().is_ok_and(|s| s.success()) {
            return;
        }
    }
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn files(dir: &Path, suffix: &str) -> Result<Vec<PathBuf>, String> {
    let entries = std::fs::read_dir(dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    let mut found: Vec<PathBuf> = entries
        .filter_map(|entry| entry.ok().map(|e| e.path()))
        .filter(|path| file_name(path).ends_with(suffix))
        .collect();
    found.sort();
    Ok(found)
}
