// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a task, a group or all of them got lately: counts and sketches, whatever the number of events.

use rota_measure::Latencies;

/// Numbers are of the present half window and of the one before.
pub const HALF_NS: u64 = 5_000_000_000;

/// Counts of half a window.
#[derive(Clone, Debug)]
struct Half {
    run_ns: u64,
    delay_ns: u64,
    switches: u64,
    wakeups: Latencies,
}

/// Numbers of the last half window and a part of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recent {
    /// Which half window `now` is of.
    at: u64,
    now: Half,
    before: Half,
}

/// What was counted, of between [`HALF_NS`] and twice as much.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Numbers {
    /// Time on CPUs.
    pub run_ns: u64,
    /// Time that it waited for a CPU.
    pub delay_ns: u64,
    /// Times that a CPU was given to it.
    pub switches: u64,
    /// Wakeups after which it ran.
    pub wakeups: u64,
    /// From the wakeup until it ran; `None`: there was none.
    pub p99_ns: Option<u64>,
    /// The longest of these.
    pub max_ns: Option<u64>,
}

/// What was counted of a task, in some time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts<'a> {
    /// Time on CPUs.
    pub run_ns: u64,
    /// Time that it waited for a CPU.
    pub delay_ns: u64,
    /// Times that a CPU was given to it.
    pub switches: u64,
    /// From a wakeup until it ran, and how often it took so long.
    pub latencies: &'a [(u64, u64)],
}

impl Default for Half {
    fn default() -> Self {
        Self { run_ns: 0, delay_ns: 0, switches: 0, wakeups: Latencies::small() }
    }
}

impl Half {
    fn is_empty(&self) -> bool {
        self.run_ns == 0 && self.delay_ns == 0 && self.switches == 0
    }
}

impl Recent {
    /// Time on a CPU, up to now.
    pub(crate) fn ran(&mut self, ns: u64, now_ns: u64) {
        self.half(now_ns).run_ns += ns;
    }

    /// A part of a wait, up to now.
    pub(crate) fn waited(&mut self, ns: u64, now_ns: u64) {
        self.half(now_ns).delay_ns += ns;
    }

    /// A CPU begins to run it; `woken_ns` is how long ago it woke, if a wakeup is what it ran after.
    pub(crate) fn began(&mut self, woken_ns: Option<u64>, now_ns: u64) {
        let half = self.half(now_ns);
        half.switches += 1;
        if let Some(ns) = woken_ns {
            half.wakeups.record(ns);
        }
    }

    /// What was counted in a time that began at `since_ns`.
    pub(crate) fn counted(&mut self, counts: &Counts<'_>, since_ns: u64) {
        let half = self.half(since_ns);
        half.run_ns += counts.run_ns;
        half.delay_ns += counts.delay_ns;
        half.switches += counts.switches;
        for (ns, times) in counts.latencies {
            half.wakeups.record_many(*ns, *times);
        }
    }

    /// The numbers up to now.
    pub(crate) fn numbers(&mut self, now_ns: u64) -> Numbers {
        self.half(now_ns);
        let (now, before) = (&self.now, &self.before);
        if now.is_empty() && before.is_empty() {
            return Numbers::default();
        }
        let mut wakeups = before.wakeups.clone();
        wakeups.merge(&now.wakeups);
        let latencies = wakeups.numbers(0);
        Numbers {
            run_ns: now.run_ns + before.run_ns,
            delay_ns: now.delay_ns + before.delay_ns,
            switches: now.switches + before.switches,
            wakeups: latencies.count,
            p99_ns: latencies.p99,
            max_ns: latencies.max,
        }
    }

    /// The present half, after those that are over were put away.
    fn half(&mut self, now_ns: u64) -> &mut Half {
        let at = now_ns / HALF_NS;
        if at > self.at {
            let over = std::mem::take(&mut self.now);
            self.before = if at == self.at + 1 { over } else { Half::default() };
            self.at = at;
        }
        &mut self.now
    }
}

/// How much time numbers at this time are of.
pub(crate) fn window_ns(now_ns: u64) -> u64 {
    now_ns - (now_ns / HALF_NS).saturating_sub(1) * HALF_NS
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    #[test]
    fn numbers_are_of_the_half_before_and_what_there_is_of_this_one() {
        let mut recent = Recent::default();
        recent.ran(3 * S, 4 * S);
        recent.began(Some(7), 4 * S);
        assert_eq!(recent.numbers(4 * S).run_ns, 3 * S);
        recent.ran(S, 6 * S);
        let both = recent.numbers(9 * S);
        assert_eq!((both.run_ns, both.wakeups, both.p99_ns), (4 * S, 1, Some(7)));
        // At 10 s the first half, up to 5 s, is forgotten; at 20 s the other one is, too.
        assert_eq!(recent.numbers(10 * S).run_ns, S);
        assert_eq!(recent.numbers(20 * S), Numbers::default());
    }

    #[test]
    fn the_window_is_between_one_half_and_two() {
        assert_eq!([0, 3 * S, 5 * S, 9 * S].map(window_ns), [0, 3 * S, 5 * S, 9 * S]);
        assert_eq!([10 * S, 14 * S, 15 * S].map(window_ns), [5 * S, 9 * S, 5 * S]);
    }
}
