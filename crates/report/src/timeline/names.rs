// SPDX-License-Identifier: MIT OR Apache-2.0
//! What instances of one task have in common in their names.

/// `front` of `front-3` and of `front-3-0001`: the task that an instance or a fork comes from.
pub(crate) fn kind(name: &str) -> &str {
    let mut kind = name;
    while let Some((rest, index)) = kind.rsplit_once('-') {
        let is_index = !index.is_empty() && index.bytes().all(|b| b.is_ascii_digit());
        if !is_index || rest.is_empty() {
            break;
        }
        kind = rest;
    }
    kind
}

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
    fn instances_are_of_their_tasks_kind() {
        let kinds = ["A-0", "cron-13-0001", "a-b-2", "plain", "-7", "x-", ""].map(kind);
        assert_eq!(kinds, ["A", "cron", "a-b", "plain", "-7", "x-", ""]);
    }

    #[test]
    fn a_long_name_ends_in_an_ellipsis() {
        assert_eq!(shortened("scheduler", 9), "scheduler");
        assert_eq!(shortened("scheduler", 8), "schedul…");
        assert_eq!(shortened("äöü", 2), "ä…");
        assert_eq!(shortened("a", 0), "…");
    }
}
