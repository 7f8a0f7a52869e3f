// SPDX-License-Identifier: MIT OR Apache-2.0
//! Suites: workloads, machines, policies, and what is expected of them, as a TOML file.
//! `docs/gates.md` has the format.

mod read;

use crate::condition::Condition;
use std::path::PathBuf;

/// A suite.
#[derive(Debug)]
pub struct Suite {
    /// In the order of the file.
    pub tests: Vec<Test>,
}

/// Some workloads on some machines under some policies.
#[derive(Debug)]
pub struct Test {
    /// What the suite calls it.
    pub name: String,
    /// Workload files, as seen from here.
    pub workloads: Vec<PathBuf>,
    /// Those that are asked.
    pub policies: Vec<Named>,
    /// Others, with which they are compared.
    pub others: Vec<Named>,
    /// What is to hold for each of the policies.
    pub expect: Vec<Expected>,
    /// How its runs go.
    pub options: Options,
}

/// A policy, as `rota compare` takes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// As the suite calls it.
    pub name: String,
    /// `old=../main.bpf.o:quantum_ns=2ms`.
    pub word: String,
}

/// What is to hold.
#[derive(Debug)]
pub struct Expected {
    /// The condition.
    pub condition: Condition,
    /// Where the suite says so.
    pub line: usize,
}

/// How runs go, as words of the command line: of one for each machine.
#[derive(Debug, Default)]
pub struct Options {
    /// Of all runs.
    pub common: Vec<String>,
    /// Of those on each machine.
    pub machines: Vec<Vec<String>>,
}
