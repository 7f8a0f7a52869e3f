// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parts of pages that a command writes, between two markers.

use anyhow::{Context, Result};
use std::fs;
use std::path::Path;

const END: &str = "<!-- end -->";

/// Puts a text where the one that `command` wrote before was.
pub fn write(path: &Path, command: &str, text: &str) -> Result<()> {
    let file = path.display();
    let old = fs::read_to_string(path).with_context(|| file.to_string())?;
    let new = replaced(&old, command, text).with_context(|| file.to_string())?;
    fs::write(path, new).with_context(|| file.to_string())
}

/// What `command` wrote.
pub fn written(path: &Path, command: &str) -> Result<String> {
    let file = path.display();
    let page = fs::read_to_string(path).with_context(|| file.to_string())?;
    let (begin, end) = part(&page, command).with_context(|| file.to_string())?;
    Ok(page[begin..end].to_owned())
}

fn replaced(old: &str, command: &str, text: &str) -> Result<String> {
    let (begin, end) = part(old, command)?;
    Ok(format!("{}\n\n{text}\n{}", &old[..begin], &old[end..]))
}

/// Where in the page the text of a command begins and ends.
fn part(page: &str, command: &str) -> Result<(usize, usize)> {
    let marker = format!("<!-- begin: written by `{command}` -->");
    let begin = page.find(&marker).with_context(|| format!("there is no line '{marker}'"))?;
    let begin = begin + marker.len();
    let end = page[begin..].find(END).with_context(|| format!("there is no line '{END}'"))?;
    Ok((begin, begin + end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_command_wrote_is_replaced() {
        let part =
            |by: &str, text: &str| format!("<!-- begin: written by `{by}` -->\n\n{text}\n{END}");
        let page = format!("head\n{}\nbetween\n{}\ntail\n", part("a", "old"), part("b", "old"));
        let new = format!("head\n{}\nbetween\n{}\ntail\n", part("a", "old"), part("b", "new"));
        assert_eq!(replaced(&page, "b", "new").unwrap(), new);
        assert!(replaced(&page, "c", "new").is_err());
        assert!(replaced("<!-- begin: written by `c` -->", "c", "new").is_err());
    }
}
