// SPDX-License-Identifier: MIT OR Apache-2.0
//! The two hosts' numbers of a case beside each other.

use super::case::Case;
use super::numbers::Numbers;
use super::sequence;
use super::simulate::{Beside, Host};
use super::tolerance::Tolerances;
use serde::{Deserialize, Serialize};

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// Part of the machine: of the task whose shares differ most.
    Share,
    /// Context switches.
    Switches,
    /// Time that all tasks waited for a CPU.
    RunDelay,
    /// Median of the wakeup latencies.
    P50,
    /// 95th percentile.
    P95,
    /// 99th percentile.
    P99,
}

impl Measure {
    /// In the order of the table.
    pub const ALL: [Measure; 6] = [
        Measure::Share,
        Measure::Switches,
        Measure::RunDelay,
        Measure::P50,
        Measure::P95,
        Measure::P99,
    ];
}

/// A measure in both hosts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Pair {
    /// In the simulated machine.
    pub simulator: f64,
    /// In the kernel.
    pub kernel: f64,
}

impl Pair {
    /// Simulator less kernel, in parts of the kernel's value; `None`: that is 0.
    pub fn relative(self) -> Option<f64> {
        (self.kernel != 0.0).then(|| (self.simulator - self.kernel) / self.kernel)
    }
}

/// A case in both hosts.
#[derive(Clone, Debug, Serialize)]
pub struct Compared {
    /// Its name.
    pub case: String,
    /// Name of its workload.
    pub workload: String,
    /// Its policy.
    pub policy: String,
    /// Tunables.
    pub set: Vec<String>,
    /// They are this row's own.
    pub own_set: bool,
    /// Its CPUs.
    pub cpus: u32,
    /// Its length.
    pub duration_ns: u64,
    /// Numbers of the simulator.
    pub simulator: Numbers,
    /// Numbers of the kernel.
    pub kernel: Numbers,
    /// How long a tick took that ended a slice.
    pub tick_ns: u64,
    /// How often others than the workload ran.
    pub interruptions: usize,
    /// For how long, all together.
    pub interrupted_ns: u64,
    /// How much of its tolerance each measure uses.
    pub used: Vec<(Measure, f64)>,
    /// Picks that were the same, if they are compared.
    pub same_picks: Option<usize>,
    /// What is out of tolerance, in words.
    pub problems: Vec<String>,
}

impl Compared {
    /// Compares and judges.
    pub fn new(
        case: &Case,
        simulator: Host,
        kernel: Host,
        beside: &Beside,
        tolerances: &Tolerances,
    ) -> Compared {
        let mut compared = Compared {
            case: case.name(),
            workload: case.workload.clone(),
            policy: case.policy.clone(),
            set: case.set.clone(),
            own_set: case.own_set,
            cpus: case.cpus,
            duration_ns: case.duration_ns,
            simulator: simulator.numbers,
            kernel: kernel.numbers,
            tick_ns: beside.tick_ns,
            interruptions: beside.interruptions.len(),
            interrupted_ns: beside.interrupted_ns(),
            used: Vec::new(),
            same_picks: None,
            problems: Vec::new(),
        };
        match case.picks {
            Some(least) => match sequence::same(&simulator.picks[0], &kernel.picks[0], least) {
                Ok(picks) => compared.same_picks = Some(picks),
                Err(problem) => compared.problems.push(problem),
            },
            None => compared.judge(case, tolerances),
        }
        compared
    }

    fn judge(&mut self, case: &Case, tolerances: &Tolerances) {
        for measure in Measure::ALL {
            let Some(pair) = self.pair(measure) else { continue };
            let Some(tolerance) = tolerances.of(case, measure) else {
                self.problems.push(format!("no tolerance is declared for {measure:?}"));
                continue;
            };
            let used = tolerance.used(pair);
            self.used.push((measure, used));
            if used > 1.0 {
                self.problems.push(format!(
                    "{measure:?}: simulator {}, kernel {} (let pass: {})",
                    pair.simulator, pair.kernel, tolerance.reason
                ));
            }
        }
    }

    /// The measure that is nearest to the end of its tolerance, and how much of it it uses.
    pub fn nearest(&self) -> Option<(Measure, f64)> {
        self.used.iter().copied().max_by(|(_, a), (_, b)| a.total_cmp(b))
    }

    /// A measure; `None`: neither host has it.
    pub fn pair(&self, measure: Measure) -> Option<Pair> {
        let latency = |simulator: Option<u64>, kernel: Option<u64>| match (simulator, kernel) {
            (None, None) => None,
            (simulator, kernel) => {
                let number = |ns: Option<u64>| ns.unwrap_or(0) as f64;
                Some(Pair { simulator: number(simulator), kernel: number(kernel) })
            }
        };
        let (s, k) = (&self.simulator, &self.kernel);
        match measure {
            Measure::Share => self.worst_share().map(|(_, pair)| pair),
            Measure::Switches => {
                Some(Pair { simulator: s.switches as f64, kernel: k.switches as f64 })
            }
            Measure::RunDelay => {
                Some(Pair { simulator: s.run_delay_ns as f64, kernel: k.run_delay_ns as f64 })
            }
            Measure::P50 => latency(s.p50_ns, k.p50_ns),
            Measure::P95 => latency(s.p95_ns, k.p95_ns),
            Measure::P99 => latency(s.p99_ns, k.p99_ns),
        }
    }

    /// The task whose shares differ most.
    pub fn worst_share(&self) -> Option<(&str, Pair)> {
        let names = self.simulator.shares.iter().chain(&self.kernel.shares).map(|(name, _)| name);
        let pairs = names.map(|name| {
            let pair =
                Pair { simulator: self.simulator.share(name), kernel: self.kernel.share(name) };
            (name.as_str(), pair)
        });
        let error = |pair: &Pair| (pair.simulator - pair.kernel).abs();
        pairs.max_by(|(_, a), (_, b)| error(a).total_cmp(&error(b)))
    }
}
