// SPDX-License-Identifier: MIT OR Apache-2.0
//! One run of `rota sim`, with the CPU time that it took.

use crate::args::Build;
use crate::grid::Cell;
use anyhow::{bail, Context, Result};
use nix::sys::resource::{getrusage, UsageWho};
use nix::sys::time::TimeValLike;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};

/// What a run took, and what it simulated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Run {
    /// User and system time.
    pub(crate) cpu_ns: f64,
    pub(crate) simulated_ns: f64,
    pub(crate) decisions: f64,
    pub(crate) instructions: f64,
}

/// Runs a cell for so much simulated time.
pub(crate) fn run(build: &Build, cell: &Cell, load: &Path, duration_us: u64) -> Result<Run> {
    let before_ns = children_ns()?;
    let output = Command::new(&build.file)
        .args(["sim", &cell.policy])
        .arg(load)
        .args(["--cpus", &cell.cpus.to_string()])
        .args(["--duration", &format!("{duration_us}us")])
        .args(["--engine", &cell.engine.to_string()])
        .args(["--seed", "1", "--json"])
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("{} does not run", build.file.display()))?;
    let cpu_ns = children_ns()? - before_ns;
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr);
        let why = why.trim().lines().next().unwrap_or_default();
        bail!("{} of {}: {why}", output.status, build.name);
    }
    let json: Value = serde_json::from_slice(&output.stdout)
        .with_context(|| format!("the output of {}", build.name))?;
    of_json(&json, cpu_ns)
}

/// Of all programs that this one has waited for; it starts one after the other.
fn children_ns() -> Result<f64> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).context("getrusage")?;
    let total = usage.user_time() + usage.system_time();
    Ok(total.num_microseconds() as f64 * 1e3)
}

fn of_json(json: &Value, cpu_ns: f64) -> Result<Run> {
    let totals = &json["totals"];
    let number = |key: &str, value: &Value| {
        value.as_f64().with_context(|| format!("{key} is not in the output of `rota sim --json`"))
    };
    let decisions = number("totals.decisions", &totals["decisions"])?;
    let mean = &totals["instructions_per_decision"]["mean"];
    Ok(Run {
        cpu_ns,
        simulated_ns: number("totals.measured_ns", &totals["measured_ns"])?,
        decisions,
        // Not counted where there was no decision.
        instructions: decisions * mean.as_f64().unwrap_or(0.0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_run_has_what_its_totals_say() {
        let json = json!({"schema": "rota.sim/1", "totals": {
            "decisions": 200, "measured_ns": 1_000_000_000, "instructions_per_decision": {"mean": 40.5}
        }});
        let expected =
            Run { cpu_ns: 7.0, simulated_ns: 1e9, decisions: 200.0, instructions: 200.0 * 40.5 };
        assert_eq!(of_json(&json, 7.0).expect("all is there"), expected);
    }

    #[test]
    fn output_without_totals_is_an_error_that_says_what_is_missing() {
        let error = of_json(&json!({"machine": {}}), 7.0).unwrap_err();
        assert!(error.to_string().contains("totals.decisions is not in the output"), "{error}");
    }
}
