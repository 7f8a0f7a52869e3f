// SPDX-License-Identifier: MIT OR Apache-2.0
//! The text of a JSON file with other strings in it.

/// The text with its strings replaced by these, in their order, and without comments.
pub(super) fn with(text: &str, strings: &[String]) -> String {
    let mut rest = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut strings = strings.iter();
    let mut new = String::with_capacity(text.len());
    while let Some(at) = rest.find(['"', '/']) {
        new.push_str(&rest[..at]);
        rest = &rest[at..];
        if rest.starts_with('"') {
            rest = &rest[string_len(rest)..];
            quoted(strings.next().map_or("", String::as_str), &mut new);
        } else {
            rest = &rest[comment_len(rest)..];
            if rest.starts_with(['\n', '\r']) {
                new.truncate(new.trim_end_matches([' ', '\t']).len());
                // The line of a comment that stood alone goes, too.
                if new.is_empty() || new.ends_with('\n') {
                    rest = rest.trim_start_matches('\r');
                    rest = rest.strip_prefix('\n').unwrap_or(rest);
                }
            }
        }
    }
    new.push_str(rest);
    new
}

/// Bytes of the string that a text begins with, with its quotes.
fn string_len(text: &str) -> usize {
    let mut escaped = false;
    let end = text.bytes().skip(1).position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    });
    end.map_or(text.len(), |end| end + 2)
}

/// Bytes of the comment that a text begins with, without the end of its line.
fn comment_len(text: &str) -> usize {
    let end = match text.starts_with("/*") {
        true => text[2..].find("*/").map(|end| end + 4),
        false => text.find(['\n', '\r']),
    };
    end.unwrap_or(text.len())
}

fn quoted(string: &str, new: &mut String) {
    new.push('"');
    for c in string.chars() {
        match c {
            '"' => new.push_str("\\\""),
            '\\' => new.push_str("\\\\"),
            c if c < ' ' => new.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => new.push(c),
        }
    }
    new.push('"');
}
