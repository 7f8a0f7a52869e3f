// SPDX-License-Identifier: MIT OR Apache-2.0
//! The choices of a run, in order, and their text.
//!
//! ```text
//! rota.choices/1
//! # any number of comments
//! start 0 0x00f3a1c2b4d59687     a random number, with what it is for
//! first-cpu 2 of 4               the chosen alternative, and how many there were
//! event 0 of 5..2                the same of 5, of 4, of 3 and of 2 alternatives
//! end
//! ```
//!
//! Alternatives count from the documented one, so 0 is what happens if nobody shuffles ties. Most
//! of an instant's choices are like that, and share a line.

use crate::site::{Origin, Site};
use std::fmt;

/// First line of the text.
pub(crate) const HEADER: &str = "rota.choices/1";
/// Last line: what is cut off shall be noticed.
pub(crate) const END: &str = "end";

/// One line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    /// The alternative so many places after the documented one, among so many; the documented one
    /// also among each smaller number down to `least`.
    Chosen { site: Site, places: u32, count: u32, least: u32 },
    /// A random number.
    Drawn { origin: Origin, number: u64 },
}

/// The choices of a run. As text it is a file for people and programs; [`Recording::parse`] reads
/// that.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    pub(crate) comments: Vec<String>,
    pub(crate) entries: Vec<Entry>,
}

impl Recording {
    /// Puts a comment on top, a line for each of the text.
    #[must_use]
    pub fn with_comment(mut self, text: &str) -> Self {
        self.comments.extend(text.lines().map(|line| format!(" {line}")));
        self
    }

    /// Line of an entry, or of what follows the last one.
    pub(crate) fn line(&self, entry: usize) -> u64 {
        (2 + self.comments.len() + entry) as u64
    }

    pub(crate) fn push_chosen(&mut self, site: Site, places: u32, count: u32) {
        if let Some(Entry::Chosen { site: last, places: 0, least, .. }) = self.entries.last_mut() {
            if places == 0 && *last == site && *least - 1 == count {
                *least = count;
                return;
            }
        }
        self.entries.push(Entry::Chosen { site, places, count, least: count });
    }

    pub(crate) fn push_drawn(&mut self, origin: Origin, number: u64) {
        self.entries.push(Entry::Drawn { origin: origin.recorded(), number });
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Entry::Chosen { site, places, count, least } if count == least => {
                write!(f, "{site} {places} of {count}")
            }
            Entry::Chosen { site, places, count, least } => {
                write!(f, "{site} {places} of {count}..{least}")
            }
            Entry::Drawn { origin, number } => {
                write!(f, "{origin} 0x{number:0digits$x}", digits = digits(origin))
            }
        }
    }
}

/// Hexadecimal digits of a number: always as many, so that one that is cut off is noticed.
pub(crate) fn digits(origin: Origin) -> usize {
    origin.bits() as usize / 4
}

impl fmt::Display for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{HEADER}")?;
        self.comments.iter().try_for_each(|comment| writeln!(f, "#{comment}"))?;
        self.entries.iter().try_for_each(|entry| writeln!(f, "{entry}"))?;
        writeln!(f, "{END}")
    }
}
