// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota reproduce`: the experiments of a paper.

mod args;
mod page;

pub(crate) use args::ReproduceArgs;

use crate::error::{Error, Status};
use crate::output::{json, reproduction};
use crate::output_file::OutputFile;
use crate::progress;
use crate::stop::Stop;
use rota_reproduce::{DecisionCosts, Plan, Progress, Reproduction, Verdict};
use std::io::Write;
use std::num::NonZero;
use std::path::Path;

pub(crate) fn run(args: &ReproduceArgs) -> Result<Status, Error> {
    if args.paper == ALL {
        return run_all(args);
    }
    let paper = rota_reproduce::find(&args.paper)?;
    let report = args.report();
    // Early, as nobody wants to run in vain; what is there stays until there is another.
    let report = report.as_deref().map(OutputFile::create).transpose()?;
    let decision_costs = args.decision_cost.as_deref().map(read_costs).transpose()?;
    let plan = Plan { decision_costs: decision_costs.as_ref(), ..plan(args) };
    let done = Progress::stopped_by(Stop::listen()?.flag());
    let found = progress::show_position(&|| done.position(), || paper.reproduce(plan, &done))?;

    let mut out = crate::output::stdout();
    if args.json {
        json::print(&mut out, &reproduction::Json::new(&found))?;
    } else if args.markdown {
        reproduction::markdown(&mut out, &found)?;
    } else {
        reproduction::print(&mut out, &found)?;
    }
    out.flush()?;
    // Part of a page would take the place of a whole one.
    if let Some(file) = report.filter(|_| found.unfinished.is_empty()) {
        file.finish_with(page::html(&found).as_bytes())?;
    }
    status(&[found])
}

/// Every paper.
const ALL: &str = "all";

fn run_all(args: &ReproduceArgs) -> Result<Status, Error> {
    let only = match (args.figures.is_empty(), args.report.is_some(), args.decision_cost.is_some())
    {
        (false, ..) => Some("a FIGURE"),
        (_, true, _) => Some("--report"),
        (.., true) => Some("--decision-cost"),
        _ => None,
    };
    if let Some(what) = only {
        return Err(Error::Input(format!("{what} is of one paper; '{ALL}' runs every one")));
    }
    let done = Progress::stopped_by(Stop::listen()?.flag());
    let papers = || {
        let papers = rota_reproduce::papers().iter();
        papers.map(|paper| paper.reproduce(plan(args), &done)).collect::<Result<Vec<_>, _>>()
    };
    rota_reproduce::expect_all(&done);
    let all = progress::show_position(&|| done.position(), papers)?;
    let mut out = crate::output::stdout();
    if args.json {
        json::print(&mut out, &reproduction::JsonAll::new(&all))?;
    } else if args.markdown {
        reproduction::markdown_all(&mut out, &all)?;
    } else {
        reproduction::print_scores(&mut out, &all)?;
    }
    out.flush()?;
    status(&all)
}

fn plan(args: &ReproduceArgs) -> Plan<'_> {
    let threads = args.jobs.or(std::thread::available_parallelism().ok());
    Plan {
        figures: &args.figures,
        effort: args.effort(),
        threads: threads.unwrap_or(NonZero::<usize>::MIN),
        decision_costs: None,
    }
}

/// Known differences are as expected.
fn status(all: &[Reproduction]) -> Result<Status, Error> {
    let unfinished = |of: &Reproduction| {
        let figures = of.unfinished.join(", ");
        (!figures.is_empty()).then(|| format!("{} {figures}", of.paper))
    };
    let unfinished: Vec<String> = all.iter().filter_map(unfinished).collect();
    if !unfinished.is_empty() {
        return Err(Error::Failure(format!("interrupted: not done: {}", unfinished.join("; "))));
    }
    let unexpected: Vec<Verdict> =
        all.iter().flat_map(Reproduction::unexpected).map(|number| number.verdict).collect();
    let count = |verdict| unexpected.iter().filter(|of| **of == verdict).count();
    let numbers = |count| if count == 1 { "1 number".into() } else { format!("{count} numbers") };
    match (count(Verdict::Differs), count(Verdict::Vanished)) {
        (0, 0) => Ok(Status::Done),
        (0, gone) => Err(Error::Failure(format!(
            "{} known to differ from the paper's agree now: take `known` out of expected.toml",
            numbers(gone)
        ))),
        (differ, _) => {
            let verb = if differ == 1 { "differs" } else { "differ" };
            let numbers = numbers(differ);
            Err(Error::Failure(format!("{numbers} {verb} that should not")))
        }
    }
}

fn read_costs(path: &Path) -> Result<DecisionCosts, Error> {
    let text = std::fs::read_to_string(path).map_err(|e| Error::file("read", path, &e))?;
    Ok(DecisionCosts::parse(&path.display().to_string(), &text)?)
}
