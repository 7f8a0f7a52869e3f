// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a workload file says of itself: the comment at its top, for headings.

/// The first paragraph of the first comment, in one line; empty if the file begins
/// without one. Licence lines do not count.
pub fn description(text: &str) -> String {
    let mut rest = text.trim_start();
    loop {
        if let Some(comment) = rest.strip_prefix("//") {
            let (line, after) = comment.split_once('\n').unwrap_or((comment, ""));
            if !line.trim_start().starts_with("SPDX-") {
                return paragraph(leading_lines(rest));
            }
            rest = after.trim_start();
        } else if let Some(comment) = rest.strip_prefix("/*") {
            let (inside, after) = comment.split_once("*/").unwrap_or((comment, ""));
            let said = paragraph(inside.lines().map(|line| line.trim().trim_start_matches('*')));
            if !said.is_empty() && !said.starts_with("SPDX-") {
                return said;
            }
            rest = after.trim_start();
        } else {
            return String::new();
        }
    }
}

/// The `//` lines at the begin of a text, without their slashes.
fn leading_lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map_while(|line| line.trim_start().strip_prefix("//"))
}

fn paragraph<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    let words = lines.map(str::trim).skip_while(|line| line.is_empty());
    words.take_while(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_first_paragraph_after_the_licence_describes_a_file() {
        let text = "// SPDX-License-Identifier: MIT\n/*\n * A build: forks\n * compilers.\n *\n * Work: 6 s.\n */\n{}";
        assert_eq!(description(text), "A build: forks compilers.");
    }

    #[test]
    fn line_comments_and_single_line_blocks_describe_too() {
        assert_eq!(
            description("// Two hogs,\n// one idle.\n//\n// More.\n{}"),
            "Two hogs, one idle."
        );
        assert_eq!(description("  /* SPDX-License-Identifier: MIT */\n/* Hogs. */ {}"), "Hogs.");
    }

    #[test]
    fn a_file_without_a_comment_at_its_top_has_no_description() {
        assert_eq!(description("{ /* inside */ }"), "");
        assert_eq!(description("/* */ {}"), "");
        assert_eq!(description(""), "");
    }

    proptest! {
        #[test]
        fn any_text_is_survived_and_gives_one_line(text in "(//|/\\*|\\*/|\n| |a|SPDX-){0,30}") {
            prop_assert!(!description(&text).contains('\n'));
        }
    }
}
