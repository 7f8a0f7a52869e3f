// SPDX-License-Identifier: MIT OR Apache-2.0
//! What must be known to read a recording.

use super::taken::Taken;

/// Where `pick` events come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PickSource {
    /// From sched_ext's own picks; of tasks of other classes, from switches.
    Hook,
    /// From switches: another slice of the task that runs already is not seen.
    Switches,
}

/// Records that found no room in the buffer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// By CPU.
    pub per_cpu: Vec<u64>,
}

impl Lost {
    /// All of them.
    pub fn total(&self) -> u64 {
        self.per_cpu.iter().sum()
    }
}

/// What was counted up to some time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Records that came out of the buffer.
    pub records: u64,
    /// Records that found no room in the buffer.
    pub lost: Lost,
    /// Records that were out of order by more than the window, and got a later time.
    pub late: u64,
    /// Switches that did not fit what was known: signs of lost records.
    pub repaired: u64,
    /// CPU time of the recorder itself, which is in no event.
    pub recorder_cpu_ns: u64,
}

impl Counts {
    /// What was counted after `before`.
    #[must_use]
    pub fn since(&self, before: &Counts) -> Counts {
        let earlier = before.lost.per_cpu.iter().copied().chain(std::iter::repeat(0));
        let lost = self.lost.per_cpu.iter().zip(earlier);
        Counts {
            records: self.records - before.records,
            lost: Lost { per_cpu: lost.map(|(now, before)| now - before).collect() },
            late: self.late - before.late,
            repaired: self.repaired - before.repaired,
            recorder_cpu_ns: self.recorder_cpu_ns - before.recorder_cpu_ns,
        }
    }
}

/// What must be known to read a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Length of the recording.
    pub duration_ns: u64,
    /// CPUs of the machine.
    pub cpus: u32,
    /// What the recorder took of tasks.
    pub taken: Taken,
    /// Release of the kernel.
    pub kernel: String,
    /// The sched_ext scheduler that was loaded at the end, or else at the beginning.
    pub scheduler: Option<String>,
    /// What was counted.
    pub counts: Counts,
    /// Where `pick` events come from.
    pub picks: PickSource,
    /// Insertions into dispatch queues are events.
    pub dispatches: bool,
    /// Callbacks of the policy that are events.
    pub callbacks: Vec<String>,
    /// Callbacks that could not be watched, and why.
    pub unwatched: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_a_part_are_a_difference() {
        let counts = |n: u64, per_cpu: &[u64]| Counts {
            records: 10 * n,
            lost: Lost { per_cpu: per_cpu.to_vec() },
            late: 2 * n,
            repaired: n,
            recorder_cpu_ns: 100 * n,
        };
        assert_eq!(counts(7, &[5, 9]).since(&counts(4, &[5, 2])), counts(3, &[0, 7]));
        assert_eq!(counts(7, &[5, 9]).since(&Counts::default()), counts(7, &[5, 9]));
    }
}
