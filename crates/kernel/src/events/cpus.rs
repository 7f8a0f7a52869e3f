// SPDX-License-Identifier: MIT OR Apache-2.0
//! CPUs of this machine, and those that a task may use.

/// CPUs that are on line; the first if the kernel does not say.
pub(crate) fn online() -> Vec<u32> {
    let list = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
    let cpus = numbers(&list);
    if cpus.is_empty() {
        return vec![0];
    }
    cpus
}

/// How many there are.
pub fn count_online() -> u32 {
    online().len() as u32
}

/// Numbers in a list such as `0-3,8`.
pub(crate) fn numbers(list: &str) -> Vec<u32> {
    let number = |text: &str| text.trim().parse::<u32>().ok();
    list.trim()
        .split(',')
        .filter_map(|part| match part.split_once('-') {
            Some((first, last)) => Some(number(first)?..=number(last)?),
            None => number(part).map(|cpu| cpu..=cpu),
        })
        .flatten()
        .collect()
}

/// CPUs of a mask of the first 64; `None` if it holds all `cpus` of the machine, or if the
/// task may use others too: `allowed` in all.
pub(crate) fn of_mask(mask: u64, allowed: u32, cpus: u32) -> Option<Vec<u32>> {
    let all = (0..cpus).all(|cpu| cpu < 64 && mask >> cpu & 1 == 1);
    let some = !all && mask.count_ones() == allowed;
    some.then(|| (0..64).filter(|cpu| mask >> cpu & 1 == 1).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read() {
        for (list, cpus) in [
            ("0-3\n", &[0, 1, 2, 3][..]),
            ("0", &[0]),
            ("0-1,4,6-7", &[0, 1, 4, 6, 7]),
            ("", &[]),
            ("x,3-1", &[]),
        ] {
            assert_eq!(numbers(list), cpus, "{list}");
        }
    }

    #[test]
    fn only_a_real_restriction_is_a_list() {
        assert_eq!(of_mask(0b11, 2, 2), None);
        // A task that was never restricted may use CPUs that are not there, too.
        assert_eq!(of_mask(0xff, 8, 2), None);
        assert_eq!(of_mask(0b10, 1, 2), Some(vec![1]));
        assert_eq!(of_mask(0b10, 3, 80), None);
    }
}
