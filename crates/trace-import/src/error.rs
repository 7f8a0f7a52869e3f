// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is wrong with a trace, and where.

use std::fmt;
use std::io;

/// A place in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The file as a whole.
    File,
    /// Bytes from its begin.
    Byte(u64),
    /// A line of it, counted from 1.
    Line(u64),
}

/// A trace that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportError {
    /// The file, as the user named it.
    pub file: String,
    /// Where it is wrong.
    pub place: Place,
    /// What is there, and what was expected.
    pub what: String,
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, place, what } = self;
        match place {
            Place::File => write!(f, "{file}: {what}"),
            Place::Byte(at) => write!(f, "{file}: byte {at}: {what}"),
            Place::Line(line) => write!(f, "{file}:{line}: {what}"),
        }
    }
}

impl std::error::Error for ImportError {}

/// An error of a file that needs no name yet.
#[derive(Debug)]
pub(crate) struct Fault {
    place: Place,
    what: String,
}

impl Fault {
    pub(crate) fn file(what: impl Into<String>) -> Self {
        Self { place: Place::File, what: what.into() }
    }

    pub(crate) fn byte(at: u64, what: impl Into<String>) -> Self {
        Self { place: Place::Byte(at), what: what.into() }
    }

    pub(crate) fn line(line: u64, what: impl Into<String>) -> Self {
        Self { place: Place::Line(line), what: what.into() }
    }

    pub(crate) fn of(self, file: &str) -> ImportError {
        ImportError { file: file.to_owned(), place: self.place, what: self.what }
    }
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Self::file(error.to_string())
    }
}
