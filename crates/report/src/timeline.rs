// SPDX-License-Identifier: MIT OR Apache-2.0
//! Who ran when: a row for every CPU and one for every task, over a window of the run.
//!
//! [`TimelineSink`] gathers a [`Timeline`] from events; [`Timeline::render`] draws it.

mod collect;
pub(crate) mod colours;
mod layout;
mod legend;
pub(crate) mod names;
mod render;
pub(crate) mod time;

#[cfg(test)]
mod collect_tests;
#[cfg(test)]
mod render_tests;

use std::collections::BTreeMap;

pub use collect::TimelineSink;

/// What happened in a window of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timeline {
    /// Start of the window.
    pub from_ns: u64,
    /// End of the window: as asked for, or where the run or the room for segments ended.
    pub to_ns: u64,
    /// What each CPU ran, in order of time, without overlaps. CPUs that ran nothing are here too.
    pub cpus: BTreeMap<u32, Vec<CpuSegment>>,
    /// Tasks that ran or waited in the window, in order of their ids.
    pub tasks: Vec<TaskRow>,
    /// Where the policy was ejected or left, and why.
    pub policy_exit: Option<(u64, String)>,
    /// The window ends early because more segments would not have fitted.
    pub cut_short: bool,
}

/// A time that one task was on a CPU without a switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuSegment {
    /// First nanosecond.
    pub start_ns: u64,
    /// First nanosecond after it.
    pub end_ns: u64,
    /// The task.
    pub pid: u32,
    /// When slices began.
    pub picks_ns: Vec<u64>,
}

/// A task of the window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskRow {
    /// Process id.
    pub pid: u32,
    /// Name.
    pub name: String,
    /// The task that it is an instance of; its own name if of none.
    pub instance_of: String,
    /// Times on a CPU or waiting for one; between them it slept or was not there.
    pub segments: Vec<TaskSegment>,
}

/// A time that a task was in one state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskSegment {
    /// First nanosecond.
    pub start_ns: u64,
    /// First nanosecond after it.
    pub end_ns: u64,
    /// The CPU it was on; `None`: it waited for one.
    pub cpu: Option<u32>,
}

/// The words above a picture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Caption {
    /// Name of the policy.
    pub policy: String,
    /// Name of the workload.
    pub workload: String,
    /// The machine in a few words, as "4 CPUs, 250 Hz".
    pub machine: String,
}

impl TaskRow {
    /// Time on CPUs in the window.
    pub fn cpu_ns(&self) -> u64 {
        let running = self.segments.iter().filter(|s| s.cpu.is_some());
        running.map(|s| s.end_ns - s.start_ns).sum()
    }
}

impl Timeline {
    /// Draws the timeline as one SVG document that uses nothing outside of itself.
    pub fn render(&self, caption: &Caption) -> String {
        render::render(self, caption)
    }
}
