// SPDX-License-Identifier: MIT OR Apache-2.0
//! Figures 1 and 2: how far clients are ahead of their due and behind it [VTRR §5.1].

use super::sweep::{self, Errors, Field, Scheduler, CLIENTS, SHARES};
use super::theory;
use super::vectors::Point;
use crate::effort::Effort;
use crate::error::Error;
use crate::figure::{Drawing, Found, Table};
use crate::Job;
use rota_report::chart::HeatMap;
use std::collections::BTreeMap;

const VTRR: Scheduler = Scheduler { name: "VTRR", policy: "vtrr", field: Field::Paper };
const WRR: Scheduler = Scheduler { name: "WRR", policy: "wrr", field: Field::Paper };
const WFQ: Scheduler = Scheduler { name: "WFQ", policy: "wfq", field: Field::Paper };
/// The paper names them in its §2, and measures neither.
const LOTTERY: Scheduler =
    Scheduler { name: "Lottery", policy: "lottery", field: Field::OursSeeded };
const STRIDE: Scheduler = Scheduler { name: "Stride", policy: "stride", field: Field::Ours };

/// Figure, the scheduler that it compares with VTRR, and ours: as coarse in one, as fine in the
/// other.
const FIGURES: [(&str, Scheduler, Scheduler); 2] = [("fig1", WRR, LOTTERY), ("fig2", WFQ, STRIDE)];

pub(crate) fn run(job: &Job<'_>) -> Result<Vec<Found>, Error> {
    let wanted: Vec<_> = FIGURES.into_iter().filter(|(id, _, _)| job.wants(id)).collect();
    let mut schedulers = vec![VTRR];
    schedulers.extend(wanted.iter().flat_map(|(_, paper, ours)| [*paper, *ours]));
    let sweep = sweep::run(job, &schedulers)?;
    let surfaces = schedulers.iter().zip(&sweep);
    let surfaces: Vec<Surface<'_>> =
        surfaces.map(|(scheduler, points)| Surface { scheduler: *scheduler, points }).collect();
    let of_figure = |(at, (id, _, _)): (usize, &(&'static str, Scheduler, Scheduler))| {
        found(id, job.effort, [surfaces[0], surfaces[1 + 2 * at], surfaces[2 + 2 * at]])
    };
    Ok(wanted.iter().enumerate().map(of_figure).collect())
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

    fn worst(&self) -> f64 {
        self.points.values().map(Errors::worst).fold(f64::MAX, f64::min)
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

fn found(id: &'static str, effort: Effort, surfaces: [Surface<'_>; 3]) -> Found {
    let mut numbers = Vec::new();
    let mut drawings = Vec::new();
    let mut tables = Vec::new();
    for surface in &surfaces {
        let policy = surface.scheduler.policy;
        if surface.scheduler.field == Field::Paper {
            numbers.push((format!("{policy}_highest"), surface.highest()));
            numbers.push((format!("{policy}_lowest"), surface.lowest()));
        }
        if surface.scheduler == WFQ {
            numbers.push((format!("{policy}_never_below"), surface.worst()));
        }
        drawings.push(surface.map("furthest ahead", Errors::highest));
        drawings.push(surface.map("furthest behind", Errors::lowest));
        tables.push(table(surface));
    }
    let [_, paper, ours] = surfaces;
    tables.push(beyond(paper, ours, effort));
    let points = sweep::points(effort).len();
    let ran = format!(
        "The policies' objects in the ideal machine with one CPU, {} at each of \
         {points} pairs (N, S), the same for every scheduler, for one cycle of S quanta, after which \
         the schedule repeats. The error is taken at the end of every quantum. Combinations that \
         were drawn several times are run once and counted as often as they were drawn. {} is \
         beyond the paper, and run with a tenth of the combinations{}.",
        sweep::combinations_text(effort),
        ours.scheduler.name,
        match ours.scheduler.field {
            Field::OursSeeded => ", each with a seed of its own",
            Field::Paper | Field::Ours => "",
        }
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
        long: true,
    }
}

/// A scheduler that the paper does not measure, beside theory or beside what it is like.
fn beyond(paper: Surface<'_>, ours: Surface<'_>, effort: Effort) -> Table {
    let tu = |value: f64| format!("{value:.2} tu");
    let name = ours.scheduler.name;
    let mut rows = vec![
        vec![format!("{name}, furthest ahead"), tu(ours.highest()), "–".into()],
        vec![format!("{name}, furthest behind"), tu(ours.lowest()), "–".into()],
    ];
    match ours.scheduler.field {
        Field::OursSeeded => {
            let two = ours.points.iter().rfind(|(point, _)| point.clients == 2);
            rows.extend(two.map(|(point, errors)| {
                let count = sweep::combinations(effort, *point, ours.scheduler.field);
                let what = format!("{name}, furthest ahead of 2 clients with S = {}", point.shares);
                let expected = theory::lottery_of_two(*point, count);
                vec![what, tu(errors.highest()), tu(expected)]
            }));
        }
        Field::Paper | Field::Ours => {
            let what = format!("{name}, furthest behind of any single combination");
            let largest = ours.points.keys().map(|point| point.shares).max().unwrap_or_default();
            let bound = theory::stride_behind(largest);
            rows.push(vec![what, tu(ours.worst()), format!("≥ {}", tu(bound))]);
            let what = format!("{} on the same, furthest behind", paper.scheduler.name);
            rows.push(vec![what, tu(paper.worst()), format!("≥ {}", tu(theory::FAIR_BEHIND))]);
        }
    }
    Table {
        title: format!("Beyond the paper: {name}"),
        header: ["number", "here", "theory"].map(String::from).to_vec(),
        rows,
        long: false,
    }
}
