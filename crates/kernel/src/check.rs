// SPDX-License-Identifier: MIT OR Apache-2.0
//! Can this computer run a policy? What is missing, and how to get it. Only files are read;
//! nothing is changed and the kernel is asked for nothing.

mod files;
mod kernel;
mod kfuncs;
mod privileges;
mod scheduler;
#[cfg(test)]
mod tests;

pub use kfuncs::{kfuncs_are_broken, BrokenKfuncs};

use crate::control;
use files::Root;
use rota_object::btf::Btf;
use std::path::Path;
use std::sync::Arc;

/// How good a fact is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// As needed.
    Ok,
    /// Policies run, but something is worth knowing.
    Warning,
    /// No policy runs.
    Missing,
}

/// What is to be done with the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Run a policy.
    Run,
    /// Only read events: needs no sched_ext, and minds no other scheduler.
    Record,
}

/// One thing that a computer must have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// What it is about, in a word.
    pub name: &'static str,
    /// How good it is.
    pub state: State,
    /// What was found, as a sentence without its end.
    pub found: String,
    /// How to get what is missing; empty if nothing is.
    pub how: String,
    /// Does reading events need it, too?
    record: bool,
}

impl Fact {
    fn new(name: &'static str, state: State, found: impl Into<String>) -> Self {
        Self { name, state, found: found.into(), how: String::new(), record: false }
    }

    fn ok(name: &'static str, found: impl Into<String>) -> Self {
        Self::new(name, State::Ok, found)
    }

    fn warning(name: &'static str, found: impl Into<String>, how: impl Into<String>) -> Self {
        Self { how: how.into(), ..Self::new(name, State::Warning, found) }
    }

    fn missing(name: &'static str, found: impl Into<String>, how: impl Into<String>) -> Self {
        Self { how: how.into(), ..Self::new(name, State::Missing, found) }
    }

    fn for_record(self) -> Self {
        Self { record: true, ..self }
    }

    /// The fact as one message: what is wrong and what to do.
    pub fn message(&self) -> String {
        match self.how.as_str() {
            "" => self.found.clone(),
            how => format!("{}: {how}", self.found),
        }
    }
}

/// All facts of a computer.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// In the order in which they matter.
    pub facts: Vec<Fact>,
    /// The kernel's types, if it has some that can be understood: to read them takes a while,
    /// so whoever looked at the computer need not do it again.
    pub types: Option<Arc<Btf>>,
}

impl Findings {
    /// What stands in the way.
    pub fn missing(&self, purpose: Purpose) -> impl Iterator<Item = &Fact> {
        let counts = move |f: &&Fact| purpose == Purpose::Run || f.record;
        self.facts.iter().filter(counts).filter(|f| f.state == State::Missing)
    }

    /// What is worth knowing though nothing stands in the way.
    pub fn warnings(&self) -> impl Iterator<Item = &Fact> {
        self.facts.iter().filter(|f| f.state == State::Warning)
    }

    /// Is everything there?
    pub fn is_ready(&self, purpose: Purpose) -> bool {
        self.missing(purpose).next().is_none()
    }
}

/// Looks at this computer.
pub fn computer() -> Findings {
    computer_at(Path::new("/"), Path::new(control::SOCKET))
}

/// As [`computer`], with the files below `root`, and the control socket of a running `rota`.
pub fn computer_at(root: &Path, socket: &Path) -> Findings {
    let root = Root::new(root);
    let mut facts = vec![kernel::version(&root)];
    // An old kernel has none: that need not be said twice.
    if facts[0].state != State::Missing {
        facts.push(kernel::sched_ext(&root));
    }
    let (of_types, types) = kernel::types(&root);
    facts.extend(of_types);
    facts.push(kernel::jit(&root));
    facts.push(privileges::capabilities(&root));
    facts.extend(privileges::lockdown(&root));
    facts.extend(kernel::isolation(&root));
    facts.extend(scheduler::loaded(&root, socket));
    Findings { facts, types }
}
