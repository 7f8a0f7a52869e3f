// SPDX-License-Identifier: MIT OR Apache-2.0
//! How often a policy is loaded again when a CPU came or went.

use std::time::Duration;

/// A policy that ran this long has arrived.
const SETTLED: Duration = Duration::from_secs(2);
/// Restarts in a row of a policy that did not arrive.
const MOST: u32 = 10;
/// First pause; it doubles, so that many CPUs that come and go cause few restarts.
const PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// Counts restarts.
#[derive(Debug, Default)]
pub(crate) struct Restarts {
    in_a_row: u32,
}

impl Restarts {
    /// A policy that ran for some time wants to be loaded again: the pause before that, or
    /// `None` if it shall not be.
    pub(crate) fn after(&mut self, ran: Duration) -> Option<Duration> {
        if ran >= SETTLED {
            self.in_a_row = 0;
        }
        self.in_a_row += 1;
        let pause = PAUSE.saturating_mul(1 << (self.in_a_row - 1).min(10));
        (self.in_a_row <= MOST).then(|| pause.min(LONGEST_PAUSE))
    }

    /// How many there were in a row.
    pub(crate) fn in_a_row(&self) -> u32 {
        self.in_a_row
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn restarts_end_if_the_policy_never_arrives() {
        let mut restarts = Restarts::default();
        let pauses: Vec<_> = (0..MOST).map(|_| restarts.after(Duration::ZERO)).collect();
        assert_eq!(pauses[..3], [20, 40, 80].map(|ms| Some(Duration::from_millis(ms))));
        assert!(pauses.iter().flatten().all(|p| *p <= LONGEST_PAUSE));
        assert!(pauses.iter().all(Option::is_some));
        assert_eq!(restarts.after(Duration::from_millis(1999)), None);
    }

    #[test]
    fn a_policy_that_ran_begins_anew() {
        let mut restarts = Restarts::default();
        for _ in 0..100 {
            assert_eq!(restarts.after(SETTLED), Some(PAUSE));
        }
        assert_eq!(restarts.in_a_row(), 1);
    }
}
