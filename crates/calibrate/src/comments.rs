// SPDX-License-Identifier: MIT OR Apache-2.0
//! The machine file: each number with where it comes from.

use crate::number::Number;
use crate::Calibrated;

/// The text of the file.
pub(crate) fn file(found: &Calibrated) -> String {
    let mut text =
        String::from("# Written by rota calibrate. Each number says how it was measured.\n");
    for note in &found.notes {
        text += &format!("# note: {note}\n");
    }
    let (mut section, mut kind) = (String::new(), String::new());
    let plain = found.machine.to_toml();
    for line in plain.lines() {
        let word = line.split([' ', '=']).next().unwrap_or_default();
        if line.starts_with('[') {
            section = word.trim_matches(['[', ']']).to_owned();
        } else if section == "core_type" && word == "name" {
            kind = line.split('"').nth(1).unwrap_or_default().to_owned();
        }
        let key = match section.as_str() {
            "core_type" => format!("core_type.{kind}.{word}"),
            section => format!("{section}.{word}"),
        };
        for comment in comments(&found.numbers, &key) {
            text += &format!("# {comment}\n");
        }
        text += line;
        text.push('\n');
    }
    text
}

/// Those of a key, and of the parts of its value.
fn comments(numbers: &[Number], key: &str) -> Vec<String> {
    let of = |number: &Number| {
        let rest = number.key.strip_prefix(key)?;
        let part = match rest.strip_prefix('.') {
            Some(part) => format!("{part} "),
            None if rest.is_empty() => String::new(),
            None => return None,
        };
        Some(format!("{part}{}", number.comment()))
    };
    numbers.iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_value_are_named_and_other_keys_are_not_taken() {
        let numbers = [
            Number::kept("cost_ns.ipi.llc", 600, "one CPU only"),
            Number::kept("cost_ns.switch", 1, "noise"),
        ];
        assert_eq!(comments(&numbers, "cost_ns.ipi"), ["llc not measured: one CPU only"]);
        assert_eq!(comments(&numbers, "cost_ns.switch"), ["not measured: noise"]);
        assert!(comments(&numbers, "cost_ns.sw").is_empty());
    }
}
