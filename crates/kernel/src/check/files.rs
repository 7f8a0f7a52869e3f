// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files of the machine, below a directory that tests choose.

use std::io;
use std::path::{Path, PathBuf};

/// The directory that stands for `/`.
pub(super) struct Root(PathBuf);

impl Root {
    pub(super) fn new(at: &Path) -> Self {
        Self(at.to_path_buf())
    }

    /// Where a file is; `path` begins with `/`.
    pub(super) fn path(&self, path: &str) -> PathBuf {
        self.0.join(path.trim_start_matches('/'))
    }

    pub(super) fn exists(&self, path: &str) -> bool {
        self.path(path).exists()
    }

    /// A text without blanks around it.
    pub(super) fn text(&self, path: &str) -> io::Result<String> {
        Ok(self.lossy(path)?.trim().to_owned())
    }

    fn lossy(&self, path: &str) -> io::Result<String> {
        Ok(String::from_utf8_lossy(&self.bytes(path)?).into_owned())
    }

    pub(super) fn bytes(&self, path: &str) -> io::Result<Vec<u8>> {
        std::fs::read(self.path(path))
    }

    /// The value of a `key: value` line.
    pub(super) fn value(&self, path: &str, key: &str) -> Option<String> {
        let text = self.lossy(path).ok()?;
        let mut lines = text.lines().filter_map(|line| line.split_once(':'));
        lines.find(|(k, _)| *k == key).map(|(_, value)| value.trim().to_owned())
    }
}
