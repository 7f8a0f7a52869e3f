// SPDX-License-Identifier: MIT OR Apache-2.0
//! The style and the scripts that every report carries, and the policy that allows only them.

use base64::engine::general_purpose::STANDARD;
use base64::Engine as _;
use sha2::{Digest, Sha256};

use crate::timeline::colours::{PAINTS, POLICY_PAINTS};

const STYLES: &[&str] = &[
    include_str!("../../assets/report.css"),
    include_str!("../../assets/figures.css"),
    include_str!("../../assets/print.css"),
];

/// In an order in which each uses only what stands before it.
const SCRIPTS: &[&str] = &[
    include_str!("../../assets/decode.js"),
    include_str!("../../assets/numbers.js"),
    include_str!("../../assets/colours.js"),
    include_str!("../../assets/tooltip.js"),
    include_str!("../../assets/chart.js"),
    include_str!("../../assets/shares.js"),
    include_str!("../../assets/lags.js"),
    include_str!("../../assets/latencies.js"),
    include_str!("../../assets/timeline/view.js"),
    include_str!("../../assets/timeline/paint.js"),
    include_str!("../../assets/timeline/lane.js"),
    include_str!("../../assets/timeline/input.js"),
    include_str!("../../assets/timeline/figure.js"),
    include_str!("../../assets/sort.js"),
    include_str!("../../assets/scroller.js"),
    include_str!("../../assets/fold.js"),
    include_str!("../../assets/main.js"),
];

/// The style sheet.
pub(crate) fn style() -> String {
    palette() + &STYLES.concat() + &crate::machine::style()
}

/// The paints of tasks (`p`, with `--i` for words on one) and of policies (`q`, with `base` for the
/// baseline), which fill and outline; `l` is a policy's line.
fn palette() -> String {
    let variables = PAINTS.iter().enumerate().map(|(index, paint)| {
        format!(":root {{ --p{index}: {}; --i{index}: {}; }}\n", paint.fill, paint.ink)
    });
    let names = (0..PAINTS.len()).map(|index| format!("p{index}")).chain(["rest".to_owned()]);
    let classes = names.map(|name| {
        format!(".{name} {{ background: var(--{name}); fill: var(--{name}); stroke: var(--{name}); }}\n")
    });
    let of_policies = |at: usize| {
        let paints = POLICY_PAINTS.iter().enumerate();
        let all = paints.map(|(index, paints)| format!(" --q{index}: {};", paints[at]));
        all.collect::<String>() + " --base: var(--text);"
    };
    let policies = format!(
        ":root {{{} }}\n@media (prefers-color-scheme: dark) {{ :root:not([data-paper]) {{{} }} }}\n",
        of_policies(0),
        of_policies(1)
    );
    let lines = policy_names().map(|name| {
        let paint = format!("var(--{name})");
        format!(
            ".{name} {{ background: {paint}; fill: {paint}; stroke: {paint}; }}\n\
             .l-{name} {{ stroke: {paint}; }}\n"
        )
    });
    variables.chain(classes).chain([policies]).chain(lines).collect()
}

fn policy_names() -> impl Iterator<Item = String> {
    (0..POLICY_PAINTS.len()).map(|index| format!("q{index}")).chain(["base".to_owned()])
}

/// All scripts as one, which leaves no names behind.
pub(crate) fn script() -> String {
    format!("(() => {{\n\"use strict\";\n{}}})();\n", SCRIPTS.concat())
}

/// The content security policy of a page with this script and style: it runs nothing else, and loads
/// nothing at all.
pub(crate) fn security_policy(script: &str, style: &str) -> String {
    format!(
        "default-src 'none'; script-src '{}'; style-src '{}'; img-src data:; base-uri 'none'; \
         form-action 'none'",
        hash(script),
        hash(style)
    )
}

/// The same for a page without scripts.
pub(crate) fn security_policy_of_styles(styles: &[&str]) -> String {
    let hashes: Vec<String> = styles.iter().map(|style| format!("'{}'", hash(style))).collect();
    let styles = hashes.join(" ");
    format!("default-src 'none'; style-src {styles}; img-src data:; base-uri 'none'; form-action 'none'")
}

fn hash(content: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(content)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_what_browsers_compute() {
        // The example of CSP Level 3, section 6.7.2: `alert('Hello, world.');`.
        assert_eq!(
            hash("alert('Hello, world.');"),
            "sha256-qznLcsROx4GACP2dm0UCKCzCG+HiZ1guq6ZZDob/Tng="
        );
    }

    #[test]
    fn nothing_in_style_or_script_ends_its_element() {
        assert!(!style().contains("</") && !script().contains("</"));
        assert!(!script().contains("<!--"));
    }
}
