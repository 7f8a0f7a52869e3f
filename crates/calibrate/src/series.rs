// SPDX-License-Identifier: MIT OR Apache-2.0
//! What was measured so far: samples by what they are of.

use crate::distance::Distance;
use crate::estimate::Estimate;
use crate::loops::Kind;
use std::collections::BTreeMap;

/// What samples are of. Times are nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Series {
    /// One way of a cache line.
    Line(Distance),
    /// A `sched_yield()` of a thread alone on its CPU.
    YieldAlone,
    /// The same of each of two that take turns.
    YieldTurns,
    /// A byte written into a pipe and read again by the same thread.
    PipeAlone,
    /// A round of two threads on one CPU.
    PipeRound,
    /// The same with futexes.
    FutexAlone,
    FutexRound,
    /// From a call that wakes to the woken thread, on a CPU that is never idle.
    WakeBusy(Distance),
    /// The same on a CPU that was idle for so many microseconds.
    WakeIdle(u64),
    /// The call that wakes, of a CPU that is never idle, and of one that was idle for so many
    /// microseconds.
    CallBusy(Distance),
    CallIdle(u64),
    /// How long a thread of a CPU that is never idle stands still for a wakeup of another one.
    Interrupted(Distance),
    /// How late a sleep of a millisecond is, with the slack that threads have, and with none.
    LateUsual,
    LateExact,
    /// More time for each line after a move of a set of so many KiB.
    Refill(Distance, u32),
    /// Time for each line of a warm set.
    Reuse(u32),
    /// Units per second of a CPU whose sibling is idle, and busy.
    Alone(Kind),
    Paired(Kind),
    /// Units per second of a CPU alone, and with others of its last-level cache.
    Single,
    Together,
    /// Units per second of a CPU of a kind of cores.
    OfType(usize),
    /// Units per second with so many busy cores of a kind.
    Active(usize, u32),
    /// Speed in a millisecond after a long idle time, as a part of that in the end.
    Ramp(usize),
    /// Speed in the first millisecond after so many milliseconds of idleness, likewise.
    Cool(u64),
    /// A tick.
    Tick,
    /// Making a thread.
    Birth,
    /// From the last thing that a thread does to the thread that waits for it.
    End,
}

/// Samples of all series.
#[derive(Clone, Debug, Default)]
pub(crate) struct Samples(BTreeMap<Series, Vec<f64>>);

impl Samples {
    pub(crate) fn add(&mut self, series: Series, samples: Vec<f64>) {
        self.0.entry(series).or_default().extend(samples);
    }

    pub(crate) fn estimate(&self, series: Series) -> Option<Estimate> {
        Estimate::of(self.0.get(&series)?)
    }

    /// Series that a function gives a place, in the order of places.
    pub(crate) fn ladder(&self, place: impl Fn(Series) -> Option<u64>) -> Vec<(u64, Estimate)> {
        let of = |(series, samples): (&Series, &Vec<f64>)| {
            Some((place(*series)?, Estimate::of(samples)?))
        };
        let mut ladder: Vec<_> = self.0.iter().filter_map(of).collect();
        ladder.sort_by_key(|(place, _)| *place);
        ladder
    }
}
