// SPDX-License-Identifier: MIT OR Apache-2.0
//! The one error: where in the manifest, and what is wrong there.

use std::fmt;

/// A manifest that cannot be used, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct ManifestError {
    /// File as the user named it.
    pub file: String,
    /// 1-based line, where one is known.
    pub line: Option<usize>,
    /// What is wrong: the key, the value, and what was expected.
    pub what: String,
}

impl fmt::Display for ManifestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.file, self.what),
            None => write!(f, "{}: {}", self.file, self.what),
        }
    }
}

/// 1-based line of a byte offset.
pub(crate) fn line_of(text: &str, offset: usize) -> usize {
    let upto = offset.min(text.len());
    text.as_bytes()[..upto].iter().filter(|b| **b == b'\n').count() + 1
}
