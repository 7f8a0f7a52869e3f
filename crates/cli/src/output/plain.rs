// SPDX-License-Identifier: MIT OR Apache-2.0
//! Text for people without what a terminal obeys. Names of tasks, symbols and files are foreign:
//! in one, ESC would colour the terminal or rename its window, a new line would forge a row.

use std::borrow::Cow;
use std::fmt;
use std::fmt::Write as _;
use std::io::{self, StdoutLock, Write};

/// Control characters, and those that break lines or turn the direction of writing.
fn is_obeyed(c: char) -> bool {
    let turns = matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') || turns
}

fn escape(text: &str, is_kept: impl Fn(char) -> bool) -> Cow<'_, str> {
    let is_bad = |c: char| is_obeyed(c) && !is_kept(c);
    if !text.contains(is_bad) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            c if !is_bad(c) => escaped.push(c),
            '\n' => escaped.push_str("\\n"),
            '\r' => escaped.push_str("\\r"),
            '\t' => escaped.push_str("\\t"),
            '\u{1b}' => escaped.push_str("\\x1b"),
            // Writing to a string does not fail.
            c => drop(write!(escaped, "\\u{{{:x}}}", u32::from(c))),
        }
    }
    Cow::Owned(escaped)
}

/// Text that stays on its line: `\n`, `\x1b`, `\u{85}` where such a character is.
pub(crate) fn plain(text: &str) -> Cow<'_, str> {
    escape(text, |_| false)
}

/// The same of text that has lines, as a compiler's messages.
pub(crate) fn plain_lines(text: &str) -> Cow<'_, str> {
    escape(text, |c| c == '\n')
}

/// Where text for people goes. What `write!` and `writeln!` make of one format is one line, with
/// empty ones around it perhaps: it is escaped but for new lines at its ends. Bytes, as of JSON and
/// CSV, which have rules of their own, pass as they are.
pub(crate) struct Text<W>(pub(crate) W);

/// Standard output.
pub(crate) fn stdout() -> Text<StdoutLock<'static>> {
    Text(io::stdout().lock())
}

impl<W: Write> Write for Text<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn write_fmt(&mut self, format: fmt::Arguments<'_>) -> io::Result<()> {
        let text = format.to_string();
        let begin = text.len() - text.trim_start_matches('\n').len();
        let (before, rest) = text.split_at(begin);
        let (line, after) = rest.split_at(rest.trim_end_matches('\n').len());
        // At once, as somebody may read lines while they are written.
        self.0.write_all([before, &plain(line), after].concat().as_bytes())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Text with many such characters.
    fn hostile() -> impl Strategy<Value = String> {
        let bad = any::<u32>().prop_map(|n| {
            let all = (0..0x20).chain(0x7f..0xa0).chain(0x2028..0x202f).chain(0x2066..0x206a);
            let all: Vec<u32> = all.collect();
            char::from_u32(all[n as usize % all.len()]).unwrap_or('\n')
        });
        let any = prop_oneof![bad, any::<char>()];
        proptest::collection::vec(any, 0..20).prop_map(|chars| chars.into_iter().collect())
    }

    proptest! {
        #[test]
        fn nothing_that_a_terminal_obeys_is_left(text in hostile()) {
            prop_assert!(!plain(&text).contains(is_obeyed));
            let lines = plain_lines(&text);
            prop_assert!(!lines.contains(|c| is_obeyed(c) && c != '\n'));
            prop_assert_eq!(lines.split('\n').count(), text.split('\n').count());
        }

        #[test]
        fn other_text_is_as_it_was(text in hostile()) {
            let text = text.replace(is_obeyed, "");
            prop_assert!(matches!(plain(&text), Cow::Borrowed(same) if same == text));
        }

        #[test]
        fn escaped_text_is_not_escaped_again(text in hostile()) {
            let once = plain(&text).into_owned();
            prop_assert_eq!(plain(&once), once.as_str());
        }

        #[test]
        fn what_is_written_is_one_line(text in hostile()) {
            let mut out = Text(Vec::new());
            writeln!(out, "\na {text} b\n").expect("written");
            let written = String::from_utf8(out.0).expect("text");
            prop_assert_eq!(written, format!("\na {} b\n\n", plain(&text)));
        }
    }

    #[test]
    fn escapes_look_as_in_sources() {
        let text = "a\n\t\r\u{1b}[31m\0\u{7f}\u{85}\u{2028}\u{202e}ü";
        assert_eq!(plain(text), "a\\n\\t\\r\\x1b[31m\\u{0}\\u{7f}\\u{85}\\u{2028}\\u{202e}ü");
        assert_eq!(plain_lines("a\n\tb"), "a\n\\tb");
    }

    #[test]
    fn bytes_pass_as_they_are() {
        let mut out = Text(Vec::new());
        out.write_all(b"a\x1b\nb").expect("written");
        assert_eq!(out.0, b"a\x1b\nb");
    }
}
