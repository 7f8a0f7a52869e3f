// SPDX-License-Identifier: MIT OR Apache-2.0
//! The two ways running an object fails: it cannot be started, or its code is stopped.

use std::fmt;
use thiserror::Error;

/// An image that cannot be started.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum StartError {
    /// A map that cannot be made.
    #[error("{object}: map {map}: {what}")]
    Map {
        /// The object.
        object: String,
        /// The map.
        map: String,
        /// What is wrong with its definition.
        what: String,
    },
}

/// Why guest code was stopped.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FaultKind {
    /// Access outside a region, or to no region.
    BadAddress {
        /// Guest address.
        addr: u64,
        /// Bytes.
        size: u32,
        /// A write.
        write: bool,
        /// Name of the region nearest by id, with its size, or "no region".
        region: String,
    },
    /// The callback ran longer than its instruction budget.
    Budget(u64),
    /// An instruction that the ISA does not have.
    BadInsn(u8),
    /// Call depth or stack exceeded.
    Stack,
    /// A missing kfunc, a poisoned CO-RE access, a helper that is not there.
    Missing(String),
    /// A load through an argument, of this name, that was NULL and that the kernel marks nullable.
    NullArgument(String),
    /// A helper or kfunc refused its arguments.
    Denied(String),
}

/// A guest fault, with the place where it happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// What happened.
    pub kind: FaultKind,
    /// Function symbol, once known.
    pub function: String,
    /// Instruction slot relative to the function.
    pub insn: u32,
    /// `file:line: text` from BTF line info, where there is one.
    pub source: Option<String>,
}

impl Fault {
    /// A fault whose place the interpreter fills in.
    pub fn new(kind: FaultKind) -> Self {
        Self { kind, function: String::new(), insn: 0, source: None }
    }

    /// Shorthand for [`FaultKind::Denied`].
    pub fn denied(what: impl Into<String>) -> Self {
        Self::new(FaultKind::Denied(what.into()))
    }
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadAddress { addr, size, write, region } => {
                let verb = if *write { "write" } else { "read" };
                write!(f, "invalid {verb} of {size} bytes at {addr:#x} ({region})")
            }
            Self::Budget(n) => write!(f, "ran more than {n} instructions without returning"),
            Self::BadInsn(op) => write!(f, "unknown instruction {op:#04x}"),
            Self::Stack => write!(f, "call depth or stack space exceeded"),
            Self::NullArgument(name) => write!(
                f,
                "reads through '{name}', which is NULL here: no kernel loads this program, as \
                 '{name}' may be NULL and is read without a check"
            ),
            Self::Missing(what) | Self::Denied(what) => write!(f, "{what}"),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.kind)?;
        if !self.function.is_empty() {
            write!(f, " in {} at instruction {}", self.function, self.insn)?;
        }
        match &self.source {
            Some(s) => write!(f, " ({s})"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Fault {}
