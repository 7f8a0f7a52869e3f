// SPDX-License-Identifier: MIT OR Apache-2.0
//! Names that fit a picture.

/// At most so many characters of a name, the last one an ellipsis if some are missing.
pub(crate) fn shortened(name: &str, most: usize) -> String {
    match name.char_indices().nth(most) {
        Some(_) => name.chars().take(most.saturating_sub(1)).chain(['…']).collect(),
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_ends_in_an_ellipsis() {
        assert_eq!(shortened("scheduler", 9), "scheduler");
        assert_eq!(shortened("scheduler", 8), "schedul…");
        assert_eq!(shortened("äöü", 2), "ä…");
        assert_eq!(shortened("a", 0), "…");
    }
}
