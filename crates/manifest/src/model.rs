// SPDX-License-Identifier: MIT OR Apache-2.0
//! A manifest that was read and checked, its computed values still unworked.

use crate::document::Each;
use crate::expr::Expr;

/// A manifest as read. [`Manifest::expand`] works out its values for one machine and object.
#[derive(Debug, Clone)]
pub struct Manifest {
    pub(crate) file: String,
    pub(crate) matches: Option<Match>,
    pub(crate) require: Vec<Require>,
    /// The rules without a condition come first.
    pub(crate) changes: Vec<Changes>,
    pub(crate) resize: Vec<Assign>,
    pub(crate) max_entries: Vec<Assign>,
    pub(crate) inner_maps: Vec<String>,
    pub(crate) entries: Vec<MapEntry>,
    pub(crate) runs: Vec<RunRule>,
}

impl Manifest {
    /// The objects for which it is, if it says.
    pub fn matches(&self) -> Option<&Match> {
        self.matches.as_ref()
    }
}

/// The objects that a manifest is for, and what it says of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Match {
    /// `sched_ext_ops.name`.
    pub ops: String,
    /// Maps that such an object has.
    pub maps: Vec<String>,
    /// Global variables that such an object has, by path.
    pub globals: Vec<String>,
    /// Project and version whose loader was read.
    pub from: String,
    /// What the scheduler is for, in a line.
    pub about: String,
    /// What its program does while the scheduler runs, which a manifest cannot.
    pub lacks: Option<String>,
}

/// A value as written: text for BTF to interpret, or an expression over the machine.
#[derive(Debug, Clone)]
pub(crate) enum Given {
    Text(String),
    Computed(Expr),
}

/// One value for one path (`slice_ns`, `table[3]`, `pair_cpu[cpu]`, `cfg.limit`).
#[derive(Debug, Clone)]
pub(crate) struct Assign {
    pub(crate) path: String,
    /// Left out where the object has no such thing: the path was written with a `?` at its end.
    pub(crate) optional: bool,
    pub(crate) value: Given,
    pub(crate) line: usize,
}

#[derive(Debug, Clone)]
pub(crate) struct Require {
    pub(crate) that: Assign,
    pub(crate) otherwise: String,
}

/// Changes of the object, all or none of them.
#[derive(Debug, Clone)]
pub(crate) struct Changes {
    pub(crate) when: Option<Assign>,
    pub(crate) set: Vec<Assign>,
    pub(crate) ops: Vec<Assign>,
    pub(crate) programs: Vec<Assign>,
}

#[derive(Debug, Clone)]
pub(crate) struct MapEntry {
    pub(crate) map: String,
    pub(crate) each: Option<Each>,
    pub(crate) when: Option<Assign>,
    pub(crate) per_cpu: bool,
    pub(crate) key: Vec<Assign>,
    pub(crate) value: Vec<Assign>,
}

#[derive(Debug, Clone)]
pub(crate) struct RunRule {
    pub(crate) each: Option<Each>,
    pub(crate) when: Option<Assign>,
    pub(crate) cpu: Option<Assign>,
    /// `None`: before the scheduler is attached.
    pub(crate) timing: Option<Timing>,
    pub(crate) steps: Vec<StepRule>,
}

/// When programs run that do so while the scheduler runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// The first time, from when the scheduler is attached, in nanoseconds.
    pub at_ns: u64,
    /// Again and again after so much time, in nanoseconds.
    pub every_ns: Option<u64>,
}

#[derive(Debug, Clone)]
pub(crate) enum StepRule {
    Program { program: String, ctx: Vec<Assign>, keep: Vec<(String, String)> },
    Write { at: String, of_type: String, value: Vec<Assign> },
}
