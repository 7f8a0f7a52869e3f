// SPDX-License-Identifier: MIT OR Apache-2.0
//! One run.

use crate::ask::{self, PolicyAsk, Workload};
use crate::detached;
use crate::errors::{Failure, UsageError};
use crate::events::Events;
use crate::table::Table;
use crate::{measures, rows};
use pyo3::prelude::*;
use rota_session::{simulation, Error, Ready};
use rota_sim::{Measured, Watchers};
use rota_trace::Sink;
use serde::Serialize;
use serde_json::json;
use std::sync::Arc;

/// What a run gave.
#[pyclass(frozen, module = "rota._rota")]
#[derive(Clone, Debug)]
pub(crate) struct Run {
    policy: String,
    source: String,
    workload: String,
    cpus: u32,
    seed: u64,
    measured: Arc<Measured>,
    events: Option<Table>,
    told: Vec<String>,
}

/// Runs a workload under a policy.
#[pyfunction]
pub(crate) fn simulate(
    py: Python<'_>,
    policy: PolicyAsk,
    workload: Workload,
    options: Vec<(String, String)>,
    events: bool,
) -> PyResult<Run> {
    detached::run(py, move |stop| {
        let (session, told) = ask::session();
        let ask = ask::ask(&policy, &options)?;
        let load = workload.load(&session)?;
        let ready = session.ready(&ask, load)?;
        let (mut stop, mut table) = (stop.clone(), events.then(Events::default));
        let mut sinks: Vec<&mut dyn Sink> = vec![&mut stop];
        sinks.extend(table.as_mut().map(|table| table as &mut dyn Sink));
        let seed = ready.config.seed;
        let measured = ready.simulation(seed)?.measure(Watchers { sinks, figures: None });
        let measured = measured.map_err(|error| simulation::refused(&error, &ready.load))?;
        let made = table.map(Events::finish).transpose();
        let events = made.map_err(|error| Error::Failure(error.to_string()))?;
        Ok(Run::new((policy.label, ready), measured, events, told.lines()))
    })
}

#[derive(Serialize)]
struct Callback {
    callback: &'static str,
    calls: u64,
    instructions: u64,
}

#[pymethods]
impl Run {
    #[getter]
    fn policy(&self) -> &str {
        &self.policy
    }

    #[getter]
    fn source(&self) -> &str {
        &self.source
    }

    #[getter]
    fn workload(&self) -> &str {
        &self.workload
    }

    #[getter]
    fn cpus(&self) -> u32 {
        self.cpus
    }

    #[getter]
    fn seed(&self) -> u64 {
        self.seed
    }

    #[getter]
    fn duration_ns(&self) -> u64 {
        self.measured.outcome.end_ns
    }

    #[getter]
    fn ejected(&self) -> bool {
        self.measured.outcome.exit.kind.is_error()
    }

    #[getter]
    fn exit(&self) -> String {
        self.measured.outcome.exit.to_string()
    }

    /// Lines that say where the exit comes from.
    #[getter]
    fn exit_details(&self) -> Vec<String> {
        self.measured.outcome.exit.origin.lines()
    }

    #[getter]
    fn told(&self) -> Vec<String> {
        self.told.clone()
    }

    /// Numbers as `rota sim --json` has them.
    fn numbers_json(&self) -> PyResult<String> {
        let of = &self.measured;
        let object = json!({
            "tasks": of.numbers.tasks,
            "totals": of.numbers.totals,
            "cpus": of.numbers.cpus,
            "locks": of.numbers.locks,
            "requests": of.requests,
        });
        serde_json::to_string(&object).map_err(|error| Failure::new_err(error.to_string()))
    }

    /// Key, value, unit, the better side, and name of each metric that the run has.
    fn measures(&self) -> Vec<measures::Told> {
        measures::told(&measures::values(&self.measured, self.cpus))
    }

    fn table(&self, name: &str) -> PyResult<Table> {
        let of = &self.measured;
        match name {
            "measures" => measures::table(&measures::values(of, self.cpus)),
            "task_measures" => measures::of_tasks(&of.groups),
            "tasks" => rows::table(&of.numbers.tasks),
            "cpus" => rows::table(&of.numbers.cpus),
            "locks" => rows::table(&of.numbers.locks),
            "requests" => rows::table(&of.requests.classes),
            "sockets" => rows::table(&of.requests.sockets),
            "callbacks" => rows::table(&self.callbacks()),
            "events" => self.events.clone().ok_or_else(|| {
                UsageError::new_err("events: this run kept none, expected simulate(…, events=True)")
            }),
            _ => Err(UsageError::new_err(format!("{name}: there is no such table"))),
        }
    }
}

impl Run {
    /// Of a policy that has a label, perhaps.
    pub(crate) fn new(
        (label, ready): (Option<String>, Ready),
        measured: Measured,
        events: Option<Table>,
        told: Vec<String>,
    ) -> Self {
        Self {
            policy: label.unwrap_or(ready.name),
            source: ready.source,
            workload: ready.load.file,
            cpus: ready.config.topology.cpus(),
            seed: ready.config.seed,
            measured: Arc::new(measured),
            events,
            told,
        }
    }

    /// It was ended before its time.
    pub(crate) fn is_cut(&self) -> bool {
        self.measured.outcome.is_cut
    }

    fn callbacks(&self) -> Vec<Callback> {
        let counters = &self.measured.outcome.counters;
        let callbacks = counters.callbacks().map(|(op, count)| (op.name(), count));
        let places = counters.places().map(|(at, count)| (at.name(), count));
        let all = callbacks.chain(places).map(|(callback, count)| Callback {
            callback,
            calls: count.calls,
            instructions: count.instructions,
        });
        all.collect()
    }
}
