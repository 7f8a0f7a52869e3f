// SPDX-License-Identifier: MIT OR Apache-2.0
//! The JSON of `rota compare`: every number, of every seed and in the mean.

use super::findings::Words;
use super::gates;
use crate::comparison::{Column, Comparison, ProgramOf, Stage};
use crate::findings::Findings;
use crate::gate::Judged;
use crate::output::json::{ignores, MachineJson, PolicyJson};
use rota_measure::baseline::Relative;
use rota_measure::catalogue::Measure;
use rota_measure::statistics::{Better, Estimate};
use serde::Serialize;
use serde_json::{json, Map, Value};

/// One object.
#[derive(Serialize)]
pub(crate) struct Json<'a> {
    schema: &'static str,
    rota: &'static str,
    seeds: &'a [u64],
    baseline: Option<BaselineJson<'a>>,
    measures: Vec<MeasureJson>,
    comparisons: Vec<StageJson<'a>>,
    /// What to do, by the first goal; `null`: that cannot be told.
    advice: Option<Value>,
    /// What became of `--fail-if`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    conditions: Vec<Value>,
}

#[derive(Serialize)]
struct BaselineJson<'a> {
    label: &'a str,
    added: bool,
}

#[derive(Serialize)]
struct MeasureJson {
    key: &'static str,
    name: &'static str,
    unit: &'static str,
    better: Option<&'static str>,
    definition: &'static str,
}

#[derive(Serialize)]
struct StageJson<'a> {
    workload: &'a str,
    machine: MachineJson,
    duration_ns: u64,
    warmup_ns: u64,
    seeds_alike: bool,
    policies: Vec<ColumnJson<'a>>,
    findings: Value,
}

#[derive(Serialize)]
struct ColumnJson<'a> {
    label: &'a str,
    policy: PolicyJson<'a>,
    ejected: usize,
    measures: Map<String, Value>,
    tasks: Vec<Value>,
    runs: Vec<Value>,
    ignores: Vec<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    program: Option<ProgramJson<'a>>,
}

/// The program that brings the policy.
#[derive(Serialize)]
struct ProgramJson<'a> {
    sha256: &'a str,
    #[serde(flatten)]
    of: &'a ProgramOf,
}

impl<'a> Json<'a> {
    pub(crate) fn new(
        comparison: &'a Comparison<'a>,
        found: &'a Findings<'a>,
        judged: &[Judged],
    ) -> Self {
        let words = Words::new(comparison);
        let stages = comparison.stages.iter().zip(&found.stages);
        Json {
            schema: "rota.compare/2",
            rota: env!("CARGO_PKG_VERSION"),
            seeds: comparison.seeds,
            baseline: comparison.baseline.map(|baseline| BaselineJson {
                label: &comparison.policies[baseline.at].label,
                added: baseline.is_added,
            }),
            measures: comparison.measures.iter().map(MeasureJson::new).collect(),
            comparisons: stages.map(|(s, found)| stage(comparison, s, words.json(found))).collect(),
            advice: found.advice.as_ref().map(|advice| words.advice_json(found, advice)),
            conditions: gates::json(comparison, judged),
        }
    }
}

impl MeasureJson {
    fn new(measure: &Measure) -> Self {
        MeasureJson {
            key: measure.key,
            name: measure.name,
            unit: measure.unit.name(),
            better: match measure.better {
                Better::Lower => Some("lower"),
                Better::Higher => Some("higher"),
                Better::Neither => None,
            },
            definition: measure.definition,
        }
    }
}

fn stage<'a>(
    comparison: &'a Comparison<'a>,
    stage: &'a Stage<'a>,
    findings: Value,
) -> StageJson<'a> {
    StageJson {
        workload: &stage.load.file,
        machine: MachineJson::new(stage.config),
        duration_ns: stage.config.duration_ns,
        warmup_ns: stage.config.warmup_ns,
        seeds_alike: stage.is_alike,
        policies: stage.columns.iter().map(|c| column(comparison, stage, c)).collect(),
        findings,
    }
}

fn column<'a>(
    comparison: &'a Comparison<'a>,
    stage: &'a Stage<'a>,
    column: &'a Column<'a>,
) -> ColumnJson<'a> {
    let cells = comparison.measures.iter().zip(&column.cells);
    let measures = cells.map(|(measure, cell)| {
        let value = cell.map_or(Value::Null, |cell| {
            let mut value = estimate(&cell.estimate);
            value.insert("best".into(), cell.best.into());
            if let Some(of) = &cell.relative {
                value.insert("to_baseline".into(), relative(of));
            }
            value.into()
        });
        (measure.key.to_owned(), value)
    });
    let tasks = column.tasks.iter().map(|(name, means)| {
        let means = means.iter().map(|(key, of)| ((*key).to_owned(), estimate(of).into()));
        json!({ "name": name, "measures": means.collect::<Map<String, Value>>() })
    });
    let runs = column.runs.iter().map(|run| {
        json!({
            "seed": run.seed,
            "duration_ns": run.duration_ns,
            "exit": { "kind": run.exit.kind, "code": run.exit.code, "reason": run.exit.reason },
            "measures": run.measures,
            "tasks": run.tasks,
        })
    });
    let policy = column.policy;
    ColumnJson {
        label: &policy.label,
        policy: PolicyJson::new(
            &policy.name,
            &policy.source,
            column.image,
            &policy.set,
            column.origin,
        ),
        ejected: column.ejected().count(),
        measures: measures.collect(),
        tasks: tasks.collect(),
        runs: runs.collect(),
        ignores: ignores(column.image, &stage.load.workload, stage.config),
        program: policy.program.as_ref().map(|of| ProgramJson { sha256: &policy.sha256, of }),
    }
}

fn estimate(estimate: &Estimate) -> Map<String, Value> {
    let mut value = Map::new();
    value.insert("mean".into(), estimate.mean.into());
    value.insert("half_width".into(), estimate.half_width.into());
    value.insert("n".into(), estimate.n.into());
    value
}

fn relative(relative: &Relative) -> Value {
    json!({
        "ratio": relative.ratio,
        "difference": estimate(&relative.difference),
        "probability": relative.probability,
        "significant": relative.is_significant(),
    })
}
