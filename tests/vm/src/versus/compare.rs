// SPDX-License-Identifier: MIT OR Apache-2.0
//! The two hosts' numbers of a case beside each other.

use super::case::Case;
use super::numbers::Numbers;
use super::sequence;
use super::simulate::{Beside, Host};
use super::spread::Simulated;
use super::tolerance::Tolerances;
use rota_measure::statistics::estimate;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::fmt;

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
    /// Part of the cores that idled while another had two tasks.
    Doubled,
}

impl Measure {
    /// In the order of the table.
    pub const ALL: [Measure; 7] = [
        Measure::Share,
        Measure::Switches,
        Measure::RunDelay,
        Measure::P50,
        Measure::P95,
        Measure::P99,
        Measure::Doubled,
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
    /// The two are means; half of the 95 % confidence interval of their difference.
    pub interval: Option<f64>,
}

impl Pair {
    /// The first of `runs` is the one by the rules.
    fn new(runs: impl Iterator<Item = f64> + Clone, kernel: f64) -> Pair {
        let simulator = runs.clone().next().unwrap_or(0.0);
        let least = runs.clone().fold(simulator, f64::min);
        let most = runs.fold(simulator, f64::max);
        Pair { simulator, kernel, least, most, interval: None }
    }

    /// Each recording beside the mean of what was drawn for it.
    fn of_means(recordings: &[(Vec<f64>, f64)]) -> Pair {
        let runs = recordings.iter().flat_map(|(runs, _)| runs);
        let least = runs.clone().copied().fold(f64::INFINITY, f64::min);
        let most = runs.copied().fold(f64::NEG_INFINITY, f64::max);
        let pairs: Vec<(f64, f64)> =
            recordings.iter().map(|(runs, kernel)| (mean(runs.iter()), *kernel)).collect();
        let differences: Vec<f64> = pairs.iter().map(|(mean, kernel)| mean - kernel).collect();
        Pair {
            simulator: mean(pairs.iter().map(|(simulator, _)| simulator)),
            kernel: mean(pairs.iter().map(|(_, kernel)| kernel)),
            least,
            most,
            interval: estimate(&differences).and_then(|estimate| estimate.half_width),
        }
    }

    /// How far the kernel's value is from all that the machine could have given; of means, what
    /// their difference is more than its interval.
    pub fn outside(self) -> f64 {
        match self.interval {
            Some(interval) => (self.simulator - self.kernel).abs() - interval,
            None => (self.least - self.kernel).max(self.kernel - self.most),
        }
        .max(0.0)
    }

    /// Simulator less kernel, in parts of the kernel's value; `None`: that is 0.
    pub fn relative(self) -> Option<f64> {
        (self.kernel != 0.0).then(|| (self.simulator - self.kernel) / self.kernel)
    }
}

fn mean<'a>(values: impl ExactSizeIterator<Item = &'a f64>) -> f64 {
    let count = values.len();
    values.sum::<f64>() / count.max(1) as f64
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
    /// Numbers of the simulator, for each recording: of one, by the rules, then what else it could
    /// have given; of several, that only.
    pub simulator: Vec<Vec<Numbers>>,
    /// Numbers of the kernel, for each recording.
    pub kernel: Vec<Numbers>,
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
    /// Compares and judges a case that was recorded once.
    pub fn new(
        case: &Case,
        simulator: Simulated,
        (kernel, beside): &(Host, Beside),
        tolerances: &Tolerances,
    ) -> Compared {
        let kernel_numbers = vec![kernel.numbers.clone()];
        let mut compared = Compared::unjudged(case, vec![simulator.runs], kernel_numbers, beside);
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

    /// Compares and judges the means of a case that was recorded several times; `drawn` is what the
    /// simulator gave beside each recording.
    pub fn of_means(
        case: &Case,
        drawn: Vec<Vec<Numbers>>,
        kernel: &[(Host, Beside)],
        tolerances: &Tolerances,
    ) -> Compared {
        let numbers = kernel.iter().map(|(host, _)| host.numbers.clone()).collect();
        let mut compared = Compared::unjudged(case, drawn, numbers, &kernel[0].1);
        compared.judge(case, tolerances);
        compared
    }

    fn unjudged(
        case: &Case,
        simulator: Vec<Vec<Numbers>>,
        kernel: Vec<Numbers>,
        beside: &Beside,
    ) -> Compared {
        Compared {
            case: case.name(),
            workload: case.workload.clone(),
            policy: case.policy.clone(),
            set: case.set.clone(),
            fair: case.is_fair(),
            own_set: case.own_set,
            cpus: case.cpus,
            duration_ns: case.duration_ns,
            simulator,
            kernel,
            tick_ns: beside.tick_ns,
            crossing_ns: beside.crossing_ns,
            interruptions: beside.interruptions.len(),
            interrupted_ns: beside.interrupted_ns(),
            used: Vec::new(),
            same_picks: None,
            known: Vec::new(),
            problems: Vec::new(),
        }
    }

    fn judge(&mut self, case: &Case, tolerances: &Tolerances) {
        for (runs, kernel) in self.simulator.iter().zip(&self.kernel) {
            if let Some(other) = runs.iter().find(|run| run.left != kernel.left) {
                let [simulator, kernel] = [other, kernel].map(|numbers| numbers.left.as_deref());
                self.problems.push(format!("left: simulator {simulator:?}, kernel {kernel:?}"));
                break;
            }
        }
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
                self.problems.push(format!(
                    "{measure:?}: {pair} (outside of its tolerance: {})",
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
            Measure::Share | Measure::Doubled => None,
            Measure::Switches => Some(numbers.switches),
            Measure::RunDelay => Some(numbers.run_delay_ns),
            Measure::P50 => numbers.p50_ns,
            Measure::P95 => numbers.p95_ns,
            Measure::P99 => numbers.p99_ns,
        };
        if measure == Measure::Share {
            return self.worst_share().map(|(_, pair)| pair);
        }
        if measure == Measure::Doubled {
            self.kernel[0].doubled?;
            return Some(self.pair_of(|numbers| numbers.doubled.unwrap_or(0.0)));
        }
        of(&self.simulator[0][0]).or(of(&self.kernel[0]))?;
        Some(self.pair_of(|numbers| of(numbers).unwrap_or(0) as f64))
    }

    /// A number of each run, in both hosts.
    fn pair_of(&self, number: impl Fn(&Numbers) -> f64) -> Pair {
        let runs = |nr: usize| self.simulator[nr].iter().map(&number);
        match &self.kernel[..] {
            [kernel] => Pair::new(runs(0), number(kernel)),
            several => {
                let recording = |(nr, kernel)| (runs(nr).collect(), number(kernel));
                Pair::of_means(&several.iter().enumerate().map(recording).collect::<Vec<_>>())
            }
        }
    }

    /// The task whose shares differ most: by what they are outside, then by the runs by the rules.
    /// Of means, the kind of task: its instances are the same to the schedulers, and are averaged.
    pub fn worst_share(&self) -> Option<(&str, Pair)> {
        let all = || self.simulator.iter().flatten().chain(&self.kernel);
        let pairs: Vec<(&str, Pair)> = match self.kernel.len() {
            1 => {
                let names = all().flat_map(|run| &run.shares).map(|(name, _)| name.as_str());
                names.map(|name| (name, self.pair_of(|run| run.share(name)))).collect()
            }
            _ => {
                let kinds: BTreeSet<&str> = all().flat_map(Numbers::kinds).collect();
                let pair = |kind| (kind, self.pair_of(|run| run.share_of_kind(kind)));
                kinds.into_iter().map(pair).collect()
            }
        };
        let error = |pair: &Pair| (pair.outside(), (pair.simulator - pair.kernel).abs());
        pairs
            .into_iter()
            .max_by(|(_, a), (_, b)| error(a).partial_cmp(&error(b)).unwrap_or(Ordering::Equal))
    }
}

impl fmt::Display for Pair {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Pair { simulator, kernel, least, most, interval } = self;
        match interval {
            Some(half) => {
                write!(f, "simulator {simulator}, kernel {kernel} on average, difference ± {half}")
            }
            None => write!(f, "simulator {simulator} ({least} to {most}), kernel {kernel}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_several_recordings_the_means_are_compared() {
        // 11 - 10, 13 - 10 and 15 - 13: 2 on average, deviation 1; t of 2 degrees 4.303, / sqrt 3.
        let pair =
            Pair::of_means(&[(vec![10.0, 12.0], 10.0), (vec![13.0], 10.0), (vec![15.0], 13.0)]);
        assert_eq!((pair.simulator, pair.kernel, pair.least, pair.most), (13.0, 11.0, 10.0, 15.0));
        assert!((pair.interval.unwrap() - 4.303 / 3f64.sqrt()).abs() < 0.001);
        assert_eq!(pair.outside(), 0.0);
    }
}
