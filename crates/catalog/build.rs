// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compiles `policies/*.bpf.c`, or takes the objects that ship where there is no clang, and lists
//! the objects, their sources and the headers for `src/lib.rs` to embed, with the manifests of
//! `manifests/`. Both folders are links to those of the repository; a package has them as folders.

use rota_clang::shipped::{self, Origin};
use rota_clang::{files, write};
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
    let here = Path::new(&here);
    let policies = here.join("policies");
    let policies = policies.canonicalize().map_err(|e| format!("{}: {e}", policies.display()))?;
    let out = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?);
    // Not the absolute path, for the same reason.
    for folder in ["policies", "manifests", "objects"] {
        println!("cargo::rerun-if-changed={folder}");
    }
    println!("cargo::rerun-if-env-changed=CLANG");

    let sources = files(&policies, ".bpf.c")?;
    let headers = files(&policies.join("include"), ".h")?;
    let hash = shipped::hash(&[&sources[..], &headers].concat())?;
    write(&out.join("SOURCES"), &hash)?;
    let object = |source: &Path| file_name(source).replace(".bpf.c", ".bpf.o");
    let origin = shipped::origin(here)?;
    if let Origin::Shipped(_) = origin {
        let names: Vec<String> = sources.iter().map(|source| object(source)).collect();
        shipped::take(here, &names, &hash, &out)?;
    }
    let mut code = String::from("static POLICIES: &[Policy] = &[\n");
    for source in sources {
        let name = file_name(&source).trim_end_matches(".bpf.c").to_string();
        let object = out.join(object(&source));
        if let Origin::Compiled(clang) = &origin {
            let include = ["-Iinclude".into()];
            rota_clang::build(
                clang,
                &policies,
                "policies",
                &include,
                &file_name(&source),
                &object,
            )?;
        }
        let _ = writeln!(
            code,
            "Policy {{ name: {name:?}, object: &Aligned(*include_bytes!({object:?})).0, \
             source: include_str!({source:?}) }},"
        );
    }
    code.push_str("];\nstatic HEADERS: &[(&str, &str)] = &[\n");
    for header in headers {
        let _ = writeln!(code, "({:?}, include_str!({header:?})),", file_name(&header));
    }
    code.push_str("];\nstatic MANIFESTS: &[(&str, &str)] = &[\n");
    let manifests = here.join("manifests");
    let manifests =
        manifests.canonicalize().map_err(|e| format!("{}: {e}", manifests.display()))?;
    for manifest in files(&manifests, ".toml")? {
        let _ = writeln!(code, "({:?}, include_str!({manifest:?})),", file_name(&manifest));
    }
    code.push_str("];\n");
    write(&out.join("embedded.rs"), &code)
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
