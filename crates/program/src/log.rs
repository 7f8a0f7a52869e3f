// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the program prints.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::process::Stdio;

/// How much of the end of its output an error shows.
const SHOWN_LINES: usize = 10;
const SHOWN_BYTES: u64 = 4096;

/// A file that takes its output.
pub(crate) struct Log {
    file: File,
}

impl Log {
    /// At a path, or in a file without a name.
    pub(crate) fn create(path: Option<&Path>) -> io::Result<Self> {
        let file = match path {
            Some(path) => {
                File::options().read(true).write(true).create(true).truncate(true).open(path)?
            }
            None => tempfile::tempfile()?,
        };
        Ok(Self { file })
    }

    /// The same file, for another program.
    pub(crate) fn share(&self) -> io::Result<Self> {
        Ok(Self { file: self.file.try_clone()? })
    }

    /// For its output and its errors, which share a position in the file.
    pub(crate) fn output(&self) -> io::Result<Stdio> {
        Ok(self.file.try_clone()?.into())
    }

    /// The last lines, with a heading; nothing if there are none.
    pub(crate) fn end(&self) -> String {
        match self.last_lines() {
            Ok(lines) if !lines.is_empty() => format!("\nThe end of its output:\n{lines}"),
            _ => String::new(),
        }
    }

    /// The first line that is not empty.
    pub(crate) fn first_line(&self) -> Option<String> {
        let mut file = &self.file;
        file.rewind().ok()?;
        let mut bytes = Vec::new();
        file.take(SHOWN_BYTES).read_to_end(&mut bytes).ok()?;
        let text = String::from_utf8_lossy(&bytes);
        text.lines().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned)
    }

    fn last_lines(&self) -> io::Result<String> {
        let mut file = &self.file;
        let len = file.metadata()?.len();
        file.seek(SeekFrom::Start(len.saturating_sub(SHOWN_BYTES)))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        let last = &lines[lines.len().saturating_sub(SHOWN_LINES)..];
        Ok(last.iter().map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n"))
    }
}
