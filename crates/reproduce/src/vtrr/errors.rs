// SPDX-License-Identifier: MIT OR Apache-2.0
//! Figures 1 and 2: how far clients are ahead of their due and behind it [VTRR §5.1].

use super::sweep::{self, Errors, Field, Scheduler, CLIENTS, SHARES};
use super::theory;
use super::vectors::Point;
use crate::effort::Effort;
use crate::error::Error;
use crate::figure::{plain, Drawing, Found, Table};
use crate::Job;
use rota_report::chart::HeatMap;
use std::collections::BTreeMap;

const VTRR: Scheduler = paper("VTRR", "vtrr");
const WRR: Scheduler = paper("WRR", "wrr");
const WFQ: Scheduler = paper("WFQ", "wfq");
/// The paper names them in its §2, and measures neither.
const LOTTERY: Scheduler =
    Scheduler { name: "Lottery", policy: "lottery", set: &[], field: Field::OursSeeded };
const STRIDE: Scheduler =
    Scheduler { name: "Stride", policy: "stride", set: &[], field: Field::Ours };
/// Younger than the paper. All requests are of one quantum, the first ones too.
pub(crate) const EEVDF: Scheduler = Scheduler {
    name: "EEVDF",
    policy: "eevdf",
    set: &[("base_slice_ns", "10000000"), ("no_place_deadline_initial", "true")],
    field: Field::Ours,
};

const fn paper(name: &'static str, policy: &'static str) -> Scheduler {
    Scheduler { name, policy, set: &[], field: Field::Paper }
}

/// What a figure has beside VTRR: the paper's scheduler, and ours, which are as coarse in one and
/// as fine in the other.
struct Beside {
    id: &'static str,
    paper: Scheduler,
    ours: &'static [Scheduler],
}

const FIGURES: [Beside; 2] = [
    Beside { id: "fig1", paper: WRR, ours: &[LOTTERY] },
    Beside { id: "fig2", paper: WFQ, ours: &[STRIDE, EEVDF] },
];

pub(crate) fn run(job: &Job<'_>) -> Result<Vec<Found>, Error> {
    let wanted: Vec<Beside> = FIGURES.into_iter().filter(|figure| job.wants(figure.id)).collect();
    let mut schedulers = vec![VTRR];
    for figure in &wanted {
        schedulers.push(figure.paper);
        schedulers.extend(figure.ours);
    }
    let sweep = sweep::run(job, &schedulers)?;
    let surfaces = schedulers.iter().zip(&sweep);
    let surfaces: Vec<Surface<'_>> =
        surfaces.map(|(scheduler, points)| Surface { scheduler: *scheduler, points }).collect();
    let (vtrr, mut others) = (surfaces[0], &surfaces[1..]);
    let mut all = Vec::new();
    for figure in &wanted {
        let (paper, rest) = (others[0], &others[1..]);
        let (ours, rest) = rest.split_at(figure.ours.len());
        all.push(found(figure.id, job.effort, [vtrr, paper], ours));
        others = rest;
    }
    Ok(all)
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

    fn best(&self) -> f64 {
        self.points.values().map(Errors::best).fold(f64::MIN, f64::max)
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

fn found(
    id: &'static str,
    effort: Effort,
    papers: [Surface<'_>; 2],
    ours: &[Surface<'_>],
) -> Found {
    let mut numbers = Vec::new();
    for surface in &papers {
        let policy = surface.scheduler.policy;
        numbers.push((format!("{policy}_highest"), surface.highest()));
        numbers.push((format!("{policy}_lowest"), surface.lowest()));
        if surface.scheduler == WFQ {
            numbers.push((format!("{policy}_highest_here"), surface.highest()));
            numbers.push((format!("{policy}_never_below"), surface.worst()));
        }
    }
    let (mut drawings, mut tables) = (Vec::new(), Vec::new());
    for surface in papers.iter().chain(ours) {
        drawings.push(surface.map("furthest ahead", Errors::highest));
        drawings.push(surface.map("furthest behind", Errors::lowest));
        tables.push(table(surface));
    }
    let [_, paper] = papers;
    if paper.scheduler == WFQ {
        tables.push(beside_theory(paper, effort));
    }
    tables.extend(ours.iter().map(|ours| beyond(*ours, effort)));
    let points = sweep::points(effort).len();
    let names: Vec<&str> = ours.iter().map(|surface| surface.scheduler.name).collect();
    let seeded = ours.iter().any(|surface| surface.scheduler.field == Field::OursSeeded);
    let ran = format!(
        "The policies' objects in the ideal machine with one CPU, {} at each of \
         {points} pairs (N, S), the same for every scheduler, for one cycle of S quanta, after which \
         the schedule repeats. The error is taken at the end of every quantum. Combinations that \
         came up several times are run once and counted as often as they came up. {} {} \
         beyond the paper, and run with a tenth of the combinations{}.",
        sweep::combinations_text(effort),
        names.join(" and "),
        if names.len() == 1 { "is" } else { "are" },
        if seeded { ", each with a seed of its own" } else { "" },
    );
    Found { id, ran, numbers: plain(numbers), tables, drawings }
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

fn tu(value: f64) -> String {
    format!("{value:.2} tu")
}

fn theory_table(title: String, rows: Vec<Vec<String>>) -> Table {
    let header = ["number", "here", "theory"].map(String::from).to_vec();
    Table { title, header, rows, long: false }
}

/// WFQ compared with its bounds, at the point of the most clients and the greatest sum of shares.
fn beside_theory(wfq: Surface<'_>, effort: Effort) -> Table {
    let name = wfq.scheduler.name;
    let last = wfq.points.iter().next_back().map(|(point, errors)| {
        let Point { clients, shares } = *point;
        let count = sweep::combinations(effort, *point, wfq.scheduler.field);
        let what = format!("{name}, furthest ahead of {clients} clients with S = {shares}");
        vec![what, tu(errors.highest()), format!("≤ {}", tu(theory::fair_ahead(*point, count)))]
    });
    let what = format!("{name}, furthest behind of any single combination");
    let behind = vec![what, tu(wfq.worst()), format!("≥ {}", tu(theory::FAIR_BEHIND))];
    let rows = last.into_iter().chain([behind]).collect();
    theory_table(format!("{name} compared with theory"), rows)
}

/// A scheduler that the paper does not measure, compared with theory.
fn beyond(ours: Surface<'_>, effort: Effort) -> Table {
    let name = ours.scheduler.name;
    let mut rows = vec![
        vec![format!("{name}, furthest ahead"), tu(ours.highest()), "–".into()],
        vec![format!("{name}, furthest behind"), tu(ours.lowest()), "–".into()],
    ];
    let single = |way: &str| format!("{name}, furthest {way} of any single combination");
    match ours.scheduler {
        LOTTERY => {
            let two = ours.points.iter().rfind(|(point, _)| point.clients == 2);
            rows.extend(two.map(|(point, errors)| {
                let count = sweep::combinations(effort, *point, ours.scheduler.field);
                let what = format!("{name}, furthest ahead of 2 clients with S = {}", point.shares);
                let expected = theory::lottery_of_two(*point, count);
                vec![what, tu(errors.highest()), tu(expected)]
            }));
        }
        STRIDE => {
            let largest = ours.points.keys().map(|point| point.shares).max().unwrap_or_default();
            let bound = theory::stride_behind(largest);
            rows.push(vec![single("behind"), tu(ours.worst()), format!("≥ {}", tu(bound))]);
        }
        _ => {
            let ahead = format!("≤ {}", tu(theory::EEVDF_AHEAD));
            let behind = format!("≥ {}", tu(theory::EEVDF_BEHIND));
            rows.push(vec![single("ahead"), tu(ours.best()), ahead]);
            rows.push(vec![single("behind"), tu(ours.worst()), behind]);
        }
    }
    theory_table(format!("Beyond the paper: {name}"), rows)
}
