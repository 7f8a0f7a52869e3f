// SPDX-License-Identifier: MIT OR Apache-2.0
//! A point of a sweep, ready to run: the workload with its values, the machine, the policy.

use crate::axis::Axis;
use crate::file::Sweep;
use crate::machine;
use crate::plan::Point;
use crate::runs::Runs;
use crate::source::Source;
use crate::table::{Row, OF_MACHINE, OF_SET, OF_WORKLOAD};
use crate::value::Value;
use rota_machine::config::Config;
use rota_measure::catalogue;
use rota_session::load::hex;
use rota_session::object::{Found, Named};
use rota_session::subject::{self, ProgramOf};
use rota_session::{load, nearest, Ask, Error, Given, Load, MachineOptions, Subject};
use rota_sim::Watchers;
use rota_trace::{Event, Sink};
use rota_workload::{with_value, PathError};
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, PoisonError};

/// Workloads that are kept, as the next points need them, too.
const KEPT_LOADS: usize = 64;

/// What identifies runs: the version, and a hash of the source of all that decides about a run, by
/// which builds during development are told apart. The command line and Python have the same.
pub(crate) const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "+", env!("ROTA_SOURCE"));

/// A point, and all that is known of its runs before they begin.
pub(crate) struct Stage {
    ask: Ask,
    load: Arc<Load>,
    on: MachineOptions,
    config: Config,
    policy: usize,
    /// Of everything but the seed.
    inputs: Sha256,
    /// What the rows of its runs have in common.
    row: Row,
    ready: OnceLock<Result<Subject, String>>,
}

/// Ends a run once it is wanted.
struct Ends<'a>(&'a AtomicBool);

impl Sink for Ends<'_> {
    fn event(&mut self, _: &Event) {}

    fn wants_events(&self) -> bool {
        false
    }

    fn has_enough(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl Stage {
    /// Of a point; runs take the sweep's time, or this one.
    pub(crate) fn new(runs: &Runs, point: &Point, duration: Option<u64>) -> Result<Self, Error> {
        let sweep = runs.sweep();
        let policy = &sweep.policies[point.policy];
        let load = workload(runs, point.workload, &point.keys)?;
        let (run, base) = (&sweep.run, &runs.base);
        let on = &base.machine;
        let mut ask = Ask {
            policy: policy.policy.clone(),
            set: policy.settings(&point.set),
            manifest: policy.manifest.clone(),
            kernel: run.kernel.as_ref().unwrap_or(&base.kernel).clone(),
            cpus: run.cpus.or(base.cpus),
            no_autogroup: run.no_autogroup || base.no_autogroup,
            machine: MachineOptions {
                machine: run.machine.as_ref().or(on.machine.as_ref()).cloned(),
                topology: run.topology.as_ref().or(on.topology.as_ref()).cloned(),
                duration: duration.or(run.duration).or(on.duration),
                warmup: run.warmup.or(on.warmup),
                hz: run.hz.or(on.hz),
                ideal: run.ideal || on.ideal,
                ..on.clone()
            },
            ..base.clone()
        };
        machine::apply(sweep, &runs.session, &load, &point.machine, &mut ask)?;
        let described = runs.session.machine_and_run(&ask, &load);
        let (on, mut config) = described.map_err(|error| machine::located(sweep, error))?;
        config.seed = 0;
        let mut inputs = Sha256::new();
        let mut add = |part: &str| {
            inputs.update((part.len() as u64).to_le_bytes());
            inputs.update(part);
        };
        add(VERSION);
        add(&runs.objects[point.policy]);
        ask.set.iter().for_each(|(name, value)| {
            add(name);
            add(value);
        });
        add(&load.inputs);
        add(&ask.kernel);
        add(&format!("{:?} {:?}", runs.session.settings(&on)?, ask.no_autogroup));
        add(&format!("{config:?}"));
        let row = Row {
            run: String::new(),
            rota: VERSION.to_owned(),
            workload: sweep.workloads[point.workload].name.clone(),
            policy: policy.label.clone(),
            axes: axes(sweep, point),
            cpus: config.topology.cpus(),
            seed: 0,
            duration_ns: config.duration_ns,
            end_ns: 0,
            exit: String::new(),
            ejected: false,
            metrics: BTreeMap::new(),
        };
        let ready = OnceLock::new();
        Ok(Self { ask, load, on, config, policy: point.policy, inputs, row, ready })
    }

    /// Its runs are among those that are looked at.
    pub(crate) fn add_to(&self, given: &mut Given) {
        given.add(&self.load.workload, &self.config);
    }

    /// What identifies the run with a seed.
    pub(crate) fn id(&self, seed: u64) -> String {
        let mut inputs = self.inputs.clone();
        inputs.update(seed.to_le_bytes());
        hex(inputs)[..32].to_owned()
    }

    /// The row of a run that was done earlier, perhaps by another name.
    pub(crate) fn of_earlier(&self, run: &str, seed: u64, earlier: &Row) -> Row {
        Row {
            run: run.to_owned(),
            seed,
            end_ns: earlier.end_ns,
            exit: earlier.exit.clone(),
            ejected: earlier.ejected,
            metrics: earlier.metrics.clone(),
            ..self.row.clone()
        }
    }

    /// Does the run with a seed, which is identified by `id`; `None`: it was stopped.
    pub(crate) fn run(
        &self,
        runs: &Runs,
        (id, seed): (String, u64),
        stop: &AtomicBool,
    ) -> Result<Option<Row>, Error> {
        let ready = self.ready.get_or_init(|| self.prepare(runs).map_err(|e| e.to_string()));
        let ready = ready.as_ref().map_err(|why| {
            let what = self.ask.set.iter().map(|(name, value)| format!(":{name}={value}"));
            let what: String = what.collect();
            Error::input(format!("{}{what}: {why}", self.row.policy))
        })?;
        let mut ends = Ends(stop);
        let watchers = Watchers { sinks: vec![&mut ends], figures: None };
        let finished = ready.measure((&self.config, &self.load), seed, watchers)?;
        if finished.outcome.is_cut {
            return Ok(None);
        }
        let exit = &finished.outcome.exit;
        let left = subject::left(&finished);
        let (ejected, why) = (left.is_some(), left.unwrap_or_else(|| exit.to_string()));
        let cpus = self.row.cpus;
        let run = catalogue::Run { numbers: &finished.numbers, requests: &finished.requests, cpus };
        let value = |measure: &catalogue::Measure| {
            let value = measure.of(run).filter(|value| value.is_finite())?;
            Some((Cow::Borrowed(measure.key), value))
        };
        // Numbers of a part of a run are no numbers of it.
        let known = if ejected { &[] } else { catalogue::measures() };
        Ok(Some(Row {
            run: id,
            seed,
            end_ns: finished.outcome.end_ns,
            exit: why,
            ejected,
            metrics: known.iter().filter_map(value).collect(),
            ..self.row.clone()
        }))
    }

    fn prepare(&self, runs: &Runs) -> Result<Subject, Error> {
        let found = match &runs.sources[self.policy] {
            Source::Object(found) => found,
            Source::Program(program) => {
                let kernel = runs.kernel.clone().with_settings(&runs.session.settings(&self.on)?);
                let program =
                    ProgramOf::new(program.with(&self.ask.set), &self.ask, kernel, &self.on);
                return Ok(Subject::Program(Box::new(program)));
            }
        };
        let named = linked(runs, (self.policy, found), &self.on)?;
        let (load, on) = ((*self.load).clone(), (&self.on, self.config.clone()));
        let ready = runs.session.ready_of(&self.ask, load, named, on)?;
        Ok(Subject::Object(Box::new(ready)))
    }

    /// Has its program, if it is one, set up its scheduler, and no more.
    pub(crate) fn start(&self, runs: &Runs) -> Result<(), Error> {
        match self.prepare(runs)? {
            Subject::Object(_) => Ok(()),
            Subject::Program(program) => program.start(&self.config, &self.load).map(drop),
        }
    }
}

/// The values of a point by the names of their columns.
pub(crate) fn axes(sweep: &Sweep, point: &Point) -> BTreeMap<String, Value> {
    let of = |kind: &'static str, axes: &[Axis], values: &[Value]| {
        let values = axes.iter().zip(values);
        values
            .map(|(axis, value)| (format!("{kind}{}", axis.name), value.clone()))
            .collect::<Vec<_>>()
    };
    let mut all = of(OF_WORKLOAD, &sweep.workload, &point.keys);
    all.extend(of(OF_MACHINE, &sweep.machine, &point.machine));
    all.extend(of(OF_SET, &sweep.policies[point.policy].axes, &point.set));
    all.into_iter().collect()
}

/// A policy, linked once for each kind of kernel.
pub(crate) fn linked(
    runs: &Runs,
    (policy, found): (usize, &Found),
    on: &MachineOptions,
) -> Result<Named, Error> {
    let settings = runs.session.settings(on)?;
    let key = (policy, format!("{settings:?}"));
    let mut known = runs.linked.lock().unwrap_or_else(PoisonError::into_inner);
    let policy = match known.get(&key) {
        Some(policy) => policy.clone(),
        None => {
            let kernel = runs.kernel.clone().with_settings(&settings);
            let policy = found.clone().simulate(&kernel)?.policy;
            known.entry(key).or_insert(policy).clone()
        }
    };
    Ok(Named { name: found.name.clone(), source: found.source.clone(), policy })
}

/// A workload file with values of its axes.
pub(crate) fn workload(runs: &Runs, file: usize, keys: &[Value]) -> Result<Arc<Load>, Error> {
    let key = (file, keys.to_vec());
    let known = || runs.loads.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, load)) = known().iter().find(|(own, _)| *own == key) {
        return Ok(Arc::clone(load));
    }
    let (sweep, (name, text)) = (runs.sweep(), &runs.texts[file]);
    let mut text = text.clone();
    for (axis, value) in sweep.workload.iter().zip(keys) {
        text = with_value(&text, &axis.name, &value.json()).map_err(|error| {
            let hint = match &error {
                PathError::Unknown { name, known, .. } => {
                    let known: Vec<&str> = known.iter().map(String::as_str).collect();
                    nearest::hint(name, &known)
                }
                _ => String::new(),
            };
            sweep.error(axis.line, format!("[workload] {}: {name}: {error}{hint}", axis.name))
        })?;
    }
    let beside = sweep.workloads[file].path.parent().unwrap_or(Path::new(""));
    let load = load::Load::parse(name.clone(), &text, beside);
    let load = Arc::new(load.map_err(|error| {
        let set = sweep.workload.iter().zip(keys);
        let set = set.map(|(axis, value)| format!(" {} = {value}", axis.name));
        match set.collect::<Vec<_>>().join(",") {
            none if none.is_empty() => error,
            set => Error::input(format!("{error} (with{set} of {})", sweep.file.display())),
        }
    })?);
    runs.session.warn_of(&load);
    let mut known = known();
    if known.len() == KEPT_LOADS {
        known.pop_front();
    }
    known.push_back((key, Arc::clone(&load)));
    Ok(load)
}
