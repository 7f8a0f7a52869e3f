// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rows of numbers in few bytes: LEB128 integers, in base64. `assets/decode.js` reads them.

use base64::engine::general_purpose::STANDARD;
use base64::Engine as _;

use super::model::{Band, Slice};

/// A row of integers.
#[derive(Debug, Default)]
struct Row {
    bytes: Vec<u8>,
}

impl Row {
    /// Seven bits a byte, the lowest first; the eighth says that more follow.
    fn push(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    /// Small numbers of either sign become small numbers: 0, -1, 1, -2 … are 0, 1, 2, 3 …
    fn push_signed(&mut self, value: i64) {
        self.push((value << 1 ^ value >> 63) as u64);
    }

    fn finish(self) -> String {
        STANDARD.encode(self.bytes)
    }
}

/// The slices of a CPU: of each the time since the one before, its length, and its task.
pub(crate) fn slices(slices: &[Slice], from_ns: u64) -> String {
    let (mut row, mut before_ns) = (Row::default(), from_ns);
    for slice in slices {
        let start_ns = slice.start_ns.max(before_ns);
        let end_ns = slice.end_ns.max(start_ns);
        row.push(start_ns - before_ns);
        row.push(end_ns - start_ns);
        row.push(slice.task.into());
        before_ns = end_ns;
    }
    row.finish()
}

/// Parts of the whole in ten-thousandths, each as its difference to the one before.
pub(crate) fn shares(shares: &[f32]) -> String {
    let (mut row, mut before) = (Row::default(), 0);
    for share in shares {
        // A cast from a float saturates; NaN becomes 0.
        let share = (share * 1e4).round() as i32;
        row.push_signed(i64::from(share) - before);
        before = share.into();
    }
    row.finish()
}

/// Bands in microseconds: 0 where there is none, else 1, the difference of the least value to
/// the one before, and the width.
pub(crate) fn bands(bands: &[Option<Band>]) -> String {
    let (mut row, mut before) = (Row::default(), 0);
    for band in bands {
        let Some(Band { min_ns, max_ns }) = band else {
            row.push(0);
            continue;
        };
        let (min, max) = (min_ns.div_euclid(1000), max_ns.div_euclid(1000));
        row.push(1);
        row.push_signed(min - before);
        row.push(max.saturating_sub(min).max(0) as u64);
        before = min;
    }
    row.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(text: &str) -> Vec<u8> {
        STANDARD.decode(text).unwrap()
    }

    #[test]
    fn slices_are_gaps_lengths_and_tasks() {
        let slice = |start_ns, end_ns, task| Slice { start_ns, end_ns, task };
        let row = slices(&[slice(105, 405, 2), slice(405, 406, 130)], 100);
        // 300 is 2 · 128 + 44, 130 is 1 · 128 + 2.
        assert_eq!(bytes(&row), [5, 0x80 | 44, 2, 2, 0, 1, 0x80 | 2, 1]);
    }

    #[test]
    fn slices_out_of_order_are_cut() {
        let slice = |start_ns, end_ns| Slice { start_ns, end_ns, task: 0 };
        let row = slices(&[slice(10, 20), slice(15, 30), slice(0, 5)], 0);
        assert_eq!(bytes(&row), [10, 10, 0, 0, 10, 0, 0, 0, 0]);
    }

    #[test]
    fn shares_are_differences_in_ten_thousandths() {
        // 0.001 is 10, zigzag 20; -0.001 is -10, zigzag 19.
        assert_eq!(bytes(&shares(&[0.001, 0.001, 0.0])), [20, 0, 19]);
        assert_eq!(bytes(&shares(&[f32::NAN])), [0]);
    }

    #[test]
    fn bands_may_be_missing() {
        let band = |min_ns, max_ns| Some(Band { min_ns, max_ns });
        let row = bands(&[None, band(-2_000, 3_000), band(-1_000, -1_000)]);
        assert_eq!(bytes(&row), [0, 1, 3, 5, 1, 2, 0]);
        let extreme = bands(&[band(i64::MIN, i64::MAX), band(i64::MAX, i64::MIN)]);
        assert!(!extreme.is_empty());
    }
}
