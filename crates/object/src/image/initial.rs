// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a map begins with.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::ops::Range;

/// No map is larger: those that are read from a file say their size themselves.
const MOST: usize = 1 << 30;

/// Bytes that a map begins with. Zeroes at their end take no room: policies have megabytes of them,
/// and to copy and to compare them took longer than all else that loading does.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Written")]
pub struct Initial {
    /// All bytes up to the last one that is not zero.
    filled: Vec<u8>,
    len: usize,
}

impl Initial {
    /// These bytes, and zeroes up to `len` bytes in all; what is beyond `len` is left out.
    pub fn new(bytes: &[u8], len: usize) -> Self {
        let bytes = &bytes[..bytes.len().min(len)];
        Self { filled: bytes[..length_without_zeroes(bytes)].to_vec(), len }
    }

    /// Bytes in all.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// All bytes up to the last one that is not zero.
    pub fn filled(&self) -> &[u8] {
        &self.filled
    }

    /// The bytes of a range, if all of it is inside.
    pub fn get(&self, range: Range<usize>) -> Option<Cow<'_, [u8]>> {
        if range.start > range.end || range.end > self.len {
            return None;
        }
        if let Some(bytes) = self.filled.get(range.clone()) {
            return Some(Cow::Borrowed(bytes));
        }
        let mut bytes = self.filled.get(range.start..).unwrap_or(&[]).to_vec();
        bytes.resize(range.len(), 0);
        Some(Cow::Owned(bytes))
    }

    /// Puts bytes at a place. False, and nothing changes, if not all of them are inside.
    pub fn set(&mut self, start: usize, bytes: &[u8]) -> bool {
        let Some(end) = start.checked_add(bytes.len()).filter(|end| *end <= self.len) else {
            return false;
        };
        if self.filled.len() < end {
            self.filled.resize(end, 0);
        }
        self.filled[start..end].copy_from_slice(bytes);
        self.filled.truncate(length_without_zeroes(&self.filled));
        true
    }

    /// Ends after `len` bytes from now on: new ones are zero.
    pub fn resize(&mut self, len: usize) {
        *self = Self::new(&self.filled, len);
    }
}

/// As it is read, from any bytes.
#[derive(Deserialize)]
struct Written {
    filled: Vec<u8>,
    len: usize,
}

impl TryFrom<Written> for Initial {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        let Written { filled, len } = written;
        if len > MOST || filled.len() > len {
            let filled = filled.len();
            return Err(format!("{filled} bytes of {len} are none that a map begins with"));
        }
        Ok(Self::new(&filled, len))
    }
}

impl From<Vec<u8>> for Initial {
    fn from(bytes: Vec<u8>) -> Self {
        Self::new(&bytes, bytes.len())
    }
}

impl From<Initial> for Vec<u8> {
    fn from(initial: Initial) -> Self {
        let mut bytes = initial.filled;
        bytes.resize(initial.len, 0);
        bytes
    }
}

/// Compares blocks, which is many times as fast as byte by byte.
fn length_without_zeroes(mut bytes: &[u8]) -> usize {
    const ZEROES: [u8; 256] = [0; 256];
    while let Some(before) = bytes.strip_suffix(&ZEROES) {
        bytes = before;
    }
    bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1)
}

#[cfg(test)]
mod tests {
    use super::{length_without_zeroes, Initial, Written};
    use proptest::prelude::*;

    #[test]
    fn zeroes_at_the_end_do_not_count() {
        for length in [0, 1, 255, 256, 257, 511, 512, 513, 5_000] {
            assert_eq!(length_without_zeroes(&vec![0; length]), 0);
            for last in 0..length {
                let mut bytes = vec![0; length];
                bytes[last] = 1;
                bytes[0] = 1;
                assert_eq!(length_without_zeroes(&bytes), last + 1, "of {length}");
            }
        }
    }

    #[test]
    fn what_is_read_is_within_a_map() {
        let read = |filled: &[u8], len| Initial::try_from(Written { filled: filled.to_vec(), len });
        assert_eq!(read(&[7, 0], 3), Ok(Initial::new(&[7], 3)));
        let refused = "3 bytes of 2 are none that a map begins with";
        assert_eq!(read(&[1, 2, 3], 2), Err(refused.into()));
        assert!(read(&[], (1 << 30) + 1).is_err());
    }

    proptest! {
        /// It reads, is written, grows and shrinks as plain bytes do.
        #[test]
        fn it_is_what_plain_bytes_are(
            bytes in prop::collection::vec(0..3u8, 0..40),
            place in 0..50usize,
            put in prop::collection::vec(0..2u8, 0..20),
            ranges in prop::collection::vec((0..50usize, 0..50usize), 8),
            len in 0..60usize,
        ) {
            let (mut plain, mut initial) = (bytes.clone(), Initial::from(bytes));
            let fits = place + put.len() <= plain.len();
            if fits {
                plain[place..place + put.len()].copy_from_slice(&put);
            }
            prop_assert_eq!(initial.set(place, &put), fits);
            for resized in [false, true] {
                if resized {
                    plain.resize(len, 0);
                    initial.resize(len);
                }
                prop_assert_eq!(initial.len(), plain.len());
                prop_assert!(initial.filled().last() != Some(&0));
                for (start, end) in &ranges {
                    let found = initial.get(*start..*end).map(|bytes| bytes.into_owned());
                    prop_assert_eq!(found, plain.get(*start..*end).map(<[u8]>::to_vec));
                }
                prop_assert_eq!(Vec::from(initial.clone()), plain.clone());
                prop_assert_eq!(&Initial::from(plain.clone()), &initial);
            }
        }
    }
}
