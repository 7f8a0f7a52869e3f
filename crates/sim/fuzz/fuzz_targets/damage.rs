// SPDX-License-Identifier: MIT OR Apache-2.0
//! Damages a file where its structure is: plain mutations of 100 kB mostly hit what nobody reads.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::ops::Range;

/// Of so many turns, one is for any mutation.
const PLAIN: u32 = 16;
/// Numbers near which something overflows, or that mean something special.
const NUMBERS: [u64; 16] = [
    0,
    1,
    2,
    7,
    8,
    0x7f,
    0x80,
    0xff,
    0x7fff,
    0x8000,
    0xffff,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x7fff_ffff_ffff_ffff,
    u64::MAX,
];

/// Finds what may be changed; `None` if it is no such file.
pub type Parts = fn(&[u8]) -> Option<Vec<Range<usize>>>;

/// Changes up to `most` places of it, all parts as likely. `false`: nothing was changed.
pub fn damage(bytes: &mut [u8], seed: u32, parts: Parts, most: u32) -> bool {
    let mut random = ChaCha8Rng::seed_from_u64(seed.into());
    if random.gen_ratio(1, PLAIN) {
        return false;
    }
    let mut parts = parts(bytes).unwrap_or_default();
    parts.retain(|part| !part.is_empty() && part.end <= bytes.len());
    if parts.is_empty() {
        return false;
    }
    for _ in 0..random.gen_range(1..=most) {
        let part = parts[random.gen_range(0..parts.len())].clone();
        change(&mut bytes[part], &mut random);
    }
    true
}

/// One change in a part.
fn change(part: &mut [u8], random: &mut ChaCha8Rng) {
    // Fields, instructions and entries of tables begin at multiples of their sizes.
    let size = [1, 2, 4, 8][random.gen_range(0..4)].min(part.len());
    let place = |random: &mut ChaCha8Rng| random.gen_range(0..part.len() / size) * size;
    let (at, from) = (place(random), place(random));
    match random.gen_range(0..6) {
        0 => part[at] ^= 1 << random.gen_range(0..8),
        1 => part[at] = random.gen(),
        2 => put(&mut part[at..at + size], NUMBERS[random.gen_range(0..NUMBERS.len())]),
        3 => {
            let value = number(&part[at..at + size]);
            let by = random.gen_range(1..=16_u64);
            let moved = [value.wrapping_add(by), value.wrapping_sub(by)];
            put(&mut part[at..at + size], moved[usize::from(random.gen::<bool>())]);
        }
        4 => part.copy_within(from..from + size, at),
        _ => (0..size).for_each(|byte| part.swap(at + byte, from + byte)),
    }
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

fn put(place: &mut [u8], number: u64) {
    let bytes = number.to_le_bytes();
    let len = place.len();
    place.copy_from_slice(&bytes[..len]);
}
