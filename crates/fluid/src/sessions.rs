// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which sleeps begin a new session [PBS §4.1].

use crate::pbs::{Beta, Inactive};

/// What is remembered of a task's sleeps, over all its life.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sleeps {
    count: u32,
    sum: f64,
}

/// What a task that wakes goes on with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Session {
    /// T and S begin again.
    New,
    /// S stays, and T is counted from an origin that is this much later.
    Same { later_by: f64 },
}

impl Sleeps {
    /// A sleep of that length is over. It is held against the mean of those before it; the first
    /// begins a new session, unless none ever does.
    pub(crate) fn wake(&mut self, slept: f64, beta: Beta) -> Session {
        let is_new = match (beta.threshold.is_infinite(), self.count) {
            (true, _) => false,
            (false, 0) => true,
            (false, count) => slept >= beta.threshold * self.sum / f64::from(count),
        };
        self.count += 1;
        self.sum += slept;
        match (is_new, beta.inactive) {
            (true, _) => Session::New,
            (false, Inactive::Included) => Session::Same { later_by: 0.0 },
            (false, Inactive::Excluded) => Session::Same { later_by: slept },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sessions(beta: &str, sleeps: &[f64]) -> Vec<Session> {
        let beta = beta.parse().expect("in order");
        let mut memory = Sleeps::default();
        sleeps.iter().map(|slept| memory.wake(*slept, beta)).collect()
    }

    #[test]
    fn a_long_sleep_begins_a_new_session() {
        // Means before each: none, 1, 1, (1 + 1 + 4) / 3 = 2.
        let later_by = |later_by| Session::Same { later_by };
        let found = sessions("-3", &[1.0, 1.0, 4.0, 5.0]);
        assert_eq!(found, [Session::New, later_by(1.0), Session::New, later_by(5.0)]);
        let found = sessions("+3", &[1.0, 1.0, 3.0]);
        assert_eq!(found, [Session::New, later_by(0.0), Session::New]);
    }

    #[test]
    fn beta_0_has_a_session_each_time_and_infinity_one() {
        assert_eq!(sessions("0", &[1.0, 0.1]), [Session::New, Session::New]);
        assert_eq!(sessions("inf", &[1.0, 90.0]), [Session::Same { later_by: 0.0 }; 2]);
    }
}
