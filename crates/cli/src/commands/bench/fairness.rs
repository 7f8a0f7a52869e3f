// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota bench fairness`.

use super::args::FairnessArgs;
use super::{child_command, scheduler};
use crate::error::{Error, Status};
use crate::output::{json, table};
use rota_bench::fairness::{self, Fairness, Plan, BIN_NS};
use rota_bench::Cpus;
use serde::Serialize;
use std::io::Write;

#[derive(Debug, Serialize)]
struct Json<'a> {
    schema: &'static str,
    scheduler: &'a str,
    cpu: usize,
    children: u32,
    steps: u64,
    repeat: u32,
    #[serde(flatten)]
    found: &'a Fairness,
}

pub(crate) fn run(args: &FairnessArgs) -> Result<Status, Error> {
    let child = child_command("child")?;
    let FairnessArgs { children, steps, repeat, .. } = *args;
    let cpus = Cpus::new(args.cpu)?;
    let found = fairness::measure(Plan { children, steps, repeat }, &cpus, child)?;
    let (scheduler, cpu) = (scheduler(), cpus.shared());
    let mut out = crate::output::stdout();
    if args.json {
        let schema = "rota.bench.fairness/1";
        let scheduler = &scheduler;
        let found = Json { schema, scheduler, cpu, children, steps, repeat, found: &found };
        json::print(&mut out, &found)?;
    } else {
        writeln!(out, "{children} children on CPU {cpu}, scheduler: {scheduler}")?;
        print(&mut out, &found)?;
    }
    out.flush()?;
    Ok(Status::Done)
}

fn print(out: &mut dyn Write, found: &Fairness) -> Result<(), Error> {
    let spread = &found.spread_ns;
    let seconds = [spread.mean, spread.deviation, spread.min, spread.max];
    let row = seconds.map(|ns| format!("{:.3}", ns / 1e9)).to_vec();
    let header = ["mean (s)", "deviation (s)", "shortest (s)", "longest (s)"];
    for line in table::lines(&header, 0, vec![row]) {
        writeln!(out, "{line}")?;
    }
    writeln!(out)?;
    let row = |(bin, count): &(u64, usize)| {
        vec![format!("{:.1}", (bin * BIN_NS) as f64 / 1e9), count.to_string()]
    };
    let rows = found.bins.iter().map(row).collect();
    for line in table::lines(&["time (s)", "children"], 0, rows) {
        writeln!(out, "{line}")?;
    }
    Ok(())
}
