// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arguments of `rota bench calibrated`.

use crate::complete;
use crate::options::duration_or_seconds;
use clap::{Args, ValueEnum};

/// Loads of `rota bench calibrated`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CalibratedLoad {
    /// Two threads that hand a byte to each other through pipes, on one CPU
    PipeOne,
    /// The same on two CPUs
    PipeTwo,
    /// As hackbench: each of ten senders writes to each of ten receivers
    Groups,
    /// As schbench: threads that think, wake another one and wait for its work
    Wakeups,
    /// Two threads for each CPU that walk through memory, then sleep
    Memory,
}

impl CalibratedLoad {
    /// As on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            CalibratedLoad::PipeOne => "pipe-one",
            CalibratedLoad::PipeTwo => "pipe-two",
            CalibratedLoad::Groups => "groups",
            CalibratedLoad::Wakeups => "wakeups",
            CalibratedLoad::Memory => "memory",
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct CalibratedArgs {
    /// The machine of this machine, as `rota calibrate` writes it
    #[arg(long, value_name = "NAME|FILE", add = complete::machines())]
    pub(crate) machine: String,

    /// What is played and simulated
    #[arg(long, value_name = "LOAD,…", value_delimiter = ',')]
    #[arg(value_enum, default_value = "pipe-one,pipe-two,groups,wakeups,memory")]
    pub(crate) load: Vec<CalibratedLoad>,

    /// Length of each run
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = duration_or_seconds)]
    pub(crate) duration: u64,

    /// Live runs of each load, and simulations
    #[arg(long, value_name = "N", default_value_t = 5)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) repeat: u32,

    /// Print one JSON object with the values of every run (schema rota.bench.calibrated/1)
    #[arg(long)]
    pub(crate) json: bool,
}
