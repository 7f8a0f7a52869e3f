// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs settings of a policy, several at the same time.

use super::TuneArgs;
use crate::error::Error;
use crate::load::Load;
use crate::object::{self, Found};
use crate::own_machine;
use crate::progress::Clock;
use crate::simulation;
use crate::stop::Stop;
use rota_machine::config::Config;
use rota_machine::kernel::Kernel;
use rota_manifest::Setup;
use rota_measure::catalogue::{Measure, Run};
use rota_sim::{Policy, Watchers};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::Mutex;

/// What all runs share.
pub(super) struct Runs<'a> {
    args: &'a TuneArgs,
    load: Load,
    found: Found,
    kernel: Kernel,
    config: Config,
    measure: &'static Measure,
    threads: usize,
    stop: Stop,
    /// Done, and known of.
    pub(super) progress: (AtomicU64, AtomicU64),
}

impl<'a> Runs<'a> {
    pub(super) fn new(
        args: &'a TuneArgs,
        measure: &'static Measure,
        threads: usize,
        stop: Stop,
    ) -> Result<Self, Error> {
        let path: &PathBuf = &args.workload;
        let load = simulation::load(path)?;
        let on = own_machine::options(&args.machine, args.cpus.as_slice(), &load)?;
        let config = simulation::config(&on, args.cpus.unwrap_or(simulation::CPUS), &load)?;
        let kernel = simulation::kernel(&args.object, &on)?;
        let found = object::find(&args.policy, args.object.compiler(&kernel))?;
        let progress = (AtomicU64::new(0), AtomicU64::new(0));
        Ok(Self { args, load, found, kernel, config, measure, threads, stop, progress })
    }

    /// The policy's name and the file.
    pub(super) fn names(&self) -> (&str, &str) {
        (&self.found.name, &self.load.file)
    }

    /// The policy with some settings; none: as it ships.
    fn policy(&self, set: &[(String, String)]) -> Result<Policy, Error> {
        let mut policy = self.found.clone().simulate(&self.kernel)?.policy;
        object::choose(&mut policy, &self.args.object)?;
        let set: Vec<(String, String)> = self.args.set.iter().chain(set).cloned().collect();
        policy.prepare(&Setup::default(), &set)?;
        simulation::run_by(&mut policy, &self.args.machine)?;
        Ok(policy)
    }

    /// Whether the user wants no more.
    pub(super) fn is_stopped(&self) -> bool {
        self.stop.wanted()
    }

    /// A value of each setting for each of the seeds, counted from the first; fewer once it is
    /// stopped.
    pub(super) fn all(
        &self,
        settings: &[Vec<(String, String)>],
        seeds: Range<usize>,
    ) -> Result<Vec<Vec<Option<f64>>>, Error> {
        let policies =
            settings.iter().map(|set| self.policy(set)).collect::<Result<Vec<_>, _>>()?;
        let cells: Vec<(usize, usize)> =
            (0..policies.len()).flat_map(|at| seeds.clone().map(move |seed| (at, seed))).collect();
        self.progress.1.fetch_add(cells.len() as u64, Ordering::Relaxed);
        let next = AtomicUsize::new(0);
        let done: Mutex<Vec<Option<Option<f64>>>> = Mutex::new(vec![None; cells.len()]);
        let failed: Mutex<Option<Error>> = Mutex::new(None);
        std::thread::scope(|scope| {
            for _ in 0..self.threads.min(cells.len()) {
                scope.spawn(|| loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let cell = cells.get(at).filter(|_| !self.is_stopped());
                    let Some((policy, seed)) = cell else { return };
                    match self.one(&policies[*policy], *seed) {
                        Ok(value) => {
                            if let Ok(mut done) = done.lock() {
                                done[at] = value;
                            }
                        }
                        Err(error) => {
                            next.store(cells.len(), Ordering::Relaxed);
                            if let Ok(mut failed) = failed.lock() {
                                failed.get_or_insert(error);
                            }
                        }
                    }
                    self.progress.0.fetch_add(1, Ordering::Relaxed);
                });
            }
        });
        if let Some(error) = failed.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner()) {
            return Err(error);
        }
        let done = done.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
        // Up to the first seed that is missing, as a stop leaves it.
        let until = |of: &[Option<Option<f64>>]| of.iter().map_while(|value| *value).collect();
        Ok(done.chunks(seeds.len().max(1)).map(until).collect())
    }

    /// `None`: it was stopped; no number in it: the run has none, or the policy was ejected.
    fn one(&self, policy: &Policy, seed: usize) -> Result<Option<Option<f64>>, Error> {
        let mut config = self.config.clone();
        config.seed = self.args.machine.seed.wrapping_add(seed as u64);
        let simulation = simulation::of(policy, &self.load, config, false, false)?;
        let clock = Clock::stopped_by(&self.stop);
        let finished = simulation::run(simulation, None, Watchers::default(), &clock)
            .map_err(|error| simulation::refused(&error, &self.load))?;
        if finished.outcome.is_cut {
            return Ok(None);
        }
        if finished.outcome.exit.kind.is_error() {
            return Ok(Some(None));
        }
        let requests = &finished.requests;
        let run = Run { numbers: &finished.numbers, requests, cpus: self.config.topology.cpus() };
        Ok(Some(self.measure.of(run)))
    }
}
