// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arguments of `rota tune`.

use crate::complete;
use crate::error::EXIT_CODES;
use crate::options::{cpus, jobs, MachineArgs, ObjectArgs};
use clap::{ArgGroup, Args, ValueHint};
use std::num::NonZero;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
#[command(group(ArgGroup::new("aim").args(["minimise", "maximise"]).required(true)))]
pub(crate) struct TuneArgs {
    /// The policy: a shipped one, or FILE.bpf.o, FILE.bpf.c
    #[arg(value_name = "POLICY|FILE", value_hint = ValueHint::FilePath)]
    #[arg(add = complete::policies())]
    pub(crate) policy: String,

    /// What the tasks do: an rt-app JSON file
    #[arg(value_name = "WORKLOAD.json", value_hint = ValueHint::FilePath)]
    #[arg(add = complete::workloads())]
    pub(crate) workload: PathBuf,

    /// A metric by its key in docs/measures.md, as response_p99 (or p99_response), or 'throughput'
    #[arg(long, value_name = "KEY")]
    #[arg(add = complete::metric())]
    pub(crate) minimise: Option<String>,

    /// The same, if more of it is better
    #[arg(long, value_name = "KEY")]
    #[arg(add = complete::metric())]
    pub(crate) maximise: Option<String>,

    /// What must hold, as 'wakeup_p99 <= 5ms' or 'throughput >= 0.98*baseline', which is the policy
    /// as it ships (repeatable)
    #[arg(long, value_name = "CONDITION")]
    pub(crate) subject_to: Vec<String>,

    /// A tunable, and values to begin with; between three numbers or more, others are tried, too
    /// (repeatable) [default: alpha and beta]
    #[arg(long = "tunable", value_name = "NAME=VALUE,…", value_parser = crate::options::name_and_value)]
    #[arg(add = complete::tunables())]
    pub(crate) tunables: Vec<(String, String)>,

    /// Values of alpha to begin with, from low to high, above 0 [default:
    /// 0.05,0.1,0.2,0.5,1,2,5,10,20]
    #[arg(long, value_name = "NUMBER,…", value_delimiter = ',')]
    pub(crate) alphas: Vec<f64>,

    /// Values of beta [default: +inf,-3,0]
    #[arg(long, value_name = "NUMBER,…", value_delimiter = ',')]
    #[arg(allow_hyphen_values = true)]
    pub(crate) betas: Vec<String>,

    /// Seeds of the search, --seed and those after it; as many others judge what was found
    #[arg(long, value_name = "N", default_value_t = 8)]
    #[arg(value_parser = clap::value_parser!(u32).range(2..=10_000))]
    pub(crate) seeds: u32,

    /// Set another tunable of the policy (repeatable)
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = crate::options::name_and_value)]
    #[arg(add = complete::tunables())]
    pub(crate) set: Vec<(String, String)>,

    /// Runs at the same time [default: one for each CPU of this machine]
    #[arg(short, long, value_name = "N", value_parser = jobs)]
    pub(crate) jobs: Option<NonZero<usize>>,

    /// Draw the metric over the first tunable, a line for each setting of the others
    #[arg(long, value_name = "FILE.svg", value_hint = ValueHint::FilePath)]
    pub(crate) picture: Option<PathBuf>,

    /// Print one JSON object (schema rota.tune/2)
    #[arg(long)]
    pub(crate) json: bool,

    /// CPUs [default: those of the workload's own machine, else 4]
    #[arg(long, value_name = "N", help_heading = "Machine")]
    #[arg(value_parser = cpus)]
    pub(crate) cpus: Option<u32>,

    #[command(flatten)]
    pub(crate) machine: MachineArgs,

    #[command(flatten)]
    pub(crate) object: ObjectArgs,
}
