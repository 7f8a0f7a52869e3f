// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arguments of `rota bench agree`.

use crate::options::duration;
use clap::{Args, ValueEnum, ValueHint};
use std::path::PathBuf;

/// Loads of `rota bench agree`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AgreeLoad {
    /// Two tasks for each CPU, and one more, that never sleep
    Hogs,
    /// A task for each CPU that works 60 times a second, and one that never sleeps
    Frames,
    /// A task for each CPU that works 1000 times a second, and one that never sleeps
    Packets,
    /// Tasks that never sleep, with nice value 10 and without
    Nice,
    /// All of these at once
    Together,
}

impl AgreeLoad {
    /// As on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            AgreeLoad::Hogs => "hogs",
            AgreeLoad::Frames => "frames",
            AgreeLoad::Packets => "packets",
            AgreeLoad::Nice => "nice",
            AgreeLoad::Together => "together",
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct AgreeArgs {
    /// Play these workloads instead of the loads of --load
    #[arg(value_name = "WORKLOAD", value_hint = ValueHint::FilePath)]
    pub(crate) workload: Vec<PathBuf>,

    /// What is played
    #[arg(long, value_name = "LOAD,…", value_delimiter = ',', conflicts_with = "workload")]
    #[arg(value_enum, default_value = "hogs,frames,packets,nice,together")]
    pub(crate) load: Vec<AgreeLoad>,

    /// Length of each run, with its warm-up [default: that of the workload, or 6s]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) duration: Option<u64>,

    /// What is left out at the begin, where tasks do not start as in the simulator [default: 1s of
    /// the loads of --load, nothing of a workload of yours]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) warmup: Option<u64>,

    /// Live runs of each load, and simulations
    #[arg(long, value_name = "N", default_value_t = 5)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) repeat: u32,

    /// Print one JSON object with the values of every run (schema rota.bench.agree/1)
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct AgreeChildArgs {
    pub(crate) workload: PathBuf,
    #[arg(long, value_parser = duration)]
    pub(crate) duration: u64,
    #[arg(long, value_parser = duration)]
    pub(crate) warmup: u64,
    #[arg(long)]
    pub(crate) seed: u64,
    #[arg(long)]
    pub(crate) hz: u32,
    #[arg(long)]
    pub(crate) cpus: u32,
}
