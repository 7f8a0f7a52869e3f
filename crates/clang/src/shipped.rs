// SPDX-License-Identifier: MIT OR Apache-2.0
//! Objects that ship with a crate, for build scripts where there is no clang: `objects/NAME.bpf.o`,
//! and `objects/SOURCES`, which says what they were made of.

use crate::{find, FLAGS, HOW_TO_INSTALL};
use std::fs;
use std::path::{Path, PathBuf};

/// Where objects of a crate come from.
#[derive(Debug, PartialEq, Eq)]
pub enum Origin {
    /// This compiler makes them.
    Compiled(PathBuf),
    /// They ship with the crate; why they are not compiled.
    Shipped(String),
}

/// The compiler if there is one, else what ships. A crate of a registry has what was tested before
/// it was published, whatever clang is there; `CLANG` asks for that one nevertheless.
pub fn origin(crate_dir: &Path) -> Result<Origin, String> {
    let named = std::env::var_os("CLANG").is_some_and(|v| !v.is_empty());
    // Cargo puts this file into packages only.
    if !named && crate_dir.join("Cargo.toml.orig").exists() {
        return Ok(Origin::Shipped("the crate is of a registry".into()));
    }
    match find() {
        Ok(clang) => Ok(Origin::Compiled(clang)),
        Err(message) if named => Err(message),
        Err(message) => Ok(Origin::Shipped(message)),
    }
}

/// A hash of how objects are compiled, and of these files' names and contents, as it is in
/// `SOURCES`: against forgetting, not against attacks.
pub fn hash(files: &[PathBuf]) -> Result<String, String> {
    let mut files: Vec<(String, &PathBuf)> = files.iter().map(|path| (name(path), path)).collect();
    files.sort();
    let mut all = FLAGS.join(" ").into_bytes();
    for (name, path) in files {
        let bytes = fs::read(path).map_err(|e| format!("{}: {e}", path.display()))?;
        // So that no end of one file can be the beginning of the next.
        all.extend(format!("\n{name} {}\n", bytes.len()).into_bytes());
        all.extend(bytes);
    }
    Ok(format!("{:016x}\n", fnv_1a(&all)))
}

/// Fowler, Noll and Vo's hash, of 64 bits: as good as needed, in two lines.
fn fnv_1a(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Copies the named objects of a crate to `out`, if they were made of sources with this hash.
pub fn take(crate_dir: &Path, names: &[String], hash: &str, out: &Path) -> Result<(), String> {
    let objects = crate_dir.join("objects");
    let sources = objects.join("SOURCES");
    let of = fs::read_to_string(&sources).map_err(|e| format!("{}: {e}", sources.display()))?;
    if of != hash {
        return Err(format!(
            "{}: the objects are of sources with hash {}, but those here have {}: \
             a change of them needs a compiler; {HOW_TO_INSTALL}",
            sources.display(),
            of.trim_end(),
            hash.trim_end()
        ));
    }
    for name in names {
        let (from, to) = (objects.join(name), out.join(name));
        fs::copy(&from, &to).map_err(|e| format!("{}: {e}", from.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder of a crate that has one object, of sources with this hash.
    fn a_crate(test: &str, of: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("rota-clang-{test}-{}", std::process::id()));
        fs::create_dir_all(folder.join("objects")).unwrap();
        fs::create_dir_all(folder.join("out")).unwrap();
        fs::write(folder.join("objects/SOURCES"), of).unwrap();
        fs::write(folder.join("objects/a.bpf.o"), "an object").unwrap();
        folder
    }

    #[test]
    fn objects_of_the_same_sources_are_taken() {
        let folder = a_crate("same", "0123\n");
        take(&folder, &["a.bpf.o".into()], "0123\n", &folder.join("out")).unwrap();
        assert_eq!(fs::read_to_string(folder.join("out/a.bpf.o")).unwrap(), "an object");
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn objects_of_other_sources_are_refused_with_both_hashes_and_the_remedy() {
        let folder = a_crate("other", "0123\n");
        let error = take(&folder, &["a.bpf.o".into()], "4567\n", &folder.join("out")).unwrap_err();
        for part in ["objects/SOURCES", "0123", "4567", "apt install clang-19"] {
            assert!(error.contains(part), "{part}: {error}");
        }
        assert!(!folder.join("out/a.bpf.o").exists());
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_missing_object_is_named() {
        let folder = a_crate("missing", "0123\n");
        let error = take(&folder, &["b.bpf.o".into()], "0123\n", &folder.join("out")).unwrap_err();
        assert!(error.contains("objects/b.bpf.o: No such file"), "{error}");
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn the_hash_is_of_names_and_contents_in_any_order() {
        let folder = a_crate("hash", "x");
        let [a, b] = ["objects/SOURCES", "objects/a.bpf.o"].map(|file| folder.join(file));
        let first = hash(&[a.clone(), b.clone()]).unwrap();
        assert_eq!(first, hash(&[b.clone(), a.clone()]).unwrap());
        fs::rename(&b, folder.join("objects/b.bpf.o")).unwrap();
        assert_ne!(first, hash(&[a.clone(), folder.join("objects/b.bpf.o")]).unwrap());
        fs::write(&b, "an objecu").unwrap();
        assert_ne!(first, hash(&[a, b]).unwrap());
        fs::remove_dir_all(folder).unwrap();
    }

    /// Values of draft-eastlake-fnv, appendix C.
    #[test]
    fn the_hash_is_fnv_1a() {
        assert_eq!(fnv_1a(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv_1a(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv_1a(b"foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn a_crate_of_a_registry_has_its_objects() {
        let folder = a_crate("registry", "x");
        fs::write(folder.join("Cargo.toml.orig"), "").unwrap();
        if std::env::var_os("CLANG").is_none() {
            let origin = origin(&folder).unwrap();
            assert_eq!(origin, Origin::Shipped("the crate is of a registry".into()));
        }
        fs::remove_dir_all(folder).unwrap();
    }
}
