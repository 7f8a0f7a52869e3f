// SPDX-License-Identifier: MIT OR Apache-2.0
//! A test on one machine: a comparison, and what is expected of it.

use super::words;
use super::TestArgs;
use crate::commands::compare::{self, CompareArgs, Matrix};
use crate::error::Error;
use crate::gate::{self, Judged, Verdict};
use crate::load::Load;
use crate::output::comparison::gates;
use crate::suite::Checked;
use clap::Parser;
use rota_gate::{Named, Test};
use std::path::Path;
use std::sync::Arc;

/// A test on one of its machines.
pub(super) struct Case<'a> {
    pub(super) test: &'a Test,
    /// The words that name it.
    pub(super) machine: &'a [String],
    words: Vec<String>,
    args: CompareArgs,
    pub(super) matrix: Arc<Matrix>,
}

/// The command line of a comparison alone.
#[derive(Parser)]
#[command(name = "rota compare")]
struct Words {
    #[command(flatten)]
    args: CompareArgs,
}

fn parse(words: &[String]) -> Result<CompareArgs, Error> {
    // The first two are the command.
    let parsed = Words::try_parse_from(words.iter().skip(1));
    parsed.map(|words| words.args).map_err(|error| {
        let text = error.to_string();
        let line = text.lines().next().unwrap_or_default();
        Error::input(line.trim_start_matches("error: "))
    })
}

impl<'a> Case<'a> {
    /// Reads all files of it.
    pub(super) fn new(
        test: &'a Test,
        machine: &'a [String],
        args: &TestArgs,
        file: &str,
    ) -> Result<Self, Error> {
        let named = |error: Error| match error {
            Error::Input(what) => Error::Input(format!("{file}: test \"{}\": {what}", test.name)),
            other => other,
        };
        let workloads = test.workloads.iter().map(|path| path.display().to_string());
        let policies = test.policies.iter().chain(&test.others);
        let mut words = words::compare(test, machine, workloads, policies);
        if let Some(jobs) = args.jobs {
            words.extend(["--jobs".to_owned(), jobs.to_string()]);
        }
        let args = parse(&words).map_err(named)?;
        let matrix = Arc::new(Matrix::new(&args).map_err(named)?);
        let loads: Vec<&Load> = matrix.stages.iter().map(|stage| &*stage.load).collect();
        let given = matrix.given();
        for expected in &test.expect {
            let at = format!("{file}:{}:", expected.line);
            expected.condition.check(&at, (&loads, &given), args.seeds.first())?;
        }
        Ok(Self { test, machine, words, args, matrix })
    }

    /// Its policies, in the order of the comparison.
    fn policies(&self) -> Vec<&'a Named> {
        self.test.policies.iter().chain(&self.test.others).collect()
    }

    /// Runs it all, and judges.
    pub(super) fn check(&self) -> Result<Vec<Checked>, Error> {
        let runs = compare::runs_of(&self.args, &self.matrix)?;
        let comparison = self.matrix.comparison(&runs);
        let policies = self.policies();
        let mut checked = Vec::new();
        for (at, stage) in comparison.stages.iter().enumerate() {
            for (policy, named) in self.test.policies.iter().enumerate() {
                for expected in &self.test.expect {
                    let condition = &expected.condition;
                    let than = condition.than();
                    let other =
                        than.and_then(|name| policies.iter().position(|of| of.name == name));
                    if other == Some(policy) {
                        continue;
                    }
                    let found = gate::judge(condition, stage, policy, other);
                    let failed = found.verdict != Verdict::Holds;
                    let text = condition.text.clone();
                    let judged = Judged { stage: at, policy, condition: text, failed, found };
                    let cpus = stage.config.topology.cpus();
                    let with = other.map(|other| policies[other]);
                    checked.push(Checked {
                        test: self.test.name.clone(),
                        workload: stage.load.file.clone(),
                        machine: self.matrix.stages[at].machine.clone(),
                        cpus,
                        policy: named.name.clone(),
                        line: expected.line,
                        failed,
                        seen: gates::seen(&comparison, &judged),
                        command: words::line(&self.command(&stage.load.file, named, with)),
                        condition: judged.condition,
                        kept: Vec::new(),
                    });
                }
            }
        }
        Ok(checked)
    }

    /// What shows a failure.
    fn command(&self, workload: &str, policy: &Named, other: Option<&Named>) -> Vec<String> {
        let policies = std::iter::once(policy).chain(other);
        words::compare(self.test, self.machine, [workload.to_owned()], policies)
    }

    /// Writes the report of all its runs.
    pub(super) fn report(&self, path: &Path) -> Result<(), Error> {
        let report = ["--report".to_owned(), path.display().to_string()];
        let args = parse(&[&self.words[..], &report].concat())?;
        compare::report_of(&args, &self.matrix)
    }
}
