// SPDX-License-Identifier: MIT OR Apache-2.0
//! Traces that are there: Rota's own, and those of other tools.

use crate::detached;
use crate::errors::UsageError;
use crate::events::Events;
use crate::table::Table;
use crate::{measures, rows};
use pyo3::prelude::*;
use rota_measure::{Numbers, Results, Summary};
use rota_session::Error;
use rota_trace::Tee;
use std::path::PathBuf;

/// A trace that was read.
#[pyclass(frozen, module = "rota._rota")]
#[derive(Debug)]
pub(crate) struct Read {
    file: String,
    duration_ns: u64,
    events: Table,
    numbers: Numbers,
    groups: Vec<rota_measure::GroupNumbers>,
}

/// Reads a trace.
#[pyfunction]
pub(crate) fn read(py: Python<'_>, file: String) -> PyResult<Read> {
    detached::run(py, move |_| {
        let trace = rota_trace_import::open(&PathBuf::from(&file)).map_err(Error::input)?;
        let mut summary = Summary::new(trace.header().cpus.unwrap_or(1));
        let mut events = Events::default();
        let mut sinks = Tee::new();
        sinks.push(&mut summary);
        sinks.push(&mut events);
        let facts = trace.read(&mut sinks).map_err(Error::input)?;
        drop(sinks);
        let Results { numbers, groups, .. } = summary.finish_all(facts.duration_ns);
        let events = events.finish().map_err(|error| Error::Failure(error.to_string()))?;
        Ok(Read { file, duration_ns: facts.duration_ns, events, numbers, groups })
    })
}

#[pymethods]
impl Read {
    #[getter]
    fn file(&self) -> &str {
        &self.file
    }

    #[getter]
    fn duration_ns(&self) -> u64 {
        self.duration_ns
    }

    fn table(&self, name: &str) -> PyResult<Table> {
        match name {
            "events" => Ok(self.events.clone()),
            "tasks" => rows::table(&self.numbers.tasks),
            "cpus" => rows::table(&self.numbers.cpus),
            "task_measures" => measures::of_tasks(&self.groups),
            _ => Err(UsageError::new_err(format!("{name}: there is no such table"))),
        }
    }
}
