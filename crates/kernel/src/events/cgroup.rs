// SPDX-License-Identifier: MIT OR Apache-2.0
//! A cgroup v2 by its folder.

use super::error::RecordError;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// `CGROUP2_SUPER_MAGIC` and `CGROUP_SUPER_MAGIC` (`include/uapi/linux/magic.h`).
const VERSION_2: u64 = 0x6367_7270;
const VERSION_1: u64 = 0x0027_e0eb;

/// A cgroup v2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cgroup {
    id: u64,
}

impl Cgroup {
    /// The cgroup of a folder, given by its path, or from the root of the cgroups on: `/web` and
    /// `web` may be `/sys/fs/cgroup/web`.
    pub fn find(path: &Path) -> Result<Self, RecordError> {
        let error = |why: String| RecordError::Cgroup { path: path.display().to_string(), why };
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let root = root(&mounts);
        let folder = match kind(path) {
            Ok(VERSION_2) => path.to_path_buf(),
            Ok(VERSION_1) => return Err(error("a cgroup v1: expected a cgroup v2".into())),
            _ => {
                let root = root.ok_or_else(|| error("no cgroup v2 is mounted here".into()))?;
                root.join(path.strip_prefix("/").unwrap_or(path))
            }
        };
        match kind(&folder) {
            Ok(VERSION_2) => {}
            Ok(_) => return Err(error(format!("{} is no cgroup", folder.display()))),
            Err(e) => {
                return Err(error(format!("no such cgroup: {}: {e}", folder.display())));
            }
        }
        let data = std::fs::metadata(&folder).map_err(|e| error(e.to_string()))?;
        if !data.is_dir() {
            return Err(error("a file: expected the folder of a cgroup".into()));
        }
        // The number of a folder in kernfs is the id of its cgroup (`kernfs_ino()` of 64 bits).
        Ok(Self { id: data.ino() })
    }

    /// The kernel's number of it.
    pub(crate) fn id(self) -> u64 {
        self.id
    }
}

/// The kind of file system that a path is on.
fn kind(path: &Path) -> std::io::Result<u64> {
    Ok(rustix::fs::statfs(path)?.f_type as u64)
}

/// Where cgroups v2 are mounted, by the lines of `/proc/self/mountinfo` (proc_pid_mountinfo(5)).
fn root(mounts: &str) -> Option<PathBuf> {
    let mut found = mounts.lines().filter_map(|line| {
        let (mount, of) = line.split_once(" - ")?;
        (of.split(' ').next()? == "cgroup2").then(|| mount.split(' ').nth(4))?
    });
    found.next().map(|path| PathBuf::from(unescaped(path)))
}

/// Blanks and the like are `\\040` there.
fn unescaped(path: &str) -> String {
    let mut text = String::new();
    let mut rest = path;
    while let Some((before, after)) = rest.split_once('\\') {
        text.push_str(before);
        let code = after.get(..3).and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match code {
            Some(code) => text.push(char::from(code)),
            None => text.push('\\'),
        }
        rest = if code.is_some() { &after[3..] } else { after };
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_is_the_first_mount_of_version_2() {
        let mounts = "25 30 0:23 / /sys/fs/cgroup rw,relatime shared:9 - tmpfs tmpfs rw
26 25 0:24 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu
27 25 0:25 / /sys/fs/my\\040cgroup rw shared:4 - cgroup2 cgroup2 rw
28 25 0:25 / /other rw - cgroup2 cgroup2 rw
";
        assert_eq!(root(mounts), Some("/sys/fs/my cgroup".into()));
        assert_eq!(root("25 30 0:23 / /sys rw - tmpfs tmpfs rw\nx\n"), None);
        assert_eq!(unescaped("a\\134b\\9"), "a\\b\\9");
    }

    #[test]
    fn a_folder_that_is_no_cgroup_is_refused() {
        let error = |path: &str| Cgroup::find(Path::new(path)).unwrap_err().to_string();
        assert!(error("/no/such/cgroup").starts_with("/no/such/cgroup: "));
    }
}
