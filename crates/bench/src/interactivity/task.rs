// SPDX-License-Identifier: MIT OR Apache-2.0
//! Interactive tasks: audio, video and X of Interbench, with deadlines of absolute time.

use super::tally::Tally;
use crate::busy;
use crate::clock::{now_ns, sleep_until};
use crate::error::Error;
use serde::{Deserialize, Serialize};

/// A task that wakes up at intervals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Task {
    /// 5 % of a CPU, every 50 ms.
    Audio,
    /// 40 %, 60 times a second.
    Video,
    /// 0 to 100 %, one more in each period of 100 ms: a window that is dragged about.
    X,
}

/// So that the first period begins with a wakeup.
const LEAD_NS: u64 = 5_000_000;

impl Task {
    pub(crate) fn period_ns(self) -> u64 {
        match self {
            Self::Audio => 50_000_000,
            Self::Video => 16_666_667,
            Self::X => 100_000_000,
        }
    }

    /// CPU time that it wants in a period, the first being 0.
    pub(crate) fn work_ns(self, at: u64) -> u64 {
        let percent = match self {
            Self::Audio => 5,
            Self::Video => 40,
            Self::X => at % 101,
        };
        self.period_ns() * percent / 100
    }

    /// Runs for a time. What is over before it begins is dropped, as a film drops frames; X goes on
    /// with what it wants by then.
    pub(crate) fn run(self, loops_per_ms: u64, duration_ns: u64) -> Result<Tally, Error> {
        let mut tally = Tally::default();
        let begin_ns = now_ns() + LEAD_NS;
        let periods = duration_ns.div_ceil(self.period_ns()).max(1);
        let mut at = 0;
        while at < periods {
            let due_ns = begin_ns + at * self.period_ns();
            let sleeps = now_ns() < due_ns;
            sleep_until(due_ns)?;
            let began_ns = now_ns();
            if sleeps {
                tally.latencies_ns.push(began_ns.saturating_sub(due_ns));
            }
            // Never the last: it is begun, however late.
            let last = periods - 1;
            let now_at = (began_ns.saturating_sub(begin_ns) / self.period_ns()).min(last);
            while at < now_at {
                tally.drop_one(self.work_ns(at));
                at += 1;
            }
            let due_ns = begin_ns + at * self.period_ns();
            busy::burn(busy::loops(loops_per_ms, self.work_ns(at)));
            tally.period(due_ns, self.period_ns(), self.work_ns(at), now_ns());
            at += 1;
        }
        Ok(tally)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wants_are_interbenchs() {
        assert_eq!(Task::Audio.work_ns(7), 2_500_000);
        // 40 % of a sixtieth of a second.
        assert_eq!(Task::Video.work_ns(0), 6_666_666);
        let x: Vec<u64> = [0, 1, 50, 100, 101].map(|at| Task::X.work_ns(at) / 1_000_000).into();
        assert_eq!(x, [0, 1, 50, 100, 0]);
    }

    #[test]
    fn every_period_of_the_time_is_counted() {
        // Loops of no length: nothing but the machine is late. Four periods of 50 ms.
        let tally = Task::Audio.run(0, 200_000_000).expect("runs");
        assert_eq!(tally.met + tally.late + tally.dropped, 4);
        assert_eq!(tally.wanted_ns, 4 * 2_500_000);
        assert!((1..=4).contains(&tally.latencies_ns.len()), "{tally:?}");
    }
}
