// SPDX-License-Identifier: MIT OR Apache-2.0
//! Figures 1 and 2: how far clients are ahead of their due and behind it [VTRR §5.1].

use super::sweep::{self, Errors, Scheduler, CLIENTS, SHARES};
use super::vectors::Point;
use crate::effort::Effort;
use crate::error::Error;
use crate::figure::{Drawing, Found, Table};
use crate::Job;
use rota_report::chart::HeatMap;
use std::collections::BTreeMap;

const VTRR: Scheduler = Scheduler { name: "VTRR", policy: "vtrr" };
const WRR: Scheduler = Scheduler { name: "WRR", policy: "wrr" };
const WFQ: Scheduler = Scheduler { name: "WFQ", policy: "wfq" };

pub(crate) fn run(job: &Job<'_>) -> Result<Vec<Found>, Error> {
    let mut schedulers = vec![VTRR];
    if job.wants("fig1") {
        schedulers.push(WRR);
    }
    if job.wants("fig2") {
        schedulers.push(WFQ);
    }
    let sweep = sweep::run(job, &schedulers)?;
    let surface = |scheduler: Scheduler| {
        let at = schedulers.iter().position(|s| *s == scheduler)?;
        Some(Surface { scheduler, points: &sweep[at] })
    };
    let (vtrr, wrr, wfq) = (surface(VTRR), surface(WRR), surface(WFQ));
    let both = |id, other: Option<Surface<'_>>| {
        let (vtrr, other) = (vtrr?, other?);
        Some(found(id, job.effort, &[vtrr, other]))
    };
    Ok([both("fig1", wrr), both("fig2", wfq)].into_iter().flatten().collect())
}

/// One scheduler's errors over the grid.
#[derive(Clone, Copy)]
struct Surface<'a> {
    scheduler: Scheduler,
    points: &'a BTreeMap<Point, Errors>,
}

impl Surface<'_> {
    fn highest(&self) -> f64 {
        self.points.values().map(Errors::highest).fold(f64::MIN, f64::max)
    }

    fn lowest(&self) -> f64 {
        self.points.values().map(Errors::lowest).fold(f64::MAX, f64::min)
    }

    fn map(&self, title: &str, value: fn(&Errors) -> f64) -> Drawing {
        let name = self.scheduler.name;
        let cell =
            |clients: u32, shares: u32| self.points.get(&Point { clients, shares }).map(value);
        let map = HeatMap {
            title: format!("{name}: {title}"),
            description: format!(
                "Mean over the share combinations of the {title} of any client under {name}, in \
                 time units, by number of clients and sum of shares"
            ),
            x_label: "sum of shares S (the grid is ours)".into(),
            x: SHARES.iter().map(u32::to_string).collect(),
            y_label: "clients N".into(),
            y: CLIENTS.iter().map(u32::to_string).collect(),
            unit: "tu".into(),
            values: CLIENTS.iter().map(|n| SHARES.iter().map(|s| cell(*n, *s)).collect()).collect(),
        };
        Drawing { svg: map.render() }
    }
}

fn found(id: &'static str, effort: Effort, surfaces: &[Surface<'_>]) -> Found {
    let mut numbers = Vec::new();
    let mut drawings = Vec::new();
    let mut tables = Vec::new();
    for surface in surfaces {
        let policy = surface.scheduler.policy;
        numbers.push((format!("{policy}_highest"), surface.highest()));
        numbers.push((format!("{policy}_lowest"), surface.lowest()));
        if surface.scheduler == WFQ {
            let worst = surface.points.values().map(Errors::worst).fold(f64::MAX, f64::min);
            numbers.push((format!("{policy}_never_below"), worst));
        }
        drawings.push(surface.map("furthest ahead", Errors::highest));
        drawings.push(surface.map("furthest behind", Errors::lowest));
        tables.push(table(surface));
    }
    let points = sweep::points(effort).len();
    let ran = format!(
        "The policies' objects in the ideal machine with one CPU, {} at each of \
         {points} pairs (N, S), the same for every scheduler, for one cycle of S quanta, after which \
         the schedule repeats. The error is taken at the end of every quantum. Combinations that \
         were drawn several times are run once and counted as often as they were drawn.",
        sweep::combinations_text(effort)
    );
    Found { id, ran, numbers, tables, drawings }
}

/// Every number of the maps.
fn table(surface: &Surface<'_>) -> Table {
    let row = |(point, errors): (&Point, &Errors)| {
        vec![
            format!("{}, {}", point.clients, point.shares),
            format!("{:.2}", errors.highest()),
            format!("{:.2}", errors.lowest()),
        ]
    };
    Table {
        title: format!("{} at every point", surface.scheduler.name),
        header: ["N, S", "ahead (tu)", "behind (tu)"].map(String::from).to_vec(),
        rows: surface.points.iter().map(row).collect(),
    }
}
