// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where headers usually are that sched_ext sources include and do not bring.

use std::path::{Path, PathBuf};

/// Folders of headers, below one that a source is in.
const BELOW: [&str; 5] = ["include", "scheds/include", "tools/sched_ext/include", "bpf_h", ""];
/// Folders above the source that are looked at, with its own.
const ABOVE: usize = 5;

/// The folder that has a header, `scx/common.bpf.h`: near the source, in the system's folders, or of
/// a crate that cargo fetched.
pub fn folder_of(header: &str, source: &Path) -> Option<PathBuf> {
    let near = source.ancestors().skip(1).take(ABOVE);
    let near = near.flat_map(|folder| BELOW.map(|below| folder.join(below)));
    let mut all: Vec<PathBuf> = near.collect();
    all.extend(["/usr/include", "/usr/local/include", "/usr/share/scx/include"].map(PathBuf::from));
    all.extend(newest_first(Path::new("/usr/src"), "").map(|s| s.join("tools/sched_ext/include")));
    let home = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cargo"));
    if let Some(cargo) = std::env::var_os("CARGO_HOME").map(PathBuf::from).or(home) {
        for registry in newest_first(&cargo.join("registry/src"), "") {
            for krate in ["scx_cargo-", "scx_utils-"] {
                all.extend(newest_first(&registry, krate).map(|found| found.join("bpf_h")));
            }
        }
    }
    all.into_iter().find(|folder| folder.join(header).is_file())
}

/// Where a distribution has `asm/types.h` for a target that clang does not know.
pub fn multiarch() -> Vec<PathBuf> {
    let named = |arch: &str| PathBuf::from(format!("/usr/include/{arch}-linux-gnu"));
    ["x86_64", "aarch64", "riscv64"].map(named).into_iter().filter(|dir| dir.is_dir()).collect()
}

/// Folders in a folder whose names begin so, the last name first.
fn newest_first(folder: &Path, prefix: &str) -> impl Iterator<Item = PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let fits = |name: &std::ffi::OsStr| name.to_string_lossy().starts_with(prefix);
    let mut found: Vec<PathBuf> =
        entries.filter(|entry| fits(&entry.file_name())).map(|entry| entry.path()).collect();
    found.sort();
    found.into_iter().rev()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_near_the_source_are_found() {
        let scratch = tempfile::tempdir().expect("temporary folder");
        let at = |path: &str| scratch.path().join(path);
        for folder in ["scheds/include/scx", "scheds/rust/mine/src/bpf"] {
            std::fs::create_dir_all(at(folder)).expect("folder");
        }
        std::fs::write(at("scheds/include/scx/for_test_only.bpf.h"), "").expect("file");
        let source = at("scheds/rust/mine/src/bpf/main.bpf.c");
        let found = folder_of("scx/for_test_only.bpf.h", &source);
        assert_eq!(found, Some(at("scheds/include")));
        assert_eq!(folder_of("scx/not_there.bpf.h", &source), None);
    }
}
