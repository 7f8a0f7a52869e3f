// SPDX-License-Identifier: MIT OR Apache-2.0
//! A sweep, here or in parts elsewhere: who has the sweep hands out points with seeds, and takes the
//! rows of their runs.

use crate::ask::{self, Told};
use crate::detached;
use crate::errors::exception;
use crate::swept::Swept;
use pyo3::prelude::*;
use rota_session::{values, Error};
use rota_sweep::{Aims, Cell, Output, Rounds, Row, Runs, Sweep, Table};
use std::collections::{BTreeMap, HashMap};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::available_parallelism;

/// What is asked for.
#[derive(Clone, Debug, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct SweepAsk {
    /// A file's path, or what messages call a text: paths in it are seen from its folder.
    file: String,
    /// JSON in place of the file.
    text: Option<String>,
    minimise: Vec<String>,
    maximise: Vec<String>,
    subject_to: Vec<String>,
    baseline: Option<String>,
}

/// A point, its time if that is another than the sweep's, and seeds to run it with.
type Unit = (usize, Option<u64>, Vec<u64>);

/// A sweep and what is done of it.
#[pyclass(frozen, module = "rota._rota")]
pub(crate) struct Sweeping(Arc<Inner>);

struct Inner {
    runs: Runs,
    aims: Aims,
    baseline: Option<String>,
    told: Told,
    state: Mutex<State>,
}

struct State {
    rounds: Rounds,
    known: HashMap<String, Row>,
    output: Option<Output>,
    /// Runs of this round that are elsewhere: what identifies each, and its row once it came back.
    wanted: BTreeMap<(usize, u64), Wanted>,
    new: usize,
    is_done: bool,
}

/// A run that is elsewhere.
struct Wanted {
    duration: Option<u64>,
    id: String,
    row: Option<Row>,
}

impl SweepAsk {
    fn read(&self) -> Result<Sweep, Error> {
        let (name, file) = (&self.file, Path::new(&self.file));
        let Some(text) = &self.text else { return Sweep::read(file) };
        let refused =
            |why: String| Error::input(format!("{name}: {why}: expected what TOML holds"));
        let given: toml::Value = serde_json::from_str(text).map_err(|e| refused(e.to_string()))?;
        let text = toml::to_string(&given).map_err(|e| refused(e.to_string()))?;
        Sweep::parse(file, &text)
    }

    fn aims(&self, sweep: &Sweep) -> Result<Aims, Error> {
        let is_asked = !self.minimise.is_empty() || !self.maximise.is_empty();
        let (minimise, maximise) = match is_asked {
            true => (&self.minimise, &self.maximise),
            false => (&sweep.aims.minimise, &sweep.aims.maximise),
        };
        let conditions = match self.subject_to.is_empty() {
            true => &sweep.aims.subject_to,
            false => &self.subject_to,
        };
        Aims::parse(minimise, maximise, conditions)
    }
}

/// Reads a sweep and all that it names. `files`: the dataset to write, and others whose runs are not
/// done again.
#[pyfunction]
pub(crate) fn sweeping(
    py: Python<'_>,
    ask: SweepAsk,
    files: (Option<String>, Vec<String>),
) -> PyResult<Sweeping> {
    detached::run(py, move |_| {
        let sweep = Arc::new(ask.read()?);
        let aims = ask.aims(&sweep)?;
        let own = sweep.baseline.map(|at| sweep.policies[at].label.clone());
        let baseline = ask.baseline.or(own);
        let (tell, told) = ask::told();
        let runs = Runs::new(sweep, tell)?;
        let rounds = Rounds::new(&runs, &aims, baseline.as_deref())?;
        let mut known = HashMap::new();
        for file in &files.1 {
            rota_sweep::add(&mut known, rota_sweep::dataset(Path::new(file))?.rows());
        }
        let open = |path: String| -> Result<Output, Error> {
            let path = PathBuf::from(path);
            Ok(Output::open(&path, &runs, &runs.cells(), &mut known)?.0)
        };
        let output = files.0.map(open).transpose()?;
        let (wanted, new, is_done) = (BTreeMap::new(), 0, false);
        let state = Mutex::new(State { rounds, known, output, wanted, new, is_done });
        Ok(Sweeping(Arc::new(Inner { runs, aims, baseline, told, state })))
    })
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn judged(&self) -> (&Aims, Option<&str>) {
        (&self.aims, self.baseline.as_deref())
    }

    /// Does all that is missing.
    fn run(&self, jobs: usize, stop: &AtomicBool) -> Result<(), Error> {
        let mut state = self.state();
        let State { rounds, known, output, new, is_done, .. } = &mut *state;
        while !*is_done {
            let mut keep = |row: &Row| {
                *new += 1;
                output.as_mut().map_or(Ok(()), |output| output.keep(row))
            };
            let cells = rounds.cells(&self.runs);
            let done = self.runs.run(&cells, known, (jobs, stop), &mut keep)?;
            if done.stopped {
                return Err(Error::Failure("interrupted".into()));
            }
            *is_done = !rounds.end(&self.runs, self.judged(), done.rows)?;
        }
        Ok(())
    }

    /// The points of this round with seeds that are to be run; of a round that has none, the next.
    fn units(&self, stop: &AtomicBool) -> Result<Vec<Unit>, Error> {
        let mut state = self.state();
        let State { rounds, known, wanted, is_done, .. } = &mut *state;
        while !*is_done {
            if wanted.is_empty() {
                let mut seeds: BTreeMap<(usize, Option<u64>), Vec<u64>> = BTreeMap::new();
                for cell in rounds.cells(&self.runs) {
                    seeds.entry((cell.point, cell.duration)).or_default().push(cell.seed);
                }
                for ((point, duration), seeds) in seeds {
                    let ids = self.runs.ids(point, duration, &seeds)?;
                    let ids = seeds.iter().zip(ids);
                    wanted.extend(
                        ids.map(|(seed, id)| ((point, *seed), Wanted { duration, id, row: None })),
                    );
                }
                let known_ones = wanted.iter().filter(|(_, of)| known.contains_key(&of.id));
                let cell = |(place, of): (&(usize, u64), &Wanted)| {
                    let (point, seed) = *place;
                    Cell { point, seed, duration: of.duration }
                };
                let cells: Vec<Cell> = known_ones.map(cell).collect();
                // None of these is run again: their rows get the names that they have in this sweep.
                let done = self.runs.run(&cells, known, (1, stop), &mut |_| Ok(()))?;
                for (cell, row) in cells.iter().zip(done.rows) {
                    if let Some(of) = wanted.get_mut(&(cell.point, cell.seed)) {
                        of.row = Some(row);
                    }
                }
            }
            let mut units: BTreeMap<(usize, Option<u64>), Vec<u64>> = BTreeMap::new();
            for ((point, seed), of) in wanted.iter().filter(|(_, of)| of.row.is_none()) {
                units.entry((*point, of.duration)).or_default().push(*seed);
            }
            if !units.is_empty() {
                let unit = |((point, duration), seeds)| (point, duration, seeds);
                return Ok(units.into_iter().map(unit).collect());
            }
            let rows = std::mem::take(wanted).into_values().filter_map(|of| of.row);
            *is_done = !rounds.end(&self.runs, self.judged(), rows.collect())?;
        }
        Ok(Vec::new())
    }

    /// Does the runs of a unit for another process: rows as JSON.
    fn work(
        &self,
        (point, duration, seeds): &Unit,
        stop: &AtomicBool,
    ) -> Result<Vec<String>, Error> {
        let is_there = *point < self.runs.points().len();
        if !is_there {
            return Err(Error::Failure(format!("point {point}: the sweep has fewer")));
        }
        let cell = |seed: &u64| Cell { point: *point, seed: *seed, duration: *duration };
        let cells: Vec<Cell> = seeds.iter().map(cell).collect();
        let done = self.runs.run(&cells, &HashMap::new(), (1, stop), &mut |_| Ok(()))?;
        if done.stopped {
            return Err(Error::Failure("interrupted".into()));
        }
        let text =
            |row: &Row| serde_json::to_string(row).map_err(|e| Error::Failure(e.to_string()));
        done.rows.iter().map(text).collect()
    }

    /// Takes the rows of a unit.
    fn take(&self, point: usize, rows: &[String]) -> Result<(), Error> {
        let mut state = self.state();
        let State { wanted, output, new, .. } = &mut *state;
        for text in rows {
            let row: Row = serde_json::from_str(text)
                .map_err(|e| Error::Failure(format!("a worker's row: {e}")))?;
            let Some(asked) = wanted.get_mut(&(point, row.seed)) else {
                return Err(Error::Failure(format!("a worker ran seed {}, unasked", row.seed)));
            };
            if asked.id != row.run {
                return Err(Error::Failure(format!(
                    "a worker with rota {} ran {}, {} as something else than here: expected the same \
                     package rota, and the same files at the same paths, as where the sweep was begun",
                    row.rota, row.workload, row.policy
                )));
            }
            if asked.row.is_none() {
                *new += 1;
                if let Some(output) = output {
                    output.keep(&row)?;
                }
                asked.row = Some(row);
            }
        }
        Ok(())
    }

    /// What was found.
    fn found(&self) -> Result<Swept, Error> {
        let mut state = self.state();
        if !state.is_done {
            return Err(Error::Failure("the sweep is not done".into()));
        }
        let table = Table::new(state.rounds.rows().to_vec());
        if let Some(output) = state.output.take() {
            Swept::write_to(&table, &output.path)?;
            output.remove_part();
        }
        let judged = match self.aims.objectives.is_empty() {
            true => None,
            false => Some(rota_sweep::Swept::new(&table, &self.aims, self.baseline.as_deref())?),
        };
        Ok(Swept { table, judged, new: state.new, told: self.told.lines() })
    }
}

#[pymethods]
impl Sweeping {
    /// How many runs are asked for in all.
    #[getter]
    fn runs(&self) -> usize {
        self.0.runs.cells().len()
    }

    /// Does all of it here.
    fn run(&self, py: Python<'_>, jobs: Option<String>) -> PyResult<()> {
        let inner = Arc::clone(&self.0);
        detached::run(py, move |stop| {
            let jobs = match &jobs {
                Some(text) => {
                    values::jobs(text).map_err(|why| Error::input(format!("jobs {text}: {why}")))?
                }
                None => available_parallelism().unwrap_or(NonZero::<usize>::MIN),
            };
            inner.run(jobs.get(), stop.flag())
        })
    }

    /// What to have run next, elsewhere; nothing once all is done.
    fn units(&self, py: Python<'_>) -> PyResult<Vec<Unit>> {
        let inner = Arc::clone(&self.0);
        detached::run(py, move |stop| inner.units(stop.flag()))
    }

    /// Does the runs of a unit.
    fn work(
        &self,
        py: Python<'_>,
        point: usize,
        duration: Option<u64>,
        seeds: Vec<u64>,
    ) -> PyResult<Vec<String>> {
        let inner = Arc::clone(&self.0);
        detached::run(py, move |stop| inner.work(&(point, duration, seeds), stop.flag()))
    }

    /// Takes what `work` returned.
    fn take(&self, point: usize, rows: Vec<String>) -> PyResult<()> {
        self.0.take(point, &rows).map_err(|error| exception(&error))
    }

    /// Lets go of the dataset: another sweep may go on with it.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let inner = Arc::clone(&self.0);
        detached::run(py, move |_| {
            inner.state().output = None;
            Ok(())
        })
    }

    /// Writes the dataset, and judges the settings.
    fn found(&self, py: Python<'_>) -> PyResult<Swept> {
        let inner = Arc::clone(&self.0);
        detached::run(py, move |_| inner.found())
    }
}

/// Reads a dataset, and judges its settings.
#[pyfunction]
pub(crate) fn swept(py: Python<'_>, ask: SweepAsk) -> PyResult<Swept> {
    detached::run(py, move |_| {
        let table = rota_sweep::dataset(Path::new(&ask.file))?;
        let aims = Aims::parse(&ask.minimise, &ask.maximise, &ask.subject_to)?;
        let judged = match aims.objectives.is_empty() {
            true => None,
            false => Some(rota_sweep::Swept::new(&table, &aims, ask.baseline.as_deref())?),
        };
        Ok(Swept { table, judged, new: 0, told: Vec::new() })
    })
}
