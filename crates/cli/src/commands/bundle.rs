// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota bundle`: what a scheduler's program sets up, as a file that runs without the program.

use crate::complete;
use crate::error::{Error, Status};
use crate::machine;
use crate::options::values::{hz, seed};
use crate::options::ProgramArgs;
use crate::output::messages;
use crate::output_file;
use crate::program::{Installed, Started};
use clap::{Args, ValueHint};
use rota_machine::config::Config;
use rota_machine::kernel::Kernel;
use rota_machine::topology::Topology;
use rota_sim::{Origin, Simulation};
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

/// Of a machine that only starts.
const NOBODY: &str = r#"{"tasks": {"nobody": {"sleep": 1000000}}}"#;
const DURATION_NS: u64 = 1_000_000;

#[derive(Debug, Args)]
pub(crate) struct BundleArgs {
    /// File to write, for rota sim and rota compare
    #[arg(short, long, value_name = "FILE.rota", value_hint = ValueHint::FilePath)]
    pub(crate) output: PathBuf,

    /// CPUs of the machine that the program finds
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub(crate) cpus: u32,

    /// CPUs per core, per last-level cache and per node [default: 1 per core, one cache and node]
    #[arg(long, value_name = "smt=N,llc=N,node=N")]
    pub(crate) topology: Option<String>,

    /// The machine that the program finds: a name or a machine file (docs/machines.md)
    #[arg(long, value_name = "NAME|FILE|DIR", add = complete::machines())]
    #[arg(conflicts_with_all = ["topology", "cpus"])]
    pub(crate) machine: Option<String>,

    /// Timer ticks per second
    #[arg(long, value_name = "N", default_value_t = 250)]
    #[arg(value_parser = hz)]
    pub(crate) hz: u32,

    /// Seed of the random numbers that the program gets
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(value_parser = seed, allow_negative_numbers = true)]
    pub(crate) seed: u64,

    /// Kernel that the program finds: 6.12, 6.16, 6.19, 7.0, 7.2 or 7.3
    #[arg(long, value_name = "RELEASE", default_value = "7.2")]
    pub(crate) kernel: String,

    #[command(flatten)]
    pub(crate) of_program: ProgramArgs,

    /// A scheduler's own program, as it is installed, and its arguments (docs/programs.md)
    #[arg(last = true, required = true, value_name = "PROGRAM", value_hint = ValueHint::CommandWithArguments)]
    pub(crate) program: Vec<OsString>,
}

pub(crate) fn run(args: &BundleArgs) -> Result<Status, Error> {
    let kernel = Kernel::bundled(&args.kernel).map_err(|e| Error::input(format!("--{e}")))?;
    let kernel = kernel.with_hz(args.hz);
    let flat = |topology| Config::new(topology, DURATION_NS);
    let mut config = match (&args.machine, &args.topology) {
        (Some(name), _) => machine::find(name)?.config(DURATION_NS),
        (None, Some(text)) => flat(Topology::parse(args.cpus, text)?),
        (None, None) => flat(Topology::flat(args.cpus)?),
    };
    (config.hz, config.seed) = (args.hz, args.seed);
    let chosen = Installed::find(&args.program, &args.of_program.options())?;
    let Started { policy, program, report } = chosen.start((&config, &[]), &kernel, None, &[])?;
    let nobody = rota_workload::parse("nobody", NOBODY).map_err(Error::input)?;
    let origin = Origin {
        program: chosen.name.clone(),
        arguments: chosen.arguments().collect(),
        sha256: chosen.sha256.clone(),
        rota: env!("CARGO_PKG_VERSION").to_owned(),
        machine: args.machine.clone(),
    };
    let bundle = Simulation::new(&policy, &Arc::new(nobody), config).bundle_by(program, origin);
    if let Some(failure) = report.take_failure() {
        return Err(failure.into());
    }
    output_file::write(&args.output, &bundle?)?;
    let unplayed = report.unplayed();
    if !unplayed.is_empty() {
        let what = unplayed.join(", ");
        messages::line(&format!("note: {} asked for what is not simulated: {what}", chosen.name));
    }
    Ok(Status::Done)
}
