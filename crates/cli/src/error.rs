// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a command ends: its exit code, and the error it prints.

use rota_catalog::UnknownPolicy;
use rota_kernel::control::{ClientError, Refusal, RefusalKind};
use rota_machine::topology::TopologyError;
use rota_manifest::ManifestError;
use rota_object::error::LoadError;
use rota_object::settings::SettingError;
use rota_program::ProgramError;
use rota_sim::SimError;
use rota_workload::WorkloadError;
use std::fmt::Display;
use std::io;
use std::path::Path;
use thiserror::Error;

/// Exit code: something failed that is not the input's fault.
pub(crate) const FAILURE: u8 = 1;
/// Exit code: wrong usage or bad input; clap ends with it too.
pub(crate) const BAD_INPUT: u8 = 2;
/// Exit code: the policy was ejected.
pub(crate) const EJECTED: u8 = 3;

/// The end of the help of commands that simulate or run.
pub(crate) const EXIT_CODES: &str = "\
Exit codes: 0 ok, 1 failure, 2 wrong usage or bad input, 3 the policy was ejected.";

/// How a command that worked ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    /// As asked.
    Done,
    /// A condition failed, or an assertion does not hold.
    Failed,
    /// The kernel would have ejected the policy.
    Ejected,
    /// A kernel would not have taken the policy, of several that were asked.
    Refused,
    /// A command that was run ended with this, and so shall we.
    Command(u8),
}

/// Why a command did not work.
#[derive(Debug, Error)]
pub(crate) enum Error {
    /// What the user gave cannot be used.
    #[error("{0}")]
    Input(String),
    /// Something else went wrong.
    #[error("{0}")]
    Failure(String),
    /// One of them that ends with the messages of a compiler or the kernel, which have lines.
    #[error("{0}")]
    Log(Box<Error>),
    /// Whoever read the output has enough of it: no error.
    #[error("the output was closed")]
    PipeClosed,
}

impl Error {
    /// Bad input, described by a lower crate's error.
    pub(crate) fn input(what: impl Display) -> Self {
        Self::Input(what.to_string())
    }

    /// A file that the user named and that cannot be read or created.
    pub(crate) fn file(verb: &str, path: &Path, error: &io::Error) -> Self {
        Self::Input(format!("cannot {verb} {}: {error}", path.display()))
    }

    /// Whether it is more than one line.
    pub(crate) fn has_lines(&self) -> bool {
        matches!(self, Self::Log(_))
    }

    /// Exit code of the process.
    pub(crate) fn code(&self) -> u8 {
        match self {
            Self::Log(error) => error.code(),
            Self::Input(_) => BAD_INPUT,
            Self::Failure(_) | Self::PipeClosed => FAILURE,
        }
    }
}

/// Errors of writing to standard output.
impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::PipeClosed,
            _ => Self::Failure(format!("cannot write the output: {error}")),
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

impl From<rota_session::Error> for Error {
    fn from(error: rota_session::Error) -> Self {
        match error {
            rota_session::Error::Input(message) => Self::Input(message),
            rota_session::Error::Failure(message) => Self::Failure(message),
            rota_session::Error::Log(error) => Self::Log(Box::new((*error).into())),
        }
    }
}

impl From<ProgramError> for Error {
    fn from(error: ProgramError) -> Self {
        rota_session::Error::from(error).into()
    }
}

impl From<rota_kernel::LoadError> for Error {
    fn from(error: rota_kernel::LoadError) -> Self {
        if error.is_input() {
            return Self::input(error);
        }
        Self::Log(Box::new(Self::Failure(error.to_string())))
    }
}

impl From<rota_kernel::JoinError> for Error {
    fn from(error: rota_kernel::JoinError) -> Self {
        match error {
            rota_kernel::JoinError::Refused { .. } => Self::Log(Box::new(Self::input(error))),
            rota_kernel::JoinError::Io(_) => Self::Failure(error.to_string()),
        }
    }
}

impl From<rota_boost::BoostError> for Error {
    fn from(error: rota_boost::BoostError) -> Self {
        if error.is_input() {
            return Self::input(error);
        }
        Self::Log(Box::new(Self::Failure(error.to_string())))
    }
}

impl From<rota_kernel::events::RecordError> for Error {
    fn from(error: rota_kernel::events::RecordError) -> Self {
        if error.is_input() {
            return Self::input(error);
        }
        Self::Log(Box::new(Self::Failure(error.to_string())))
    }
}

impl From<rota_reproduce::Error> for Error {
    fn from(error: rota_reproduce::Error) -> Self {
        match error {
            rota_reproduce::Error::Input(message) => Self::Input(message),
            error => Self::Failure(error.to_string()),
        }
    }
}

impl From<rota_fluid::Error> for Error {
    fn from(error: rota_fluid::Error) -> Self {
        Self::input(error)
    }
}

impl From<rota_bench::Error> for Error {
    fn from(error: rota_bench::Error) -> Self {
        match error {
            rota_bench::Error::Input(message) => Self::Input(message),
            error => Self::Failure(error.to_string()),
        }
    }
}

impl From<ClientError> for Error {
    fn from(error: ClientError) -> Self {
        match error {
            ClientError::Refused(Refusal { kind: RefusalKind::Input, message }) => {
                Self::Input(message)
            }
            error => Self::Failure(error.to_string()),
        }
    }
}
