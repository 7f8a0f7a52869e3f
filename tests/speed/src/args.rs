// SPDX-License-Identifier: MIT OR Apache-2.0
//! What to measure.

use crate::grid::{Cell, Engine, Tasks};
use clap::Parser;
use std::path::PathBuf;

/// Measure what a decision takes the simulator, for each policy, number of CPUs, number of tasks and
/// engine.
#[derive(Debug, Parser)]
#[command(name = "rota-speed", version)]
pub(crate) struct Args {
    /// A build of rota, with a name; builds take turns, and others are compared with the first
    #[arg(long = "rota", value_name = "NAME=FILE", required = true, value_parser = build)]
    pub(crate) builds: Vec<Build>,

    /// Policies: names, or object files
    #[arg(long, value_delimiter = ',', default_values_t = shipped(), hide_default_value = true)]
    policies: Vec<String>,

    /// Numbers of CPUs
    #[arg(long, value_delimiter = ',', default_values_t = [1, 4, 16, 64, 256, 512])]
    cpus: Vec<u32>,

    /// Numbers of tasks; 2x is twice the number of CPUs
    #[arg(long, value_delimiter = ',', default_values_t = [Tasks::PerCpu(2), Tasks::Number(1_000), Tasks::Number(10_000)])]
    tasks: Vec<Tasks>,

    /// How BPF code runs
    #[arg(long, value_delimiter = ',', value_enum, default_values_t = [Engine::Interpreter, Engine::Compiled])]
    engines: Vec<Engine>,

    /// How often each build is measured in each cell
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) repeat: u32,

    /// Adds the results to this file, a line of JSON for each, and shows the last ones of it
    #[arg(long, value_name = "FILE")]
    pub(crate) history: Option<PathBuf>,

    /// Print lines of JSON, as in the history
    #[arg(long)]
    pub(crate) json: bool,
}

/// An executable to measure.
#[derive(Clone, Debug)]
pub(crate) struct Build {
    pub(crate) name: String,
    pub(crate) file: PathBuf,
}

impl Args {
    /// All cells, in an order in which no build is measured long before another.
    pub(crate) fn grid(&self) -> Vec<Cell> {
        let mut cells = Vec::new();
        for policy in &self.policies {
            for &cpus in &self.cpus {
                let mut seen = Vec::new();
                for tasks in self.tasks.iter().map(|tasks| tasks.on(cpus)) {
                    if seen.contains(&tasks) {
                        continue;
                    }
                    seen.push(tasks);
                    for &engine in &self.engines {
                        cells.push(Cell { policy: policy.clone(), cpus, tasks, engine });
                    }
                }
            }
        }
        cells
    }
}

fn build(text: &str) -> Result<Build, String> {
    let expected = "expected NAME=FILE, such as now=target/release/rota";
    let (name, file) = text.split_once('=').ok_or(expected)?;
    if name.is_empty() || file.is_empty() {
        return Err(expected.into());
    }
    Ok(Build { name: name.into(), file: file.into() })
}

fn shipped() -> Vec<String> {
    rota_catalog::policies().iter().map(|policy| policy.name.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(more: &[&str]) -> Args {
        let fixed = ["rota-speed", "--rota", "now=rota"];
        Args::try_parse_from(fixed.iter().chain(more)).expect("legal")
    }

    #[test]
    fn the_grid_has_each_number_of_tasks_once_for_each_engine() {
        let args = args(&["--policies", "fifo,rr", "--cpus", "1,500", "--tasks", "2x,1000"]);
        let grid: Vec<String> = args.grid().iter().map(ToString::to_string).collect();
        // Twice 500 CPUs are 1,000 tasks already.
        let of = |policy| {
            [(1, 2), (1, 1000), (500, 1000)].into_iter().flat_map(move |(cpus, tasks)| {
                ["interpreter", "compiled"]
                    .map(|engine| format!("{policy}, {cpus} CPUs, {tasks} tasks, {engine}"))
            })
        };
        assert_eq!(grid, of("fifo").chain(of("rr")).collect::<Vec<_>>());
    }

    #[test]
    fn without_names_all_policies_that_ship_are_measured() {
        assert!(args(&[]).policies.iter().any(|name| name == "eevdf"));
    }

    #[test]
    fn a_build_without_a_name_and_tasks_that_are_no_number_are_refused() {
        for bad in [vec!["--rota", "target/rota"], vec!["--rota", "a=b", "--tasks", "many"]] {
            let error = Args::try_parse_from(["rota-speed"].iter().chain(&bad)).unwrap_err();
            assert!(error.to_string().contains("expected"), "{error}");
        }
    }
}
