// SPDX-License-Identifier: MIT OR Apache-2.0
//! Does the runs of a sweep, several at the same time.

use crate::aim::Aims;
use crate::file::Sweep;
use crate::plan::Point;
use crate::source::Source;
use crate::stage::{self, Stage};
use crate::table::{Key, Row};
use crate::value::Value;
use rota_machine::kernel::Kernel;
use rota_session::{load, object, Ask, Error, Given, Load, MachineOptions, Session, Tell};
use rota_sim::Policy;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{channel, Sender};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// A run of a sweep: a point and a seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// Its place among the points.
    pub point: usize,
    /// The seed.
    pub seed: u64,
    /// Simulated time, if it is another than the sweep's.
    pub duration: Option<u64>,
}

/// What runs have in common that differ in their seeds alone: a point, and the time.
type Place = (usize, Option<u64>);

impl Cell {
    fn place(&self) -> Place {
        (self.point, self.duration)
    }
}

/// What became of some runs.
#[derive(Debug)]
pub struct Done {
    /// One for each run that is done, in the order of what was asked for.
    pub rows: Vec<Row>,
    /// It was stopped before all were done.
    pub stopped: bool,
}

/// Values of an axis that are tried before the runs begin.
const TRIED: usize = 64;

/// What all runs share.
pub struct Runs {
    pub(crate) sweep: Arc<Sweep>,
    pub(crate) session: Session,
    pub(crate) kernel: Kernel,
    /// Names and texts of the workload files.
    pub(crate) texts: Vec<(String, String)>,
    pub(crate) sources: Vec<Source>,
    /// A hash of each of them.
    pub(crate) objects: Vec<String>,
    pub(crate) loads: Mutex<VecDeque<(Loaded, Arc<Load>)>>,
    pub(crate) linked: Mutex<HashMap<(usize, String), Policy>>,
    points: Vec<Point>,
    given: Given,
    /// What runs ask for that the sweep says nothing of.
    pub(crate) base: Ask,
    counts: Arc<Counts>,
}

/// How many runs are done, and how many are asked for so far.
#[derive(Debug, Default)]
pub struct Counts {
    done: AtomicU64,
    all: AtomicU64,
}

impl Counts {
    /// The two numbers.
    pub fn position(&self) -> (u64, u64) {
        (self.done.load(Ordering::Relaxed), self.all.load(Ordering::Relaxed))
    }
}

/// A workload file, and values of its axes.
type Loaded = (usize, Vec<Value>);

/// A point whose runs are being done; it goes once the last of them is.
type Active = Mutex<HashMap<Place, (Arc<OnceLock<Option<Stage>>>, usize)>>;

impl Runs {
    /// Reads the files of a sweep. `tell` takes notes and warnings, each once.
    pub fn new(sweep: Arc<Sweep>, tell: Tell) -> Result<Self, Error> {
        Self::with(sweep, Ask::default(), tell)
    }

    /// The same with what a user asks for that no file can say.
    pub fn with(sweep: Arc<Sweep>, base: Ask, tell: Tell) -> Result<Self, Error> {
        let said = Mutex::new(BTreeSet::new());
        let session = Session::new(Box::new(move |line| {
            if said.lock().unwrap_or_else(PoisonError::into_inner).insert(line.to_owned()) {
                tell(line);
            }
        }));
        let release = sweep.run.kernel.as_deref().unwrap_or(&base.kernel);
        let kernel = object::kernel(release, base.btf.as_deref())?;
        let (mut texts, mut sources, mut objects) = (Vec::new(), Vec::new(), Vec::new());
        for workload in &sweep.workloads {
            let text = load::text(&workload.path);
            texts.push(text.map_err(|error| sweep.error(workload.line, error))?);
        }
        for policy in &sweep.policies {
            let (source, hash) = Source::find((&sweep, policy), &kernel, &base)?;
            sources.push(source);
            objects.push(hash);
        }
        let points = sweep.points()?;
        let mut runs = Self {
            sweep,
            session,
            kernel,
            texts,
            sources,
            objects,
            loads: Mutex::default(),
            linked: Mutex::default(),
            points,
            given: Given::default(),
            base,
            counts: Arc::default(),
        };
        runs.given = runs.check()?;
        Ok(runs)
    }

    /// Goes on with other seeds, and other values of the same tunables.
    pub fn replan(&mut self, sweep: Sweep) -> Result<(), Error> {
        self.points = sweep.points()?;
        self.sweep = Arc::new(sweep);
        Ok(())
    }

    /// What is swept over.
    pub fn sweep(&self) -> &Sweep {
        &self.sweep
    }

    /// The points, in order.
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// Every run, point by point.
    pub fn cells(&self) -> Vec<Cell> {
        let seeds = &self.sweep.seeds;
        let of = |point| seeds.iter().map(move |seed| Cell { point, seed: *seed, duration: None });
        (0..self.points.len()).flat_map(of).collect()
    }

    /// What a run's row is called: its workload, policy, values and seed.
    pub fn key(&self, cell: Cell) -> Key {
        let point = &self.points[cell.point];
        let policy = &self.sweep.policies[point.policy];
        let workload = self.sweep.workloads[point.workload].name.clone();
        let values = stage::axes(&self.sweep, point).into_iter();
        let values = values.map(|(name, value)| (name, value.canonical().to_string()));
        (workload, policy.label.clone(), values.collect(), cell.seed)
    }

    /// What identifies the runs of a point with these seeds, if they take this time.
    pub fn ids(
        &self,
        point: usize,
        duration: Option<u64>,
        seeds: &[u64],
    ) -> Result<Vec<String>, Error> {
        let stage = Stage::new(self, &self.points[point], duration)?;
        Ok(seeds.iter().map(|seed| stage.id(*seed)).collect())
    }

    /// How many runs are done, and how many are asked for so far.
    pub fn position(&self) -> (u64, u64) {
        self.counts.position()
    }

    /// The same, for who watches.
    pub fn counts(&self) -> Arc<Counts> {
        Arc::clone(&self.counts)
    }

    /// Refuses metrics that no run can have.
    pub(crate) fn check_aims(&self, aims: &Aims) -> Result<(), Error> {
        for of in &aims.objectives {
            let what = if of.maximised { "maximise" } else { "minimise" };
            let checked = self.given.check(&of.metrics);
            checked.map_err(|why| Error::input(format!("{what}: {why}")))?;
        }
        for of in &aims.constraints {
            let checked = self.given.check(&of.metrics);
            checked.map_err(|why| Error::input(format!("'{}': {why}", of.text)))?;
        }
        Ok(())
    }

    /// Tries the values of each axis by themselves: nobody wants to be told of a slip after an hour.
    /// What runs with them can have numbers of.
    fn check(&self) -> Result<Given, Error> {
        let mut given = Given::default();
        let mut add = |stage: Stage| stage.add_to(&mut given);
        for (policy, of) in self.sweep.policies.iter().zip(0..) {
            if of > 0 && policy.axes.is_empty() {
                continue;
            }
            let Source::Object(found) = &self.sources[of] else { continue };
            let linked = stage::linked(self, (of, found), &MachineOptions::default());
            let linked = linked.map_err(|error| self.sweep.error(policy.line, error))?;
            for axis in &policy.axes {
                for value in axis.values.some(TRIED) {
                    let mut policy = linked.policy.clone();
                    policy.set(&axis.name, &value.to_string()).map_err(|error| {
                        let label = &self.sweep.policies[of].label;
                        self.sweep.error(axis.line, format!("[set.{label}] {error}"))
                    })?;
                }
            }
        }
        for file in 0..self.sweep.workloads.len() {
            let first: Vec<Value> =
                self.sweep.workload.iter().filter_map(|a| a.values.some(1).pop()).collect();
            let firsts: Vec<Value> =
                self.sweep.machine.iter().filter_map(|a| a.values.some(1).pop()).collect();
            let point = |keys: Vec<Value>, machine: Vec<Value>| Point {
                workload: file,
                keys,
                machine,
                policy: 0,
                set: Vec::new(),
            };
            if file == 0 {
                self.try_programs(&point(first.clone(), firsts.clone()))?;
            }
            add(Stage::new(self, &point(first.clone(), firsts.clone()), None)?);
            for (at, axis) in self.sweep.workload.iter().enumerate() {
                for value in axis.values.some(TRIED) {
                    let mut keys = first.clone();
                    keys[at] = value;
                    add(Stage::new(self, &point(keys, firsts.clone()), None)?);
                }
            }
            for (at, axis) in self.sweep.machine.iter().enumerate() {
                for value in axis.values.some(TRIED) {
                    let mut machine = firsts.clone();
                    machine[at] = value;
                    add(Stage::new(self, &point(first.clone(), machine), None)?);
                }
            }
        }
        Ok(given)
    }

    /// Starts each program, with the first and the last value of each of its axes.
    fn try_programs(&self, on: &Point) -> Result<(), Error> {
        for (policy, of) in self.sweep.policies.iter().zip(0..) {
            if !matches!(self.sources[of], Source::Program(_)) {
                continue;
            }
            let firsts = policy.axes.iter().filter_map(|axis| axis.values.some(1).pop());
            let firsts: Vec<Value> = firsts.collect();
            let mut tried = vec![firsts.clone()];
            for (at, axis) in policy.axes.iter().enumerate() {
                tried.extend(axis.values.some(2).into_iter().skip(1).map(|last| {
                    let mut set = firsts.clone();
                    set[at] = last;
                    set
                }));
            }
            for set in tried {
                Stage::new(self, &Point { policy: of, set, ..on.clone() }, None)?.start(self)?;
            }
        }
        Ok(())
    }

    /// Does runs that are not among the `earlier` ones, on so many threads, and hands each one to
    /// `keep` as soon as it is done. Once `stop` is set, no more is begun.
    pub fn run(
        &self,
        cells: &[Cell],
        earlier: &HashMap<String, Row>,
        (threads, stop): (usize, &AtomicBool),
        keep: &mut dyn FnMut(&Row) -> Result<(), Error>,
    ) -> Result<Done, Error> {
        self.counts.all.fetch_add(cells.len() as u64, Ordering::Relaxed);
        let (active, next) = (Active::default(), AtomicUsize::new(0));
        let mut left: HashMap<Place, usize> = HashMap::new();
        cells.iter().for_each(|cell| *left.entry(cell.place()).or_default() += 1);
        let mut rows: Vec<Option<Row>> = cells.iter().map(|_| None).collect();
        let mut failed = None;
        // Set by whatever ends it, also within.
        let end = AtomicBool::new(false);
        let (sender, finished) = channel();
        std::thread::scope(|scope| {
            for _ in 0..threads.min(cells.len()) {
                let work = Work { runs: self, cells, earlier, left: &left, active: &active };
                let (sender, next, end) = (sender.clone(), &next, &end);
                scope.spawn(move || work.go_on(next, (stop, end), &sender));
            }
            drop(sender);
            while let Ok((at, result)) = finished.recv() {
                let kept = result.and_then(|(row, is_new): (Row, bool)| {
                    if is_new {
                        keep(&row)?;
                    }
                    Ok(row)
                });
                match kept {
                    Ok(row) => rows[at] = Some(row),
                    Err(error) => {
                        end.store(true, Ordering::Relaxed);
                        failed.get_or_insert(error);
                    }
                }
            }
        });
        if let Some(error) = failed {
            return Err(error);
        }
        let stopped = rows.iter().any(Option::is_none);
        Ok(Done { rows: rows.into_iter().flatten().collect(), stopped })
    }
}

/// What the threads share.
struct Work<'a> {
    runs: &'a Runs,
    cells: &'a [Cell],
    earlier: &'a HashMap<String, Row>,
    left: &'a HashMap<Place, usize>,
    active: &'a Active,
}

/// A run that is done, and whether it was done just now.
type Finished = (usize, Result<(Row, bool), Error>);

impl Work<'_> {
    fn go_on(
        &self,
        next: &AtomicUsize,
        (stop, end): (&AtomicBool, &AtomicBool),
        to: &Sender<Finished>,
    ) {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let ended = || stop.load(Ordering::Relaxed) || end.load(Ordering::Relaxed);
            let Some(cell) = self.cells.get(at).filter(|_| !ended()) else { return };
            let result = match self.one(*cell, stop) {
                Ok(Some(row)) => Ok(row),
                Ok(None) => return,
                Err(error) => Err(error),
            };
            self.runs.counts.done.fetch_add(1, Ordering::Relaxed);
            if to.send((at, result)).is_err() {
                return;
            }
        }
    }

    fn one(&self, cell: Cell, stop: &AtomicBool) -> Result<Option<(Row, bool)>, Error> {
        let lock = || self.active.lock().unwrap_or_else(PoisonError::into_inner);
        let stage = {
            let mut active = lock();
            let left = self.left.get(&cell.place()).copied().unwrap_or(1);
            Arc::clone(&active.entry(cell.place()).or_insert_with(|| (Arc::default(), left)).0)
        };
        let mut failed = None;
        let ready = stage.get_or_init(|| {
            let made = Stage::new(self.runs, &self.runs.points[cell.point], cell.duration);
            made.map_err(|error| failed = Some(error)).ok()
        });
        if let Some(error) = failed {
            return Err(error);
        }
        // Another thread has told why.
        let Some(ready) = ready else { return Ok(None) };
        let id = ready.id(cell.seed);
        let row = match self.earlier.get(&id) {
            Some(earlier) => Some((ready.of_earlier(&id, cell.seed, earlier), false)),
            None => ready.run(self.runs, (id, cell.seed), stop)?.map(|row| (row, true)),
        };
        let mut active = lock();
        if let Some((_, left)) = active.get_mut(&cell.place()) {
            *left -= 1;
            if *left == 0 {
                active.remove(&cell.place());
            }
        }
        Ok(row)
    }
}
