// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why a policy could not be brought into the kernel.

use rota_bpf::settings::SettingError;
use thiserror::Error;

/// Why a policy could not be brought into the kernel. Nothing was changed then.
#[derive(Debug, Error)]
pub enum LoadError {
    /// The object cannot be read, or does not fit the running kernel.
    #[error(transparent)]
    Object(#[from] rota_bpf::error::LoadError),
    /// A setting cannot be made.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// What was asked for cannot be done with this object.
    #[error("{object}: {what}")]
    Unfit {
        /// Policy or file name.
        object: String,
        /// What is missing, and what was expected.
        what: String,
    },
    /// The running kernel's types cannot be read.
    #[error("cannot read the kernel's types from {path}: {why}")]
    KernelTypes {
        /// File.
        path: String,
        /// What is wrong with it.
        why: String,
    },
    /// The kernel refused the object; its log says why.
    #[error("{object}: the kernel refused {what}{}", tail(.log))]
    Refused {
        /// Policy or file name.
        object: String,
        /// What it refused, and the error.
        what: String,
        /// All that libbpf and the verifier said.
        log: String,
    },
}

/// Lines of a log that an error shows.
const SHOWN: usize = 12;

/// The last lines of a log, which say what was wrong.
fn tail(log: &str) -> String {
    let lines: Vec<&str> = log.lines().filter(|l| !l.trim().is_empty()).collect();
    let shown = &lines[lines.len().saturating_sub(SHOWN)..];
    shown.iter().flat_map(|line| ["\n  ", line]).collect()
}

impl LoadError {
    /// Is it the input's fault (usage), rather than this machine's?
    pub fn is_input(&self) -> bool {
        matches!(self, Self::Object(_) | Self::Setting(_) | Self::Unfit { .. })
    }

    /// The kernel's and libbpf's log; empty if the kernel was not asked.
    pub fn log(&self) -> &str {
        match self {
            Self::Refused { log, .. } => log,
            _ => "",
        }
    }
}
