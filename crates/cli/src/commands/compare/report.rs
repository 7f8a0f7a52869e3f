// SPDX-License-Identifier: MIT OR Apache-2.0
//! Fills the model of the HTML report.

use super::pictures::Pictures;
use super::CompareArgs;
use crate::comparison::{Column, Comparison, Run, Stage};
use crate::findings::Findings;
use crate::output::comparison::findings::{self, Statement};
use crate::output::comparison::ignored_by;
use crate::output::{command_line, machine_picture, units};
use rota_machine_file::models;
use rota_measure::catalogue::{self, Measure, Unit};
use rota_measure::curve::{self, CurveOfSeeds};
use rota_measure::figures::{Band, Figures};
use rota_measure::statistics::Better;
use rota_report::html::{self, model};
use rota_workload::Workload;
use std::collections::HashMap;

/// The row of all that have no other, as `rota_measure::Rows` calls it.
const OTHERS: &str = "others";

/// The report. Pictures are those of all cells, in their order, as far as there are any.
pub(crate) fn html(
    (args, named): (&CompareArgs, Option<&str>),
    comparison: &Comparison<'_>,
    pictures: &[Option<Pictures>],
    findings: &Findings<'_>,
    provenance: model::Provenance,
) -> String {
    let per_stage = comparison.policies.len() * comparison.seeds.len();
    let (found, advice) = findings::statements(comparison, findings);
    let stages = comparison.stages.iter().zip(pictures.chunks(per_stage)).zip(found);
    html::render(&model::Comparison {
        title: String::new(),
        version: format!("rota {}", env!("CARGO_PKG_VERSION")),
        command: command_line(),
        machine: machine(args, named, comparison),
        hardware: hardware(named),
        provenance,
        baseline: comparison
            .baseline
            .map(|baseline| comparison.policies[baseline.at].label.clone())
            .unwrap_or_default(),
        measures: comparison.measures.iter().map(measure).collect(),
        advice: advice.map(finding),
        workloads: stages
            .map(|((stage, pictures), (_, found))| model::Workload {
                findings: found.into_iter().map(finding).chain(ignored(stage)).collect(),
                ..workload(comparison, stage, pictures)
            })
            .collect(),
    })
}

fn finding(Statement { about, text }: Statement) -> model::Finding {
    model::Finding { about, text }
}

/// What policies ignore of the workload and the machine.
fn ignored<'a>(stage: &'a Stage<'_>) -> impl Iterator<Item = model::Finding> + 'a {
    stage.columns.iter().filter_map(|column| {
        let text = ignored_by(stage, column).message(&column.policy.label)?;
        Some(model::Finding { about: "ignored".to_owned(), text })
    })
}

/// Its picture, if the user named it.
fn hardware(named: Option<&str>) -> Option<rota_report::machine::Machine> {
    let machine = crate::machine::find(named?).ok()?;
    Some(machine_picture::picture(&machine))
}

/// The simulated machine.
fn machine(
    args: &CompareArgs,
    named: Option<&str>,
    comparison: &Comparison<'_>,
) -> Vec<(String, String)> {
    let kernel = match &args.object.btf {
        Some(btf) => format!("by the types of {}", btf.display()),
        None => format!("Linux {}", args.object.kernel),
    };
    let options = &args.machine;
    let mut ticks: Vec<u32> = comparison.stages.iter().map(|stage| stage.config.hz).collect();
    ticks.sort_unstable();
    ticks.dedup();
    let ticks: Vec<String> = ticks.iter().map(u32::to_string).collect();
    let tick = format!("{} Hz", ticks.join(", "));
    let mut facts = vec![("simulated kernel".to_owned(), kernel), ("tick".to_owned(), tick)];
    if let Some(topology) = &options.topology {
        facts.push(("topology".into(), topology.clone()));
    }
    if let Some(name) = named {
        facts.push(("machine".into(), name.to_owned()));
        if let Ok(machine) = crate::machine::find(name) {
            if let Some(mode) = machine.kernel.preempt {
                facts.push(("preempt".into(), mode.to_string()));
            }
            let all = models(&machine.topology, machine.hardware.as_deref());
            for (label, is_on) in [("models on", true), ("models off", false)] {
                let these: Vec<_> = all.iter().filter(|model| model.is_on == is_on).collect();
                let names: Vec<&str> = these.iter().map(|model| model.name).collect();
                facts.push((
                    label.into(),
                    if names.is_empty() { "none".into() } else { names.join(", ") },
                ));
            }
        }
        return facts;
    }
    let overheads = if options.ideal { "none (--ideal)" } else { "a current x86 server's" };
    facts.push(("overheads".into(), overheads.into()));
    if options.shuffle_ties {
        facts.push(("tie-breaks".into(), "random, by seed".into()));
    }
    if args.no_autogroup {
        facts.push(("autogroups".into(), "off".into()));
    }
    if let Some(warmup_ns) = options.warmup {
        facts.push(("warm-up, not measured".into(), units::duration(warmup_ns)));
    }
    facts
}

fn measure(measure: &Measure) -> model::Measure {
    model::Measure {
        key: measure.key.into(),
        name: measure.name.into(),
        group: measure.group.into(),
        unit: match measure.unit {
            Unit::Ns => model::Unit::Ns,
            Unit::Fraction => model::Unit::Fraction,
            Unit::Number => model::Unit::Number,
            Unit::Count => model::Unit::Count,
            Unit::PerSecond => model::Unit::PerSecond,
            Unit::Instructions => model::Unit::Instructions,
            Unit::Joules => model::Unit::Joules,
            Unit::Watts => model::Unit::Watts,
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
    let mut policies: Vec<model::PolicyResult> = policies.collect();
    if let Some(baseline) = comparison.baseline {
        policies[..=baseline.at].rotate_right(1);
    }
    let figures = pictures.iter().flatten().map(|pictures| &pictures.figures);
    model::Workload {
        name: stage.load.file.clone(),
        description: stage.load.description.clone(),
        cpus,
        duration_ns: stage.config.duration_ns,
        warmup_ns: stage.config.warmup_ns,
        seeds: seeds.to_vec(),
        tasks: tasks(&stage.load.workload, figures),
        policies,
        findings: Vec::new(),
    }
}

/// Rows of the figures: the same under every policy, but one may have seen more of them.
fn tasks<'a>(workload: &Workload, figures: impl Iterator<Item = &'a Figures>) -> Vec<model::Task> {
    let instances = workload.tasks.iter().map(|task| (task.name.as_str(), workload.name_of(task)));
    let instances: HashMap<&str, &str> = instances.collect();
    let all = workload.tasks.len() as u64;
    let mut counts: HashMap<&str, u64> = HashMap::new();
    for name in workload.tasks.iter().map(|task| workload.name_of(task)) {
        *counts.entry(name).or_default() += 1;
    }
    let mut tasks: Vec<model::Task> = Vec::new();
    for figures in figures {
        for (at, (name, claim)) in figures.names.iter().zip(&figures.claims).enumerate() {
            if at == tasks.len() {
                let instance_of = instances.get(name.as_str()).copied().unwrap_or(name).to_owned();
                let count = match instances.contains_key(name.as_str()) {
                    true => 1,
                    false if name == OTHERS => {
                        all.saturating_sub(tasks.iter().map(|t| t.instances).sum())
                    }
                    false => counts.get(name.as_str()).copied().unwrap_or(0),
                };
                let name = name.clone();
                tasks.push(model::Task { name, instance_of, weight: 0, instances: count });
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
    let cells = column.cells.iter().zip(catalogue::measures()).map(|(cell, measure)| {
        cell.map(|cell| model::Cell {
            few_samples: column.few_samples(measure.key),
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
            latencies: distributions(column),
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

/// Runs that numbers are taken from: those that the policy survived.
fn whole<'a>(column: &'a Column<'a>) -> impl Iterator<Item = &'a Run> {
    column.runs.iter().copied().filter(|run| !run.exit.ejected)
}

/// Of the runs that the policy survived; of the first one if it survived none.
fn distributions(column: &Column<'_>) -> Vec<model::Distribution> {
    let mut runs: Vec<&Run> = whole(column).collect();
    if runs.is_empty() {
        runs.extend(column.runs.first());
    }
    let curves = curve::over_seeds(runs.iter().flat_map(|run| &run.curves));
    curves.into_iter().map(distribution).collect()
}

fn distribution(curve: CurveOfSeeds) -> model::Distribution {
    let point = |point: &curve::PointOfSeeds| model::Point {
        percentile: point.percentile,
        value_ns: point.mean_ns,
        range_ns: (curve.seeds > 1).then_some((point.least_ns, point.greatest_ns)),
    };
    let points = curve.points.iter().map(point).collect();
    let seeds = u64::from(curve.seeds);
    model::Distribution {
        name: curve.name,
        seeds,
        count: curve.count,
        waiting: curve.waiting,
        points,
    }
}
