// SPDX-License-Identifier: MIT OR Apache-2.0
//! A set of CPUs, as the host keeps it (the guest sees `struct cpumask`).

/// CPUs a machine can have.
pub const MAX_CPUS: u32 = 512;
const WORDS: usize = (MAX_CPUS / 64) as usize;

/// A set of CPU numbers below [`MAX_CPUS`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuSet([u64; WORDS]);

impl CpuSet {
    /// The first `count` CPUs.
    pub fn first_n(count: u32) -> Self {
        let mut set = Self::default();
        for cpu in 0..count.min(MAX_CPUS) {
            set.insert(cpu);
        }
        set
    }

    /// Reads the words of a cpumask: bit `i` of word `w` is CPU `64 w + i`.
    pub fn from_words(words: impl Iterator<Item = u64>) -> Self {
        let mut set = Self::default();
        for (slot, word) in set.0.iter_mut().zip(words) {
            *slot = word;
        }
        set
    }

    /// The words of the set, lowest CPUs first.
    pub fn words(&self) -> &[u64] {
        &self.0
    }

    /// Adds a CPU; numbers beyond [`MAX_CPUS`] are ignored.
    pub fn insert(&mut self, cpu: u32) {
        if cpu < MAX_CPUS {
            self.0[(cpu / 64) as usize] |= 1 << (cpu % 64);
        }
    }

    /// Removes a CPU.
    pub fn remove(&mut self, cpu: u32) {
        if cpu < MAX_CPUS {
            self.0[(cpu / 64) as usize] &= !(1 << (cpu % 64));
        }
    }

    /// Whether the CPU is in the set.
    #[inline]
    pub fn contains(&self, cpu: u32) -> bool {
        cpu < MAX_CPUS && self.0[(cpu / 64) as usize] & (1 << (cpu % 64)) != 0
    }

    /// Removes the CPU and says whether it was there.
    pub fn take(&mut self, cpu: u32) -> bool {
        let had = self.contains(cpu);
        self.remove(cpu);
        had
    }

    /// Whether no CPU is in the set.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|w| *w == 0)
    }

    /// Number of CPUs.
    pub fn len(&self) -> u32 {
        self.0.iter().map(|w| w.count_ones()).sum()
    }

    /// Lowest CPU.
    #[inline]
    pub fn first(&self) -> Option<u32> {
        self.next_from(0)
    }

    /// Lowest CPU not below `from`.
    pub fn next_from(&self, from: u32) -> Option<u32> {
        let mut word = (from / 64) as usize;
        if word >= WORDS {
            return None;
        }
        let mut bits = self.0[word] & (u64::MAX << (from % 64));
        loop {
            if bits != 0 {
                return Some(word as u32 * 64 + bits.trailing_zeros());
            }
            word += 1;
            bits = *self.0.get(word)?;
        }
    }

    /// CPUs in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        let mut next = 0;
        std::iter::from_fn(move || {
            let cpu = self.next_from(next)?;
            next = cpu + 1;
            Some(cpu)
        })
    }

    /// CPUs in both sets.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        let mut set = *self;
        set.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a &= b);
        set
    }

    /// CPUs in either set.
    #[must_use]
    pub fn or(&self, other: &Self) -> Self {
        let mut set = *self;
        set.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a |= b);
        set
    }

    /// CPUs of this set that are not in the other.
    #[must_use]
    pub fn minus(&self, other: &Self) -> Self {
        let mut set = *self;
        set.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a &= !b);
        set
    }

    /// Whether every CPU of this set is in the other.
    pub fn is_subset(&self, other: &Self) -> bool {
        self.minus(other).is_empty()
    }
}

impl FromIterator<u32> for CpuSet {
    fn from_iter<I: IntoIterator<Item = u32>>(cpus: I) -> Self {
        let mut set = Self::default();
        cpus.into_iter().for_each(|c| set.insert(c));
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iterates_in_ascending_order_across_words() {
        let set: CpuSet = [130, 3, 64, 511].into_iter().collect();
        assert_eq!(set.iter().collect::<Vec<_>>(), [3, 64, 130, 511]);
        assert_eq!(set.len(), 4);
    }

    #[test]
    fn numbers_beyond_the_limit_are_not_members() {
        let mut set = CpuSet::first_n(2);
        set.insert(MAX_CPUS);
        assert!(!set.contains(MAX_CPUS));
        assert_eq!(set.next_from(MAX_CPUS), None);
        assert_eq!(set.len(), 2);
    }

    #[test]
    fn set_algebra_follows_membership() {
        let a: CpuSet = [1, 2, 3].into_iter().collect();
        let b: CpuSet = [2, 3, 4].into_iter().collect();
        assert_eq!(a.and(&b).iter().collect::<Vec<_>>(), [2, 3]);
        assert_eq!(a.minus(&b).iter().collect::<Vec<_>>(), [1]);
        assert_eq!(a.or(&b).len(), 4);
        assert!(a.and(&b).is_subset(&b) && !a.is_subset(&b));
    }
}
