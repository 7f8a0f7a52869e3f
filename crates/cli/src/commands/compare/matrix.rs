// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is compared: every policy on every workload and machine with every seed.

use super::policies::{self, Chosen};
use super::CompareArgs;
use crate::comparison::{self as compared, Baseline, Column, Comparison, Policy, ProgramOf, Run};
use crate::error::Error;
use crate::label;
use crate::load::{hex, Load};
use crate::machine;
use crate::object::{self, Found};
use crate::output::messages;
use crate::own_machine;
use crate::prepare;
use crate::program::Installed;
use crate::simulation;
use rota_machine::config::Config;
use rota_machine::kernel::Kernel;
use rota_manifest::Setup;
use rota_measure::catalogue;
use rota_session::{Given, Wanted};
use rota_workload::Group;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// All runs that are to be done.
#[derive(Clone)]
pub(crate) struct Matrix {
    /// Workloads on machines, in the order of the output.
    pub(crate) stages: Vec<Stage>,
    pub(crate) policies: Vec<Policy>,
    pub(crate) baseline: Option<Baseline>,
    pub(crate) seeds: Vec<u64>,
    /// Of the fair class; policies have it among their settings.
    pub(crate) no_autogroup: bool,
}

/// A workload on a machine.
#[derive(Clone)]
pub(crate) struct Stage {
    pub(crate) load: Arc<Load>,
    /// With the first seed.
    pub(crate) config: Config,
    /// The machine's name, unless it is described by options.
    pub(crate) machine: Option<String>,
    /// Each policy's object, prepared for this machine.
    pub(crate) objects: Arc<Vec<Prepared>>,
}

/// An object that is ready to run.
pub(crate) struct Prepared {
    pub(crate) policy: rota_sim::Policy,
    pub(crate) setup: Setup,
    /// Started anew for each run, it brings the policy; the one here says what that is like.
    pub(crate) program: Option<Installed>,
}

/// What a policy is made from.
enum Source {
    Object(Found),
    Program(Installed),
}

/// One run of the matrix: places in its lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cell {
    pub(crate) stage: usize,
    pub(crate) policy: usize,
    pub(crate) seed: usize,
}

impl Matrix {
    pub(crate) fn new(args: &CompareArgs) -> Result<Self, Error> {
        let Chosen { workloads: files, policies: mut wanted, baseline } =
            policies::sort_out(&args.items, &args.policies, args.all, &baseline_of(args))?;
        let kernel = object::kernel(&args.object)?;
        let (of_program, mut found) = (args.of_program.options(), Vec::new());
        for policy in &wanted {
            found.push(match policy.is_program {
                true => Source::Program(Installed::parse(&policy.policy, &of_program)?),
                false => {
                    Source::Object(object::find(&policy.policy, args.object.compiler(&kernel))?)
                }
            });
        }
        let has_program = found.iter().any(|source| matches!(source, Source::Program(_)));
        if let Some(option) = args.of_program.given().filter(|_| !has_program) {
            let what = "expected a program among the policies, as 'scx_simple -f'";
            return Err(Error::input(format!("{option}: {what}")));
        }
        if args.no_autogroup {
            for (wanted, found) in wanted.iter_mut().zip(&found) {
                let Source::Object(found) = found else { continue };
                let policy = found.clone().simulate(&kernel)?.policy;
                let named = (found.name.as_str(), policy.image().as_ref());
                wanted.set = simulation::without_autogroups(named, &wanted.set);
            }
            policies::unlike(&wanted)?;
        }
        // Once, however many machines there are.
        let mut said = Vec::new();
        let policies = describe(&wanted, &found)?;
        let mut loads = Vec::new();
        for file in &files {
            loads.push(Arc::new(simulation::load(file)?));
        }
        let names: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
        unlike("workload", &names)?;
        unlike("--cpus", &args.cpus)?;
        let mut machines: BTreeMap<(Option<String>, u32), Arc<Vec<Prepared>>> = BTreeMap::new();
        // a program that looks for a cgroup finds that of the first workload
        let groups = loads.first().map_or(&[][..], |load| &load.workload.groups);
        let mut stages = Vec::new();
        for load in &loads {
            let on = own_machine::options(&args.machine, &args.cpus, load)?;
            let counts = match &on.machine {
                Some(name) => vec![machine::find(name)?.topology.cpus()],
                None if args.cpus.is_empty() => vec![simulation::CPUS],
                None => args.cpus.clone(),
            };
            for cpus in counts {
                let key = (on.machine.clone(), cpus);
                let objects = match machines.get(&key) {
                    Some(objects) => Arc::clone(objects),
                    None => {
                        let topology = simulation::topology(&on, cpus)?;
                        let mut bare = match &on.machine {
                            Some(name) => machine::find(name)?.config(0),
                            None => Config::new(topology, 0),
                        };
                        bare.seed = args.machine.seed;
                        let kernel = simulation::kernel(&args.object, &on)?;
                        let of = (&kernel, args);
                        let ready = prepare_all(&wanted, &found, (&bare, groups), of, &mut said)?;
                        Arc::clone(machines.entry(key).or_insert(Arc::new(ready)))
                    }
                };
                let config = simulation::config(&on, cpus, load)?;
                stages.push(Stage {
                    load: Arc::clone(load),
                    config,
                    machine: on.machine.clone(),
                    objects,
                });
            }
        }
        let seeds = seeds(args.machine.seed, args.seeds.first())?;
        Ok(Matrix { stages, policies, baseline, seeds, no_autogroup: args.no_autogroup })
    }

    /// The same with so many seeds.
    pub(crate) fn with_seeds(&self, number: u32) -> Result<Self, Error> {
        let first = self.seeds.first().copied().unwrap_or_default();
        Ok(Self { seeds: seeds(first, number)?, ..self.clone() })
    }

    /// The machine's name, if all workloads are on one that has a name.
    pub(crate) fn machine(&self) -> Option<&str> {
        let first = self.stages.first()?.machine.as_deref();
        let same = self.stages.iter().all(|stage| stage.machine.as_deref() == first);
        first.filter(|_| same)
    }

    /// What its runs can have numbers of.
    pub(crate) fn given(&self) -> Given {
        let mut given = Given::default();
        self.stages.iter().for_each(|stage| given.add(&stage.load.workload, &stage.config));
        given
    }

    /// Every run: seed by seed, so that whoever stops early has something of all policies.
    pub(crate) fn cells(&self) -> Vec<Cell> {
        let mut cells = Vec::new();
        for stage in 0..self.stages.len() {
            for seed in 0..self.seeds.len() {
                let all = 0..self.policies.len();
                cells.extend(all.map(|policy| Cell { stage, policy, seed }));
            }
        }
        cells
    }

    /// What the runs of all cells, in their order, say together.
    pub(crate) fn comparison<'a>(&'a self, runs: &'a [Run]) -> Comparison<'a> {
        let per_stage = self.policies.len() * self.seeds.len();
        let baseline = self.baseline.map(|baseline| baseline.at);
        let stages = self.stages.iter().zip(runs.chunks(per_stage)).map(|(stage, runs)| {
            let columns = self.policies.iter().enumerate().map(|(at, policy)| {
                let runs = runs.iter().skip(at).step_by(self.policies.len()).collect();
                Column::new(policy, &stage.objects[at].policy, runs)
            });
            compared::Stage::new(&stage.load, &stage.config, columns.collect(), baseline)
        });
        Comparison {
            measures: catalogue::measures(),
            policies: &self.policies,
            baseline: self.baseline,
            seeds: &self.seeds,
            stages: stages.collect(),
        }
    }
}

/// So many, from the first one on.
fn seeds(first: u64, number: u32) -> Result<Vec<u64>, Error> {
    let last = first.checked_add(u64::from(number) - 1);
    let last = last.ok_or_else(|| Error::input(format!("--seed {first}: too large")))?;
    Ok((first..=last).collect())
}

/// The baseline that is meant: where conditions are judged, the first of several policies.
fn baseline_of(args: &CompareArgs) -> String {
    let first = || policies::first_of_several(&args.items, &args.policies);
    let first = || (!args.fail_if.is_empty()).then(first).flatten();
    args.baseline.clone().or_else(first).unwrap_or_else(|| policies::USUAL_BASELINE.to_owned())
}

/// Names and hashes of the policies.
fn describe(wanted: &[Wanted], found: &[Source]) -> Result<Vec<Policy>, Error> {
    let labels = labels(wanted)?;
    let mut policies: Vec<Policy> = Vec::new();
    for ((wanted, found), label) in wanted.iter().zip(found).zip(labels) {
        let mut hash = Sha256::new();
        let (name, source, sha256, program) = match found {
            Source::Object(found) => {
                hash.update(&found.bytes);
                let sha256 = hex(Sha256::new_with_prefix(&found.bytes));
                (found.name.clone(), found.source.clone(), sha256, None)
            }
            Source::Program(chosen) => {
                let Installed { name, path, sha256, cost_ns, .. } = chosen;
                hash = chosen.hash();
                let told = ProgramOf {
                    arguments: chosen.arguments().collect(),
                    version: chosen.version(),
                    cost_ns: *cost_ns,
                };
                (name.clone(), path.display().to_string(), sha256.clone(), Some(told))
            }
        };
        for (name, value) in &wanted.set {
            hash.update(format!("\0{name}={value}"));
        }
        if let Some(manifest) = wanted.manifest_file() {
            hash.update(std::fs::read(manifest).map_err(|e| Error::file("read", manifest, &e))?);
        }
        policies.push(Policy {
            label,
            name,
            source,
            argument: wanted.policy.clone(),
            manifest: wanted.manifest.clone(),
            set: wanted.set.clone(),
            hash: hex(hash),
            sha256,
            program,
        });
    }
    Ok(policies)
}

/// What tables call the policies: as the user does, else the shortest name that tells each apart.
fn labels(wanted: &[Wanted]) -> Result<Vec<String>, Error> {
    let names = wanted.iter().map(Wanted::names);
    let labels = label::told_apart(&names.collect::<Vec<_>>());
    match labels.iter().enumerate().find(|(at, label)| labels[..*at].contains(label)) {
        Some((_, label)) => Err(Error::input(format!(
            "two policies are called {label}: expected another label for one, as NAME=POLICY"
        ))),
        None => Ok(labels),
    }
}

fn prepare_all(
    wanted: &[Wanted],
    found: &[Source],
    (machine, groups): (&Config, &[Group]),
    (kernel, args): (&Kernel, &CompareArgs),
    said: &mut Vec<String>,
) -> Result<Vec<Prepared>, Error> {
    let facts = rota_sim::facts(&machine.topology);
    let mut objects = Vec::new();
    let mut is_chosen = args.object.ops.is_none();
    for (wanted, found) in wanted.iter().zip(found) {
        let found = match found {
            Source::Object(found) => found,
            Source::Program(chosen) => {
                let started = chosen.start((machine, groups), kernel, None, &[])?;
                let (mut policy, program) = (started.policy, Some(chosen.clone()));
                simulation::run_by(&mut policy, &args.machine)?;
                objects.push(Prepared { policy, setup: Setup::default(), program });
                continue;
            }
        };
        let mut policy = found.clone().simulate(kernel)?.policy;
        if policy.schedulers() == 0 {
            let (file, link) = (found.called(), object::LINK);
            return Err(Error::input(format!("{file}: this object is not a scheduler {link}")));
        }
        if policy.schedulers() > 1 {
            object::choose(&mut policy, &args.object)?;
            is_chosen = true;
        }
        let manifest = wanted.manifest.as_deref();
        let prepare::Prepared { setup, note } = prepare::of_policy(manifest, &facts, &policy)?;
        if let Some(note) = note.filter(|note| !said.contains(note)) {
            messages::line(&format!("note: {note}"));
            said.push(note);
        }
        policy.prepare(&setup, &wanted.set)?;
        simulation::run_by(&mut policy, &args.machine)?;
        objects.push(Prepared { policy, setup, program: None });
    }
    match (&args.object.ops, is_chosen) {
        (Some(name), false) => Err(Error::input(format!(
            "--ops {name}: expected a policy file that has several schedulers"
        ))),
        _ => Ok(objects),
    }
}

/// Refuses a list in which something is twice: it would only take longer.
fn unlike<T: PartialEq + std::fmt::Display>(what: &str, list: &[T]) -> Result<(), Error> {
    let twice = list.iter().enumerate().find(|(at, item)| list[..*at].contains(item));
    twice.map_or(Ok(()), |(_, item)| {
        Err(Error::input(format!("{what} {item} is listed twice: expected each once")))
    })
}

/// What identifies a file's content.
pub(crate) fn hash_of(path: &Path) -> Result<String, Error> {
    let bytes = std::fs::read(path).map_err(|e| Error::file("read", path, &e))?;
    let mut hash = Sha256::new();
    hash.update(bytes);
    Ok(hex(hash))
}
