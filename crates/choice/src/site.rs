// SPDX-License-Identifier: MIT OR Apache-2.0
//! What can be asked: one of several alternatives, or a random number.

use std::fmt;

/// Where one of several alternatives has to be chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Site {
    /// Which of the CPUs that pick at one instant is the first; by number.
    FirstCpu,
    /// Which of them is the next; by number.
    NextCpu,
    /// Which of the events of one instant happens next.
    Event,
    /// Which CPU has the tick with this number first, where one has it after the other; by number.
    TickTurn {
        /// Ticks since the start of the run.
        number: u64,
    },
}

/// As recordings have it.
impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Site::FirstCpu => f.write_str("first-cpu"),
            Site::NextCpu => f.write_str("next-cpu"),
            Site::Event => f.write_str("event"),
            Site::TickTurn { number } => write!(f, "tick-turn {number}"),
        }
    }
}

/// What a random number is for. Each has random numbers of its own, so that what one gets never
/// depends on the order in which others ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// `bpf_get_prandom_u32()` of the policy.
    Policy,
    /// When the instances of a task start: number of its definition in the workload.
    Start(u32),
    /// What a task does: its number in the workload, and the number of its random stream, which
    /// depends on its line of descent alone.
    Task(u32, u64),
    /// What customers send, and when: number of the source, number of the user in it.
    Customer(u32, u32),
}

impl Origin {
    /// Bits of a number.
    pub fn bits(self) -> u32 {
        match self {
            Origin::Policy => 32,
            Origin::Start(_) | Origin::Task(..) | Origin::Customer(..) => 64,
        }
    }

    /// As far as recordings have it.
    pub(crate) fn recorded(self) -> Self {
        match self {
            Origin::Task(task, _) => Origin::Task(task, 0),
            other => other,
        }
    }
}

/// As recordings have it.
impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Policy => f.write_str("policy"),
            Origin::Start(definition) => write!(f, "start {definition}"),
            Origin::Task(task, _) => write!(f, "task {task}"),
            Origin::Customer(source, user) => write!(f, "customer {source} {user}"),
        }
    }
}

/// What can be chosen at a [`Site`], each by its position.
pub trait Alternatives {
    /// How many there are, 1 at least.
    fn count(&self) -> u32;

    /// Position of the one that the documented order takes. May take as long as there are
    /// alternatives.
    fn documented(&self) -> u32;

    /// Position of the one to which a random number leads.
    fn random(&self, number: u32) -> u32 {
        number % self.count()
    }
}
