// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why an object cannot be loaded.

use thiserror::Error;

/// An object that cannot be loaded.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
#[error("{object}: {problem}")]
#[non_exhaustive]
pub struct LoadError {
    /// File or policy name.
    pub object: String,
    /// What is wrong with it.
    pub problem: Problem,
}

/// What is wrong with an object: the step at which it failed. The message names section, symbol,
/// instruction or offset, and what was expected.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// It is no BPF object, or its ELF or BTF is damaged.
    #[error("{0}")]
    File(String),
    /// Its functions cannot be laid out.
    #[error("{0}")]
    Code(String),
    /// A map or data section is not defined as one.
    #[error("{0}")]
    Maps(String),
    /// It needs something that the kernel does not have.
    #[error("{}{why}", .place.as_ref().map_or(String::new(), |place| format!("{place}: ")))]
    Missing {
        /// Kernel function, variable or option.
        name: String,
        /// Function and instruction that needs it, where one does.
        place: Option<String>,
        /// Why it counts as missing, and what there is in its place.
        why: String,
    },
    /// An instruction refers to nothing.
    #[error("{0}")]
    Relocation(String),
    /// A CO-RE relocation is malformed.
    #[error("{0}")]
    CoRe(String),
    /// A table of callbacks does not fit the kernel's.
    #[error("{0}")]
    StructOps(String),
}

impl Problem {
    /// The same, with the place of the instruction that has it.
    pub(crate) fn at(self, at: String) -> Self {
        match self {
            Self::Relocation(what) => Self::Relocation(format!("{at}: {what}")),
            Self::Missing { name, why, .. } => Self::Missing { name, place: Some(at), why },
            other => other,
        }
    }
}
