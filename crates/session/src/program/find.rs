// SPDX-License-Identifier: MIT OR Apache-2.0
//! Finds a program as a shell does, and tells programs from policies.

use crate::error::Error;
use crate::nearest;
use crate::object;
use rustix::fs::Access;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

/// `e_machine` of BPF objects.
const EM_BPF: u16 = 247;

/// Whether an entry of a comparison means a program: a file that can be executed, words with blanks
/// between them that are no file's name, or a name in `PATH` that is no policy's. Before a `:` there
/// is a policy.
pub fn is_meant(entry: &str) -> bool {
    let entry = entry.trim();
    let policy = entry.split(':').next().unwrap_or_default().trim();
    if policy.is_empty() || object::is_file_name(policy) || object::is_shipped(policy) {
        return false;
    }
    let path = Path::new(entry);
    if path.exists() {
        return !entry.ends_with(".json") && is_executable(path) && !is_bpf(path);
    }
    let has_words = policy.contains(char::is_whitespace);
    has_words || !entry.contains(['/', ':']) && in_path(OsStr::new(entry)).is_some()
}

/// The file of a program: a path, or a name in `PATH`.
pub fn file(program: &OsStr) -> Result<PathBuf, Error> {
    let shown = program.to_string_lossy();
    let path = match shown.contains('/') {
        true => PathBuf::from(program),
        false => in_path(program).ok_or_else(|| unknown(&shown))?,
    };
    let refused = |why: &dyn std::fmt::Display| Error::input(format!("cannot run {shown}: {why}"));
    let metadata = std::fs::metadata(&path).map_err(|why| refused(&why))?;
    if metadata.is_dir() {
        return Err(refused(&"it is a folder"));
    }
    if !is_executable(&path) {
        return Err(refused(&io::Error::from_raw_os_error(
            rustix::io::Errno::ACCESS.raw_os_error(),
        )));
    }
    if is_bpf(&path) {
        return Err(refused(&format!(
            "a BPF object, expected the program that loads it; rota sim {shown} WORKLOAD.json \
             simulates it without one"
        )));
    }
    Ok(path)
}

fn is_executable(path: &Path) -> bool {
    path.is_file() && rustix::fs::access(path, Access::EXEC_OK).is_ok()
}

/// An ELF file for BPF, of either byte order.
fn is_bpf(path: &Path) -> bool {
    let mut head = [0; 20];
    let read =
        std::fs::File::open(path).and_then(|mut file| io::Read::read_exact(&mut file, &mut head));
    let machine = match head[5] {
        2 => u16::from_be_bytes([head[18], head[19]]),
        _ => u16::from_le_bytes([head[18], head[19]]),
    };
    read.is_ok() && head.starts_with(b"\x7fELF") && machine == EM_BPF
}

fn folders() -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).filter(|folder| !folder.as_os_str().is_empty()).collect()
}

fn in_path(name: &OsStr) -> Option<PathBuf> {
    folders().into_iter().map(|folder| folder.join(name)).find(|path| is_executable(path))
}

fn unknown(name: &str) -> Error {
    let entries = folders().into_iter().filter_map(|folder| std::fs::read_dir(folder).ok());
    let entries = entries.flatten().flatten();
    let names = entries.filter(|entry| is_executable(&entry.path())).map(|e| e.file_name());
    let mut names: Vec<String> =
        names.filter_map(|name| OsString::into_string(name).ok()).collect();
    names.sort_unstable();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let hint = nearest::hint(name, &names);
    Error::input(format!("no program {name} in PATH{hint}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_told_from_a_policy() {
        for program in ["scx_layered f:layers.json", "scx_simple -f", "/bin/true", "true", "'a' b"]
        {
            assert!(is_meant(program), "{program}");
        }
        let policies =
            ["wfq", " wfq : x = 1", "./a.bpf.c:q=1", "my own/b.bpf.o", "", "no_such_word"];
        for policy in policies.into_iter().chain(["load.json", "/bin", "true:q=1", "./nothing"]) {
            assert!(!is_meant(policy), "{policy}");
        }
    }

    #[test]
    fn a_program_that_is_not_there_is_refused_with_the_nearest_one() {
        let refused = |name: &str| file(OsStr::new(name)).expect_err("refused").to_string();
        assert!(
            refused("tru").contains("no program tru in PATH (did you mean"),
            "{}",
            refused("tru")
        );
        assert!(refused("/no/such").starts_with("cannot run /no/such: No such file"));
        assert!(refused("/etc/passwd").contains("Permission denied"), "{}", refused("/etc/passwd"));
        assert!(refused("/bin/").contains("it is a folder"));
        assert_eq!(file(OsStr::new("/bin/true")).expect("there"), Path::new("/bin/true"));
    }

    #[test]
    fn an_object_is_no_program() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("scheduler");
        let object = rota_catalog::find("fifo").expect("ships").object;
        std::fs::write(&path, object).expect("written");
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).expect("changed");
        let name = path.to_str().expect("a name");
        assert!(!is_meant(name));
        let refused = file(path.as_os_str()).expect_err("refused").to_string();
        assert!(refused.contains("a BPF object"), "{refused}");
    }
}
