// SPDX-License-Identifier: MIT OR Apache-2.0
//! Successive halving: all settings run with a few seeds, the best part of them with more, and so on
//! (K. Jamieson, A. Talwalkar, *Non-stochastic Best Arm Identification*, AISTATS 2016).

use crate::aim::Aims;
use crate::error::Error;
use crate::swept::Swept;
use rota_sweep::{Cell, Done, Method, Row, Runs, Sweep, Table, OF_SET};
use std::collections::{BTreeMap, BTreeSet};

/// A policy with values of its tunables.
type Setting = (String, BTreeMap<String, String>);

/// Does the runs of all rounds; of another method, all in one.
pub(super) fn all(
    (sweep, runs): (&Sweep, &Runs<'_>),
    (aims, baseline): (&Aims, Option<&str>),
    work: &mut dyn FnMut(&[Cell]) -> Result<Done, Error>,
) -> Result<Done, Error> {
    let Method::Halving { first, keep, .. } = sweep.method else { return work(&runs.cells()) };
    if aims.objectives.len() != 1 {
        return Err(Error::input(format!(
            "{}: method \"halving\" needs one metric, by which it chooses: expected minimise or \
             maximise in the file, or as an option",
            sweep.file.display()
        )));
    }
    let all = sweep.seeds.len();
    let (mut left, mut before, mut count) = (runs.cells(), 0, (first as usize).min(all));
    let mut rows: Vec<Row> = Vec::new();
    loop {
        let seeds = &sweep.seeds[before..count];
        let cells = left.iter().filter(|cell| seeds.contains(&cell.seed));
        let done = work(&cells.copied().collect::<Vec<_>>())?;
        rows.extend(done.rows);
        if done.stopped || count == all {
            return Ok(Done { rows, stopped: done.stopped });
        }
        let known: BTreeSet<Setting> =
            left.iter().map(|cell| setting_of(sweep, runs, *cell)).collect();
        let judged = rows.iter().filter(|row| known.contains(&setting(row))).cloned();
        let swept = Swept::new(&Table::new(judged.collect()), aims, baseline)?;
        let most = swept.settings.len().div_ceil(keep as usize);
        let best = swept.order().into_iter().take(most).chain(swept.baseline);
        let best: BTreeSet<Setting> = best
            .map(|at| {
                let of = &swept.settings[at];
                let set = of.set.iter().map(|(name, value)| (name.clone(), value.to_string()));
                (of.policy.clone(), set.collect())
            })
            .collect();
        left.retain(|cell| best.contains(&setting_of(sweep, runs, *cell)));
        (before, count) = (count, (count * keep as usize).min(all));
    }
}

fn setting(row: &Row) -> Setting {
    let set = row.axes.iter().filter_map(|(name, value)| {
        Some((name.strip_prefix(OF_SET)?.to_owned(), value.clone().canonical().to_string()))
    });
    (row.policy.clone(), set.collect())
}

fn setting_of(sweep: &Sweep, runs: &Runs<'_>, cell: Cell) -> Setting {
    let point = &runs.points()[cell.point];
    let policy = &sweep.policies[point.policy];
    let set = policy.axes.iter().zip(&point.set);
    let set = set.map(|(axis, value)| (axis.name.clone(), value.clone().canonical().to_string()));
    (policy.label.clone(), set.collect())
}
