// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota condense`: a long workload as a small one, and how well that fits.

mod fits;
mod played;
mod settings;
mod text;

use crate::complete;
use crate::error::{Error, Status, EXIT_CODES};
use crate::machine;
use crate::object;
use crate::options::duration;
use crate::options::values::seed;
use crate::output;
use crate::output::messages;
use crate::output::units;
use crate::output_file::OutputFile;
use crate::own_machine;
use crate::replay;
use crate::simulation::{self, CPUS};
use clap::{Args, ValueHint};
use fits::Fits;
use played::{play, Host};
use rota_condense::{condense, Condensed, Request, Watched};
use rota_machine::kernel::Kernel;
use rota_machine::topology::Topology;
use serde::Serialize;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

/// Length of a run if the workload does not say.
const DURATION_NS: u64 = 10_000_000_000;

#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct CondenseArgs {
    /// The long workload, as of `rota record --workload`
    #[arg(value_name = "LOAD.json", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,

    /// Write the small workload
    #[arg(short, long, value_name = "FILE.json", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,

    /// Length of the small workload, in whole seconds
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration)]
    pub(crate) duration: u64,

    /// The policy under which both are simulated, and the long one is seen
    #[arg(long, value_name = "POLICY", default_value = "eevdf", add = complete::shipped_policies())]
    pub(crate) policy: String,

    /// Random numbers of both simulations, and which parts of the long one are tried
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(value_parser = seed, allow_negative_numbers = true)]
    pub(crate) seed: u64,

    /// Print one JSON object (schema rota.condense/1)
    #[arg(long)]
    pub(crate) json: bool,
}

/// What is printed.
#[derive(Debug, Serialize)]
struct Report {
    schema: &'static str,
    file: String,
    policy: String,
    seed: u64,
    /// Lengths of the long workload, until its last task had left its CPU, and of the small one.
    length_ns: (u64, u64),
    /// From where to where the order of things was taken.
    part_ns: (u64, u64),
    /// Bytes of the small one.
    bytes: u64,
    #[serde(flatten)]
    fits: Fits,
}

pub(crate) fn run(args: &CondenseArgs) -> Result<Status, Error> {
    let load = simulation::load(&args.file)?;
    let workload = &load.workload;
    if let Some(event) = workload.outside.first() {
        messages::line(&format!(
            "warning: {}: events from outside are not in the small workload; the first is {}",
            load.file,
            event.label()
        ));
    }
    if workload.loads().is_some() {
        let what = "events load the scheduler: expected one that is there all the time";
        return Err(Error::input(format!("{}: {what}", load.file)));
    }
    let found = rota_catalog::find(&args.policy)?;
    let own = own_machine::find(&load)?;
    let (key, machine) = match own {
        Some((_, machine)) => (Some(replay::json(&machine)?), machine),
        None => {
            let mut machine = machine::find(machine::FLAT)?;
            machine.topology = Topology::flat(CPUS)?;
            (None, machine)
        }
    };
    let kernel = Kernel::default().with_settings(&machine.kernel);
    let policy = object::link_shipped(found, &kernel)?;
    // Early, as nobody wants to simulate in vain.
    let file = args.output.as_deref().map(OutputFile::create).transpose()?;
    let host = Host { policy: &policy, machine: &machine, seed: args.seed };
    let mut watched = Watched::new(replay::charges(&machine));
    let duration_ns = workload.duration_ns.unwrap_or(DURATION_NS);
    let (long, end_ns) = play(&host, workload, duration_ns, Some(&mut watched))?;
    let seconds = args.duration.div_ceil(1_000_000_000).max(1);
    let length = units::duration(end_ns / 1_000_000 * 1_000_000);
    let request = Request {
        about: vec![
            format!("Condensed by rota condense: {length} under {}.", found.name),
            "The order of what tasks do is that of a part, which repeats; how long they run and"
                .into(),
            "sleep is that of the whole.".into(),
        ],
        machine: key,
        seconds,
        seed: args.seed,
    };
    let settings = |task: &str| settings::of(workload, task);
    let small = condense(&mut watched, end_ns, &settings, &request).ok_or_else(|| {
        Error::input(format!("{}: no task works: nothing to condense", load.file))
    })?;
    let length_ns = watched.length_ns();
    let Condensed { text, part_ns } = small;
    let condensed = rota_workload::parse("the small workload", &text)?;
    let small_ns = seconds * 1_000_000_000;
    let (small, _) = play(&host, &Arc::new(condensed), small_ns, None)?;
    if let Some(file) = file {
        file.finish_with(text.as_bytes())?;
    }
    let report = Report {
        schema: "rota.condense/1",
        file: load.file.clone(),
        policy: found.name.to_owned(),
        seed: args.seed,
        length_ns: (length_ns, small_ns),
        part_ns,
        bytes: text.len() as u64,
        fits: Fits::new((&long, length_ns), (&small, small_ns)),
    };
    let mut out = output::stdout();
    match args.json {
        true => output::json::print(&mut out, &report)?,
        false => text::print(&mut out, &report)?,
    }
    out.flush()?;
    Ok(Status::Done)
}
