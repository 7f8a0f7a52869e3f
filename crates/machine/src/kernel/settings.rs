// SPDX-License-Identifier: MIT OR Apache-2.0
//! What schedulers can tell of how a kernel was built and set.

use std::fmt;

/// When a kernel preempts (`preempt_modes` in `kernel/sched/core.c`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preempt {
    /// At once, but not in the kernel.
    None,
    /// At once; in the kernel where that says so.
    Voluntary,
    /// At once, in the kernel, too.
    Full,
    /// A task of the fair class at its next tick (`resched_curr_lazy()`).
    Lazy,
}

impl Preempt {
    /// All modes.
    pub const ALL: [Preempt; 4] = [Preempt::None, Preempt::Voluntary, Preempt::Full, Preempt::Lazy];

    /// Its name, as in `preempt=` of the kernel's command line.
    pub fn name(self) -> &'static str {
        match self {
            Preempt::None => "none",
            Preempt::Voluntary => "voluntary",
            Preempt::Full => "full",
            Preempt::Lazy => "lazy",
        }
    }

    /// The mode of that name.
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.name() == name)
    }

    /// Whether a task that runs makes way at once, not at its next tick. Tasks run in user space
    /// here, where modes do not differ otherwise.
    pub fn is_at_once(self) -> bool {
        self != Preempt::Lazy
    }
}

impl fmt::Display for Preempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How a kernel was built and set, as far as that is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Timer ticks per second (`CONFIG_HZ`).
    pub hz: Option<u32>,
    /// When it preempts.
    pub preempt: Option<Preempt>,
    /// The slice of a task of the fair class that requests none, with all its CPUs
    /// (`base_slice_ns` in `/sys/kernel/debug/sched`).
    pub base_slice_ns: Option<u64>,
}

impl Settings {
    /// These; what they do not say is as in others.
    #[must_use]
    pub fn or(self, others: Settings) -> Self {
        Self {
            hz: self.hz.or(others.hz),
            preempt: self.preempt.or(others.preempt),
            base_slice_ns: self.base_slice_ns.or(others.base_slice_ns),
        }
    }
}
