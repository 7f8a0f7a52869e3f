// SPDX-License-Identifier: MIT OR Apache-2.0
//! Nanoseconds of decisions on a real CPU: a file that the bench of `docs/decision-cost.md` wrote.

use crate::error::Error;
use serde::Deserialize;

/// What the bench calls its JSON.
const SCHEMA: &str = "rota.decision-cost/1";

/// A result of the bench; what is of no use here is not read.
#[derive(Clone, Debug, Deserialize)]
pub struct DecisionCosts {
    schema: String,
    computer: Computer,
    rows: Vec<Row>,
}

#[derive(Clone, Debug, Deserialize)]
struct Computer {
    cpu: String,
    kernel: String,
    virtual_machine: bool,
    load_average: f64,
}

#[derive(Clone, Debug, Deserialize)]
struct Row {
    /// With what was set: `wfq:queue=list`.
    policy: String,
    tasks: usize,
    ns: Spread,
    /// To the baseline, in turns right after its own.
    #[serde(default)]
    ratio: Option<f64>,
}

#[derive(Clone, Debug, Deserialize)]
struct Spread {
    median: f64,
}

/// A policy with so many tasks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct DecisionCost {
    pub(crate) tasks: usize,
    pub(crate) median_ns: f64,
    /// To scx_simple, if that was there.
    pub(crate) ratio: Option<f64>,
}

impl DecisionCosts {
    /// Reads the bench's JSON; `file` is its name, for errors.
    pub fn parse(file: &str, text: &str) -> Result<Self, Error> {
        let error = |why: String| {
            let bench = "cargo bench -p rota-decision-cost -- … --json";
            Error::Input(format!("{file}: {why}; expected what `{bench}` prints"))
        };
        let costs: Self = serde_json::from_str(text).map_err(|e| error(e.to_string()))?;
        if costs.schema != SCHEMA {
            return Err(error(format!("schema \"{}\" is not \"{SCHEMA}\"", costs.schema)));
        }
        for row in &costs.rows {
            let Spread { median } = row.ns;
            if !median.is_finite() || median <= 0.0 || row.tasks == 0 {
                let (policy, tasks) = (&row.policy, row.tasks);
                return Err(error(format!(
                    "rows: {policy} with {tasks} tasks takes {median} ns, which is no time"
                )));
            }
        }
        Ok(costs)
    }

    /// What was measured of a policy, by number of tasks.
    pub(crate) fn of(&self, policy: &str) -> Vec<DecisionCost> {
        let own = self.rows.iter().filter(|row| row.policy == policy);
        let cost = |row: &Row| DecisionCost {
            tasks: row.tasks,
            median_ns: row.ns.median,
            ratio: row.ratio,
        };
        let mut costs: Vec<DecisionCost> = own.map(cost).collect();
        costs.sort_by_key(|cost| cost.tasks);
        costs
    }

    /// On which computer.
    pub(crate) fn computer(&self) -> String {
        let Computer { cpu, kernel, virtual_machine, load_average } = &self.computer;
        let guest = if *virtual_machine { ", virtual machine" } else { "" };
        format!("{cpu}, Linux {kernel}{guest}, load {load_average:.1}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn json(schema: &str, median: &str) -> String {
        format!(
            r#"{{"schema": "{schema}", "computer": {{"cpu": "CPU", "cpus": 2, "kernel": "7.2",
            "virtual_machine": true, "load_average": 0.25}}, "repetitions": 3, "rows": [
            {{"policy": "wfq", "tasks": 200, "ns": {{"median": {median}, "min": 1, "p95": 9}}}},
            {{"policy": "wfq", "tasks": 10, "ns": {{"median": 450.5, "min": 1, "p95": 9}},
            "ratio": 2.5}}]}}"#
        )
    }

    #[test]
    fn medians_are_by_policy_and_number_of_tasks() {
        let costs = DecisionCosts::parse("f", &json(SCHEMA, "600")).expect("is in order");
        let cost = |tasks, median_ns, ratio| DecisionCost { tasks, median_ns, ratio };
        assert_eq!(costs.of("wfq"), [cost(10, 450.5, Some(2.5)), cost(200, 600.0, None)]);
        assert_eq!(costs.of("vtrr"), []);
        assert_eq!(costs.computer(), "CPU, Linux 7.2, virtual machine, load 0.2");
    }

    #[test]
    fn what_the_bench_does_not_write_is_refused() {
        for (text, said) in [
            (json("rota.sim/1", "600"), "\"rota.sim/1\" is not"),
            (json(SCHEMA, "-1"), "wfq with 200 tasks takes -1 ns"),
            (json(SCHEMA, "\"600\""), "line 3"),
            ("{}".into(), "missing field"),
        ] {
            let error = DecisionCosts::parse("costs.json", &text).expect_err(said).to_string();
            assert!(error.starts_with("costs.json: ") && error.contains(said), "{error}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(text in ".{0,200}", cut in 0..400usize) {
            let _ = DecisionCosts::parse("f", &text);
            let mut broken = json(SCHEMA, "600");
            broken.truncate(cut);
            let _ = DecisionCosts::parse("f", &(broken + &text));
        }
    }
}
