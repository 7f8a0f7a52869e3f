// SPDX-License-Identifier: MIT OR Apache-2.0
//! Options of how an object file becomes a policy of the simulated kernel.

use clap::{Args, ValueHint};
use std::path::PathBuf;

/// How objects become policies.
#[derive(Debug, Args)]
#[command(next_help_heading = "Object")]
pub(crate) struct ObjectArgs {
    /// Types of the kernel to simulate, as /sys/kernel/btf/vmlinux or an
    /// uncompressed vmlinux has them [default: 7.2]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) btf: Option<PathBuf>,

    /// Look for headers of a FILE.bpf.c here too (repeatable)
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) include: Vec<PathBuf>,
}
