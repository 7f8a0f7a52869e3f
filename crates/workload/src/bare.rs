// SPDX-License-Identifier: MIT OR Apache-2.0
//! A workload file without what only its readers see: comments and blanks.

/// The text without comments, and without blanks outside strings. Two files whose bare texts are
/// equal describe the same load. Text that is not JSON is cut down in the same way.
pub fn bare(text: &str) -> String {
    let mut bare = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let (kept, skipped) = match first {
            '"' => (string_len(rest), 0),
            '/' if rest.starts_with("//") => (0, rest.find('\n').unwrap_or(rest.len())),
            '/' if rest.starts_with("/*") => {
                (0, rest[2..].find("*/").map_or(rest.len(), |end| end + 4))
            }
            ' ' | '\t' | '\r' | '\n' => (0, 1),
            other => (other.len_utf8(), 0),
        };
        bare.push_str(&rest[..kept]);
        rest = &rest[kept + skipped..];
    }
    bare
}

/// The bytes of the string at the begin of a text, both quotes included.
fn string_len(text: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{parse, Node, Value};
    use proptest::prelude::*;

    /// A value without its places.
    fn said(node: &Node) -> String {
        match &node.value {
            Value::Array(items) => {
                format!("[{}]", items.iter().map(said).collect::<Vec<_>>().join(","))
            }
            Value::Object(members) => {
                let one = |m: &crate::json::Member| format!("{:?}:{}", m.key, said(&m.node));
                format!("{{{}}}", members.iter().map(one).collect::<Vec<_>>().join(","))
            }
            value => format!("{value:?}"),
        }
    }

    #[test]
    fn comments_and_blanks_go_and_strings_stay_as_they_are() {
        let text = "// A build.\n/* {\"no\"} */ { \"a // b\" : [ 1, \"c\\\" /* d */\" ] } // end";

        assert_eq!(bare(text), r#"{"a // b":[1,"c\" /* d */"]}"#);
    }

    proptest! {
        #[test]
        fn the_bare_text_says_the_same(
            text in "(\\{\"a b\":|\"x\"|\"/\\*\"|\"\\\\\"\"|[0-9]|,|\\[|\\]|\\}| |\n|//|/\\*|\\*/|é){0,20}",
        ) {
            let bare = bare(&text);

            if let Ok(node) = parse(&text) {
                prop_assert_eq!(&super::bare(&bare), &bare);
                prop_assert_eq!(said(&parse(&bare).unwrap()), said(&node));
            }
        }
    }
}
