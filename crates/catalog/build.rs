// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compiles `policies/*.bpf.c` and lists the objects, their sources and the headers
//! for `src/lib.rs` to embed, with the manifests of `manifests/`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

fn main() {
    if let Err(message) = build() {
        eprintln!("{message}");
        std::process::exit(1);
    }
}

fn build() -> Result<(), String> {
    // Where it runs, not where it was compiled: a build directory may be copied to another checkout.
    let here = std::env::var_os("CARGO_MANIFEST_DIR").ok_or("CARGO_MANIFEST_DIR is not set")?;
    let policies = Path::new(&here).join("../../policies");
    let policies = policies.canonicalize().map_err(|e| format!("{}: {e}", policies.display()))?;
    let out = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?);
    // Not the absolute path, for the same reason.
    println!("cargo::rerun-if-changed=../../policies");
    println!("cargo::rerun-if-env-changed=CLANG");

    let clang = rota_clang::find()?;
    let mut code = String::from("static POLICIES: &[Policy] = &[\n");
    for source in files(&policies, ".bpf.c")? {
        let name = file_name(&source).trim_end_matches(".bpf.c").to_string();
        let object = out.join(format!("{name}.bpf.o"));
        let include = ["-Iinclude".into()];
        rota_clang::build(&clang, &policies, "policies", &include, &file_name(&source), &object)?;
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
    code.push_str("];\nstatic MANIFESTS: &[(&str, &str)] = &[\n");
    println!("cargo::rerun-if-changed=../../manifests");
    let manifests = policies.join("../manifests");
    for manifest in files(&manifests, ".toml")? {
        let _ = writeln!(code, "({:?}, include_str!({manifest:?})),", file_name(&manifest));
    }
    code.push_str("];\n");
    std::fs::write(out.join("embedded.rs"), code).map_err(|e| e.to_string())
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
