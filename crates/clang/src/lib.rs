// SPDX-License-Identifier: MIT OR Apache-2.0
//! Finding and calling clang for BPF programs: those that are built into Rota, by build
//! scripts, and those of users.

pub mod shipped;

use shipped::Origin;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Oldest clang whose BTF output is complete (64-bit enums, declaration tags).
const OLDEST: u32 = 16;
/// The version that the project is developed with.
const PREFERRED: u32 = 19;

/// How to get a compiler, for messages.
const HOW_TO_INSTALL: &str =
    "install it with `apt install clang-19` (Debian, Ubuntu), or name one with CLANG=/path/to/clang";

/// Where a crate has those of the policies' headers that describe the kernel: links, which a package has
/// as files.
const HEADERS: &str = "include";

/// What every BPF compilation needs. `-fms-extensions` is for full kernel headers.
const FLAGS: [&str; 8] = [
    "-target",
    "bpf",
    "-mcpu=v3",
    "-g",
    "-O2",
    "-Wall",
    "-fms-extensions",
    "-Wno-microsoft-anon-tag",
];

/// The compiler to use: `$CLANG` if set, else clang-19, else the newest from 16 on.
pub fn find() -> Result<PathBuf, String> {
    if let Some(named) = std::env::var_os("CLANG").filter(|v| !v.is_empty()) {
        let path = PathBuf::from(&named);
        return match version(&path) {
            Some(v) if v >= OLDEST => Ok(path),
            Some(v) => Err(format!(
                "CLANG={} is version {v}; BPF needs clang {OLDEST} or later",
                path.display()
            )),
            None => Err(format!("CLANG={} does not run as a clang compiler", path.display())),
        };
    }
    let numbered = |v: u32| PathBuf::from(format!("clang-{v}"));
    let newest_first = (OLDEST..PREFERRED + 20).rev().map(numbered);
    std::iter::once(numbered(PREFERRED))
        .chain(newest_first)
        .chain([PathBuf::from("clang")])
        .find(|path| version(path).is_some_and(|v| v >= OLDEST))
        .ok_or_else(|| format!("no clang {OLDEST} or later was found; {HOW_TO_INSTALL}"))
}

/// Major version of a compiler, `None` if it is none.
fn version(clang: &Path) -> Option<u32> {
    let out = Command::new(clang).arg("--version").output().ok()?;
    parse_version(&String::from_utf8_lossy(&out.stdout))
}

/// From `Debian clang version 19.1.4 (1)` to 19.
fn parse_version(text: &str) -> Option<u32> {
    let (_, rest) = text.split_once("clang version ")?;
    rest.split('.').next()?.parse().ok()
}

/// Runs clang in `dir` with what every BPF compilation needs and `args`.
pub fn run(clang: &Path, dir: &Path, args: &[OsString]) -> std::io::Result<Output> {
    Command::new(clang).current_dir(dir).args(FLAGS).args(args).output()
}

/// For build scripts: compiles `source` in `dir` without warnings, to an object that has BTF but
/// no DWARF. Neither the checkout's path nor the time of day gets into it; `dir` is called
/// `name` there.
pub fn build(
    clang: &Path,
    dir: &Path,
    name: &str,
    args: &[OsString],
    source: &str,
    object: &Path,
) -> Result<(), String> {
    let mut all: Vec<OsString> =
        ["-Wextra", "-Wno-unused-parameter", "-Werror"].map(Into::into).into();
    all.push(format!("-fdebug-compilation-dir={name}").into());
    all.extend(args.iter().cloned());
    all.extend(["-c".into(), source.into(), "-o".into(), object.into()]);
    let done = run(clang, dir, &all).map_err(|e| format!("{}: {e}", clang.display()))?;
    if !done.status.success() {
        return Err(String::from_utf8_lossy(&done.stderr).into_owned());
    }
    strip(clang, object);
    Ok(())
}

/// For build scripts of crates in `crates`: compiles the named `bpf/NAME.bpf.c` of the crate, with
/// the headers of all policies that describe the kernel, into `OUT_DIR`. Where there is no clang, or
/// no headers as in a package, it takes the crate's [`shipped`] objects.
pub fn embed(names: &[&str]) -> Result<(), String> {
    // Where it runs, not where it was compiled: a build directory may be copied to another checkout.
    let here = std::env::var_os("CARGO_MANIFEST_DIR").ok_or("CARGO_MANIFEST_DIR is not set")?;
    let here = Path::new(&here);
    let (sources, headers) = (here.join("bpf"), here.join(HEADERS));
    let headers = headers.canonicalize().map_err(|e| format!("{}: {e}", headers.display()))?;
    let out = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?);
    // Not absolute paths, for the same reason.
    println!("cargo::rerun-if-changed=bpf");
    println!("cargo::rerun-if-changed=objects");
    let of_kernel = ["kernel.bpf.h", "vmlinux.h"];
    for header in of_kernel {
        println!("cargo::rerun-if-changed={HEADERS}/{header}");
    }
    println!("cargo::rerun-if-env-changed=CLANG");

    let mut made_of = files(&sources, "")?;
    made_of.extend(of_kernel.map(|header| headers.join(header)));
    let hash = shipped::hash(&made_of)?;
    write(&out.join("SOURCES"), &hash)?;
    let objects: Vec<String> = names.iter().map(|name| format!("{name}.bpf.o")).collect();
    let clang = match shipped::origin(here)? {
        Origin::Compiled(clang) => clang,
        Origin::Shipped(_) => return shipped::take(here, &objects, &hash, &out),
    };
    let mut map = OsString::from("-ffile-prefix-map=");
    map.push(&headers);
    map.push("=include");
    let include = [map, "-I".into(), headers.into()];
    for (name, object) in names.iter().zip(objects) {
        build(&clang, &sources, "bpf", &include, &format!("{name}.bpf.c"), &out.join(object))?;
    }
    Ok(())
}

/// The files of a directory that end so, by name.
pub fn files(dir: &Path, suffix: &str) -> Result<Vec<PathBuf>, String> {
    let entries = std::fs::read_dir(dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    let mut found: Vec<PathBuf> = entries
        .filter_map(|entry| entry.ok().map(|e| e.path()))
        .filter(|path| path.is_file() && path.to_string_lossy().ends_with(suffix))
        .collect();
    found.sort();
    Ok(found)
}

/// Writes a file of a build script.
pub fn write(path: &Path, text: &str) -> Result<(), String> {
    std::fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()))
}

/// Drops DWARF, which nobody reads, and keeps BTF; without llvm-strip objects are larger.
fn strip(clang: &Path, object: &Path) {
    let name = clang.file_name().unwrap_or_default().to_string_lossy();
    let suffix = name.trim_start_matches("clang");
    for strip in [clang.with_file_name(format!("llvm-strip{suffix}")), "llvm-strip".into()] {
        if Command::new(strip).arg("-g").arg(object).status().is_ok_and(|s| s.success()) {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::parse_version;

    #[test]
    fn version_is_read_from_any_distributions_banner() {
        assert_eq!(parse_version("Debian clang version 19.1.4 (1~deb12u1)\nTarget"), Some(19));
        assert_eq!(parse_version("clang version 16.0.6\n"), Some(16));
        assert_eq!(parse_version("Homebrew clang version 21.1.0"), Some(21));
        assert_eq!(parse_version("gcc (Debian 12.2.0) 12.2.0"), None);
    }
}
