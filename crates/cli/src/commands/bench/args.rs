// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arguments of `rota bench`.

use super::agree::{AgreeArgs, AgreeChildArgs};
use super::calibrated::CalibratedArgs;
use super::values;
use super::what_if::{WhatIfArgs, WhatIfChildArgs};
use crate::error::EXIT_CODES;
use crate::options::{duration, duration_or_seconds};
use clap::{Args, Subcommand, ValueHint};
use rota_bench::interactivity::{Load, Task};
use rota_bench::servers::{Background, Mode, Server};
use rota_kernel::control::SOCKET;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES, disable_help_subcommand = true)]
pub(crate) struct BenchArgs {
    #[command(subcommand)]
    pub(crate) bench: Bench,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Bench {
    /// Time children that compute pi on one CPU: a fair scheduler has them finish together
    Fairness(FairnessArgs),
    /// Time two programs that compute the same with different numbers of threads
    Threads(ThreadsArgs),
    /// Run encoders with different nice values on one CPU, and measure how evenly frames come
    Encoders(EncodersArgs),
    /// Measure which share of a CPU tasks that come and go have over time
    Shares(SharesArgs),
    /// Measure the latencies of audio, video and X while a load runs
    Interactivity(InteractivityArgs),
    /// Measure real servers while compile jobs run: as is, with a nice value, with `rota boost`
    Servers(ServersArgs),
    /// Compare the simulator with this machine: the same loads under its fair class and simulated
    /// (needs root)
    Agree(AgreeArgs),
    /// Compare a machine file of this machine with it: small loads, live and simulated on the file
    Calibrated(CalibratedArgs),
    /// Record a command, and compare what its recording says about another machine or setting with
    /// the command there (needs root)
    WhatIf(WhatIfArgs),
    /// Runs the command of `rota bench what-if`
    #[command(hide = true)]
    WhatIfChild(WhatIfChildArgs),
    /// A hog of `rota bench what-if`
    #[command(hide = true)]
    WhatIfHog,
    /// The player of `rota bench agree`
    #[command(hide = true)]
    AgreeChild(AgreeChildArgs),
    /// A child of `rota bench servers`
    #[command(hide = true)]
    ServersChild {
        /// What it is, and what it serves
        #[arg(allow_hyphen_values = true, trailing_var_arg = true)]
        words: Vec<String>,
    },
    /// A child of `rota bench interactivity`
    #[command(hide = true)]
    InteractiveChild,
    /// A program of `rota bench threads`
    #[command(hide = true)]
    ThreadsChild,
    /// A child of `rota bench fairness`
    #[command(hide = true)]
    Child,
}

#[derive(Debug, Args)]
pub(crate) struct FairnessArgs {
    /// Children at the same time
    #[arg(long, value_name = "N", default_value_t = 8)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) children: u32,

    /// Steps of each child's integral
    #[arg(long, value_name = "N", default_value_t = 1_000_000_000)]
    #[arg(value_parser = clap::value_parser!(u64).range(100..))]
    pub(crate) steps: u64,

    /// Number of repetitions
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) repeat: u32,

    /// The CPU that the children share [default: the last]
    #[arg(long, value_name = "CPU")]
    pub(crate) cpu: Option<usize>,

    /// Print one JSON object with every time (schema rota.bench.fairness/1)
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ThreadsArgs {
    /// Threads of program A [default: one for each of the CPUs]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) a: Option<u32>,

    /// Threads of program B [default: eight for each of the CPUs]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) b: Option<u32>,

    /// Steps of each program's integral, which its threads divide
    #[arg(long, value_name = "N", default_value_t = 2_000_000_000)]
    #[arg(value_parser = clap::value_parser!(u64).range(100..))]
    pub(crate) steps: u64,

    /// Number of runs of both at the same time
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) repeat: u32,

    /// The CPUs that both programs share [default: all]
    #[arg(long, value_name = "CPU,…", value_delimiter = ',')]
    pub(crate) cpu: Vec<usize>,

    /// Print one JSON object with every time (schema rota.bench.threads/1)
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct InteractivityArgs {
    /// Interactive tasks that are measured: audio, video, x
    #[arg(long, value_name = "TASK,…", value_delimiter = ',', default_value = "audio,video,x")]
    #[arg(value_parser = values::task)]
    pub(crate) task: Vec<Task>,

    /// Loads that run with each of them: none, audio, video, x, burn, full
    #[arg(long, value_name = "LOAD,…", value_delimiter = ',')]
    #[arg(default_value = "none,audio,video,x,burn,full", value_parser = values::load)]
    pub(crate) load: Vec<Load>,

    /// Threads of the load "burn"; "full" has one for each CPU
    #[arg(long, value_name = "N", default_value_t = 4)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) burn: u32,

    /// How long each task is measured with each load
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration_or_seconds)]
    pub(crate) duration: u64,

    /// Number of measurements of each pair
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) repeat: u32,

    /// The CPUs that task and load share [default: the last]
    #[arg(long, value_name = "CPU,…", value_delimiter = ',')]
    pub(crate) cpu: Vec<usize>,

    /// Loops that take a millisecond, as an earlier run printed them [default: they are counted]
    #[arg(long, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub(crate) loops_per_ms: Option<u64>,

    /// Print one JSON object (schema rota.bench.interactivity/1)
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct EncodersArgs {
    /// Nice value of each encoder [default: 7,4,2,1,0: weights of about 1 to 5]
    #[arg(long, value_name = "NICE,…", value_delimiter = ',')]
    #[arg(allow_negative_numbers = true, value_parser = clap::value_parser!(i32).range(-20..=19))]
    pub(crate) nice: Vec<i32>,

    /// Share of each encoder, given to the policy that `rota run` runs; nice values are 0 then,
    /// unless there are others
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(crate) share: Vec<u64>,

    /// Control socket of that policy
    #[arg(long, value_name = "SOCKET", value_hint = ValueHint::FilePath)]
    #[arg(default_value = SOCKET, requires = "share")]
    pub(crate) control: PathBuf,

    /// How long
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = duration)]
    pub(crate) duration: u64,

    /// Size of what counts as a frame; that of the default is MP3 with 128 kbit/s and 44.1 kHz
    #[arg(long, value_name = "BYTES", default_value_t = 418)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) frame_bytes: u64,

    /// The CPU that the encoders share [default: the last]
    #[arg(long, value_name = "CPU")]
    pub(crate) cpu: Option<usize>,

    /// Draw the first two seconds
    #[arg(long, value_name = "FILE.svg", value_hint = ValueHint::FilePath)]
    pub(crate) picture: Option<PathBuf>,

    /// Print one JSON object with the time of every frame (schema rota.bench.encoders/1)
    #[arg(long)]
    pub(crate) json: bool,

    /// An encoder that writes to its standard output for as long as it may
    #[arg(value_name = "COMMAND", required = true, last = true)]
    #[arg(value_hint = ValueHint::CommandWithArguments)]
    pub(crate) command: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct SharesArgs {
    /// Tasks, by when they begin and how much CPU time they need
    #[arg(long, value_name = "BEGIN:TIME,…", value_delimiter = ',', value_parser = values::timed_task)]
    #[arg(default_value = "0s:4.5s,1s:2.5s,3s:3s,5s:2s")]
    pub(crate) task: Vec<rota_bench::shares::Task>,

    /// Shares are those of windows of this length
    #[arg(long, value_name = "TIME", default_value = "50ms", value_parser = duration)]
    pub(crate) window: u64,

    /// The CPU that the tasks share [default: the last]
    #[arg(long, value_name = "CPU")]
    pub(crate) cpu: Option<usize>,

    /// Loops that take a millisecond, as an earlier run printed them [default: they are counted]
    #[arg(long, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub(crate) loops_per_ms: Option<u64>,

    /// Draw the shares
    #[arg(long, value_name = "FILE.svg", value_hint = ValueHint::FilePath)]
    pub(crate) picture: Option<PathBuf>,

    /// Print one JSON object with every window (schema rota.bench.shares/1)
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ServersArgs {
    /// Servers: mariadb, apache, nginx, video
    #[arg(long, value_name = "SERVER,…", value_delimiter = ',')]
    #[arg(default_value = "mariadb,apache,video", value_parser = values::server)]
    pub(crate) server: Vec<Server>,

    /// Background jobs that run with each of them
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "0,12")]
    #[arg(value_parser = clap::value_parser!(u32).range(0..=1000))]
    pub(crate) jobs: Vec<u32>,

    /// What the jobs do: compile C sources, or burn the CPU and answer requests (chatty)
    #[arg(long, value_name = "KIND", default_value = "compile")]
    #[arg(value_parser = values::background)]
    pub(crate) background: Background,

    /// What is done for the server, in turns: plain (nothing), nice (nice -10), boost
    /// (`rota boost`), boost-clients (`rota boost --clients full`), boost-autogroups
    /// (`rota boost --autogroups`)
    #[arg(long, value_name = "MODE,…", value_delimiter = ',')]
    #[arg(default_value = "plain,nice,boost", value_parser = values::mode)]
    pub(crate) modes: Vec<Mode>,

    /// Autogroups: off, on, or as-is
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "as-is")]
    #[arg(value_parser = ["off", "on", "as-is"])]
    pub(crate) autogroup: Vec<String>,

    /// Length of each run, a second or more
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration_or_seconds)]
    pub(crate) duration: u64,

    /// Runs of each mode
    #[arg(long, value_name = "N", default_value_t = 5)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) repeat: u32,

    /// Nice value of the customers in all modes: -20 stands for customers of another machine, which
    /// wait for no CPU of this one
    #[arg(long, value_name = "NICE", default_value_t = 0, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(i32).range(-20..=19))]
    pub(crate) customer_nice: i32,

    /// Append what `rota boost --log` printed in each run to this file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) boost_log: Option<PathBuf>,

    /// Print one JSON object with the numbers of every run (schema rota.bench.servers/1)
    #[arg(long)]
    pub(crate) json: bool,
}
