// SPDX-License-Identifier: MIT OR Apache-2.0
//! Writes HTML. Whatever is not markup goes through [`escape`].

use std::borrow::Cow;

/// Attributes of an element: names and values. One with an empty value is just there.
pub(crate) type Attributes<'a> = &'a [(&'a str, &'a str)];

/// A document in the making.
#[derive(Debug, Default)]
pub(crate) struct Html {
    out: String,
}

impl Html {
    /// Begins an element; [`Html::close`] ends it.
    pub(crate) fn open(&mut self, name: &str, attributes: Attributes<'_>) {
        self.out.push('<');
        self.out.push_str(name);
        for (attribute, value) in attributes {
            self.out.push(' ');
            self.out.push_str(attribute);
            if !value.is_empty() {
                self.out.push_str("=\"");
                self.out.push_str(&escape(value));
                self.out.push('"');
            }
        }
        self.out.push('>');
    }

    pub(crate) fn close(&mut self, name: &str) {
        self.out.push_str("</");
        self.out.push_str(name);
        self.out.push_str(">\n");
    }

    /// An element that holds text only.
    pub(crate) fn element(&mut self, name: &str, attributes: Attributes<'_>, text: &str) {
        self.open(name, attributes);
        self.text(text);
        self.close(name);
    }

    /// An element that holds text in which what is between two backticks is code.
    pub(crate) fn prose(&mut self, name: &str, text: &str) {
        self.open(name, &[]);
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('`') {
            let Some((code, others)) = after.split_once('`') else { break };
            self.text(before);
            self.open("code", &[]);
            self.text(code);
            // Without the line's end of `close`, which would be a space before a full stop.
            self.raw("</code>");
            rest = others;
        }
        self.text(rest);
        self.close(name);
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.out.push_str(&escape(text));
    }

    /// What is HTML already.
    pub(crate) fn raw(&mut self, html: &str) {
        self.out.push_str(html);
    }

    pub(crate) fn finish(self) -> String {
        self.out
    }
}

/// Text that is safe between tags and in quoted attributes.
pub(crate) fn escape(text: &str) -> Cow<'_, str> {
    if !text.contains(is_special) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c if is_special(c) => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    Cow::Owned(escaped)
}

fn is_special(c: char) -> bool {
    matches!(c, '&' | '<' | '>' | '"' | '\'') || c.is_control() && c != '\n' && c != '\t'
}

/// JSON as the content of a `script` element: nothing in it can end the element.
pub(crate) fn json_in_script(json: &str) -> String {
    // Outside of strings JSON has none of these.
    json.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn text_cannot_become_markup() {
        assert_eq!(
            escape("<script>alert(\"1\" & '2')</script>"),
            "&lt;script&gt;alert(&quot;1&quot; &amp; &#39;2&#39;)&lt;/script&gt;"
        );
        assert_eq!(escape("Größe 日本 \u{202e}"), "Größe 日本 \u{202e}");
        assert_eq!(escape("a\0b\x1b"), "a\u{fffd}b\u{fffd}");
    }

    #[test]
    fn elements_nest_and_escape() {
        let mut html = Html::default();
        html.open("p", &[("title", "\"><b>"), ("hidden", "")]);
        html.element("b", &[], "1 < 2");
        html.close("p");
        assert_eq!(
            html.finish(),
            "<p title=\"&quot;&gt;&lt;b&gt;\" hidden><b>1 &lt; 2</b>\n</p>\n"
        );
    }

    proptest! {
        #[test]
        fn json_in_a_script_is_the_same_json(text in ".*") {
            let json = serde_json::to_string(&[format!("</script><!--{text}]]>")]).unwrap();
            let embedded = json_in_script(&json);
            prop_assert!(!embedded.contains(['<', '>', '&']));
            let before: Vec<String> = serde_json::from_str(&json).unwrap();
            let after: Vec<String> = serde_json::from_str(&embedded).unwrap();
            prop_assert_eq!(before, after);
        }
    }
}
