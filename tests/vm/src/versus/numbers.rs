// SPDX-License-Identifier: MIT OR Apache-2.0
//! The numbers of a run that are compared, from the JSON that both hosts give.

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One run in one host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Numbers {
    /// Part of the machine that each task had, by name. All forks of a task are one.
    pub shares: Vec<(String, f64)>,
    /// Context switches.
    pub switches: u64,
    /// Time that tasks waited for a CPU, all together.
    pub run_delay_ns: u64,
    /// Median of the wakeup latencies; `None`: nobody was woken.
    pub p50_ns: Option<u64>,
    /// 95th percentile.
    pub p95_ns: Option<u64>,
    /// 99th percentile.
    pub p99_ns: Option<u64>,
    /// CPU time of tasks that ended, on average; `None`: none did.
    pub whole_life_ns: Option<u64>,
    /// Part of the cores that idled while another had two tasks, on average; `None`: no core has
    /// two CPUs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doubled: Option<f64>,
    /// Why the policy left; `None`: it stayed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left: Option<String>,
}

impl Numbers {
    /// From `tasks` and `totals` as `rota sim --json` has them.
    pub fn of(report: &Value) -> Result<Numbers> {
        let tasks = report["tasks"].as_array().context("a report without tasks")?;
        let totals = &report["totals"];
        let latency = |key: &str| totals["wakeup_latency_ns"][key].as_u64();
        let share = |task: &Value| {
            let name = task["name"].as_str().context("a task without a name")?;
            Ok((name.to_owned(), task["share"].as_f64().context("a task without a share")?))
        };
        let ended = tasks.iter().filter(|task| task["finished_ns"].is_u64());
        let lives: Vec<u64> = ended.filter_map(|task| task["cpu_ns"].as_u64()).collect();
        let run_delays = tasks.iter().map(|task| task["run_delay_ns"].as_u64().unwrap_or(0));
        Ok(Numbers {
            shares: together(tasks.iter().map(share).collect::<Result<_>>()?),
            switches: totals["context_switches"].as_u64().context("no context switches")?,
            run_delay_ns: run_delays.sum(),
            p50_ns: latency("p50"),
            p95_ns: latency("p95"),
            p99_ns: latency("p99"),
            whole_life_ns: lives.iter().sum::<u64>().checked_div(lives.len() as u64),
            doubled: None,
            left: None,
        })
    }

    /// Names of tasks without the number that tells instances of one apart.
    pub fn kinds(&self) -> Vec<&str> {
        let mut kinds: Vec<&str> = self.shares.iter().map(|(name, _)| kind(name)).collect();
        kinds.dedup();
        kinds
    }

    /// The share of an instance of a task, on average over them; 0 if there never was one.
    pub fn share_of_kind(&self, of: &str) -> f64 {
        let all = self.shares.iter().filter(|(name, _)| kind(name) == of);
        let (sum, count) = all.fold((0.0, 0.0), |(sum, n), (_, share)| (sum + share, n + 1.0));
        if count > 0.0 {
            sum / count
        } else {
            0.0
        }
    }

    /// The share of a task; 0 if it never was.
    pub fn share(&self, name: &str) -> f64 {
        self.shares.iter().find(|(task, _)| task == name).map_or(0.0, |(_, share)| *share)
    }
}

fn kind(name: &str) -> &str {
    match name.rsplit_once('-') {
        Some((kind, nr)) if nr.bytes().all(|byte| byte.is_ascii_digit()) => kind,
        _ => name,
    }
}

/// Adds up forks: which of them is which depends on who forked first.
fn together(tasks: Vec<(String, f64)>) -> Vec<(String, f64)> {
    let mut shares: Vec<(String, f64)> = Vec::new();
    for (name, share) in tasks {
        let name = match name.rsplitn(3, '-').collect::<Vec<_>>()[..] {
            [fork, _, task] if fork.len() == 4 => task.to_owned(),
            _ => name,
        };
        match shares.iter_mut().find(|(known, _)| *known == name) {
            Some((_, sum)) => *sum += share,
            None => shares.push((name, share)),
        }
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instances_of_a_task_are_one_kind() {
        let shares = [("a-b-0", 0.5), ("a-b-1", 0.25), ("leaf", 0.125)];
        let shares = shares.map(|(name, share)| (name.to_owned(), share)).to_vec();
        let (switches, run_delay_ns, whole_life_ns) = (0, 0, None);
        let (p50_ns, p95_ns, p99_ns) = (None, None, None);
        let numbers = Numbers {
            shares,
            switches,
            run_delay_ns,
            p50_ns,
            p95_ns,
            p99_ns,
            whole_life_ns,
            doubled: None,
            left: None,
        };
        assert_eq!(numbers.kinds(), ["a-b", "leaf"]);
        assert_eq!(
            ["a-b", "leaf", "c"].map(|kind| numbers.share_of_kind(kind)),
            [0.375, 0.125, 0.0]
        );
    }

    #[test]
    fn forks_of_a_task_are_added_up() {
        let tasks = [("a-0", 0.5), ("leaf-3-0000", 0.125), ("leaf-4-0001", 0.25)];
        let tasks = tasks.map(|(name, share)| (name.to_owned(), share)).to_vec();
        assert_eq!(together(tasks), [("a-0".to_owned(), 0.5), ("leaf".to_owned(), 0.375)]);
    }
}
