// SPDX-License-Identifier: MIT OR Apache-2.0
//! Times as users write them.

/// A length of time as one would type it: `10s`, `1.5s`, `250us`.
pub fn duration(ns: u64) -> String {
    let units = [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000), ("ns", 1)];
    let fits = |(_, scale): &&(&str, u64)| ns >= *scale;
    let (unit, scale) = units.iter().find(fits).unwrap_or(&units[3]);
    let fraction = format!("{:09}", (ns % scale) * (1_000_000_000 / scale));
    let fraction = fraction.trim_end_matches('0');
    let point = if fraction.is_empty() { "" } else { "." };
    format!("{}{point}{fraction}{unit}", ns / scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_exact() {
        let cases = [
            (10_000_000_000, "10s"),
            (1_500_000_000, "1.5s"),
            (250_000, "250us"),
            (1_000_001, "1.000001ms"),
            (7, "7ns"),
        ];
        for (ns, text) in cases {
            assert_eq!(duration(ns), text);
            assert_eq!(rota_workload::parse_duration(text), Ok(ns));
        }
    }
}
