// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota diff`: where two runs part, and what came of it.

mod gather;
mod saw;

use crate::decision::{self, Difference, Side};
use crate::error::{Error, Status, EXIT_CODES};
use crate::output::{diff, json, messages};
use clap::{Args, ValueHint};
use gather::Gathered;
use rota_measure::catalogue;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct DiffArgs {
    /// The trace of a run, as rota sim --trace FILE.parquet or FILE.csv wrote it
    #[arg(value_name = "A.parquet", value_hint = ValueHint::FilePath)]
    pub(crate) first: PathBuf,

    /// That of the other run
    #[arg(value_name = "B.parquet", value_hint = ValueHint::FilePath)]
    pub(crate) second: PathBuf,

    /// Give every metric a row, also those that are the same
    #[arg(long)]
    pub(crate) all_metrics: bool,

    /// Print one JSON object (schema rota.diff/1)
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn run(args: &DiffArgs) -> Result<Status, Error> {
    let paths = [&args.first, &args.second];
    let [a, b] = [Gathered::read(paths[0])?, Gathered::read(paths[1])?];
    unlike(&a, &b).iter().for_each(|what| messages::warning(what));
    let parting = decision::parting(&a.decisions, &b.decisions);
    let slice = decision::other_slice(&a.decisions, &b.decisions);
    let times = parting.map(|parting| {
        [&a, &b].map(|side| side.decisions.at(parting.cpu, parting.at).map(|of| of.time_ns))
    });
    let mut sides = Vec::new();
    for (at, (path, gathered)) in paths.into_iter().zip([a, b]).enumerate() {
        let saw = match (parting, times) {
            (Some(parting), Some(times)) => {
                let else_ns = if times[at].is_none() { times[1 - at] } else { None };
                saw::before(path, parting, else_ns)?
            }
            _ => Vec::new(),
        };
        let Gathered { file, decisions, cpus, duration_ns, measures } = gathered;
        sides.push(Side { file, decisions, cpus, duration_ns, saw, measures });
    }
    let Ok(sides) = <[Side; 2]>::try_from(sides) else {
        return Err(Error::Failure("two traces were not two".into()));
    };
    let found = Difference { sides, parting, slice, measures: catalogue::measures() };
    let mut out = crate::output::stdout();
    match args.json {
        true => json::print(&mut out, &diff::json(&found))?,
        false => diff::print(&mut out, &found, args.all_metrics)?,
    }
    out.flush()?;
    Ok(Status::Done)
}

/// Why the two may not be of one workload and machine.
fn unlike(a: &Gathered, b: &Gathered) -> Vec<String> {
    let mut all = Vec::new();
    if a.cpus != b.cpus {
        all.push(format!(
            "the number of CPUs is {} in {} and {} in {}: another machine",
            a.cpus, a.file, b.cpus, b.file
        ));
    }
    for (one, other) in [(a, b), (b, a)] {
        let lacks = |(pid, name): &(&u32, &String)| other.decisions.names.get(pid) != Some(name);
        let own: BTreeMap<&u32, &String> = one.decisions.names.iter().filter(lacks).collect();
        if let Some((pid, name)) = own.first_key_value() {
            let more = match own.len() - 1 {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            all.push(format!(
                "{} has task {name} ({pid}){more}, which {} has not: another workload",
                one.file, other.file
            ));
        }
    }
    all
}
