// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota diff`: where two runs part, and what came of it.

mod args;
mod gather;
mod runs;
mod saw;

pub(crate) use args::DiffArgs;

use crate::decision::{self, Difference, Parting, Runnable, Side};
use crate::error::{Error, Status};
use crate::output::{diff, json, messages};
use crate::progress::{self, Clock};
use crate::stop::Stop;
use args::Asked;
use gather::Gathered;
use rota_measure::catalogue;
use rota_session::Wanted;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

pub(crate) fn run(args: &DiffArgs) -> Result<Status, Error> {
    let (found, status) = match args.asked()? {
        Asked::Traces(paths) => (of_traces(&paths)?, Status::Done),
        Asked::Runs(workload, policies) => of_runs(args, &workload, &policies)?,
    };
    let mut out = crate::output::stdout();
    match args.json {
        true => json::print(&mut out, &diff::json(&found))?,
        false => diff::print(&mut out, &found, args.all_metrics)?,
    }
    out.flush()?;
    Ok(status)
}

fn of_traces(paths: &[PathBuf; 2]) -> Result<Difference, Error> {
    let [a, b] = [Gathered::read(&paths[0])?, Gathered::read(&paths[1])?];
    unlike(&a, &b).iter().for_each(|what| messages::warning(what));
    difference([a, b], &|at, parting, else_ns| saw::before(&paths[at], parting, else_ns))
}

/// Does both runs, and says of which one is not whole.
fn of_runs(
    args: &DiffArgs,
    workload: &Path,
    policies: &[Wanted; 2],
) -> Result<(Difference, Status), Error> {
    let (load, clock) = (runs::load(workload)?, Clock::stopped_by(&Stop::listen()?));
    let both = runs::both(args, policies, (&load, &clock))?;
    // Each is done once, and once more up to where they part.
    let end_ns = both[0].config.duration_ns.saturating_mul(4);
    let (mut found, left) = progress::show(&clock, end_ns, || -> Result<_, Error> {
        let ([a, b], left): ([_; 2], [_; 2]) = {
            let ((a, one), (b, other)) = (both[0].gather()?, both[1].gather()?);
            ([a, b], [one, other])
        };
        let before = |at: usize, parting, else_ns| both[at].before(parting, else_ns);
        Ok((difference([a, b], &before)?, left))
    })?;
    for (side, run) in found.sides.iter_mut().zip(&both) {
        side.policy = Some(run.label.clone());
    }
    found.of = Some((load.file.clone(), both[0].config.seed));
    let early = both.iter().zip(&left).filter_map(|(run, left)| Some((run, left.as_ref()?)));
    early.for_each(|(run, reason)| run.tell(reason));
    let is_whole = left.iter().all(Option::is_none);
    Ok((found, if is_whole { Status::Done } else { Status::Ejected }))
}

/// What tasks could run on a side before a decision; of a side without it, before the time of the
/// other's.
type Before<'a> = dyn Fn(usize, Parting, Option<u64>) -> Result<Vec<Runnable>, Error> + 'a;

fn difference(both: [Gathered; 2], before: &Before<'_>) -> Result<Difference, Error> {
    let [a, b] = &both;
    let parting = decision::parting(&a.decisions, &b.decisions);
    let slice = decision::other_slice(&a.decisions, &b.decisions);
    let mut saw = [Vec::new(), Vec::new()];
    if let Some(parting) = parting {
        let time = |side: &Gathered| Some(side.decisions.at(parting.cpu, parting.at)?.time_ns);
        let times = [time(a), time(b)];
        for (at, saw) in saw.iter_mut().enumerate() {
            let else_ns = if times[at].is_none() { times[1 - at] } else { None };
            *saw = before(at, parting, else_ns)?;
        }
    }
    let side = |gathered: Gathered, saw: Vec<Runnable>| {
        let Gathered { name, decisions, cpus, duration_ns, measures } = gathered;
        Side { name, policy: None, decisions, cpus, duration_ns, saw, measures }
    };
    let ([a, b], [saw_a, saw_b]) = (both, saw);
    let sides = [side(a, saw_a), side(b, saw_b)];
    Ok(Difference { sides, of: None, parting, slice, measures: catalogue::measures() })
}

/// Why the two may not be of one workload and machine.
fn unlike(a: &Gathered, b: &Gathered) -> Vec<String> {
    let mut all = Vec::new();
    if a.cpus != b.cpus {
        all.push(format!(
            "the number of CPUs is {} in {} and {} in {}: another machine",
            a.cpus, a.name, b.cpus, b.name
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
                one.name, other.name
            ));
        }
    }
    all
}
