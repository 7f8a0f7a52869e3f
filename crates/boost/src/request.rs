// SPDX-License-Identifier: MIT OR Apache-2.0
//! What becomes of one thread's elevation while it serves requests.
//!
//! ```text
//! received           sent            quiet time over        nice 0
//!    │  open: full     │ streaming: full │ decaying: +1 per delay │ over
//! ```
//! A request is open while something was received and nothing sent on the same socket. [CAS §5,
//! rule 3] cannot tell when an answer is sent, so it only decays; the decay of §6 comes after
//! the answer here. An answer in pieces lasts until none was sent for the quiet time. A request
//! that nobody answers ends at a limit.

use crate::table::Elevation;

/// What is known of a thread's sockets at some time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// A socket has received, and nothing was sent there yet.
    pub open: bool,
    /// When something was last received; times are of the monotonic clock.
    pub recv_ns: u64,
    /// When something was last sent.
    pub send_ns: u64,
    /// Requests answered since the thread is known.
    pub answers: u32,
    /// For how long something was open, in all, without waits for a CPU.
    pub served_ns: u64,
}

/// Times that end phases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// After the last piece of an answer.
    pub quiet_ns: u64,
    /// After the last receive, if nothing is sent.
    pub open_ns: u64,
}

/// Where a request stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Nothing sent yet.
    Open,
    /// An answer is being sent.
    Streaming,
    /// Answered, or given up.
    Decaying,
    /// The elevation has decayed.
    Over,
}

/// A thread's elevation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    full: Elevation,
    recv_ns: u64,
}

impl Request {
    /// Something was received.
    pub fn begin(full: Elevation, recv_ns: u64) -> Self {
        Self { full, recv_ns }
    }

    /// Phase and nice value. A receive later than the one before begins anew, with `full`, the
    /// elevation of the load as it is now, unless that is none.
    pub fn observe(
        &mut self,
        now_ns: u64,
        facts: Facts,
        full: Option<Elevation>,
        limits: Limits,
    ) -> (Phase, i32) {
        if facts.recv_ns > self.recv_ns {
            self.recv_ns = facts.recv_ns;
            self.full = full.unwrap_or(self.full);
        }
        let given_up_ns = facts.recv_ns.saturating_add(limits.open_ns);
        if facts.open && now_ns < given_up_ns {
            return (Phase::Open, self.full.nice);
        }
        let quiet_ns = facts.send_ns.saturating_add(limits.quiet_ns);
        let ended_ns = match facts.open {
            true => given_up_ns,
            false => quiet_ns.max(facts.recv_ns),
        };
        if now_ns < ended_ns {
            return (Phase::Streaming, self.full.nice);
        }
        let delay_ns = self.full.delay.as_nanos().max(1);
        let steps = u128::from(now_ns - ended_ns) / delay_ns;
        let nice = i128::from(self.full.nice) + i128::try_from(steps).unwrap_or(i128::MAX >> 1);
        match i32::try_from(nice) {
            Ok(nice) if nice < 0 => (Phase::Decaying, nice),
            _ => (Phase::Over, 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::time::Duration;

    const MS: u64 = 1_000_000;
    const LIMITS: Limits = Limits { quiet_ns: 100 * MS, open_ns: 10_000 * MS };

    fn level(nice: i32, delay_ms: u64) -> Elevation {
        Elevation { nice, delay: Duration::from_millis(delay_ms) }
    }

    /// Received at 1 s, answered at 1.3 s, quiet for 100 ms, then one level per 500 ms.
    #[test]
    fn full_until_the_answer_then_one_level_per_delay() {
        let mut request = Request::begin(level(-3, 500), 1000 * MS);
        let mut look = |at: u64, open: bool, sent: u64| {
            let facts = Facts { open, recv_ns: 1000 * MS, send_ns: sent * MS, ..Facts::default() };
            request.observe(at * MS, facts, None, LIMITS)
        };
        assert_eq!(look(1299, true, 0), (Phase::Open, -3));
        assert_eq!(look(1399, false, 1300), (Phase::Streaming, -3));
        assert_eq!(look(1400, false, 1300), (Phase::Decaying, -3));
        assert_eq!(look(1899, false, 1300), (Phase::Decaying, -3));
        assert_eq!(look(1900, false, 1300), (Phase::Decaying, -2));
        assert_eq!(look(2400, false, 1300), (Phase::Decaying, -1));
        assert_eq!(look(2900, false, 1300), (Phase::Over, 0));
    }

    #[test]
    fn an_answer_in_pieces_keeps_the_level_until_it_is_quiet() {
        let mut request = Request::begin(level(-2, 300), 0);
        for sent in (0..2000).step_by(90) {
            let facts = Facts { open: false, recv_ns: 0, send_ns: sent * MS, ..Facts::default() };
            let (phase, nice) = request.observe((sent + 89) * MS, facts, None, LIMITS);
            assert_eq!((phase, nice), (Phase::Streaming, -2), "{sent}");
        }
    }

    #[test]
    fn what_nobody_answers_is_given_up() {
        let mut request = Request::begin(level(-1, 200), 0);
        let facts = Facts { open: true, ..Facts::default() };
        assert_eq!(request.observe(9_999 * MS, facts, None, LIMITS).0, Phase::Open);
        assert_eq!(request.observe(10_000 * MS, facts, None, LIMITS).0, Phase::Decaying);
        assert_eq!(request.observe(10_200 * MS, facts, None, LIMITS).0, Phase::Over);
    }

    #[test]
    fn the_next_request_has_the_level_of_its_own_time() {
        let mut request = Request::begin(level(-2, 300), 0);
        let facts = Facts { open: true, recv_ns: 50 * MS, send_ns: 20 * MS, ..Facts::default() };
        let (_, nice) = request.observe(60 * MS, facts, Some(level(-7, 600)), LIMITS);
        assert_eq!(nice, -7);
    }

    proptest! {
        /// Once closed, the level only falls towards 0, and gets there.
        #[test]
        fn decay_is_monotonous_and_ends(
            nice in -20i32..0, delay in 1u64..2000, sent in 0u64..10_000,
            mut times in prop::collection::vec(0u64..60_000, 2..20),
        ) {
            times.sort_unstable();
            let mut request = Request::begin(level(nice, delay), 0);
            let facts = Facts { open: false, recv_ns: 0, send_ns: sent * MS, ..Facts::default() };
            let mut last = nice;
            for at in times {
                let (phase, now) = request.observe(at * MS, facts, None, LIMITS);
                prop_assert!(now >= last && now <= 0);
                prop_assert_eq!(phase == Phase::Over, now == 0);
                last = now;
            }
            let end = sent + 100 + delay * u64::from(nice.unsigned_abs());
            prop_assert_eq!(request.observe(end * MS, facts, None, LIMITS), (Phase::Over, 0));
        }

        /// Nothing is ever lowered, or elevated beyond its level, whatever the times.
        #[test]
        fn any_facts_stay_within_the_level(
            now: u64, recv_ns: u64, send_ns: u64, open: bool, nice in -20i32..0, delay in 0u64..5000,
        ) {
            let mut request = Request::begin(level(nice, delay), 0);
            let facts = Facts { open, recv_ns, send_ns, ..Facts::default() };
            let (_, got) = request.observe(now, facts, None, LIMITS);
            prop_assert!((nice..=0).contains(&got));
        }
    }
}
