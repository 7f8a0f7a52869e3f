// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota test`: what a suite expects of policies.

mod args;
mod case;
mod keep;
mod words;

pub(crate) use args::TestArgs;

use crate::error::{Error, Status};
use crate::output::{json, suite as print};
use crate::output_file;
use crate::suite::Checked;
use case::Case;
use rota_gate::Suite;
use std::io::Write;

/// Set where GitHub runs its actions.
const GITHUB: &str = "GITHUB_ACTIONS";

pub(crate) fn run(args: &TestArgs) -> Result<Status, Error> {
    let file = args.suite.display().to_string();
    let suite = Suite::read(&args.suite)?;
    let is_wanted = |name: &str| {
        args.only.is_empty() || args.only.iter().any(|part| name.contains(part.as_str()))
    };
    // All of them first: nobody wants to wait for a mistake in the last one.
    let mut cases = Vec::new();
    for test in suite.tests.iter().filter(|test| is_wanted(&test.name)) {
        for machine in &test.options.machines {
            cases.push(Case::new(test, machine, args, &file)?);
        }
    }
    if cases.is_empty() {
        return Err(Error::input(format!(
            "--only {}: no test of {file} is called so",
            args.only.join(" --only ")
        )));
    }
    let is_github = args.github || (!args.no_github && std::env::var_os(GITHUB).is_some());
    let mut out = crate::output::stdout();
    let mut all: Vec<Checked> = Vec::new();
    for case in &cases {
        let mut checked = case.check()?;
        if !args.keep_nothing {
            keep::failures(&args.keep, case, &mut checked)?;
        }
        if !args.json {
            print::text::test(&mut out, &checked)?;
            if is_github {
                print::github::annotations(&mut out, &file, &checked)?;
            }
            out.flush()?;
        }
        all.extend(checked);
    }
    if let Some(path) = &args.junit {
        output_file::write(path, &print::junit::document(&file, &all)?)?;
    }
    match args.json {
        true => json::print(&mut out, &print::json::Json::new(&file, &all))?,
        false => print::text::sum(&mut out, &all)?,
    }
    out.flush()?;
    let failed = all.iter().any(|checked| checked.failed);
    Ok(if failed { Status::Failed } else { Status::Done })
}
