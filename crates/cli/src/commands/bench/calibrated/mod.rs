// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota bench calibrated`: small loads on this computer, and what its machine file predicts.

mod args;
mod compare;
mod simulated;
mod workloads;

pub(crate) use args::CalibratedArgs;

use super::computer::Computer;
use crate::error::{Error, Status};
use crate::machine;
use crate::output::{json, messages};
use crate::progress::show_position;
use crate::stop::Stop;
use args::CalibratedLoad;
use compare::Compared;
use rota_calibrate::loads::{play, Live};
use serde::Serialize;
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Debug, Serialize)]
struct Json<'a> {
    schema: &'static str,
    computer: &'a Computer,
    machine: &'a str,
    source: &'a str,
    repeat: u32,
    loads: &'a [Compared],
}

pub(crate) fn run(args: &CalibratedArgs) -> Result<Status, Error> {
    let computer = Computer::look()?;
    let machine = machine::find(&args.machine)?;
    if machine.topology.cpus() != computer.cpus {
        return Err(Error::input(format!(
            "machine {} has {} CPUs, and this computer {}: expected a file of this computer, as \
             rota calibrate writes it",
            args.machine,
            machine.topology.cpus(),
            computer.cpus
        )));
    }
    let live = live(args, computer.cpus)?;
    let mut all = Vec::new();
    for (load, runs) in args.load.iter().zip(live) {
        match runs.first() {
            Some(_) => {
                let own_ns = compare::own_ns(&runs);
                let seeds = 1..=u64::from(args.repeat);
                let predicted = seeds
                    .map(|seed| {
                        simulated::run(*load, &own_ns, seed, args.duration, &machine, &computer)
                    })
                    .collect::<Result<Vec<_>, _>>()?;
                all.push(compare::compare(*load, own_ns, &runs, &predicted));
            }
            None => messages::line(&format!("note: {} needs two CPUs: left out", load.name())),
        }
    }
    let mut out = crate::output::stdout();
    if args.json {
        let (schema, repeat) = ("rota.bench.calibrated/1", args.repeat);
        let (source, name) = (machine.source.as_str(), machine.name.as_str());
        let computer = &computer;
        json::print(
            &mut out,
            &Json { schema, computer, machine: name, source, repeat, loads: &all },
        )?;
    } else {
        computer.lines().iter().try_for_each(|line| writeln!(out, "{line}"))?;
        writeln!(out, "machine: {} ({})\n", machine.name, machine.source)?;
        compare::print(&mut out, &all)?;
    }
    out.flush()?;
    Ok(Status::Done)
}

/// The live runs of each load, all loads in turn, so that a disturbance does not hit one alone.
fn live(args: &CalibratedArgs, cpus: u32) -> Result<Vec<Vec<Live>>, Error> {
    let cpus: Vec<u32> = (0..cpus).collect();
    let stop = Stop::listen()?;
    let flag = stop.flag();
    let mut all = vec![Vec::new(); args.load.len()];
    let done = AtomicU64::new(0);
    let whole = u64::from(args.repeat) * args.load.len() as u64;
    let position = || (done.load(Ordering::Relaxed), whole);
    show_position(&position, || {
        for _ in 0..args.repeat {
            for (load, runs) in args.load.iter().zip(&mut all) {
                let played = play(load.played(), &cpus, args.duration, &flag);
                runs.extend(played.map_err(|error| Error::Failure(error.to_string()))?);
                if stop.wanted() {
                    return Err(Error::Failure("interrupted: nothing was compared".into()));
                }
                done.fetch_add(1, Ordering::Relaxed);
            }
        }
        Ok(())
    })?;
    Ok(all)
}

impl CalibratedLoad {
    fn played(self) -> rota_calibrate::loads::Load {
        use rota_calibrate::loads::Load;
        match self {
            CalibratedLoad::PipeOne => Load::PipeOne,
            CalibratedLoad::PipeTwo => Load::PipeTwo,
            CalibratedLoad::Groups => Load::Groups,
            CalibratedLoad::Wakeups => Load::Wakeups,
            CalibratedLoad::Memory => Load::Memory,
        }
    }
}
