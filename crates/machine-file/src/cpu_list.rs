// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sets of CPUs as Linux prints them: `0-3,8`.

use rota_machine::cpuset::MAX_CPUS;

/// `0-3,8`, of numbers in ascending order.
pub fn cpu_list(cpus: &[u32]) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for cpu in cpus {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == *cpu => *last = *cpu,
            _ => runs.push((*cpu, *cpu)),
        }
    }
    let text = |(first, last): &(u32, u32)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    runs.iter().map(text).collect::<Vec<_>>().join(",")
}

/// The numbers of a list, in its order; `None` if it is none, or has numbers from
/// [`MAX_CPUS`] on.
pub fn parse_cpu_list(text: &str) -> Option<Vec<u32>> {
    let number = |text: &str| {
        let number: u32 = text.trim().parse().ok()?;
        (number < MAX_CPUS).then_some(number)
    };
    let mut cpus = Vec::new();
    for part in text.trim().split(',') {
        let range = match part.split_once('-') {
            Some((first, last)) => number(first)?..=number(last)?,
            None => number(part)?..=number(part)?,
        };
        if range.is_empty() || cpus.len() > 2 * MAX_CPUS as usize {
            return None;
        }
        cpus.extend(range);
    }
    Some(cpus)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lists_have_ranges_and_huge_ones_are_none() {
        assert_eq!(parse_cpu_list("0-2, 8\n"), Some(vec![0, 1, 2, 8]));
        for bad in ["", "x", "3-1", "0-4294967295", "512", "-1", "1,,2"] {
            assert_eq!(parse_cpu_list(bad), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn a_list_is_read_as_it_was_written(set in prop::collection::btree_set(0_u32..MAX_CPUS, 1..40)) {
            let cpus: Vec<u32> = set.into_iter().collect();
            prop_assert_eq!(parse_cpu_list(&cpu_list(&cpus)), Some(cpus));
        }
    }
}
