// SPDX-License-Identifier: MIT OR Apache-2.0
//! Hashes the source of this crate and of all of Rota's that it uses: whatever decides about a run is
//! in there, or in Cargo.lock. Two builds of the same source have the same results, so a hash of the
//! executable would tell apart what is the same.

use std::collections::BTreeSet;
use std::fs;
use std::hash::{DefaultHasher, Hasher};
use std::path::{Path, PathBuf};

fn main() {
    let own = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let crates = own.parent().expect("a folder of crates").to_owned();
    let (mut all, mut next) = (BTreeSet::new(), vec![own]);
    while let Some(folder) = next.pop() {
        if all.insert(folder.clone()) {
            let used = uses(&folder.join("Cargo.toml")).into_iter().map(|name| crates.join(name));
            // A package of a registry is by itself: the versions of the others say what they are.
            next.extend(used.filter(|folder| folder.is_dir()));
        }
    }
    let mut hash = DefaultHasher::new();
    for folder in all {
        let folder = folder.join("src");
        println!("cargo::rerun-if-changed={}", folder.display());
        add(&mut hash, &crates, &folder);
    }
    let lock = crates.join("../Cargo.lock");
    if lock.is_file() {
        println!("cargo::rerun-if-changed={}", lock.display());
        add(&mut hash, &crates, &lock);
    }
    println!("cargo::rustc-env=ROTA_SOURCE={:016x}", hash.finish());
}

/// The folders of the crates that a manifest names, but for those of tests alone.
fn uses(manifest: &Path) -> Vec<String> {
    println!("cargo::rerun-if-changed={}", manifest.display());
    let text = fs::read_to_string(manifest).expect("a manifest");
    let lines = text.lines().skip_while(|line| *line != "[dependencies]").skip(1);
    let own = lines.take_while(|line| !line.starts_with('['));
    let names = own.filter_map(|line| line.strip_prefix("rota-")?.split([' ', '.', '=']).next());
    names.map(str::to_owned).collect()
}

/// Adds a file, or all of a folder, in order.
fn add(hash: &mut DefaultHasher, root: &Path, path: &Path) {
    if path.is_dir() {
        let entries = fs::read_dir(path).expect("a folder").map(|entry| entry.expect("an entry"));
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        paths.sort();
        paths.iter().for_each(|path| add(hash, root, path));
        return;
    }
    let name = path.strip_prefix(root).unwrap_or(path).to_string_lossy();
    let bytes = fs::read(path).expect("a file");
    for part in [name.as_bytes(), &bytes] {
        hash.write_usize(part.len());
        hash.write(part);
    }
}
