// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a misspelt word may have meant.

/// Letters that a slip may change.
const SLIPS: usize = 3;

/// ` (did you mean wakeup_p99?)`: the known word that is nearest, or one that shares a part with
/// what was typed. Empty if there is none.
pub fn hint(typed: &str, known: &[&str]) -> String {
    nearest(typed, known).map_or(String::new(), |known| format!(" (did you mean {known}?)"))
}

fn nearest<'a>(typed: &str, known: &[&'a str]) -> Option<&'a str> {
    let typed = typed.trim().replace(' ', "_");
    let distance = |known: &&str| strsim::damerau_levenshtein(&typed, &known.replace(' ', "_"));
    let near = known.iter().copied().min_by_key(distance).filter(|known| distance(known) <= SLIPS);
    let parts: Vec<&str> = typed.split('_').filter(|part| part.len() > 2).collect();
    let shared = |known: &&str| {
        let has = |part: &&&str| known.split(['_', ' ']).any(|own| own == **part);
        parts.iter().filter(has).count()
    };
    let shares = known.iter().copied().filter(|known| shared(known) > 0);
    // Of several, the first of those that share the most.
    near.or_else(|| shares.rev().max_by_key(shared))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_or_a_shared_part_names_what_was_meant() {
        let known = ["wakeup_p99", "response_mean", "jain"];
        assert_eq!(nearest("wakeup p9", &known), Some("wakeup_p99"));
        assert_eq!(nearest("jane", &known), Some("jain"));
        assert_eq!(nearest("response_time_of_ui", &known), Some("response_mean"));
        assert_eq!(nearest("lock_wait_max", &["lag_max", "wait_max", "max"]), Some("wait_max"));
        assert_eq!(nearest("cake_of_mine", &known), None);
        assert_eq!(nearest("delay", &["wakeup", "run delay"]), Some("run delay"));
        assert_eq!(nearest("run_dly", &["wakeup", "run delay"]), Some("run delay"));
        assert_eq!(hint("jane", &known), " (did you mean jain?)");
        assert_eq!(hint("something_else", &known), "");
    }
}
