// SPDX-License-Identifier: MIT OR Apache-2.0
//! A time for each CPU, and the CPU with the earliest: a heap of CPUs, in which each has its place. A time
//! that is set anew leaves nothing behind.

/// One for each CPU.
#[derive(Debug)]
pub(crate) struct CpuTimes {
    /// By CPU; `u64::MAX`: none.
    at_ns: Vec<u64>,
    /// CPUs: each comes after the one at half of its position.
    heap: Vec<u32>,
    /// Where in the heap each CPU is.
    place: Vec<u32>,
}

impl CpuTimes {
    /// None for any CPU.
    pub(crate) fn new(cpus: u32) -> Self {
        let all: Vec<u32> = (0..cpus).collect();
        Self { at_ns: vec![u64::MAX; all.len()], place: all.clone(), heap: all }
    }

    /// The earliest time; `u64::MAX`: none.
    #[inline]
    pub(crate) fn earliest(&self) -> u64 {
        self.heap.first().map_or(u64::MAX, |&cpu| self.at_ns[cpu as usize])
    }

    /// Takes the earliest time away. Of several CPUs it is the lowest's.
    pub(crate) fn take(&mut self) -> Option<(u64, u32)> {
        let cpu = self.first()?;
        let at_ns = self.at_ns[cpu as usize];
        self.set(cpu, u64::MAX);
        Some((at_ns, cpu))
    }

    /// The CPU with the earliest time.
    #[inline]
    pub(crate) fn first(&self) -> Option<u32> {
        self.heap.first().copied().filter(|&cpu| self.at_ns[cpu as usize] != u64::MAX)
    }

    pub(crate) fn set(&mut self, cpu: u32, at_ns: u64) {
        let before = std::mem::replace(&mut self.at_ns[cpu as usize], at_ns);
        match at_ns < before {
            true => self.rise(self.place[cpu as usize] as usize),
            false => self.sink(self.place[cpu as usize] as usize),
        }
    }

    fn rise(&mut self, mut at: usize) {
        while at > 0 {
            let parent = (at - 1) / 2;
            if !self.is_before(at, parent) {
                return;
            }
            self.swap(at, parent);
            at = parent;
        }
    }

    fn sink(&mut self, mut at: usize) {
        loop {
            let mut child = 2 * at + 1;
            if child + 1 < self.heap.len() && self.is_before(child + 1, child) {
                child += 1;
            }
            if child >= self.heap.len() || !self.is_before(child, at) {
                return;
            }
            self.swap(at, child);
            at = child;
        }
    }

    fn is_before(&self, at: usize, other: usize) -> bool {
        let key = |at: usize| (self.at_ns[self.heap[at] as usize], self.heap[at]);
        key(at) < key(other)
    }

    fn swap(&mut self, at: usize, other: usize) {
        self.heap.swap(at, other);
        self.place[self.heap[at] as usize] = at as u32;
        self.place[self.heap[other] as usize] = other as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_earliest_comes_first_and_of_several_the_lowest_cpu(
            cpus in 1u32..20,
            steps in prop::collection::vec(prop::option::weighted(0.7, (any::<u32>(), 0u64..9)), 0..80),
        ) {
            let (mut times, mut model) = (CpuTimes::new(cpus), vec![u64::MAX; cpus as usize]);
            for step in steps {
                if let Some((cpu, at_ns)) = step {
                    times.set(cpu % cpus, at_ns);
                    model[(cpu % cpus) as usize] = at_ns;
                    continue;
                }
                let first = (0u32..).zip(&model).map(|(cpu, &at_ns)| (at_ns, cpu)).min();
                let first = first.filter(|(at_ns, _)| *at_ns != u64::MAX);
                prop_assert_eq!(times.earliest(), first.map_or(u64::MAX, |(at_ns, _)| at_ns));
                prop_assert_eq!(times.take(), first);
                if let Some((_, cpu)) = first {
                    model[cpu as usize] = u64::MAX;
                }
            }
        }
    }
}
