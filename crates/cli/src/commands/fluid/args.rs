// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arguments of `rota fluid`.

use crate::complete;
use crate::options::duration;
use clap::{Args, Subcommand, ValueHint};
use rota_fluid::Beta;
use rota_workload::parse_duration;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct FluidArgs {
    #[command(subcommand)]
    pub(crate) policy: FluidPolicy,
}

/// Policies that have a fluid model.
#[derive(Debug, Subcommand)]
pub(crate) enum FluidPolicy {
    /// Priority-based blind scheduling on one processor: when tasks end, and their shares
    /// of the processor over time
    Pbs(PbsArgs),
}

#[derive(Debug, Args)]
#[command(after_help = "Exit codes: 0 ok, 1 failure, 2 wrong usage or bad input.")]
pub(crate) struct PbsArgs {
    /// What the tasks do: an rt-app JSON file with tasks that run, sleep and wait for timers
    #[arg(value_name = "WORKLOAD.json", value_hint = ValueHint::FilePath)]
    #[arg(required_unless_present = "task")]
    #[arg(add = complete::workloads())]
    pub(crate) workload: Option<PathBuf>,

    /// In place of a file: a task that arrives, and ends when it has had its demand, as
    /// 1s:2.5s (repeatable)
    #[arg(long, value_name = "[NAME=]ARRIVAL:DEMAND", value_parser = task)]
    #[arg(conflicts_with = "workload")]
    pub(crate) task: Vec<OneTask>,

    /// Priority is T / S^alpha: 0 is first come, first served, 1 near processor sharing, inf
    /// least attained service
    #[arg(long, value_name = "NUMBER", default_value = "1", allow_negative_numbers = true)]
    #[arg(value_parser = number)]
    pub(crate) alpha: f64,

    /// A sleep this many times as long as the mean one begins a new session; before it + or -,
    /// whether shorter ones count as time in the session, as +inf, -3 or 0
    #[arg(long, value_name = "NUMBER", default_value = "+inf", allow_hyphen_values = true)]
    pub(crate) beta: Beta,

    /// How long [default: the workload's own; without one until all tasks are over]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) duration: Option<u64>,

    /// Shares in the table are means over this time [default: a round time, at most 25 rows]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) step: Option<u64>,

    /// Seed of the workload's random draws
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(value_parser = crate::options::seed, allow_negative_numbers = true)]
    pub(crate) seed: u64,

    /// Draw the shares over time
    #[arg(long, value_name = "FILE.svg", value_hint = ValueHint::FilePath)]
    pub(crate) picture: Option<PathBuf>,

    /// Print one JSON object (schema rota.fluid/1)
    #[arg(long)]
    pub(crate) json: bool,
}

/// A task of the command line; nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OneTask {
    pub(crate) name: Option<String>,
    pub(crate) arrival_ns: u64,
    pub(crate) demand_ns: u64,
}

fn task(text: &str) -> Result<OneTask, String> {
    let (name, times) = match text.split_once('=') {
        Some((name, times)) if !name.is_empty() => (Some(name.to_owned()), times),
        Some(_) => return Err("the name before = is empty".into()),
        None => (None, text),
    };
    let (arrival, demand) =
        times.split_once(':').ok_or("expected ARRIVAL:DEMAND, for example 1s:2.5s")?;
    let arrival_ns = parse_duration(arrival).map_err(|e| e.to_string())?;
    let demand_ns = parse_duration(demand).map_err(|e| e.to_string())?;
    if demand_ns == 0 {
        return Err("a demand of nothing: expected more than 0".into());
    }
    Ok(OneTask { name, arrival_ns, demand_ns })
}

fn number(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|number| !number.is_nan());
    number.ok_or_else(|| "expected a number, or inf".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_task_is_its_arrival_and_demand() {
        let expected = OneTask { name: None, arrival_ns: 1_000_000_000, demand_ns: 2_500_000_000 };
        assert_eq!(task("1s:2.5s"), Ok(expected.clone()));
        assert_eq!(task("x=1s:2.5s"), Ok(OneTask { name: Some("x".into()), ..expected }));
        for bad in ["", "1s", "1s:", ":1s", "=1s:1s", "1s:0s", "1:2", "a=b", "1s:1s:1s"] {
            assert!(task(bad).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parsers_panic(text in ".{0,40}") {
            let _ = (task(&text), number(&text), text.parse::<Beta>());
        }

        #[test]
        fn every_task_comes_back(arrival_ns in 0..u64::MAX, demand_ns in 1..u64::MAX) {
            let text = format!("{arrival_ns}ns:{demand_ns}ns");
            prop_assert_eq!(task(&text), Ok(OneTask { name: None, arrival_ns, demand_ns }));
        }
    }
}
