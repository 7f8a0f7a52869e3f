// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is measured: a policy on so many CPUs with so many tasks, by an engine.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A place in the grid.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Cell {
    pub(crate) policy: String,
    pub(crate) cpus: u32,
    pub(crate) tasks: u32,
    pub(crate) engine: Engine,
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { policy, cpus, tasks, engine } = self;
        write!(f, "{policy}, {cpus} CPUs, {tasks} tasks, {engine}")
    }
}

/// Of `rota sim --engine`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Engine {
    Auto,
    Interpreter,
    Compiled,
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::Interpreter => "interpreter",
            Self::Compiled => "compiled",
        })
    }
}

/// A number of tasks, or so many for each CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tasks {
    Number(u32),
    PerCpu(u32),
}

impl Tasks {
    pub(crate) fn on(self, cpus: u32) -> u32 {
        match self {
            Self::Number(number) => number,
            Self::PerCpu(number) => number.saturating_mul(cpus),
        }
    }
}

impl FromStr for Tasks {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (digits, per_cpu) = match text.strip_suffix('x') {
            Some(digits) => (digits, true),
            None => (text, false),
        };
        match digits.parse() {
            Ok(number) if number > 0 && per_cpu => Ok(Self::PerCpu(number)),
            Ok(number) if number > 0 => Ok(Self::Number(number)),
            _ => Err("expected a number of tasks such as 1000, or 2x for twice the CPUs".into()),
        }
    }
}

impl fmt::Display for Tasks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::PerCpu(number) => write!(f, "{number}x"),
        }
    }
}
