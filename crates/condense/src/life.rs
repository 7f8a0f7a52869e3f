// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a task was seen to do.

/// A task's place in the list of all.
pub(crate) type LifeIx = usize;

/// A step and when it began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) at_ns: u64,
    pub(crate) what: What,
}

/// What a task does. Times are nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// Work.
    Run(u64),
    /// Sleeps so long; no task ends it.
    Sleep(u64),
    /// Slept so long, until the edge of this number.
    Wait { edge: u32, ns: u64 },
    /// Makes the edge of this number.
    Post { edge: u32 },
    /// Creates a task.
    Fork(LifeIx),
}

impl What {
    /// The task leaves its CPU.
    pub(crate) fn blocks(self) -> bool {
        matches!(self, What::Sleep(_) | What::Wait { .. })
    }
}

/// One task.
#[derive(Clone, Debug)]
pub(crate) struct Life {
    /// The workload's task that it is an instance or a fork of.
    pub(crate) of: String,
    /// Its kind, as a number.
    pub(crate) kind: usize,
    pub(crate) born_ns: u64,
    /// `None`: it was there at the end.
    pub(crate) ended_ns: Option<u64>,
    pub(crate) parent: Option<LifeIx>,
    pub(crate) steps: Vec<Step>,
}

impl Life {
    /// It was there all the time from one to another.
    pub(crate) fn lasts(&self, from_ns: u64, to_ns: u64) -> bool {
        self.born_ns <= from_ns && self.ended_ns.is_none_or(|end_ns| end_ns >= to_ns)
    }

    /// Places of the steps that begin in a time.
    pub(crate) fn within(&self, from_ns: u64, to_ns: u64) -> std::ops::Range<usize> {
        let place = |ns| self.steps.partition_point(|step| step.at_ns < ns);
        place(from_ns)..place(to_ns)
    }
}

/// One task woke another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Edge {
    pub(crate) from: LifeIx,
    pub(crate) to: LifeIx,
}
