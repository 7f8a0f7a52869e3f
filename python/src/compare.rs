// SPDX-License-Identifier: MIT OR Apache-2.0
//! Several policies, each with several seeds.

use crate::ask::{self, PolicyAsk, Workload};
use crate::detached::{self, words, Stop};
use crate::errors::UsageError;
use crate::measures;
use crate::table::{field, of, Table};
use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, StringArray, UInt32Array, UInt64Array,
};
use arrow_schema::DataType;
use pyo3::prelude::*;
use rota_measure::baseline::{self, Relative};
use rota_measure::catalogue;
use rota_measure::statistics::{self, Estimate};
use rota_session::{simulation, values, Error, Ready};
use rota_sim::Watchers;
use std::num::NonZero;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::available_parallelism;

/// One run.
#[derive(Debug)]
struct Run {
    seed: u64,
    end_ns: u64,
    ejected: bool,
    exit: String,
    /// In the order of the catalogue.
    values: Vec<Option<f64>>,
}

/// What the runs of all policies gave.
#[pyclass(frozen, module = "rota._rota")]
#[derive(Debug)]
pub(crate) struct Compared {
    policies: Vec<String>,
    baseline: Option<usize>,
    workload: String,
    /// Of each policy, by seed.
    runs: Vec<Vec<Run>>,
    told: Vec<String>,
}

/// Runs a workload under several policies.
#[pyfunction]
pub(crate) fn compare(
    py: Python<'_>,
    policies: Vec<PolicyAsk>,
    workload: Workload,
    counts: (String, Option<String>),
    baseline: Option<usize>,
    options: Vec<(String, String)>,
) -> PyResult<Compared> {
    let (seeds, jobs) = counts;
    detached::run(py, move |stop| {
        let refused = |key: &str, text: &str, why| Error::input(format!("{key} {text}: {why}"));
        let count = values::seeds(&seeds).map_err(|why| refused("seeds", &seeds, why))?;
        let jobs = match &jobs {
            Some(text) => values::jobs(text).map_err(|why| refused("jobs", text, why))?,
            None => available_parallelism().unwrap_or(NonZero::<usize>::MIN),
        };
        let (session, told) = ask::session();
        let load = workload.load(&session)?;
        let mut ready = Vec::new();
        for policy in &policies {
            ready.push(session.ready(&ask::ask(policy, &options)?, load.clone())?);
        }
        let first =
            ready.first().ok_or_else(|| Error::input("no policy: expected one at least"))?;
        let first = first.config.seed;
        let last = first.checked_add(u64::from(count) - 1);
        let last = last.ok_or_else(|| Error::input(format!("seed {first}: too large")))?;
        // Seed by seed, as the command line goes.
        let cells: Vec<(u64, usize)> =
            (first..=last).flat_map(|seed| (0..ready.len()).map(move |at| (seed, at))).collect();
        let mut runs: Vec<Vec<Run>> = ready.iter().map(|_| Vec::new()).collect();
        for ((_, at), run) in cells.iter().zip(all(&ready, &cells, jobs.get(), stop)?) {
            runs[*at].push(run);
        }
        let labels = policies.iter().zip(&ready);
        let labels = labels.map(|(ask, ready)| ask.label.clone().unwrap_or(ready.name.clone()));
        Ok(Compared {
            policies: labels.collect(),
            baseline,
            workload: load.file,
            runs,
            told: told.lines(),
        })
    })
}

/// The runs of all cells, in their order.
fn all(
    ready: &[Ready],
    cells: &[(u64, usize)],
    jobs: usize,
    stop: &Stop,
) -> Result<Vec<Run>, Error> {
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, Result<Run, Error>)>> = Mutex::default();
    let worker = || loop {
        let at = next.fetch_add(1, Ordering::Relaxed);
        let Some((seed, policy)) = cells.get(at) else { return };
        let run = catch_unwind(AssertUnwindSafe(|| one(&ready[*policy], *seed, stop)));
        let run = run.unwrap_or_else(|panic| Err(Error::Failure(words(panic.as_ref()))));
        if run.is_err() {
            next.store(cells.len(), Ordering::Relaxed);
        }
        done.lock().unwrap_or_else(PoisonError::into_inner).push((at, run));
    };
    std::thread::scope(|scope| {
        for _ in 0..jobs.min(cells.len()) {
            scope.spawn(worker);
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, run)| run).collect()
}

fn one(ready: &Ready, seed: u64, stop: &Stop) -> Result<Run, Error> {
    let mut stop = stop.clone();
    let watchers = Watchers { sinks: vec![&mut stop], figures: None };
    let measured = ready.simulation(seed)?.measure(watchers);
    let measured = measured.map_err(|error| simulation::refused(&error, &ready.load))?;
    let exit = &measured.outcome.exit;
    Ok(Run {
        seed,
        end_ns: measured.outcome.end_ns,
        ejected: exit.kind.is_error(),
        exit: exit.to_string(),
        values: measures::values(&measured, ready.config.topology.cpus()),
    })
}

#[pymethods]
impl Compared {
    #[getter]
    fn policies(&self) -> Vec<String> {
        self.policies.clone()
    }

    #[getter]
    fn workload(&self) -> &str {
        &self.workload
    }

    #[getter]
    fn baseline(&self) -> Option<&str> {
        Some(self.policies.get(self.baseline?)?)
    }

    #[getter]
    fn told(&self) -> Vec<String> {
        self.told.clone()
    }

    /// Policy, seed and reason of each run that an ejection ended.
    #[getter]
    fn ejected(&self) -> Vec<(String, u64, String)> {
        let of = |(label, runs): (&String, &Vec<Run>)| {
            let ejected = runs.iter().filter(|run| run.ejected);
            ejected.map(|run| (label.clone(), run.seed, run.exit.clone())).collect::<Vec<_>>()
        };
        self.policies.iter().zip(&self.runs).flat_map(of).collect()
    }

    /// Policy, key and mean of each metric that it has.
    fn measures(&self) -> Vec<(String, &'static str, f64)> {
        let rows = self.rows();
        rows.iter().map(|row| (row.policy.to_owned(), row.key, row.estimate.mean)).collect()
    }

    fn table(&self, name: &str) -> PyResult<Table> {
        match name {
            "runs" => self.of_runs(),
            "measures" => table(&self.workload, &self.rows()),
            _ => Err(UsageError::new_err(format!("{name}: there is no such table"))),
        }
    }
}

impl Compared {
    /// A row for each run, a column for each metric that one of them has.
    fn of_runs(&self) -> PyResult<Table> {
        let all = || self.runs.iter().flatten();
        let labels = self.policies.iter().zip(&self.runs);
        let labels = labels.flat_map(|(label, runs)| runs.iter().map(move |_| Some(label)));
        let workloads = all().map(|_| Some(&self.workload));
        let mut fields = vec![
            field("workload", DataType::Utf8, None),
            field("policy", DataType::Utf8, None),
            field("seed", DataType::UInt64, None),
            field("duration_ns", DataType::Int64, Some("ns")),
            field("ejected", DataType::Boolean, None),
            field("exit", DataType::Utf8, None),
        ];
        let mut columns: Vec<ArrayRef> = vec![
            Arc::new(workloads.collect::<StringArray>()),
            Arc::new(labels.collect::<StringArray>()),
            Arc::new(UInt64Array::from_iter_values(all().map(|run| run.seed))),
            Arc::new(Int64Array::from_iter_values(all().map(|run| run.end_ns as i64))),
            Arc::new(all().map(|run| Some(run.ejected)).collect::<BooleanArray>()),
            Arc::new(all().map(|run| Some(&run.exit)).collect::<StringArray>()),
        ];
        for (at, measure) in catalogue::measures().iter().enumerate() {
            let values: Vec<Option<f64>> = all().map(|run| run.values[at]).collect();
            if values.iter().any(Option::is_some) {
                fields.push(field(measure.key, DataType::Float64, Some(measure.unit.name())));
                columns.push(Arc::new(Float64Array::from(values)));
            }
        }
        of(fields, columns)
    }

    /// A row for each policy and each metric that it has: means, and how they compare with the
    /// baseline's, by the rules of `rota compare`.
    fn rows(&self) -> Vec<Row<'_>> {
        let mut rows: Vec<Row<'_>> = Vec::new();
        let is_ejected = |runs: &Vec<Run>| runs.iter().any(|run| run.ejected);
        for (at, measure) in catalogue::measures().iter().enumerate() {
            // None of a policy that was ever ejected is compared with others.
            let paired = self.runs.iter().map(|runs| match is_ejected(runs) {
                true => vec![None; runs.len()],
                false => runs.iter().map(|run| run.values[at]).collect(),
            });
            let paired: Vec<Vec<Option<f64>>> = paired.collect();
            let best = statistics::winner(&paired, measure.better);
            let relative = match self.baseline {
                Some(baseline) => baseline::against(&paired, baseline),
                None => vec![None; paired.len()],
            };
            for (policy, (runs, relative)) in self.runs.iter().zip(relative).enumerate() {
                let whole = runs.iter().filter(|run| !run.ejected);
                let own: Vec<f64> = whole.filter_map(|run| run.values[at]).collect();
                if let Some(estimate) = statistics::estimate(&own) {
                    let (key, unit) = (measure.key, measure.unit.name());
                    let best = best == Some(policy);
                    let policy = &self.policies[policy];
                    rows.push(Row { policy, key, unit, estimate, best, relative });
                }
            }
        }
        rows
    }
}

/// A metric of a policy.
struct Row<'a> {
    policy: &'a str,
    key: &'static str,
    unit: &'static str,
    estimate: Estimate,
    best: bool,
    relative: Option<Relative>,
}

fn table(workload: &str, rows: &[Row<'_>]) -> PyResult<Table> {
    fn numbers(rows: &[Row<'_>], of: impl Fn(&Row<'_>) -> Option<f64>) -> ArrayRef {
        Arc::new(rows.iter().map(of).collect::<Float64Array>())
    }
    let texts = |of: fn(&Row<'_>) -> String| -> ArrayRef {
        Arc::new(rows.iter().map(|row| Some(of(row))).collect::<StringArray>())
    };
    let flags = |of: fn(&Row<'_>) -> Option<bool>| -> ArrayRef {
        Arc::new(rows.iter().map(of).collect::<BooleanArray>())
    };
    let counts = rows.iter().map(|row| row.estimate.n);
    let columns: Vec<(&str, DataType, ArrayRef)> = vec![
        (
            "workload",
            DataType::Utf8,
            Arc::new(rows.iter().map(|_| Some(workload)).collect::<StringArray>()),
        ),
        ("policy", DataType::Utf8, texts(|row| row.policy.to_owned())),
        ("key", DataType::Utf8, texts(|row| row.key.to_owned())),
        ("unit", DataType::Utf8, texts(|row| row.unit.to_owned())),
        ("mean", DataType::Float64, numbers(rows, |row| Some(row.estimate.mean))),
        ("half_width", DataType::Float64, numbers(rows, |row| row.estimate.half_width)),
        ("n", DataType::UInt32, Arc::new(UInt32Array::from_iter_values(counts))),
        ("best", DataType::Boolean, flags(|row| Some(row.best))),
        ("ratio", DataType::Float64, numbers(rows, |row| row.relative?.ratio)),
        ("difference", DataType::Float64, numbers(rows, |row| Some(row.relative?.difference.mean))),
        ("probability", DataType::Float64, numbers(rows, |row| row.relative?.probability)),
        ("significant", DataType::Boolean, flags(|row| row.relative?.is_significant())),
    ];
    let fields = columns.iter().map(|(name, kind, _)| field(name, kind.clone(), None)).collect();
    of(fields, columns.into_iter().map(|(_, _, column)| column).collect())
}
