// SPDX-License-Identifier: MIT OR Apache-2.0
//! Suites: workloads, machines, policies, and what is expected of them, as a TOML file.
//! `docs/gates.md` has the format.

mod read;

use crate::gate::Condition;
use std::path::PathBuf;

/// A suite.
#[derive(Debug)]
pub(crate) struct Suite {
    pub(crate) tests: Vec<Test>,
}

/// Some workloads on some machines under some policies.
#[derive(Debug)]
pub(crate) struct Test {
    pub(crate) name: String,
    pub(crate) workloads: Vec<PathBuf>,
    /// Those that are asked.
    pub(crate) policies: Vec<Named>,
    /// Others, with which they are compared.
    pub(crate) others: Vec<Named>,
    pub(crate) expect: Vec<Expected>,
    pub(crate) options: Options,
}

/// A policy, as `rota compare` takes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Named {
    /// As the suite calls it.
    pub(crate) name: String,
    /// `old=../main.bpf.o:quantum_ns=2ms`.
    pub(crate) word: String,
}

/// What is to hold.
#[derive(Debug)]
pub(crate) struct Expected {
    pub(crate) condition: Condition,
    /// Where the suite says so.
    pub(crate) line: usize,
}

/// How runs go, as words of the command line: of one for each machine.
#[derive(Debug, Default)]
pub(crate) struct Options {
    pub(crate) common: Vec<String>,
    pub(crate) machines: Vec<Vec<String>>,
}

/// What became of an expectation, for one policy on one workload and machine.
#[derive(Debug)]
pub(crate) struct Checked {
    pub(crate) test: String,
    pub(crate) workload: String,
    /// Its name, if it has one.
    pub(crate) machine: Option<String>,
    pub(crate) cpus: u32,
    pub(crate) policy: String,
    pub(crate) condition: String,
    pub(crate) line: usize,
    pub(crate) failed: bool,
    /// What it was judged by.
    pub(crate) seen: String,
    /// The command that shows it.
    pub(crate) command: String,
    /// Files that were kept, if it failed.
    pub(crate) kept: Vec<String>,
}

impl Checked {
    /// `web.json, laptop, 12 CPUs`.
    pub(crate) fn place(&self) -> String {
        let plural = if self.cpus == 1 { "" } else { "s" };
        let machine = self.machine.as_ref().map_or(String::new(), |name| format!("{name}, "));
        format!("{}, {machine}{} CPU{plural}", self.workload, self.cpus)
    }
}
