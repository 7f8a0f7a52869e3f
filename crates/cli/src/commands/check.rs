// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota check`: can this machine run policies, and what is missing? The other commands that
//! need a kernel ask the same first.

use crate::error::EXIT_CODES;
use crate::error::{Error, Status};
use crate::output::{json, table};
use clap::Args;
use rota_kernel::check::{computer, Fact, Findings, Purpose, State};
use serde::Serialize;
use std::io::Write;

#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct CheckArgs {
    /// Print one JSON object (schema rota.check/1)
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Serialize)]
struct CheckJson<'a> {
    schema: &'static str,
    ready: bool,
    facts: Vec<FactJson<'a>>,
}

#[derive(Debug, Serialize)]
struct FactJson<'a> {
    name: &'a str,
    state: &'static str,
    found: &'a str,
    how: Option<&'a str>,
}

pub(crate) fn run(args: &CheckArgs) -> Result<Status, Error> {
    let findings = computer();
    let ready = findings.is_ready(Purpose::Run);
    let mut out = crate::output::stdout();
    if args.json {
        let fact = |f| FactJson {
            name: Fact::clone(f).name,
            state: word(f.state),
            found: &f.found,
            how: Some(f.how.as_str()).filter(|how| !how.is_empty()),
        };
        let facts = findings.facts.iter().map(fact).collect();
        json::print(&mut out, &CheckJson { schema: "rota.check/1", ready, facts })?;
    } else {
        lines(&findings).iter().try_for_each(|line| writeln!(out, "{line}"))?;
    }
    out.flush()?;
    match ready {
        true => Ok(Status::Done),
        false => Err(Error::Failure("this machine cannot run policies".into())),
    }
}

fn lines(findings: &Findings) -> Vec<String> {
    let row = |f: &Fact| vec![word(f.state).into(), f.name.into(), f.found.clone()];
    let rows = table::lines(&[], 3, findings.facts.iter().map(row).collect());
    let mut lines = Vec::new();
    for (fact, row) in findings.facts.iter().zip(rows) {
        lines.push(row);
        if !fact.how.is_empty() {
            lines.push(format!("         {}", fact.how));
        }
    }
    lines
}

fn word(state: State) -> &'static str {
    match state {
        State::Ok => "ok",
        State::Warning => "warning",
        State::Missing => "missing",
    }
}
