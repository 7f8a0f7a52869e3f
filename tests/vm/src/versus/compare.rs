// SPDX-License-Identifier: MIT OR Apache-2.0
//! The two hosts' numbers of a case beside each other.

use super::case::Case;
use super::numbers::Numbers;
use super::sequence;
use super::simulate::{Beside, Host};
use super::spread::Simulated;
use super::tolerance::Tolerances;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;

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
    /// The least that the machine could have given, as far as was tried.
    pub least: f64,
    /// The most.
    pub most: f64,
}

impl Pair {
    /// The first of `runs` is the one by the rules.
    fn new(runs: impl Iterator<Item = f64> + Clone, kernel: f64) -> Pair {
        let simulator = runs.clone().next().unwrap_or(0.0);
        let least = runs.clone().fold(simulator, f64::min);
        Pair { simulator, kernel, least, most: runs.fold(simulator, f64::max) }
    }

    /// How far the kernel's value is from all that the machine could have given.
    pub fn outside(self) -> f64 {
        (self.least - self.kernel).max(self.kernel - self.most).max(0.0)
    }

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
    /// In the kernel the fair class scheduled it.
    pub fair: bool,
    /// They are this row's own.
    pub own_set: bool,
    /// Its CPUs.
    pub cpus: u32,
    /// Its length.
    pub duration_ns: u64,
    /// Numbers of the simulator: by the rules, then what else it could have given.
    pub simulator: Vec<Numbers>,
    /// Numbers of the kernel.
    pub kernel: Numbers,
    /// How long a tick took that ended a slice.
    pub tick_ns: u64,
    /// How long a wakeup took to another CPU that was idle, if there were any.
    pub crossing_ns: Option<u64>,
    /// How often others than the workload ran.
    pub interruptions: usize,
    /// For how long, all together.
    pub interrupted_ns: u64,
    /// How much of its tolerance each measure uses.
    pub used: Vec<(Measure, f64)>,
    /// Picks that were the same, if they are compared.
    pub same_picks: Option<usize>,
    /// What is out of tolerance, and known to be.
    pub known: Vec<Measure>,
    /// What else is out of tolerance, in words.
    pub problems: Vec<String>,
}

impl Compared {
    /// Compares and judges.
    pub fn new(
        case: &Case,
        simulator: Simulated,
        kernel: Host,
        beside: &Beside,
        tolerances: &Tolerances,
    ) -> Compared {
        let mut compared = Compared {
            case: case.name(),
            workload: case.workload.clone(),
            policy: case.policy.clone(),
            set: case.set.clone(),
            fair: case.is_fair(),
            own_set: case.own_set,
            cpus: case.cpus,
            duration_ns: case.duration_ns,
            simulator: simulator.runs,
            kernel: kernel.numbers,
            tick_ns: beside.tick_ns,
            crossing_ns: beside.crossing_ns,
            interruptions: beside.interruptions.len(),
            interrupted_ns: beside.interrupted_ns(),
            used: Vec::new(),
            same_picks: None,
            known: Vec::new(),
            problems: Vec::new(),
        };
        match case.picks {
            Some(least) => {
                match sequence::same(&simulator.host.picks[0], &kernel.picks[0], least) {
                    Ok(picks) => compared.same_picks = Some(picks),
                    Err(problem) => compared.problems.push(problem),
                }
            }
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
            if used > 1.0 && tolerances.is_known(case, measure) {
                self.known.push(measure);
                continue;
            }
            self.used.push((measure, used));
            if used > 1.0 {
                let Pair { simulator, kernel, least, most } = pair;
                self.problems.push(format!(
                    "{measure:?}: simulator {simulator} ({least} to {most}), kernel {kernel} \
                     (outside of its tolerance: {})",
                    tolerance.reason
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
        let of = |numbers: &Numbers| match measure {
            Measure::Share => None,
            Measure::Switches => Some(numbers.switches),
            Measure::RunDelay => Some(numbers.run_delay_ns),
            Measure::P50 => numbers.p50_ns,
            Measure::P95 => numbers.p95_ns,
            Measure::P99 => numbers.p99_ns,
        };
        if measure == Measure::Share {
            return self.worst_share().map(|(_, pair)| pair);
        }
        of(&self.simulator[0]).or(of(&self.kernel))?;
        let number = |numbers: &Numbers| of(numbers).unwrap_or(0) as f64;
        Some(Pair::new(self.simulator.iter().map(number), number(&self.kernel)))
    }

    /// The task whose shares differ most: by what they are outside, then by the runs by the rules.
    pub fn worst_share(&self) -> Option<(&str, Pair)> {
        let simulator = self.simulator.iter().flat_map(|run| &run.shares);
        let names = simulator.chain(&self.kernel.shares).map(|(name, _)| name.as_str());
        let pairs = names.map(|name| {
            let runs = self.simulator.iter().map(|run| run.share(name));
            (name, Pair::new(runs, self.kernel.share(name)))
        });
        let error = |pair: &Pair| (pair.outside(), (pair.simulator - pair.kernel).abs());
        pairs.max_by(|(_, a), (_, b)| error(a).partial_cmp(&error(b)).unwrap_or(Ordering::Equal))
    }
}
