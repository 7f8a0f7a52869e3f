// SPDX-License-Identifier: MIT OR Apache-2.0
//! A file tree that may be anybody's: regular files are read, up to a size.

use crate::numbers::{list, mask, Numbers, BEYOND};
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// Most bytes of one file: a mask of all CPUs that Linux can have takes 2304.
const LARGEST: u64 = 1 << 16;

/// Files below a folder.
pub(super) struct Tree {
    root: PathBuf,
}

impl Tree {
    pub(super) fn new(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// The first line of a file without the space around it.
    pub(super) fn text(&self, path: &str) -> Option<String> {
        let text = self.whole(path)?;
        let line = text.lines().next().unwrap_or_default();
        Some(line.replace(char::is_control, " ").trim().to_owned())
    }

    /// The text of a file; `None` if it cannot be read.
    pub(super) fn whole(&self, path: &str) -> Option<String> {
        let path = self.root.join(path);
        // A pipe would be waited for.
        path.metadata().ok().filter(|file| file.is_file())?;
        let mut text = String::new();
        File::open(path).ok()?.take(LARGEST).read_to_string(&mut text).ok()?;
        Some(text)
    }

    /// The number in a file.
    pub(super) fn number<T: std::str::FromStr>(&self, path: &str) -> Option<T> {
        self.text(path)?.parse().ok()
    }

    /// CPUs by the first of these that is there: each a list, or a mask if it has no such name.
    pub(super) fn cpus(&self, folder: &str, names: &[&str]) -> Option<Numbers> {
        names.iter().find_map(|name| {
            let text = self.text(&format!("{folder}/{name}"))?;
            let all = if name.ends_with("list") { list(&text) } else { mask(&text) };
            all.filter(|all| !all.is_empty())
        })
    }

    /// Numbers of the folders that are called like this: `cpu7`.
    pub(super) fn numbered(&self, folder: &str, prefix: &str) -> Numbers {
        let entries = std::fs::read_dir(self.root.join(folder)).into_iter().flatten().flatten();
        let number = |entry: std::fs::DirEntry| {
            let digits = entry.file_name().to_str()?.strip_prefix(prefix)?.to_owned();
            let all_digits = digits.bytes().all(|byte| byte.is_ascii_digit());
            let number = digits.parse().ok().filter(|number| *number < BEYOND);
            number.filter(|_| all_digits && entry.path().is_dir())
        };
        entries.filter_map(number).collect()
    }
}
