// SPDX-License-Identifier: MIT OR Apache-2.0
//! The rounds of a sweep. Most have one; in successive halving all settings run with a few seeds or for
//! a short time, the best part of them with more, and so on (K. Jamieson, A. Talwalkar, *Non-stochastic Best Arm
//! Identification*, AISTATS 2016).

use crate::aim::Aims;
use crate::file::{Method, Resource};
use crate::plan::Point;
use crate::runs::{Cell, Runs};
use crate::swept::{Swept, NONE_ALIKE};
use crate::table::{Row, Table, OF_SET};
use crate::value::Value;
use rota_session::Error;
use std::collections::{BTreeMap, BTreeSet};

/// A policy with values of its tunables.
type Setting = (String, BTreeMap<String, String>);

/// Which runs come next.
#[derive(Debug)]
pub struct Rounds {
    /// Runs of the settings that are left, with all seeds.
    left: Vec<Cell>,
    now: Now,
    /// One setting of so many goes on.
    keep: usize,
    rows: Vec<Row>,
}

/// What a round has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Now {
    /// Seeds of the earlier rounds, and with those of this one.
    Seeds(usize, usize),
    /// All seeds, for so long; less than `whole`, which the last round has.
    Duration { now_ns: u64, whole_ns: u64 },
}

impl Now {
    /// The next round; `None`: this is the last one.
    fn next(self, keep: usize, seeds: usize) -> Option<Self> {
        match self {
            Self::Seeds(_, count) if count < seeds => {
                Some(Self::Seeds(count, count.saturating_mul(keep).min(seeds)))
            }
            Self::Duration { now_ns, whole_ns } if now_ns < whole_ns => {
                let now_ns = now_ns.saturating_mul(keep as u64).min(whole_ns);
                Some(Self::Duration { now_ns, whole_ns })
            }
            _ => None,
        }
    }
}

impl Rounds {
    /// Of a sweep that looks for this.
    ///
    /// # Errors
    ///
    /// If its runs could not say what is the best.
    pub fn new(runs: &Runs, aims: &Aims, baseline: Option<&str>) -> Result<Self, Error> {
        let (sweep, left) = (runs.sweep(), runs.cells());
        runs.check_aims(aims)?;
        if !aims.objectives.is_empty() && !is_comparable(runs.points(), baseline.is_some()) {
            let file = sweep.file.display();
            return Err(Error::input(format!("{file}: no two settings would run {NONE_ALIKE}")));
        }
        let all = sweep.seeds.len();
        let Method::Halving { first, keep, .. } = sweep.method else {
            return Ok(Self { left, now: Now::Seeds(0, all), keep: 1, rows: Vec::new() });
        };
        if aims.objectives.len() != 1 {
            return Err(Error::input(format!(
                "{}: method \"halving\" needs one metric, by which it chooses: expected minimise or \
                 maximise in the file, or as an option",
                sweep.file.display()
            )));
        }
        let now = match (first, sweep.run.duration) {
            (Resource::Seeds(first), _) => Now::Seeds(0, (first as usize).min(all)),
            (Resource::Duration(now_ns), Some(whole_ns)) => Now::Duration { now_ns, whole_ns },
            (Resource::Duration(_), None) => Now::Seeds(0, all),
        };
        Ok(Self { left, now, keep: keep as usize, rows: Vec::new() })
    }

    /// In successive halving over every point, whatever the sweep's method: first with so many seeds,
    /// then one of so many settings goes on with as many times the seeds.
    pub fn halving(
        runs: &Runs,
        (aims, baseline): (&Aims, Option<&str>),
        (first, keep): (usize, usize),
    ) -> Result<Self, Error> {
        let all = Self::new(runs, aims, baseline)?;
        let now = Now::Seeds(0, first.min(runs.sweep().seeds.len()));
        Ok(Self { now, keep, ..all })
    }

    /// The runs of this round.
    pub fn cells(&self, runs: &Runs) -> Vec<Cell> {
        match self.now {
            Now::Seeds(from, to) => {
                let seeds: BTreeSet<u64> = runs.sweep().seeds[from..to].iter().copied().collect();
                self.left.iter().filter(|cell| seeds.contains(&cell.seed)).copied().collect()
            }
            // The last round's are runs of the sweep as they would be without rounds.
            Now::Duration { now_ns, whole_ns } => {
                let duration = (now_ns < whole_ns).then_some(now_ns);
                self.left.iter().map(|cell| Cell { duration, ..*cell }).collect()
            }
        }
    }

    /// Takes the results of this round; whether there is another one.
    pub fn end(
        &mut self,
        runs: &Runs,
        (aims, baseline): (&Aims, Option<&str>),
        rows: Vec<Row>,
    ) -> Result<bool, Error> {
        self.rows.extend(rows);
        let Some(next) = self.now.next(self.keep, runs.sweep().seeds.len()) else {
            return Ok(false);
        };
        let known: BTreeSet<Setting> =
            self.left.iter().map(|cell| setting_of(runs, *cell)).collect();
        let judged = self.rows.iter().filter(|row| known.contains(&setting(row))).cloned();
        let swept = Swept::new(&Table::new(judged.collect()), aims, baseline)?;
        let most = swept.settings.len().div_ceil(self.keep);
        let best = swept.order().into_iter().take(most).chain(swept.baseline);
        let best: BTreeSet<Setting> = best
            .map(|at| {
                let of = &swept.settings[at];
                let set = of.set.iter().map(|(name, value)| (name.clone(), value.to_string()));
                (of.policy.clone(), set.collect())
            })
            .collect();
        self.left.retain(|cell| best.contains(&setting_of(runs, *cell)));
        self.now = next;
        Ok(true)
    }

    /// The results of all rounds so far.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }
}

/// Whether two settings run under all conditions, or one next to the baseline. What is drawn for a
/// workload or a machine along with tunables is another one for each setting.
fn is_comparable(points: &[Point], with_baseline: bool) -> bool {
    type Condition<'a> = (usize, &'a [Value], &'a [Value]);
    let mut of: BTreeMap<(usize, &[Value]), BTreeSet<Condition<'_>>> = BTreeMap::new();
    for Point { workload, keys, machine, policy, set } in points {
        of.entry((*policy, set)).or_default().insert((*workload, keys, machine));
    }
    let all: BTreeSet<&Condition<'_>> = of.values().flatten().collect();
    let whole = of.values().filter(|conditions| conditions.len() == all.len()).count();
    whole == of.len() || whole > usize::from(with_baseline)
}

fn setting(row: &Row) -> Setting {
    let set = row.axes.iter().filter_map(|(name, value)| {
        Some((name.strip_prefix(OF_SET)?.to_owned(), value.clone().canonical().to_string()))
    });
    (row.policy.clone(), set.collect())
}

fn setting_of(runs: &Runs, cell: Cell) -> Setting {
    let point = &runs.points()[cell.point];
    let policy = &runs.sweep().policies[point.policy];
    let set = policy.axes.iter().zip(&point.set);
    let set = set.map(|(axis, value)| (axis.name.clone(), value.clone().canonical().to_string()));
    (policy.label.clone(), set.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Sweep;
    use std::path::Path;

    fn comparable(method: &str, workload: &str, set: &str) -> bool {
        let text = format!(
            "workloads = \"a.json\"\npolicies = [\"pbs\"]\nbaseline = \"eevdf\"\n{method}\n\
             [workload]\n{workload}\n[set.pbs]\n{set}"
        );
        let sweep = Sweep::parse(Path::new("s.toml"), &text).expect("a sweep");
        is_comparable(&sweep.points().expect("points"), true)
    }

    #[test]
    fn rounds_grow_until_all_is_used() {
        let all = |first: Now, seeds: usize| -> Vec<Now> {
            std::iter::successors(Some(first), |now| now.next(3, seeds)).collect()
        };
        assert_eq!(
            all(Now::Seeds(0, 2), 8),
            [Now::Seeds(0, 2), Now::Seeds(2, 6), Now::Seeds(6, 8)]
        );
        let whole_ns = 2_700;
        let times = all(Now::Duration { now_ns: 100, whole_ns }, 8).into_iter();
        let times: Vec<u64> = times
            .filter_map(|now| match now {
                Now::Duration { now_ns, .. } => Some(now_ns),
                Now::Seeds(..) => None,
            })
            .collect();
        assert_eq!(times, [100, 300, 900, 2_700]);
        assert_eq!(all(Now::Duration { now_ns: 2_700, whole_ns }, 8).len(), 1);
    }

    #[test]
    fn settings_that_never_meet_are_seen_before_the_first_run() {
        let (drawn, listed) = ("{ from = 1, to = 9000 }", "[1, 2, 3]");
        let run = |what: &str| format!("tasks.ui.run = {what}");
        let alpha = |what: &str| format!("alpha = {what}");
        for method in ["random", "sobol", "halving"] {
            let method = format!("method = \"{method}\"\nsamples = 4");
            assert!(!comparable(&method, &run(drawn), &alpha(drawn)), "{method}");
            // A single setting next to the baseline, and a single workload.
            assert!(comparable(&method, &run(drawn), &alpha("1")), "{method}");
            assert!(comparable(&method, &run("5"), &alpha(drawn)), "{method}");
        }
        assert!(comparable("", &run(listed), &alpha(listed)));
    }
}
