// SPDX-License-Identifier: MIT OR Apache-2.0
//! Puts records of all CPUs into the order of their times.
//!
//! Each CPU has a ring buffer, whose times are nearly in order: it reserves room and reads the clock
//! just after. What comes out of the buffers is held back for a window of time; a record that comes
//! later still is let through with the time of its predecessor, and counted.

/// Something with a time.
pub(crate) trait Timed {
    fn time_ns(&self) -> u64;
    fn set_time_ns(&mut self, time_ns: u64);
}

/// Holds records back until those before them must have come.
#[derive(Debug)]
pub(crate) struct Reorder<T> {
    window_ns: u64,
    /// In order as far as they were there at the last release, then as they came. Of records with
    /// the same time, the one that came first goes first.
    held: Vec<T>,
    released_ns: u64,
    newest_ns: u64,
    late: u64,
}

impl<T: Timed> Reorder<T> {
    pub(crate) fn new(window_ns: u64) -> Self {
        Self { window_ns, held: Vec::new(), released_ns: 0, newest_ns: 0, late: 0 }
    }

    /// Takes a record.
    pub(crate) fn push(&mut self, mut record: T) {
        if record.time_ns() < self.released_ns {
            self.late += 1;
            record.set_time_ns(self.released_ns);
        }
        self.newest_ns = self.newest_ns.max(record.time_ns());
        self.held.push(record);
    }

    /// The records that can have no predecessor any more, now that it is `now_ns`.
    pub(crate) fn release(&mut self, now_ns: u64) -> impl Iterator<Item = T> + '_ {
        self.release_until(self.newest_ns.max(now_ns).saturating_sub(self.window_ns))
    }

    /// All records, when no more can come.
    pub(crate) fn release_rest(&mut self) -> impl Iterator<Item = T> + '_ {
        self.release_until(u64::MAX)
    }

    /// Records that came too late for their place.
    pub(crate) fn late(&self) -> u64 {
        self.late
    }

    /// Sorting takes runs that are in order as they are: one of what was left, one for each CPU.
    fn release_until(&mut self, until_ns: u64) -> impl Iterator<Item = T> + '_ {
        self.held.sort_by_key(Timed::time_ns);
        let count = self.held.partition_point(|record| record.time_ns() <= until_ns);
        if let Some(last) = count.checked_sub(1) {
            self.released_ns = self.held[last].time_ns();
        }
        self.held.drain(..count)
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
            output.extend(order.release(0));
        }
        output.extend(order.release_rest());
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
        assert_eq!(order.release(109).next(), None);
        assert_eq!(order.release(110).next(), Some((100, 0)));
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
