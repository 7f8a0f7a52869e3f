// SPDX-License-Identifier: MIT OR Apache-2.0
//! Work of known kinds, in units that take some microseconds.

use std::hint::black_box;

/// What limits a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// A chain of integer operations.
    Integer,
    /// Many independent floating-point operations, which compilers turn into vector instructions.
    Vector,
    /// A chase of pointers through memory.
    Chase,
    /// Integer operations and a chase in turn.
    Mixed,
}

/// Something to do again and again.
#[derive(Debug)]
pub(crate) struct Loop {
    kind: Kind,
    state: u64,
    lanes: [f32; 64],
    ring: Ring,
    at: usize,
}

/// Words of a cache line.
const WORDS: usize = 8;

/// Lines in a random order, each with the number of the next.
#[derive(Debug)]
pub(crate) struct Ring(Vec<[u64; WORDS]>);

impl Ring {
    /// Of so many lines of 64 bytes. All are in one circle (Sattolo 1986), so that no part of it
    /// is walked alone.
    pub(crate) fn new(lines: usize) -> Self {
        let lines = lines.max(2);
        let mut order: Vec<usize> = (0..lines).collect();
        let mut state = 0x9e37_79b9_7f4a_7c15;
        for last in (1..lines).rev() {
            state = next(state);
            order.swap(last, (state >> 33) as usize % last);
        }
        let mut ring = vec![[0; WORDS]; lines];
        for (from, to) in order.iter().zip(order.iter().cycle().skip(1)) {
            ring[*from][0] = *to as u64;
        }
        Self(ring)
    }

    /// Follows and writes so many lines, from one on; which is the next.
    pub(crate) fn walk(&mut self, from: usize, lines: usize) -> usize {
        let mut at = from;
        for _ in 0..lines {
            let line = &mut self.0[at];
            line[1] = line[1].wrapping_add(1);
            at = line[0] as usize;
        }
        black_box(at)
    }

    pub(crate) fn lines(&self) -> usize {
        self.0.len()
    }
}

/// A linear congruential step (Knuth's MMIX).
fn next(state: u64) -> u64 {
    state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407)
}

/// Lines of a chase that no second-level cache holds: 4 MiB.
const FAR_LINES: usize = 65_536;

impl Loop {
    pub(crate) fn new(kind: Kind) -> Self {
        let ring = match kind {
            Kind::Chase | Kind::Mixed => Ring::new(FAR_LINES),
            Kind::Integer | Kind::Vector => Ring::new(2),
        };
        Self { kind, state: 1, lanes: [1.0; 64], ring, at: 0 }
    }

    /// One unit.
    pub(crate) fn once(&mut self) {
        match self.kind {
            Kind::Integer => self.integers(5_000),
            Kind::Vector => self.vectors(1_000),
            Kind::Chase => self.at = self.ring.walk(self.at, 500),
            Kind::Mixed => {
                self.integers(2_500);
                self.at = self.ring.walk(self.at, 100);
            }
        }
    }

    fn integers(&mut self, steps: u32) {
        for _ in 0..steps {
            self.state = black_box(next(self.state));
        }
    }

    fn vectors(&mut self, steps: u32) {
        for _ in 0..steps {
            self.lanes.iter_mut().for_each(|lane| *lane = *lane * 0.999 + 0.5);
            black_box(&mut self.lanes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_visits_every_line_before_it_comes_back() {
        for lines in [2, 3, 1_000] {
            let mut ring = Ring::new(lines);
            let at = ring.walk(0, lines - 1);
            assert_ne!(at, 0, "{lines}");
            assert_eq!(ring.walk(at, 1), 0, "{lines}");
            assert!(ring.0.iter().all(|line| line[1] == 1), "{lines}");
        }
    }
}
