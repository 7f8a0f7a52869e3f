// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota bench agree`: the same loads under this computer's fair class and in the simulator.

mod args;
mod compare;
mod live;
mod loads;
mod show;
mod simulated;

pub(crate) use args::{AgreeArgs, AgreeChildArgs};

use super::computer::Computer;
use crate::error::{Error, Status};
use crate::output::{json, messages};
use args::AgreeLoad;
use compare::Compared;
use loads::Played;
use rota_measure::GroupNumbers;
use serde::Serialize;
use std::io::Write;

/// Where both hosts did the same.
struct Pair {
    live: live::Live,
    simulated: Vec<GroupNumbers>,
}

#[derive(Debug, Serialize)]
struct Json<'a> {
    schema: &'static str,
    computer: &'a Computer,
    repeat: u32,
    loads: &'a [Compared],
}

pub(crate) fn run(args: &AgreeArgs) -> Result<Status, Error> {
    let computer = Computer::look()?;
    let loads = loads::of(args, &computer)?;
    let mut all = Vec::new();
    let mut out = crate::output::stdout();
    if !args.json {
        computer.lines().iter().try_for_each(|line| writeln!(out, "{line}"))?;
    }
    for load in &loads {
        let compared = measure(load, args.repeat, &computer)?;
        if !args.json {
            show::print(&mut out, &compared)?;
            out.flush()?;
        }
        all.push(compared);
    }
    if args.json {
        let (schema, repeat) = ("rota.bench.agree/1", args.repeat);
        json::print(&mut out, &Json { schema, computer: &computer, repeat, loads: &all })?;
    } else {
        writeln!(out, "\n{}", show::verdict(&all))?;
    }
    out.flush()?;
    Ok(Status::Done)
}

/// Plays a load for so many times, and simulates it as often.
fn measure(load: &Played, repeat: u32, computer: &Computer) -> Result<Compared, Error> {
    let mut pairs = Vec::new();
    for seed in 1..=u64::from(repeat) {
        let mut live = live::run(load, seed, computer)?;
        if live.lost > 0 {
            messages::warning(&format!(
                "{}: {} events were lost: the live numbers are wrong",
                load.name, live.lost
            ));
        }
        let interruptions = std::mem::take(&mut live.interruptions);
        let simulated = simulated::run(load, seed, computer, interruptions)?;
        pairs.push(Pair { live, simulated });
    }
    Ok(compare::compare(load, &pairs))
}

/// What plays a load: a process of its own.
pub(crate) fn child(args: &AgreeChildArgs) -> Result<Status, Error> {
    live::child(args)
}
