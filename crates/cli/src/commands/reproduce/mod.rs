// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota reproduce`: the experiments of a paper.

mod args;
mod page;

pub(crate) use args::ReproduceArgs;

use crate::error::{Error, Status};
use crate::output::{json, reproduction};
use crate::output_file::OutputFile;
use crate::progress;
use rota_reproduce::{DecisionCosts, Plan, Progress, Verdict};
use std::io::Write;
use std::num::NonZero;
use std::path::Path;

pub(crate) fn run(args: &ReproduceArgs) -> Result<Status, Error> {
    let paper = rota_reproduce::find(&args.paper)?;
    let report = args.report();
    // Early, as nobody wants to run in vain; what is there stays until there is another.
    let report = report.as_deref().map(OutputFile::create).transpose()?;
    let threads = args.jobs.or(std::thread::available_parallelism().ok());
    let threads = threads.unwrap_or(NonZero::<usize>::MIN);
    let decision_costs = args.decision_cost.as_deref().map(read_costs).transpose()?;
    let plan = Plan {
        figures: &args.figures,
        effort: args.effort(),
        threads,
        decision_costs: decision_costs.as_ref(),
    };
    let done = Progress::default();
    let found =
        progress::show_position(&|| (done.done(), done.total()), || paper.reproduce(plan, &done))?;

    let mut out = crate::output::stdout();
    if args.json {
        json::print(&mut out, &reproduction::Json::new(&found))?;
    } else if args.markdown {
        reproduction::markdown(&mut out, &found)?;
    } else {
        reproduction::print(&mut out, &found)?;
    }
    out.flush()?;
    if let Some(file) = report {
        file.finish_with(page::html(&found).as_bytes())?;
    }
    match found.count(Verdict::Differs) {
        0 => Ok(Status::Done),
        1 => Err(Error::Failure("a number differs from the paper's".into())),
        more => Err(Error::Failure(format!("{more} numbers differ from the paper's"))),
    }
}

fn read_costs(path: &Path) -> Result<DecisionCosts, Error> {
    let text = std::fs::read_to_string(path).map_err(|e| Error::file("read", path, &e))?;
    Ok(DecisionCosts::parse(&path.display().to_string(), &text)?)
}
