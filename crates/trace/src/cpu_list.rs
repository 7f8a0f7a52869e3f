// SPDX-License-Identifier: MIT OR Apache-2.0
//! Some CPUs, as the kernel writes them: `0-3,5`.

use std::fmt::Write;

/// A list of CPUs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuList {
    /// First and last of each range, ascending, with gaps between them.
    ranges: Vec<(u32, u32)>,
    text: String,
}

impl CpuList {
    /// As the kernel writes it.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The CPUs, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.ranges.iter().flat_map(|(first, last)| *first..=*last)
    }
}

impl FromIterator<u32> for CpuList {
    fn from_iter<I: IntoIterator<Item = u32>>(cpus: I) -> Self {
        let mut cpus: Vec<u32> = cpus.into_iter().collect();
        cpus.sort_unstable();
        let mut ranges: Vec<(u32, u32)> = Vec::new();
        for cpu in cpus {
            match ranges.last_mut() {
                Some((_, last)) if cpu <= last.saturating_add(1) => *last = cpu,
                _ => ranges.push((cpu, cpu)),
            }
        }
        let mut text = String::new();
        for (first, last) in &ranges {
            let comma = if text.is_empty() { "" } else { "," };
            // Writing to a string cannot fail.
            let _ = match first == last {
                true => write!(text, "{comma}{first}"),
                false => write!(text, "{comma}{first}-{last}"),
            };
        }
        CpuList { ranges, text }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ranges_are_joined_and_single_cpus_stand_alone() {
        for (cpus, text) in [
            (&[][..], ""),
            (&[3], "3"),
            (&[3, 2, 0, 1, 5], "0-3,5"),
            (&[7, 7, 9, 10], "7,9-10"),
            (&[u32::MAX, 0], "0,4294967295"),
        ] {
            assert_eq!(cpus.iter().copied().collect::<CpuList>().as_str(), text);
        }
    }

    proptest! {
        #[test]
        fn what_goes_in_comes_out(cpus in proptest::collection::btree_set(0..600u32, 0..40)) {
            let list: CpuList = cpus.iter().rev().copied().collect();
            prop_assert!(list.iter().eq(cpus.iter().copied()));
            // Read as a person would.
            let read = list.as_str().split(',').filter(|part| !part.is_empty()).flat_map(|part| {
                let (first, last) = part.split_once('-').unwrap_or((part, part));
                first.parse::<u32>().unwrap()..=last.parse::<u32>().unwrap()
            });
            prop_assert!(read.eq(cpus.iter().copied()), "{}", list.as_str());
        }
    }
}
