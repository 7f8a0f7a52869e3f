// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a task's work is made of, as far as hardware treats it differently.

/// What work is limited by, which says how much it loses to a busy SMT sibling.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WorkClass {
    /// Execution units: the sibling takes nearly half of them.
    Compute,
    /// A bit of both: of tasks that say nothing.
    #[default]
    Mixed,
    /// Waiting for memory: the sibling uses the gaps.
    Memory,
}

impl WorkClass {
    /// Every class.
    pub const ALL: [Self; 3] = [Self::Compute, Self::Mixed, Self::Memory];

    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Compute => "compute",
            Self::Mixed => "mixed",
            Self::Memory => "memory",
        }
    }
}

/// What a task says of its work; `None`: what the machine says of tasks that say nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkKind {
    /// What limits it.
    pub class: Option<WorkClass>,
    /// Memory that it uses over and over, in KiB.
    pub working_set_kib: Option<u32>,
    /// The part of its time, in 1/1024, that it waits for its node's memory.
    pub dram_share: Option<u32>,
}

impl WorkKind {
    /// With what another one says in place of its own.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self {
            class: other.class.or(self.class),
            working_set_kib: other.working_set_kib.or(self.working_set_kib),
            dram_share: other.dram_share.or(self.dram_share),
        }
    }
}
