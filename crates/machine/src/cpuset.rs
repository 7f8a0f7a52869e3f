// SPDX-License-Identifier: MIT OR Apache-2.0
//! A set of CPUs, as the host keeps it (the guest sees `struct cpumask`).

/// CPUs a machine can have.
pub const MAX_CPUS: u32 = 512;
const WORDS: usize = (MAX_CPUS / 64) as usize;

/// A set of CPU numbers below [`MAX_CPUS`]. Asking for the lowest one, or whether there is
/// any, takes no loop: the machine asks after every event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct CpuSet {
    words: [u64; WORDS],
    /// Bit w: word w is not 0.
    used: u8,
}

impl CpuSet {
    /// The first `count` CPUs.
    pub fn first_n(count: u32) -> Self {
        (0..count.min(MAX_CPUS)).collect()
    }

    /// Reads the words of a cpumask: bit `i` of word `w` is CPU `64 w + i`.
    pub fn from_words(words: impl Iterator<Item = u64>) -> Self {
        let mut set = [0; WORDS];
        for (slot, word) in set.iter_mut().zip(words) {
            *slot = word;
        }
        Self::of(set)
    }

    fn of(words: [u64; WORDS]) -> Self {
        let used =
            words.iter().enumerate().fold(0, |used, (w, bits)| used | u8::from(*bits != 0) << w);
        Self { words, used }
    }

    /// The words of the set, lowest CPUs first.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// Adds a CPU; numbers beyond [`MAX_CPUS`] are ignored.
    #[inline]
    pub fn insert(&mut self, cpu: u32) {
        if cpu < MAX_CPUS {
            self.words[(cpu / 64) as usize] |= 1 << (cpu % 64);
            self.used |= 1 << (cpu / 64);
        }
    }

    /// Removes a CPU.
    #[inline]
    pub fn remove(&mut self, cpu: u32) {
        if cpu < MAX_CPUS {
            let word = &mut self.words[(cpu / 64) as usize];
            *word &= !(1 << (cpu % 64));
            if *word == 0 {
                self.used &= !(1 << (cpu / 64));
            }
        }
    }

    /// Whether the CPU is in the set.
    #[inline]
    pub fn contains(&self, cpu: u32) -> bool {
        cpu < MAX_CPUS && self.words[(cpu / 64) as usize] & (1 << (cpu % 64)) != 0
    }

    /// Removes the CPU and says whether it was there.
    pub fn take(&mut self, cpu: u32) -> bool {
        let had = self.contains(cpu);
        self.remove(cpu);
        had
    }

    /// Whether no CPU is in the set.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// Number of CPUs.
    #[inline]
    pub fn len(&self) -> u32 {
        self.used_words(u8::MAX).map(|w| self.words[w].count_ones()).sum()
    }

    /// Number of CPUs below this one.
    pub fn len_below(&self, cpu: u32) -> u32 {
        if cpu >= MAX_CPUS {
            return self.len();
        }
        let (word, bit) = (cpu / 64, cpu % 64);
        let below = self.used_words((1 << word) - 1).map(|w| self.words[w].count_ones());
        below.sum::<u32>() + (self.words[word as usize] & !(u64::MAX << bit)).count_ones()
    }

    /// The CPU above so many others of the set.
    pub fn nth(&self, place: u32) -> Option<u32> {
        if place == 0 {
            return self.first();
        }
        let mut left = place;
        for word in self.used_words(u8::MAX) {
            let mut bits = self.words[word];
            let count = bits.count_ones();
            if left < count {
                (0..left).for_each(|_| bits &= bits - 1);
                return Some(word as u32 * 64 + bits.trailing_zeros());
            }
            left -= count;
        }
        None
    }

    /// Words with CPUs in them, of those in a mask of words.
    #[inline]
    fn used_words(&self, mask: u8) -> impl Iterator<Item = usize> {
        let mut left = self.used & mask;
        std::iter::from_fn(move || {
            let word = left.trailing_zeros() as usize;
            left &= left.checked_sub(1)?;
            Some(word)
        })
    }

    /// Lowest CPU.
    #[inline]
    pub fn first(&self) -> Option<u32> {
        if self.used == 0 {
            return None;
        }
        let word = self.used.trailing_zeros();
        Some(word * 64 + self.words[word as usize % WORDS].trailing_zeros())
    }

    /// Lowest CPU not below `from`.
    pub fn next_from(&self, from: u32) -> Option<u32> {
        let mut word = (from / 64) as usize;
        if word >= WORDS {
            return None;
        }
        let mut bits = self.words[word] & (u64::MAX << (from % 64));
        loop {
            if bits != 0 {
                return Some(word as u32 * 64 + bits.trailing_zeros());
            }
            word += 1;
            bits = *self.words.get(word)?;
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

    fn zip(&self, other: &Self, merge: impl Fn(u64, u64) -> u64) -> Self {
        let mut words = self.words;
        words.iter_mut().zip(&other.words).for_each(|(a, b)| *a = merge(*a, *b));
        Self::of(words)
    }

    /// CPUs in both sets.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        self.zip(other, |a, b| a & b)
    }

    /// CPUs in either set.
    #[must_use]
    pub fn or(&self, other: &Self) -> Self {
        self.zip(other, |a, b| a | b)
    }

    /// CPUs of this set that are not in the other.
    #[must_use]
    pub fn minus(&self, other: &Self) -> Self {
        self.zip(other, |a, b| a & !b)
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
        assert_eq!((set.len(), set.len_below(MAX_CPUS)), (2, 2));
    }

    proptest::proptest! {
        #[test]
        fn behaves_like_a_set_of_numbers(ops in proptest::collection::vec((proptest::bool::ANY, 0u32..MAX_CPUS), 0..100)) {
            let (mut set, mut model) = (CpuSet::default(), std::collections::BTreeSet::new());
            for (insert, cpu) in ops {
                if insert {
                    set.insert(cpu);
                    model.insert(cpu);
                } else {
                    proptest::prop_assert_eq!(set.take(cpu), model.remove(&cpu));
                }
                proptest::prop_assert_eq!(set.first(), model.first().copied());
                proptest::prop_assert_eq!(set.is_empty(), model.is_empty());
                proptest::prop_assert_eq!(set.len() as usize, model.len());
                proptest::prop_assert_eq!(set.len_below(cpu) as usize, model.range(..cpu).count());
                let place = cpu / 64;
                let nth = model.iter().nth(place as usize).copied();
                proptest::prop_assert_eq!(set.nth(place), nth);
            }
            proptest::prop_assert_eq!(set.iter().collect::<Vec<_>>(), Vec::from_iter(model));
        }
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
