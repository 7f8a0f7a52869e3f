// SPDX-License-Identifier: MIT OR Apache-2.0
//! A workload file with other names: what it does stays, what it tells of people and computers goes.
//!
//! The file is taken apart by the grammar. A text is kept where only words of the grammar or numbers
//! can stand; every other text is a name, and gets another one, everywhere the same.

mod names;
mod text;
mod walk;

use crate::error::WorkloadError;
use crate::json;
use crate::parse::parse_with;
use walk::Walk;

/// What stands at the top in place of the comments.
const TOP: &str = "/* Names were replaced. */\n";

/// The text of the same workload with other names and without comments. Numbers, order and layout
/// stay, so that a simulation differs in names only.
///
/// Tasks of one kind, `gzip-812` and `gzip-813` for instance, are `process-1-1` and `process-1-2`
/// then; threads of theirs `process-1/thread-1-1`. Names that a scheduler's own variables, maps and
/// programs have are kept: they are the scheduler's.
///
/// # Errors
///
/// If the text is no workload, or it names another file, which has its own name and content:
/// a list of arrivals, or a machine's file.
pub fn anonymise(file_name: &str, text: &str) -> Result<String, WorkloadError> {
    let at_fault = |at: json::Pos, message: String| WorkloadError {
        file: file_name.to_owned(),
        line: at.line,
        column: at.column,
        task: None,
        phase: None,
        message,
    };
    let root = json::parse(text).map_err(|e| at_fault(e.at, e.message))?;
    // What would be read from other files does not matter: they are refused below.
    parse_with(file_name, text, &|_| Ok(String::new()))?;
    let mut walk = Walk::new(&root);
    walk.file(&root).map_err(|refused| at_fault(refused.at, refused.why))?;
    Ok(format!("{TOP}{}", text::with(text, &walk.strings)))
}

#[cfg(test)]
mod tests;
