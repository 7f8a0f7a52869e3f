// SPDX-License-Identifier: MIT OR Apache-2.0
//! Failures as GitHub shows them, at the line of the suite: workflow commands on standard output.

use crate::output::plain::plain;
use crate::suite::Checked;
use std::io::{self, Write};

/// An annotation for each failure.
pub(crate) fn annotations(out: &mut dyn Write, file: &str, all: &[Checked]) -> io::Result<()> {
    for checked in all.iter().filter(|checked| checked.failed) {
        let Checked { policy, condition, seen, command, .. } = checked;
        let title = property(&format!("{}: {policy}", checked.test));
        let text = format!("{}: {condition}: {seen}", checked.place());
        let text = format!("{}%0A{}", data(&text), data(command));
        let (file, line) = (property(file), checked.line);
        writeln!(out, "::error file={file},line={line},title={title}::{text}")?;
    }
    Ok(())
}

/// As the runner reads the text of a command; other control characters are none that it reads.
fn data(text: &str) -> String {
    plain(text).replace('%', "%25")
}

/// As it reads a property.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_property_has_nothing_that_ends_it() {
        assert_eq!(property("a:b,c%\n::error::"), "a%3Ab%2Cc%25\\n%3A%3Aerror%3A%3A");
        assert_eq!(data("5% of a:b"), "5%25 of a:b");
    }
}
