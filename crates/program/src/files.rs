// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files that the program finds in place of the computer's: those below `/sys`, most below `/proc`,
//! and the kernel's configuration.

use crate::cgroups;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// What a path means.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Rota's answer: here, if it is there.
    Played(PathBuf),
    /// The processor times of the simulated machine, which change.
    ProcStat,
    /// Time since the start of the simulated machine.
    Uptime,
    /// The tasks of a cgroup, which come and go; only its processes, if so asked.
    Members { group: String, processes: bool, file: PathBuf },
    /// Where programs put sockets and locks: a folder that takes them and shows nothing.
    Run,
    /// The computer's file.
    Own,
}

/// A tree of real files, which the program can only read.
pub(crate) struct Files {
    root: PathBuf,
}

impl Files {
    /// Writes the tree below `root`.
    pub(crate) fn write(root: &Path, files: &[(String, Vec<u8>)]) -> io::Result<Self> {
        // as the kernel spells the paths of open files
        let tree = Self { root: root.canonicalize()? };
        files.iter().try_for_each(|(path, bytes)| tree.add(path, bytes))?;
        Ok(tree)
    }

    /// Writes a file of the tree, and what folders it needs.
    pub(crate) fn add(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        let path = below(&self.root, path);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(path, bytes)
    }

    /// Has these files in place of all that folders had. Those that the program has open stay as
    /// they are.
    pub(crate) fn replace(&self, folders: &[&str], files: &[(String, String)]) -> io::Result<()> {
        folders.iter().try_for_each(|folder| self.remove(folder))?;
        files.iter().try_for_each(|(path, text)| self.add(path, text.as_bytes()))
    }

    /// Removes a folder, if it is there.
    pub(crate) fn remove(&self, folder: &str) -> io::Result<()> {
        match fs::remove_dir_all(below(&self.root, folder)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// The program's name of a file that it has open, if that is of the tree.
    pub(crate) fn shown_name(&self, open: &Path) -> Option<Vec<u8>> {
        let inside = open.strip_prefix(&self.root).ok()?;
        Some([b"/", inside.as_os_str().as_bytes()].concat())
    }

    /// An absolute path of the program, however it is spelt.
    pub(crate) fn name_of(path: &[u8]) -> Option<String> {
        normal(path)
    }

    /// What an absolute path of the program means.
    pub(crate) fn place(&self, path: &[u8]) -> Place {
        let Some(path) = normal(path) else { return Place::Own };
        let starts = |with: &str| {
            path.strip_prefix(with).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        match path.as_str() {
            "/proc/stat" => Place::ProcStat,
            "/proc/uptime" => Place::Uptime,
            "/proc/self/cgroup" | "/proc/self/mounts" => Place::Played(below(&self.root, &path)),
            _ if starts("/proc/self") || starts("/proc/thread-self") => Place::Own,
            _ if starts("/run") || starts("/var/run") => Place::Run,
            _ if starts("/sys") || starts("/proc") || path.starts_with("/boot/config-") => {
                let file = below(&self.root, &path);
                match cgroups::members_of(&path) {
                    Some((group, processes)) => Place::Members { group, processes, file },
                    None => Place::Played(file),
                }
            }
            _ => Place::Own,
        }
    }
}

fn below(root: &Path, path: &str) -> PathBuf {
    root.join(path.trim_start_matches('/'))
}

/// An absolute path without `.`, `..` and empty parts; `None` if it is relative or no text.
fn normal(path: &[u8]) -> Option<String> {
    let path = OsStr::from_bytes(path).to_str()?;
    let mut parts = Vec::new();
    for part in path.strip_prefix('/')?.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    Some(format!("/{}", parts.join("/")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_is_played_and_the_program_itself_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let files = Files::write(folder.path(), &[("/sys/a/b".into(), b"1\n".to_vec())]).unwrap();
        let root = folder.path().canonicalize().unwrap();
        let played = |path: &str| Place::Played(root.join(path));
        assert_eq!(files.shown_name(&root.join("sys/a")), Some(b"/sys/a".to_vec()));
        assert_eq!(files.shown_name(Path::new("/sys/a")), None, "the computer's own");
        assert_eq!(files.place(b"/sys/a/b"), played("sys/a/b"));
        assert_eq!(files.place(b"//sys/./x/../a/b"), played("sys/a/b"), "however it is spelt");
        assert_eq!(files.place(b"/proc/self/maps"), Place::Own);
        assert_eq!(files.place(b"/proc/self/../1/status"), played("proc/1/status"));
        assert_eq!(files.place(b"/proc/self/cgroup"), played("proc/self/cgroup"));
        assert_eq!(files.place(b"/proc/stat"), Place::ProcStat);
        assert_eq!(files.place(b"/var/run/scx/root/stats"), Place::Run);
        assert_eq!(files.place(b"/system/x"), Place::Own);
        assert_eq!(files.place(b"sys/a/b"), Place::Own);
        assert_eq!(fs::read(folder.path().join("sys/a/b")).unwrap(), b"1\n");
    }
}
