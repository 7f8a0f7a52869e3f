// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why nothing can be boosted.

use std::path::PathBuf;
use thiserror::Error;

/// Why nothing can be boosted.
#[derive(Debug, Error)]
pub enum BoostError {
    /// The kernel lets only root do this.
    #[error(
        "boosting needs root (CAP_BPF, CAP_PERFMON, CAP_SYS_NICE): run it with sudo, or as root \
         of the machine"
    )]
    Privileges,
    /// The kernel does not describe its types.
    #[error(
        "cannot read the kernel's types from /sys/kernel/btf/vmlinux: boosting needs a kernel \
         built with CONFIG_DEBUG_INFO_BTF"
    )]
    Types,
    /// Another daemon is there.
    #[error("another `rota boost` (pid {0}) runs already: stop it first")]
    Running(u32),
    /// Nobody answers.
    #[error("no `rota boost` answers at {}: start it first", .0.display())]
    NotRunning(PathBuf),
    /// The user asked for what is not there.
    #[error("{0}")]
    Input(String),
    /// A file cannot be used.
    #[error("cannot {verb} {}: {source}", .path.display())]
    File {
        /// What was tried.
        verb: &'static str,
        /// The file.
        path: PathBuf,
        /// The error.
        source: std::io::Error,
    },
    /// A file holds something else.
    #[error("{}: is not what `rota boost` writes: {what}", .path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// libbpf or the kernel refused something.
    #[error("{what}: {source}{}", rota_libbpf_log::tail(.log))]
    Refused {
        /// What was tried.
        what: &'static str,
        /// The error.
        source: libbpf_rs::Error,
        /// What libbpf and the verifier said.
        log: String,
    },
}

impl BoostError {
    /// Is it the input's fault, rather than this machine's?
    pub fn is_input(&self) -> bool {
        matches!(self, Self::Input(_))
    }

    /// Can programs not be loaded here at all?
    pub fn is_unavailable(&self) -> bool {
        matches!(self, Self::Privileges | Self::Types)
    }

    pub(crate) fn file(verb: &'static str, path: &std::path::Path, source: std::io::Error) -> Self {
        Self::File { verb, path: path.into(), source }
    }

    /// An error of libbpf; lack of privileges has a message of its own.
    pub(crate) fn refused(what: &'static str, source: libbpf_rs::Error) -> Self {
        let log = rota_libbpf_log::take();
        match source.kind() {
            libbpf_rs::ErrorKind::PermissionDenied => Self::Privileges,
            _ => Self::Refused { what, source, log },
        }
    }
}
