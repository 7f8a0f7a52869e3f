// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sets of CPUs as `/sys` prints them (`lib/vsprintf.c`: `%*pbl`, `%*pb`).

/// `0-3,8`.
pub(crate) fn list(cpus: impl Iterator<Item = u32>) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for cpu in cpus {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == cpu => *last = cpu,
            _ => runs.push((cpu, cpu)),
        }
    }
    let text = |(first, last): (u32, u32)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    runs.into_iter().map(text).collect::<Vec<_>>().join(",")
}

/// Hexadecimal words of 32 CPUs, the highest first: `1,0000000f` of 33 CPUs.
pub(crate) fn mask(cpus: impl Iterator<Item = u32>, total: u32) -> String {
    let mut words = vec![0_u32; total.div_ceil(32).max(1) as usize];
    for cpu in cpus {
        words[(cpu / 32) as usize] |= 1 << (cpu % 32);
    }
    let digits = |word: usize| {
        let bits = if word + 1 == words.len() { (total + 31) % 32 + 1 } else { 32 };
        bits.div_ceil(4) as usize
    };
    let word = |(at, word): (usize, &u32)| format!("{word:0width$x}", width = digits(at));
    words.iter().enumerate().map(word).rev().collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_have_ranges() {
        assert_eq!(list([0, 1, 2, 3, 8, 10, 11].into_iter()), "0-3,8,10-11");
        assert_eq!(list([].into_iter()), "");
    }

    #[test]
    fn masks_have_a_digit_for_four_cpus_and_a_comma_after_32() {
        assert_eq!(mask([0, 1, 2, 3, 32].into_iter(), 33), "1,0000000f");
        assert_eq!(mask([1].into_iter(), 6), "02");
        assert_eq!(mask([63].into_iter(), 64), "80000000,00000000");
    }
}
