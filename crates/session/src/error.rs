// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why something that a user asked for cannot be done.

use rota_catalog::{CompileError, UnknownPolicy};
use rota_machine::topology::TopologyError;
use rota_manifest::ManifestError;
use rota_object::error::LoadError;
use rota_object::settings::SettingError;
use rota_sim::SimError;
use rota_workload::WorkloadError;
use std::fmt::Display;
use std::io;
use std::path::Path;
use thiserror::Error;

/// Why it cannot be done.
#[derive(Debug, Error)]
pub enum Error {
    /// What the user gave cannot be used.
    #[error("{0}")]
    Input(String),
    /// Something else went wrong.
    #[error("{0}")]
    Failure(String),
    /// One of them that ends with the messages of a compiler, which have lines.
    #[error("{0}")]
    Log(Box<Error>),
}

impl Error {
    /// Bad input, described by a lower crate's error.
    pub fn input(what: impl Display) -> Self {
        Self::Input(what.to_string())
    }

    /// A file that the user named and that cannot be read or created.
    pub fn file(verb: &str, path: &Path, error: &io::Error) -> Self {
        Self::Input(format!("cannot {verb} {}: {error}", path.display()))
    }

    /// Whether what the user gave is at fault.
    pub fn is_input(&self) -> bool {
        match self {
            Self::Log(error) => error.is_input(),
            Self::Input(_) => true,
            Self::Failure(_) => false,
        }
    }
}

macro_rules! bad_input {
    ($($kind:ty),*) => {
        $(impl From<$kind> for Error {
            fn from(error: $kind) -> Self {
                Self::input(error)
            }
        })*
    };
}

bad_input!(
    LoadError,
    SettingError,
    UnknownPolicy,
    TopologyError,
    ManifestError,
    WorkloadError,
    SimError
);

impl From<CompileError> for Error {
    fn from(error: CompileError) -> Self {
        match error {
            CompileError::NoCompiler { .. } => Self::Failure(error.to_string()),
            CompileError::Rejected { .. } => Self::Log(Box::new(Self::input(error))),
            CompileError::Io { .. } => Self::input(error),
        }
    }
}
