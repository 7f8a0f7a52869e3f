// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a sweep found: its runs and settings as tables, the best, the Pareto front.

use crate::errors::{Failure, UsageError};
use crate::table::{field, of, Table};
use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int64Array, StringArray, UInt64Array};
use arrow_schema::DataType;
use pyo3::prelude::*;
use rota_measure::catalogue;
use rota_session::Error;
use rota_sweep::{column_of, Cells, Fit, Setting, Value, OF_SET};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

/// The results.
#[pyclass(frozen, module = "rota._rota")]
#[derive(Debug)]
pub(crate) struct Swept {
    pub(crate) table: rota_sweep::Table,
    pub(crate) judged: Option<rota_sweep::Swept>,
    pub(crate) new: usize,
    pub(crate) told: Vec<String>,
}

/// A value of a tunable.
#[derive(Debug, IntoPyObject)]
pub(crate) enum Set {
    Int(i64),
    Float(f64),
    Text(String),
}

/// Policy, values of tunables, and the mean of each metric.
type Told = (String, Vec<(String, Set)>, Vec<(&'static str, f64)>);

impl Swept {
    /// Writes the dataset: all of it, or nothing.
    pub(crate) fn write_to(table: &rota_sweep::Table, path: &Path) -> Result<(), Error> {
        let failed = |e| Error::file("write", path, &e);
        let bytes = rota_sweep::write(table, Vec::new()).map_err(failed)?;
        let mut draft = path.as_os_str().to_owned();
        draft.push(format!(".{}", std::process::id()));
        std::fs::write(&draft, bytes).map_err(failed)?;
        std::fs::rename(&draft, path).map_err(failed)
    }

    fn judged(&self) -> PyResult<&rota_sweep::Swept> {
        let nothing = "nothing was looked for: expected minimise or maximise";
        self.judged.as_ref().ok_or_else(|| UsageError::new_err(nothing))
    }

    fn of_runs(&self) -> PyResult<Table> {
        let (mut fields, mut columns) = (Vec::new(), Vec::new());
        for column in self.table.columns() {
            let (kind, cells): (DataType, ArrayRef) = match column.cells {
                Cells::Text(cells) => (DataType::Utf8, Arc::new(StringArray::from(cells))),
                Cells::Flag(cells) => (DataType::Boolean, Arc::new(BooleanArray::from(cells))),
                Cells::Int(cells) => (DataType::Int64, Arc::new(Int64Array::from(cells))),
                Cells::Seed(cells) => (DataType::UInt64, Arc::new(UInt64Array::from(cells))),
                Cells::Float(cells) => (DataType::Float64, Arc::new(Float64Array::from(cells))),
            };
            let ns = column.name.ends_with("_ns").then_some("ns");
            fields.push(field(&column.name, kind, column.unit.or(ns)));
            columns.push(cells);
        }
        of(fields, columns)
    }

    /// A row for each setting, the best in the first objective first.
    fn of_settings(&self) -> PyResult<Table> {
        let judged = self.judged()?;
        let order = judged.order();
        let settings: Vec<&Setting> = order.iter().map(|at| &judged.settings[*at]).collect();
        let texts = |of: &dyn Fn(&Setting) -> Option<String>| -> ArrayRef {
            Arc::new(settings.iter().map(|setting| of(setting)).collect::<StringArray>())
        };
        let mut fields = vec![field("policy", DataType::Utf8, None)];
        let mut columns = vec![texts(&|setting| Some(setting.policy.clone()))];
        let names: BTreeSet<&String> =
            settings.iter().flat_map(|setting| setting.set.iter().map(|(name, _)| name)).collect();
        for name in names {
            let value = |setting: &Setting| {
                setting.set.iter().find(|(own, _)| own == name).map(|(_, value)| value.clone())
            };
            let values: Vec<Option<Value>> = settings.iter().map(|of| value(of)).collect();
            let numbers = || values.iter().map(|value| value.as_ref().and_then(Value::number));
            let all_are = values.iter().flatten().all(|value| value.number().is_some());
            let (kind, column): (DataType, ArrayRef) = match all_are {
                true => (DataType::Float64, Arc::new(numbers().collect::<Float64Array>())),
                false => {
                    let texts = values.iter().map(|value| value.as_ref().map(Value::to_string));
                    (DataType::Utf8, Arc::new(texts.collect::<StringArray>()))
                }
            };
            fields.push(field(&format!("{OF_SET}{name}"), kind, None));
            columns.push(column);
        }
        let flags = |of: &dyn Fn(usize) -> bool| -> ArrayRef {
            Arc::new(order.iter().map(|at| Some(of(*at))).collect::<BooleanArray>())
        };
        fields.push(field("fits", DataType::Boolean, None));
        columns.push(flags(&|at| judged.settings[at].fit == Fit::Fits));
        fields.push(field("why_not", DataType::Utf8, None));
        columns.push(texts(&|setting| why_not(judged, setting)));
        fields.push(field("front", DataType::Boolean, None));
        columns.push(flags(&|at| judged.front.contains(&at)));
        for metric in catalogue::measures() {
            let means = settings.iter().map(|setting| setting.mean(metric).map(|of| of.mean));
            let means: Vec<Option<f64>> = means.collect();
            if means.iter().any(Option::is_some) {
                let unit = Some(metric.unit.name());
                fields.push(field(&column_of(metric.key), DataType::Float64, unit));
                columns.push(Arc::new(Float64Array::from(means)));
            }
        }
        of(fields, columns)
    }
}

/// Why a setting cannot be chosen.
fn why_not(judged: &rota_sweep::Swept, setting: &Setting) -> Option<String> {
    match &setting.fit {
        Fit::Fits => None,
        Fit::Ejected(runs) => Some(format!("ejected in {runs} runs")),
        Fit::Lacks(key) => Some(format!("no {key}")),
        Fit::Fails { constraint, scenario, .. } => {
            let (of, place) = (&judged.constraints[*constraint], &judged.scenarios[*scenario]);
            Some(format!("{} does not hold on {place}", of.text))
        }
    }
}

fn told(setting: &Setting) -> Told {
    let set = setting.set.iter().map(|(name, value)| {
        let value = match value {
            Value::Int(value) => Set::Int(*value),
            Value::Float(value) => Set::Float(*value),
            other => Set::Text(other.to_string()),
        };
        (name.clone(), value)
    });
    let mean = |metric: &'static catalogue::Measure| Some((metric.key, setting.mean(metric)?.mean));
    let means = catalogue::measures().iter().filter_map(mean);
    (setting.policy.clone(), set.collect(), means.collect())
}

#[pymethods]
impl Swept {
    #[getter]
    fn runs(&self) -> usize {
        self.table.rows().len()
    }

    #[getter]
    fn new_runs(&self) -> usize {
        self.new
    }

    #[getter]
    fn ejected(&self) -> usize {
        self.table.rows().iter().filter(|row| row.ejected).count()
    }

    #[getter]
    fn told(&self) -> Vec<String> {
        self.told.clone()
    }

    /// The best setting, of one objective.
    fn best(&self) -> PyResult<Option<Told>> {
        let judged = self.judged()?;
        Ok(judged.winner().map(|at| told(&judged.settings[at])))
    }

    /// Settings that no other one surpasses.
    fn front(&self) -> PyResult<Vec<Told>> {
        let judged = self.judged()?;
        Ok(judged.front.iter().map(|at| told(&judged.settings[*at])).collect())
    }

    /// What others are compared with.
    fn baseline(&self) -> PyResult<Option<Told>> {
        let judged = self.judged()?;
        Ok(judged.baseline.map(|at| told(&judged.settings[at])))
    }

    fn table(&self, name: &str) -> PyResult<Table> {
        match name {
            "runs" => self.of_runs(),
            "settings" => self.of_settings(),
            _ => Err(UsageError::new_err(format!("{name}: there is no such table"))),
        }
    }

    fn write(&self, path: &str) -> PyResult<()> {
        let written = Self::write_to(&self.table, Path::new(path));
        written.map_err(|error| Failure::new_err(error.to_string()))
    }
}
