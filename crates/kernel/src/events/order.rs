// SPDX-License-Identifier: MIT OR Apache-2.0
//! Puts records of all CPUs into the order of their times.
//!
//! CPUs reserve room in one ring buffer one after the other, and read the clock just after:
//! times are nearly in order. What comes out of the buffer is held back for a window of time;
//! a record that comes later still is let through with the time of its predecessor, and counted.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Something with a time.
pub(crate) trait Timed {
    fn time_ns(&self) -> u64;
    fn set_time_ns(&mut self, time_ns: u64);
}

/// Holds records back until those before them must have come.
#[derive(Debug)]
pub(crate) struct Reorder<T> {
    window_ns: u64,
    held: BinaryHeap<Reverse<Held<T>>>,
    /// Of records with the same time, the one that came first goes first.
    next_number: u64,
    released_ns: u64,
    newest_ns: u64,
    late: u64,
}

#[derive(Debug)]
struct Held<T> {
    time_ns: u64,
    number: u64,
    record: T,
}

impl<T> Ord for Held<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.time_ns, self.number).cmp(&(other.time_ns, other.number))
    }
}

impl<T> PartialOrd for Held<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Held<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<T> Eq for Held<T> {}

impl<T: Timed> Reorder<T> {
    pub(crate) fn new(window_ns: u64) -> Self {
        Self {
            window_ns,
            held: BinaryHeap::new(),
            next_number: 0,
            released_ns: 0,
            newest_ns: 0,
            late: 0,
        }
    }

    /// Takes a record.
    pub(crate) fn push(&mut self, mut record: T) {
        if record.time_ns() < self.released_ns {
            self.late += 1;
            record.set_time_ns(self.released_ns);
        }
        self.newest_ns = self.newest_ns.max(record.time_ns());
        let number = self.next_number;
        self.next_number += 1;
        self.held.push(Reverse(Held { time_ns: record.time_ns(), number, record }));
    }

    /// The next record that can have no predecessor any more, now that it is `now_ns`.
    pub(crate) fn pop(&mut self, now_ns: u64) -> Option<T> {
        let settled_ns = self.newest_ns.max(now_ns).saturating_sub(self.window_ns);
        self.pop_until(settled_ns)
    }

    /// The next record, when no more can come.
    pub(crate) fn pop_rest(&mut self) -> Option<T> {
        self.pop_until(u64::MAX)
    }

    /// Records that came too late for their place.
    pub(crate) fn late(&self) -> u64 {
        self.late
    }

    fn pop_until(&mut self, until_ns: u64) -> Option<T> {
        let Reverse(first) = self.held.peek()?;
        if first.time_ns > until_ns {
            return None;
        }
        let Reverse(first) = self.held.pop()?;
        self.released_ns = first.time_ns;
        Some(first.record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Stamped = (u64, usize);

    impl Timed for Stamped {
        fn time_ns(&self) -> u64 {
            self.0
        }

        fn set_time_ns(&mut self, time_ns: u64) {
            self.0 = time_ns;
        }
    }

    fn through(window_ns: u64, input: &[Stamped]) -> (Vec<Stamped>, u64) {
        let mut order = Reorder::new(window_ns);
        let mut output = Vec::new();
        for record in input {
            order.push(*record);
            output.extend(std::iter::from_fn(|| order.pop(0)));
        }
        output.extend(std::iter::from_fn(|| order.pop_rest()));
        (output, order.late())
    }

    #[test]
    fn the_window_is_the_time_that_a_record_may_be_late() {
        let (output, late) = through(10, &[(100, 0), (110, 1), (100, 2), (111, 3), (100, 4)]);
        assert_eq!(output, [(100, 0), (100, 2), (100, 4), (110, 1), (111, 3)]);
        assert_eq!(late, 0);
        let (output, late) = through(10, &[(100, 0), (111, 1), (99, 2)]);
        assert_eq!((output, late), (vec![(100, 0), (100, 2), (111, 1)], 1));
    }

    #[test]
    fn time_that_passes_releases_the_last_records() {
        let mut order = Reorder::new(10);
        order.push((100, 0));
        assert_eq!(order.pop(109), None);
        assert_eq!(order.pop(110), Some((100, 0)));
    }

    proptest! {
        /// Records that are displaced by no more than the window come out sorted, all of them.
        #[test]
        fn what_is_late_within_the_window_comes_out_sorted(
            gaps in prop::collection::vec((0u64..50, 0u64..=1000), 1..300),
        ) {
            let mut now = 0;
            let mut arrivals: Vec<(u64, Stamped)> = Vec::new();
            for (number, (gap, delay)) in gaps.iter().enumerate() {
                now += gap;
                arrivals.push((now + delay, (now, number)));
            }
            arrivals.sort();
            let input: Vec<Stamped> = arrivals.iter().map(|(_, record)| *record).collect();
            let mut sorted = input.clone();
            sorted.sort_by_key(|(time, _)| *time);
            let (output, late) = through(1000, &input);
            prop_assert_eq!(late, 0);
            prop_assert_eq!(output, sorted);
        }

        /// However late records are, none is lost, times do not go backwards, and just those
        /// whose time was changed are counted.
        #[test]
        fn what_is_later_is_counted(
            times in prop::collection::vec(0u64..10_000, 1..300),
            window in 0u64..3000,
        ) {
            let input: Vec<Stamped> = times.iter().copied().zip(0..).collect();
            let (output, late) = through(window, &input);
            prop_assert!(output.windows(2).all(|pair| pair[0].0 <= pair[1].0));
            let changed = output.iter().filter(|(time, number)| *time != times[*number]).count();
            prop_assert_eq!(late, changed as u64);
            let mut numbers: Vec<usize> = output.iter().map(|(_, number)| *number).collect();
            numbers.sort_unstable();
            prop_assert!(numbers.into_iter().eq(0..times.len()));
        }
    }
}
