// SPDX-License-Identifier: MIT OR Apache-2.0
//! Options of how an object file becomes a policy of the simulated kernel.

use crate::complete;
use crate::source::Compiler;
use clap::{Args, ValueHint};
use rota_machine::kernel::Kernel;
use std::path::PathBuf;

/// How objects become policies.
#[derive(Debug, Args)]
#[command(next_help_heading = "Object")]
pub(crate) struct ObjectArgs {
    /// Kernel to simulate: 6.12, 6.16, 6.19, 7.0, 7.2 or 7.3. What it lacks is refused or taken
    /// as absent as it does it (docs/third-party.md). rota sim takes all, too: one line each
    #[arg(long, value_name = "RELEASE", default_value = "7.2")]
    #[arg(add = complete::kernels())]
    pub(crate) kernel: String,

    /// Kernel to simulate by its types, as /sys/kernel/btf/vmlinux or an uncompressed vmlinux
    /// has them
    #[arg(long, value_name = "FILE", conflicts_with = "kernel", value_hint = ValueHint::FilePath)]
    pub(crate) btf: Option<PathBuf>,

    /// Search for headers of a FILE.bpf.c here too (repeatable)
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) include: Vec<PathBuf>,

    /// The scheduler to simulate, of a file that has several: the name of its sched_ext_ops variable
    #[arg(long, value_name = "NAME")]
    pub(crate) ops: Option<String>,
}

impl ObjectArgs {
    /// What sources are compiled with.
    pub(crate) fn compiler<'a>(&'a self, kernel: &'a Kernel) -> Compiler<'a> {
        Compiler { include: &self.include, kernel }
    }
}
