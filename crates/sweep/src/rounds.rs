// SPDX-License-Identifier: MIT OR Apache-2.0
//! The rounds of a sweep. Most have one; in successive halving all settings run with a few seeds, the
//! best part of them with more, and so on (K. Jamieson, A. Talwalkar, *Non-stochastic Best Arm
//! Identification*, AISTATS 2016).

use crate::aim::Aims;
use crate::file::Method;
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
    /// Seeds of the earlier rounds, and with those of this one.
    seeds: (usize, usize),
    /// One setting of so many goes on.
    keep: usize,
    rows: Vec<Row>,
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
            return Ok(Self { left, seeds: (0, all), keep: 1, rows: Vec::new() });
        };
        if aims.objectives.len() != 1 {
            return Err(Error::input(format!(
                "{}: method \"halving\" needs one metric, by which it chooses: expected minimise or \
                 maximise in the file, or as an option",
                sweep.file.display()
            )));
        }
        let seeds = (0, (first as usize).min(all));
        Ok(Self { left, seeds, keep: keep as usize, rows: Vec::new() })
    }

    /// In successive halving over every point, whatever the sweep's method: first with so many seeds,
    /// then one of so many settings goes on with as many times the seeds.
    pub fn halving(
        runs: &Runs,
        (aims, baseline): (&Aims, Option<&str>),
        (first, keep): (usize, usize),
    ) -> Result<Self, Error> {
        let all = Self::new(runs, aims, baseline)?;
        let seeds = (0, first.min(runs.sweep().seeds.len()));
        Ok(Self { seeds, keep, ..all })
    }

    /// The runs of this round.
    pub fn cells(&self, runs: &Runs) -> Vec<Cell> {
        let seeds = &runs.sweep().seeds[self.seeds.0..self.seeds.1];
        self.left.iter().filter(|cell| seeds.contains(&cell.seed)).copied().collect()
    }

    /// Takes the results of this round; whether there is another one.
    pub fn end(
        &mut self,
        runs: &Runs,
        (aims, baseline): (&Aims, Option<&str>),
        rows: Vec<Row>,
    ) -> Result<bool, Error> {
        self.rows.extend(rows);
        let all = runs.sweep().seeds.len();
        let (_, count) = self.seeds;
        if count == all {
            return Ok(false);
        }
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
        self.seeds = (count, (count * self.keep).min(all));
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
