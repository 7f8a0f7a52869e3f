// SPDX-License-Identifier: MIT OR Apache-2.0
//! Who gets which share when.

use crate::level::Level;
use crate::task::Task;

/// A scenario, solved.
#[derive(Clone, Debug)]
pub struct Solution {
    /// Names of the tasks.
    pub names: Vec<String>,
    /// When it ends.
    pub end: f64,
    /// When each task was over; `None`: it was not.
    pub completions: Vec<Option<f64>>,
    /// Each time that a task was awake, in the order of their ends.
    pub activations: Vec<Activation>,
    /// What happened, in order.
    pub changes: Vec<Change>,
    pub(crate) segments: Vec<Segment>,
    /// By task, the segments in which it was scheduled.
    pub(crate) served: Vec<Vec<usize>>,
}

/// A time for which a task was awake.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Activation {
    /// The task's number.
    pub task: usize,
    /// When it woke.
    pub from: f64,
    /// When it slept again, or was over; `None`: not before the end.
    pub to: Option<f64>,
    /// Processing time that it received.
    pub service: f64,
}

/// Something happened to a task.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// When.
    pub at: f64,
    /// The task's number.
    pub task: usize,
    /// What.
    pub kind: ChangeKind,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// It arrived, or woke.
    Wakes,
    /// It fell out of the scheduled set: a service interruption.
    Interrupted,
    /// It came into it, or back into it.
    Served,
    /// It went to sleep.
    Sleeps,
    /// It was over.
    Ends,
}

/// Nobody enters or leaves the scheduled set within.
#[derive(Clone, Debug)]
pub(crate) struct Segment {
    pub(crate) to: f64,
    pub(crate) level: Level,
    /// Of each member: what it received before its session, and its S at the end.
    pub(crate) members: Vec<(f64, f64)>,
}

impl Segment {
    pub(crate) fn new(to: f64, level: Level, tasks: &[Task]) -> Self {
        let member = |m: &crate::level::Member| {
            let task = &tasks[m.task];
            (task.before, task.service)
        };
        let members = level.members.iter().map(member).collect();
        Self { to, level, members }
    }
}

impl Solution {
    /// The segment that begins at or before a time and ends after it.
    fn segment(&self, at: f64) -> Option<&Segment> {
        let place = self.segments.partition_point(|segment| segment.to <= at);
        self.segments.get(place).filter(|segment| segment.level.from <= at)
    }

    /// Processor share of a task right after a time.
    pub fn share(&self, task: usize, at: f64) -> f64 {
        let Some(segment) = self.segment(at) else { return 0.0 };
        let level = &segment.level;
        let member = level.members.iter().find(|member| member.task == task);
        // Rounding is no share below nothing.
        member.map_or(0.0, |member| level.share(member, &level.read(at)).clamp(0.0, 1.0))
    }

    /// Whether a task is in the scheduled set right after a time.
    pub fn is_scheduled(&self, task: usize, at: f64) -> bool {
        let members = self.segment(at).map(|segment| &segment.level.members);
        members.is_some_and(|members| members.iter().any(|member| member.task == task))
    }

    /// Processing time that a task has received until a time.
    pub fn received(&self, task: usize, at: f64) -> f64 {
        let own = &self.served[task];
        let begun = own.partition_point(|segment| self.segments[*segment].level.from < at);
        let Some(last) = begun.checked_sub(1) else { return 0.0 };
        let Segment { to, level, members } = &self.segments[own[last]];
        let Some(place) = level.members.iter().position(|member| member.task == task) else {
            return 0.0;
        };
        let (before, at_end) = members[place];
        match at < *to {
            true => before + level.service(&level.members[place], &level.read(at)),
            false => before + at_end,
        }
    }

    /// Mean share of a task between two times.
    pub fn mean_share(&self, task: usize, from: f64, to: f64) -> f64 {
        (self.received(task, to) - self.received(task, from)) / (to - from)
    }

    /// Times at which shares bend or jump.
    pub fn bends(&self) -> impl Iterator<Item = f64> + '_ {
        let ends = self.segments.iter().flat_map(|segment| [segment.level.from, segment.to]);
        let mut last = None;
        ends.filter(move |at| last.replace(*at) != Some(*at))
    }

    /// Shares for a picture: at so many places in equal steps, and on both sides of each bend.
    pub fn curve(&self, places: usize) -> Curve {
        let regular = (0..=places).map(|n| self.end * n as f64 / places as f64);
        let before = |at: f64| at - 1e-9 * self.end;
        let bends = self.bends().flat_map(|at| [before(at), at]);
        let mut at: Vec<f64> = regular.chain(bends).filter(|at| *at >= 0.0).collect();
        at.sort_by(f64::total_cmp);
        let last = before(self.end);
        let shares = |task| at.iter().map(|at| self.share(task, at.min(last))).collect();
        Curve { shares: (0..self.names.len()).map(shares).collect(), at }
    }
}

/// Shares at places in time.
#[derive(Clone, Debug)]
pub struct Curve {
    /// The places, in order.
    pub at: Vec<f64>,
    /// Of each task, at each of them.
    pub shares: Vec<Vec<f64>>,
}
