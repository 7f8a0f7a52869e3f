// SPDX-License-Identifier: MIT OR Apache-2.0
//! Fills the model of the HTML report.

use super::pictures::Pictures;
use crate::comparison::{Column, Comparison, Stage};
use crate::options::MachineArgs;
use crate::output::{command_line, units};
use rota_measure::catalogue::{Measure, Unit};
use rota_measure::figures::{Band, Curve, Figures};
use rota_measure::statistics::Better;
use rota_report::html::{self, model};
use rota_workload::Workload;
use std::collections::HashMap;

/// The report. Pictures are those of all cells, in their order, as far as there are any.
pub(crate) fn html(
    options: &MachineArgs,
    comparison: &Comparison<'_>,
    pictures: &[Option<Pictures>],
) -> String {
    let per_stage = comparison.policies.len() * comparison.seeds.len();
    let stages = comparison.stages.iter().zip(pictures.chunks(per_stage));
    html::render(&model::Comparison {
        title: String::new(),
        version: format!("rota {}", env!("CARGO_PKG_VERSION")),
        command: command_line(),
        machine: machine(options),
        baseline: comparison
            .baseline
            .map(|baseline| comparison.policies[baseline.at].label.clone())
            .unwrap_or_default(),
        measures: comparison.measures.iter().map(measure).collect(),
        workloads: stages.map(|(stage, pictures)| workload(comparison, stage, pictures)).collect(),
    })
}

fn machine(options: &MachineArgs) -> Vec<(String, String)> {
    let mut facts = vec![("tick".to_owned(), format!("{} Hz", options.hz))];
    if let Some(topology) = &options.topology {
        facts.push(("topology".into(), topology.clone()));
    }
    let overheads = if options.ideal { "none (--ideal)" } else { "a current x86 server's" };
    facts.push(("overheads".into(), overheads.into()));
    if options.shuffle_ties {
        facts.push(("ties".into(), "shuffled, by seed".into()));
    }
    if let Some(warmup_ns) = options.warmup {
        facts.push(("warm-up left out".into(), units::duration(warmup_ns)));
    }
    facts
}

fn measure(measure: &Measure) -> model::Measure {
    model::Measure {
        key: measure.key.into(),
        label: measure.label.into(),
        group: measure.group.into(),
        unit: match measure.unit {
            Unit::Ns => model::Unit::Ns,
            Unit::Fraction => model::Unit::Fraction,
            Unit::Number => model::Unit::Number,
            Unit::Count => model::Unit::Count,
            Unit::PerSecond => model::Unit::PerSecond,
            Unit::Instructions => model::Unit::Instructions,
        },
        better: match measure.better {
            Better::Lower => model::Better::Lower,
            Better::Higher => model::Better::Higher,
            Better::Neither => model::Better::None,
        },
        main: measure.shown,
        definition: measure.definition.into(),
    }
}

fn workload(
    comparison: &Comparison<'_>,
    stage: &Stage<'_>,
    pictures: &[Option<Pictures>],
) -> model::Workload {
    let (seeds, cpus) = (comparison.seeds, stage.config.topology.cpus());
    let columns = stage.columns.iter().zip(pictures);
    let policies = columns.map(|(column, pictures)| policy(column, pictures.as_ref(), seeds, cpus));
    let figures = pictures.iter().flatten().map(|pictures| &pictures.figures);
    model::Workload {
        name: stage.load.file.clone(),
        description: stage.load.description.clone(),
        cpus,
        duration_ns: stage.config.duration_ns,
        warmup_ns: stage.config.warmup_ns,
        seeds: seeds.to_vec(),
        tasks: tasks(&stage.load.workload, figures),
        policies: policies.collect(),
    }
}

/// Rows of the figures: the same under every policy, but one may have seen more of them.
fn tasks<'a>(workload: &Workload, figures: impl Iterator<Item = &'a Figures>) -> Vec<model::Task> {
    let instances = workload.tasks.iter().map(|task| (task.name.as_str(), workload.name_of(task)));
    let instances: HashMap<&str, &str> = instances.collect();
    let mut tasks: Vec<model::Task> = Vec::new();
    for figures in figures {
        for (at, (name, claim)) in figures.names.iter().zip(&figures.claims).enumerate() {
            if at == tasks.len() {
                let instance_of = instances.get(name.as_str()).copied().unwrap_or(name).to_owned();
                tasks.push(model::Task { name: name.clone(), instance_of, weight: 0 });
            }
            tasks[at].weight = tasks[at].weight.max(claim.unwrap_or(0));
        }
    }
    tasks
}

fn policy(
    column: &Column<'_>,
    pictures: Option<&Pictures>,
    seeds: &[u64],
    cpus: u32,
) -> model::PolicyResult {
    let reason = column.ejected().next().map(|run| run.exit.reason.clone());
    let outcome = match reason {
        Some(reason) => model::Outcome::Ejected { reason, runs: column.ejected().count() as u32 },
        None => model::Outcome::Finished,
    };
    let cells = column.cells.iter().map(|cell| {
        cell.map(|cell| model::Cell {
            mean: cell.estimate.mean,
            half_width: cell.estimate.half_width,
            n: cell.estimate.n,
            best: cell.best,
            relative: cell.relative.map(|relative| model::Relative {
                ratio: relative.ratio,
                difference: relative.difference.mean,
                noise: relative.is_noise(),
            }),
        })
    });
    model::PolicyResult {
        name: column.policy.label.clone(),
        settings: column.policy.set.clone(),
        outcome,
        cells: cells.collect(),
        figures: pictures.map(|pictures| model::Figures {
            seed: seeds.first().copied().unwrap_or_default(),
            timeline: pictures.timeline.clone(),
            shares: shares(&pictures.figures, cpus),
            lags: lags(&pictures.figures),
            latencies: pictures.figures.curves.iter().map(distribution).collect(),
        }),
    }
}

fn shares(figures: &Figures, cpus: u32) -> model::Shares {
    let bucket_ns = figures.bucket_ns;
    let capacity_ns = bucket_ns as f64 * f64::from(cpus);
    let share = |ran_ns: &u64| (*ran_ns as f64 / capacity_ns) as f32;
    let of_row = |ran_ns: &Vec<u64>| match ran_ns.iter().all(|ns| *ns == 0) {
        true => Vec::new(),
        false => ran_ns.iter().map(share).collect(),
    };
    let tasks = figures.ran_ns.iter().map(of_row).collect();
    model::Shares { from_ns: 0, bucket_ns, tasks }
}

fn lags(figures: &Figures) -> model::Lags {
    let band =
        |band: &Option<Band>| band.map(|Band { min_ns, max_ns }| model::Band { min_ns, max_ns });
    let of_row = |bands: &Vec<Option<Band>>| match bands.iter().all(Option::is_none) {
        true => Vec::new(),
        false => bands.iter().map(band).collect(),
    };
    let tasks = figures.lags.iter().map(of_row).collect();
    model::Lags { from_ns: 0, bucket_ns: figures.bucket_ns, tasks }
}

fn distribution(curve: &Curve) -> model::Distribution {
    let point = |(percentile, value_ns): &(f64, u64)| model::Point {
        percentile: *percentile,
        value_ns: *value_ns,
    };
    model::Distribution {
        name: curve.name.into(),
        count: curve.count,
        waiting: curve.waiting,
        points: curve.points.iter().map(point).collect(),
    }
}
