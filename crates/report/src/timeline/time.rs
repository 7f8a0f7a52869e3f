// SPDX-License-Identifier: MIT OR Apache-2.0
//! Times as positions, as axis marks and as words.

const UNITS: [(u64, &str); 4] = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "µs"), (1, "ns")];

/// Places the window on so many units of length. Whole numbers: the same picture everywhere.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    pub(crate) from_ns: u64,
    pub(crate) to_ns: u64,
    pub(crate) length: u32,
}

impl Scale {
    /// Where a time is, rounded to the nearest; times outside are at the nearer end.
    pub(crate) fn place(&self, at_ns: u64) -> u32 {
        let span = u128::from(self.to_ns - self.from_ns).max(1);
        let since = u128::from(at_ns.clamp(self.from_ns, self.to_ns) - self.from_ns);
        ((2 * since * u128::from(self.length) + span) / (2 * span)) as u32
    }

    /// Times to mark on the axis, `1`, `2` or `5` times a power of ten apart and at least
    /// `apart` units of length.
    pub(crate) fn ticks(&self, apart: u32) -> Vec<u64> {
        let span = self.to_ns - self.from_ns;
        let most = u64::from(self.length / apart.max(1)).max(1);
        let powers = std::iter::successors(Some(1u64), |p| p.checked_mul(10));
        let steps =
            powers.flat_map(|p| [1, 2, 5].into_iter().filter_map(move |m| p.checked_mul(m)));
        let step = steps.into_iter().find(|step| span / step <= most).unwrap_or(u64::MAX);
        let first = self.from_ns.div_ceil(step).checked_mul(step);
        std::iter::successors(first, |at| at.checked_add(step))
            .take_while(|at| *at <= self.to_ns)
            .collect()
    }
}

/// The words for axis marks: all in the same unit, the largest that keeps them short.
pub(crate) fn tick_texts(ticks: &[u64]) -> Vec<String> {
    let short = |unit: u64| ticks.iter().all(|at| fraction(*at, unit).len() <= 2);
    let greatest = ticks.iter().max().copied().unwrap_or(0);
    let fitting = UNITS.iter().filter(|(unit, _)| *unit <= greatest);
    let (unit, name) = fitting.copied().find(|(unit, _)| short(*unit)).unwrap_or((1, "ns"));
    ticks
        .iter()
        .map(|at| if *at == 0 { "0".to_owned() } else { in_unit(*at, unit, name) })
        .collect()
}

/// A time in words, exact to the nanosecond: `12.5 ms`.
pub(crate) fn text(ns: u64) -> String {
    let fitting = UNITS.iter().find(|(unit, _)| *unit <= ns);
    fitting.map_or("0".to_owned(), |(unit, name)| in_unit(ns, *unit, name))
}

fn in_unit(ns: u64, unit: u64, name: &str) -> String {
    let (whole, fraction) = (ns / unit, fraction(ns, unit));
    if fraction.is_empty() {
        format!("{whole} {name}")
    } else {
        format!("{whole}.{fraction} {name}")
    }
}

/// Digits behind the point, without zeros at the end.
fn fraction(ns: u64, unit: u64) -> String {
    let digits = unit.ilog10() as usize;
    let padded = format!("{:0digits$}", ns % unit);
    if ns % unit == 0 {
        String::new()
    } else {
        padded.trim_end_matches('0').to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn places_are_rounded_to_the_nearest() {
        let scale = Scale { from_ns: 100, to_ns: 400, length: 1000 };
        let places = [0, 100, 101, 250, 399, 400, 900].map(|at| scale.place(at));
        assert_eq!(places, [0, 0, 3, 500, 997, 1000, 1000]);
    }

    #[test]
    fn ticks_are_a_round_number_apart() {
        let scale = Scale { from_ns: 0, to_ns: 200 * MS, length: 900 };
        let ticks = scale.ticks(80);
        assert_eq!(ticks.len(), 11);
        assert_eq!(ticks[..3], [0, 20 * MS, 40 * MS]);
        let late = Scale { from_ns: 3_203 * MS, to_ns: 3_211 * MS, length: 900 };
        assert_eq!(late.ticks(200), [3_204 * MS, 3_206 * MS, 3_208 * MS, 3_210 * MS]);
    }

    #[test]
    fn tick_texts_share_the_largest_short_unit() {
        assert_eq!(tick_texts(&[0, 20 * MS, 40 * MS]), ["0", "20 ms", "40 ms"]);
        assert_eq!(tick_texts(&[980 * MS, 1000 * MS]), ["0.98 s", "1 s"]);
        assert_eq!(tick_texts(&[3_400_020_000]), ["3400.02 ms"]);
        assert_eq!(tick_texts(&[0, 5, 10]), ["0", "5 ns", "10 ns"]);
        assert!(tick_texts(&[]).is_empty());
    }

    #[test]
    fn a_time_in_words_is_exact() {
        let texts = [0, 7, 1_500, 10 * MS, 1_000_000_001].map(text);
        assert_eq!(texts, ["0", "7 ns", "1.5 µs", "10 ms", "1.000000001 s"]);
    }

    proptest! {
        #[test]
        fn ticks_fit_the_axis(from_ns: u64, to_ns: u64, length in 0..5000u32, apart in 0..500u32) {
            let scale = Scale { from_ns: from_ns.min(to_ns), to_ns: from_ns.max(to_ns), length };
            let ticks = scale.ticks(apart);
            prop_assert!(ticks.len() as u32 <= length / apart.max(1) + 2, "{ticks:?}");
            prop_assert!(ticks.iter().all(|at| scale.from_ns <= *at && *at <= scale.to_ns));
            prop_assert_eq!(tick_texts(&ticks).len(), ticks.len());
        }
    }
}
