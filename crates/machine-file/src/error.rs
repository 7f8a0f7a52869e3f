// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is wrong with a description of a machine, and where.

use std::fmt;

/// A machine that cannot be made from what is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineError {
    /// The file or folder, as it was called.
    pub file: String,
    /// 1-based line, where one is known.
    pub line: Option<usize>,
    /// What is wrong, and what is expected.
    pub what: String,
}

impl fmt::Display for MachineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.file, self.what),
            None => write!(f, "{}: {}", self.file, self.what),
        }
    }
}

impl std::error::Error for MachineError {}

impl MachineError {
    pub(crate) fn new(file: &str, what: impl Into<String>) -> Self {
        Self { file: file.to_owned(), line: None, what: what.into() }
    }

    /// At a byte of a text.
    pub(crate) fn at(file: &str, text: &str, offset: usize, what: impl Into<String>) -> Self {
        let before = text.as_bytes().iter().take(offset);
        let line = before.filter(|byte| **byte == b'\n').count() + 1;
        Self { file: file.to_owned(), line: Some(line), what: what.into() }
    }
}
