// SPDX-License-Identifier: MIT OR Apache-2.0
//! Metrics of runs, by their keys.

use crate::table::{field, of, Table};
use arrow_array::{ArrayRef, Float64Array, StringArray};
use arrow_schema::DataType;
use pyo3::prelude::*;
use rota_measure::catalogue::{self, Measure};
use rota_measure::statistics::Better;
use rota_measure::GroupNumbers;
use rota_sim::Measured;
use std::sync::Arc;

/// Which of two values is the better one.
fn better(measure: &Measure) -> Option<&'static str> {
    match measure.better {
        Better::Lower => Some("lower"),
        Better::Higher => Some("higher"),
        Better::Neither => None,
    }
}

/// The values of a run, in the order of the catalogue.
pub(crate) fn values(measured: &Measured, cpus: u32) -> Vec<Option<f64>> {
    let (numbers, requests) = (&measured.numbers, &measured.requests);
    let run = catalogue::Run { numbers, requests, cpus };
    catalogue::measures().iter().map(|measure| measure.of(run)).collect()
}

/// Key, value, unit, the better side, and name.
pub(crate) type Told = (&'static str, f64, &'static str, Option<&'static str>, &'static str);

/// The metrics that a run has.
pub(crate) fn told(values: &[Option<f64>]) -> Vec<Told> {
    let all = catalogue::measures().iter().zip(values);
    let told = all.filter_map(|(measure, value)| {
        Some((measure.key, (*value)?, measure.unit.name(), better(measure), measure.name))
    });
    told.collect()
}

fn texts<'a>(list: impl Iterator<Item = Option<&'a str>>) -> ArrayRef {
    Arc::new(list.collect::<StringArray>())
}

/// A row for each metric that the run has.
pub(crate) fn table(values: &[Option<f64>]) -> PyResult<Table> {
    let all = catalogue::measures().iter().zip(values);
    let there: Vec<(&Measure, f64)> = all.filter_map(|(m, value)| Some((m, (*value)?))).collect();
    let column = |text: fn(&'static Measure) -> Option<&'static str>| {
        let keys = catalogue::measures().iter().zip(values).filter(|(_, value)| value.is_some());
        texts(keys.map(|(measure, _)| text(measure)))
    };
    let numbers = there.iter().map(|(_, value)| *value).collect::<Vec<f64>>();
    let text = |name: &str| field(name, DataType::Utf8, None);
    of(
        vec![
            text("key"),
            field("value", DataType::Float64, None),
            text("unit"),
            text("better"),
            text("group"),
            text("name"),
        ],
        vec![
            column(|m| Some(m.key)),
            Arc::new(Float64Array::from(numbers)),
            column(|m| Some(m.unit.name())),
            column(better),
            column(|m| Some(m.group)),
            column(|m| Some(m.name)),
        ],
    )
}

/// A row for each task of the workload and each metric that it has.
pub(crate) fn of_tasks(groups: &[GroupNumbers]) -> PyResult<Table> {
    let mut rows: Vec<(&str, &str, f64, &str)> = Vec::new();
    for group in groups {
        for measure in catalogue::of_tasks() {
            if let Some(value) = measure.of(group) {
                rows.push((&group.name, measure.key, value, measure.unit.name()));
            }
        }
    }
    let text = |name: &str| field(name, DataType::Utf8, None);
    of(
        vec![text("task"), text("key"), field("value", DataType::Float64, None), text("unit")],
        vec![
            texts(rows.iter().map(|row| Some(row.0))),
            texts(rows.iter().map(|row| Some(row.1))),
            Arc::new(Float64Array::from_iter_values(rows.iter().map(|row| row.2))),
            texts(rows.iter().map(|row| Some(row.3))),
        ],
    )
}

/// All metrics, with their definitions: what `docs/measures.md` lists.
#[pyfunction]
#[pyo3(name = "catalogue")]
pub(crate) fn known() -> PyResult<Table> {
    let column = |text: fn(&'static Measure) -> Option<&'static str>| {
        texts(catalogue::measures().iter().map(text))
    };
    let names = ["key", "unit", "better", "group", "name", "definition"];
    let columns = vec![
        column(|m| Some(m.key)),
        column(|m| Some(m.unit.name())),
        column(better),
        column(|m| Some(m.group)),
        column(|m| Some(m.name)),
        column(|m| Some(m.definition)),
    ];
    of(names.map(|name| field(name, DataType::Utf8, None)).into(), columns)
}
