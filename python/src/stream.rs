// SPDX-License-Identifier: MIT OR Apache-2.0
//! Events of a run, in batches, while it goes on. It waits for whoever takes them: only two batches
//! are in memory at a time, one that is filled and one that is full.

use crate::ask::{self, PolicyAsk, Workload};
use crate::detached::{self, Stop};
use crate::errors::{exception, UsageError};
use crate::events::{Builder, Whole};
use crate::simulate::Run;
use crate::table::{failed, Table};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use rota_session::{simulation, Error, Ready};
use rota_sim::Watchers;
use rota_trace::{Event, Sink};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::mpsc::{sync_channel, Receiver, RecvTimeoutError, SyncSender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Most rows of a batch.
const MOST_ROWS: usize = 10_000_000;

/// What the run says.
enum Said {
    Batch(Result<RecordBatch, ArrowError>),
    Done(Box<Result<Run, Error>>),
    Panicked(String),
}

/// Where reading is.
enum State {
    Open(Receiver<Said>),
    /// Somebody waits for the next batch, or an Arrow stream has them all.
    Taken,
    Ended(Arc<Run>),
    /// It was left before its end, or failed.
    Closed,
}

/// A run whose events are taken batch by batch.
#[pyclass(frozen, module = "rota._rota")]
pub(crate) struct Streaming(Arc<Inner>);

struct Inner {
    schema: SchemaRef,
    stop: Stop,
    state: Mutex<State>,
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the receiver, of which there is one.
    fn take(&self) -> Result<Option<Receiver<Said>>, Error> {
        let mut state = self.state();
        match std::mem::replace(&mut *state, State::Taken) {
            State::Open(receiver) => Ok(Some(receiver)),
            State::Ended(run) => {
                *state = State::Ended(run);
                Ok(None)
            }
            State::Closed => {
                *state = State::Closed;
                Ok(None)
            }
            State::Taken => {
                Err(Error::input("events: another reader takes them, expected one at a time"))
            }
        }
    }

    /// Ends the run, wherever it is.
    fn close(&self) {
        self.stop.set();
        let mut state = self.state();
        // Who reads now closes it.
        if matches!(*state, State::Open(_)) {
            *state = State::Closed;
        }
    }

    /// What is said is a batch, or the end.
    fn heard(&self, said: Said) -> Result<Option<RecordBatch>, Error> {
        let failure = |why: String| Err(Error::Failure(why));
        let (state, heard) = match said {
            Said::Batch(Ok(batch)) => return Ok(Some(batch)),
            Said::Batch(Err(why)) => {
                (State::Closed, failure(format!("cannot make a table: {why}")))
            }
            Said::Done(done) => match *done {
                // Somebody closed it while another one read.
                Ok(run) if run.is_cut() => (State::Closed, Ok(None)),
                Ok(run) => (State::Ended(Arc::new(run)), Ok(None)),
                Err(error) => (State::Closed, Err(error)),
            },
            Said::Panicked(why) => (State::Closed, failure(why)),
        };
        *self.state() = state;
        heard
    }
}

impl Drop for Streaming {
    fn drop(&mut self) {
        // An Arrow stream of it goes on by itself.
        if matches!(*self.0.state(), State::Open(_)) {
            self.0.close();
        }
    }
}

/// Runs a workload under a policy, and hands out its events in batches of so many rows.
#[pyfunction]
pub(crate) fn events(
    py: Python<'_>,
    policy: PolicyAsk,
    workload: Workload,
    options: Vec<(String, String)>,
    rows: &str,
) -> PyResult<Streaming> {
    let rows = match rows.parse() {
        Ok(rows @ 1..=MOST_ROWS) => rows,
        _ => {
            let expected = format!("expected a whole number from 1 to {MOST_ROWS}");
            return Err(UsageError::new_err(format!("rows {rows}: {expected}")));
        }
    };
    let label = policy.label.clone();
    let (ready, told) = detached::run(py, move |_| {
        let (session, told) = ask::session();
        let ask = ask::ask(&policy, &options)?;
        let load = workload.load(&session)?;
        Ok((session.ready(&ask, load)?, told))
    })?;
    let (sender, receiver) = sync_channel(1);
    let (whole, stop) = (Whole::new(), Stop::default());
    let schema = whole.schema();
    let inner = Inner { schema, stop: stop.clone(), state: Mutex::new(State::Open(receiver)) };
    detached::spawn(move || {
        let of_run = sender.clone();
        let mut sink = Streamed { events: Builder::default(), rows, whole, sender: of_run, stop };
        let run = AssertUnwindSafe(|| measured(&ready, &mut sink));
        let said = match catch_unwind(run) {
            Ok(measured) => Said::Done(Box::new(
                measured.map(|measured| Run::new((label, ready), measured, None, told.lines())),
            )),
            Err(panic) => Said::Panicked(detached::words(panic.as_ref())),
        };
        // Nobody listens any more after close().
        let _ = sender.send(said);
    })?;
    Ok(Streaming(Arc::new(inner)))
}

fn measured(ready: &Ready, sink: &mut Streamed) -> Result<rota_sim::Measured, Error> {
    let simulation = ready.simulation(ready.config.seed)?;
    let watchers = Watchers { sinks: vec![&mut *sink], figures: None };
    let measured = simulation.measure(watchers);
    let measured = measured.map_err(|error| simulation::refused(&error, &ready.load))?;
    sink.send();
    Ok(measured)
}

/// Hands out what it gathers.
struct Streamed {
    events: Builder,
    rows: usize,
    whole: Whole,
    sender: SyncSender<Said>,
    stop: Stop,
}

impl Streamed {
    /// Waits until somebody takes it.
    fn send(&mut self) {
        let Some(batch) = self.events.take() else { return };
        if self.sender.send(Said::Batch(self.whole.batch(batch))).is_err() {
            self.stop.set();
        }
    }
}

impl Sink for Streamed {
    fn event(&mut self, event: &Event) {
        self.events.event(event);
        if self.events.rows() == self.rows {
            self.send();
        }
    }

    fn wants_detail(&self) -> bool {
        true
    }

    fn has_enough(&self) -> bool {
        self.stop.has_enough()
    }
}

#[pymethods]
impl Streaming {
    #[getter]
    fn column_names(&self) -> Vec<String> {
        Table::new(Arc::clone(&self.0.schema), Vec::new()).names()
    }

    /// The next batch; nothing at the end.
    fn next(&self, py: Python<'_>) -> PyResult<Option<Table>> {
        let taken = self.0.take().map_err(|error| exception(&error))?;
        let Some(mut receiver) = taken else { return Ok(None) };
        let said = loop {
            let waiting = &mut receiver;
            match py.detach(move || waiting.recv_timeout(detached::LOOK)) {
                Ok(said) => break said,
                Err(RecvTimeoutError::Timeout) => py.check_signals().inspect_err(|_| {
                    self.0.stop.set();
                    *self.0.state() = State::Closed;
                })?,
                Err(RecvTimeoutError::Disconnected) => {
                    break Said::Panicked("a run ended without a result".into())
                }
            }
        };
        let Some(batch) = self.0.heard(said).map_err(|error| exception(&error))? else {
            return Ok(None);
        };
        *self.0.state() = State::Open(receiver);
        Ok(Some(Table::new(Arc::clone(&self.0.schema), vec![batch])))
    }

    /// Ends the run.
    fn close(&self) {
        self.0.close();
    }

    /// The run, once all of its events were taken.
    fn run(&self) -> PyResult<Run> {
        match &*self.0.state() {
            State::Ended(run) => Ok(run.as_ref().clone()),
            State::Closed => Err(UsageError::new_err(
                "result: the run was left before its end, expected all of its events to be taken",
            )),
            State::Open(_) | State::Taken => Err(UsageError::new_err(
                "result: the run goes on, expected all of its events to be taken first",
            )),
        }
    }

    /// All that are left, as one stream.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // Who asks for other types casts what comes, as the interface says.
        drop(requested_schema);
        let receiver = self.0.take().map_err(|error| exception(&error))?;
        let reader = Batches { of: Arc::clone(&self.0), receiver };
        let reader: Box<dyn RecordBatchReader + Send> = Box::new(reader);
        PyCapsule::new(py, FFI_ArrowArrayStream::new(reader), Some(c"arrow_array_stream".into()))
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = arrow_schema::ffi::FFI_ArrowSchema::try_from(self.0.schema.as_ref());
        PyCapsule::new(py, schema.map_err(failed)?, Some(c"arrow_schema".into()))
    }
}

/// What other libraries read. They call it without Python's lock.
struct Batches {
    of: Arc<Inner>,
    /// Until the end.
    receiver: Option<Receiver<Said>>,
}

impl Iterator for Batches {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let receiver = self.receiver.take()?;
        let said = receiver.recv();
        let said = said.unwrap_or_else(|_| Said::Panicked("a run ended without a result".into()));
        let heard = self.of.heard(said);
        if let Ok(Some(_)) = heard {
            self.receiver = Some(receiver);
        }
        heard.map_err(|error| ArrowError::ExternalError(Box::new(error))).transpose()
    }
}

impl RecordBatchReader for Batches {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.of.schema)
    }
}

impl Drop for Batches {
    fn drop(&mut self) {
        if self.receiver.is_some() {
            self.of.stop.set();
            *self.of.state() = State::Closed;
        }
    }
}
