// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why a recording did not come about.

use crate::error::LoadError;
use thiserror::Error;

/// Why nothing can be recorded.
#[derive(Debug, Error)]
pub enum RecordError {
    /// The kernel lets only root do this.
    #[error(
        "recording needs root (CAP_BPF, CAP_PERFMON): run it with sudo, or as root in a container \
         that may use bpf(2)"
    )]
    Privileges,
    /// The kernel does not describe its types.
    #[error("{0}; recording needs a kernel built with CONFIG_DEBUG_INFO_BTF")]
    Types(#[from] LoadError),
    /// The process to record is not there.
    #[error("no process {0}")]
    NoProcess(u32),
    /// The cgroup to record cannot be found.
    #[error("{path}: {why}")]
    Cgroup {
        /// As it was asked for.
        path: String,
        /// What is wrong.
        why: String,
    },
    /// The cgroup was removed just now.
    #[error("the cgroup is not there any more")]
    CgroupGone,
    /// The buffer cannot be that large or small.
    #[error("a buffer of {0} bytes: expected a power of two from {min} to {max}", min = super::recorder::LEAST_BUFFER, max = super::recorder::LARGEST_BUFFER)]
    BufferSize(u64),
    /// libbpf or the kernel refused something.
    #[error("{what}: {source}{}", rota_libbpf_log::tail(.log))]
    Refused {
        /// What was tried.
        what: String,
        /// The error.
        source: libbpf_rs::Error,
        /// What libbpf and the verifier said.
        log: String,
    },
}

impl RecordError {
    /// Is it the input's fault, rather than this machine's?
    pub fn is_input(&self) -> bool {
        matches!(
            self,
            Self::NoProcess(_) | Self::BufferSize(_) | Self::Cgroup { .. } | Self::CgroupGone
        )
    }

    /// An error of libbpf; lack of privileges has a message of its own.
    pub(crate) fn refused(what: &str, source: libbpf_rs::Error, log: String) -> Self {
        match source.kind() {
            libbpf_rs::ErrorKind::PermissionDenied if !is_root() => Self::Privileges,
            _ => Self::Refused { what: what.into(), source, log },
        }
    }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
