// SPDX-License-Identifier: MIT OR Apache-2.0
//! The file of finished runs: a line of JSON for what was compared, then one for each run, written
//! as soon as it is done. Whoever is interrupted goes on from it.

mod file;
mod lines;

use super::matrix::{self, Cell, Matrix};
use super::CompareArgs;
use crate::comparison::Run;
use crate::error::Error;
use crate::load::hex;
use crate::output::messages;
use lines::{Binding, Unfit};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// All that a run depends on but its place in the matrix.
type Inputs = BTreeMap<String, String>;

/// Where runs are kept.
pub(crate) struct Kept {
    path: PathBuf,
    /// `None`: there is nowhere to keep them.
    file: Option<File>,
    /// To its first line.
    binding: Binding,
    /// Whether the user named the file, and so wants to have it afterwards.
    named: bool,
    /// Runs that were there already.
    runs: HashMap<Key, Run>,
    count: usize,
}

/// Place of a run in the matrix: workload, CPUs, policy, seed.
type Key = (String, u32, String, u64);

fn key_of(run: &Run) -> Key {
    (run.workload.clone(), run.cpus, run.policy.clone(), run.seed)
}

impl Kept {
    /// Opens the file that the user named, with what it has; or a new one that is only there
    /// while the runs last.
    pub(crate) fn open(args: &CompareArgs, matrix: &Matrix) -> Result<Self, Error> {
        let inputs = inputs(args, matrix)?;
        match &args.resume {
            Some(path) => Self::resume(path, &inputs),
            None => Ok(Self::temporary(&inputs)),
        }
    }

    fn resume(path: &Path, inputs: &Inputs) -> Result<Self, Error> {
        let (mut file, bytes) = file::open(path)?;
        let content = lines::read(&bytes).map_err(|unfit| refuse(path, unfit))?;
        if let Some(content) = &content {
            check(path, &content.inputs, inputs)?;
        }
        let whole = content.as_ref().map_or(0, |content| content.whole);
        if whole < bytes.len() {
            let number = bytes.iter().filter(|b| **b == b'\n').count() + 1;
            messages::line(&format!(
                "note: {}:{number}: incomplete last line of a run that was killed: dropped, and \
                 that run is repeated",
                path.display()
            ));
        }
        // Only now that it is known to be ours.
        let cut = file.set_len(whole as u64).and_then(|()| file.seek(SeekFrom::End(0)));
        cut.map_err(|e| Error::file("write", path, &e))?;
        let mut kept = Self::empty(path.into(), Some(file), true);
        match content {
            Some(content) => {
                kept.binding = content.binding;
                kept.runs = content.runs.into_iter().map(|run| (key_of(&run), run)).collect();
                kept.count = kept.runs.len();
            }
            None => kept.begin(inputs)?,
        }
        Ok(kept)
    }

    /// Without a place for it, nothing is kept: no reason not to run.
    fn temporary(inputs: &Inputs) -> Self {
        let (path, file) = file::create(&state_dir());
        let mut kept = Self::empty(path, file, false);
        if kept.begin(inputs).is_err() {
            kept.file = None;
        }
        kept
    }

    fn empty(path: PathBuf, file: Option<File>, named: bool) -> Self {
        Kept { path, file, binding: Binding::default(), named, runs: HashMap::new(), count: 0 }
    }

    /// Writes the first line.
    fn begin(&mut self, inputs: &Inputs) -> Result<(), Error> {
        let header = lines::header(inputs);
        if let Ok((_, binding)) = &header {
            self.binding = binding.clone();
        }
        self.write(header.map(|(line, _)| line))
    }

    /// The run of a cell, if it was there already.
    pub(crate) fn find(&self, matrix: &Matrix, cell: Cell) -> Option<Run> {
        let stage = &matrix.stages[cell.stage];
        let policy = matrix.policies[cell.policy].label.clone();
        let cpus = stage.config.topology.cpus();
        self.runs.get(&(stage.load.file.clone(), cpus, policy, matrix.seeds[cell.seed])).cloned()
    }

    /// Has a run at hand that was done just now.
    pub(crate) fn remember(&mut self, run: Run) {
        self.runs.insert(key_of(&run), run);
    }

    /// Keeps a run, unless it is there.
    pub(crate) fn add(&mut self, run: &Run) -> Result<(), Error> {
        if self.runs.contains_key(&key_of(run)) {
            return Ok(());
        }
        self.count += 1;
        self.write(lines::run(&self.binding, run))
    }

    fn write(&mut self, line: serde_json::Result<String>) -> Result<(), Error> {
        let Some(file) = &mut self.file else { return Ok(()) };
        let fail = |e: &dyn std::fmt::Display| {
            Error::Failure(format!("cannot write {}: {e}", self.path.display()))
        };
        // At once, so that only the last line can be there in part.
        file.write_all(line.map_err(|e| fail(&e))?.as_bytes()).map_err(|e| fail(&e))
    }

    /// What to tell somebody who stopped it with so many runs left.
    pub(crate) fn interrupted(&self, left: usize) -> Error {
        let (count, path) = (self.count, self.path.display());
        let all = count + left;
        match self.file {
            Some(_) => Error::Failure(format!(
                "interrupted: {count} of {all} runs are kept in {path}; \
                 the same command with --resume {path} does the others"
            )),
            None => Error::Failure(format!(
                "interrupted: {count} of {all} runs were done, and none is kept, as \
                 {path} cannot be written; --resume FILE names another place"
            )),
        }
    }

    /// All runs are done: only a file that the user named stays.
    pub(crate) fn finish(self) {
        if !self.named && self.file.is_some() {
            // It lies where files of no further use may lie.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// `$XDG_STATE_HOME/rota`.
fn state_dir() -> PathBuf {
    let state = std::env::var_os("XDG_STATE_HOME").filter(|dir| !dir.is_empty()).map(PathBuf::from);
    let home = || std::env::var_os("HOME").map(|home| Path::new(&home).join(".local/state"));
    state.or_else(home).unwrap_or_else(std::env::temp_dir).join("rota")
}

/// Why a file stays as it is.
fn refuse(path: &Path, unfit: Unfit) -> Error {
    let path = path.display();
    Error::input(match unfit {
        Unfit::Foreign => {
            format!("{path}: not a file of runs that `rota compare --resume` made: left unchanged")
        }
        Unfit::Version(schema) => format!(
            "{path}:1: \"{schema}\" is of another version of rota: expected \"{}\"; give another \
             file",
            lines::schema()
        ),
        Unfit::Damaged(1, why) => format!("{path}:1: damaged: {why}; give another file"),
        Unfit::Damaged(line, why) => {
            format!("{path}:{line}: damaged: {why}; delete this line to repeat its run")
        }
    })
}

/// Refuses runs of something else.
fn check(path: &Path, kept: &Inputs, inputs: &Inputs) -> Result<(), Error> {
    let path = path.display();
    let keys = kept.keys().chain(inputs.keys());
    let differs = keys.into_iter().find(|key| kept.get(*key) != inputs.get(*key));
    let Some(key) = differs else { return Ok(()) };
    let value = |inputs: &Inputs| inputs.get(key).cloned().unwrap_or_else(|| "not there".into());
    Err(Error::input(format!(
        "{path}: has runs of something else: {key} was {}, is {}; \
         give the same workloads, policies and options, or another file",
        value(kept),
        value(inputs)
    )))
}

/// All that results depend on, but CPUs and seeds, which each run says itself.
fn inputs(args: &CompareArgs, matrix: &Matrix) -> Result<Inputs, Error> {
    let mut inputs = Inputs::new();
    let mut add = |key: String, value: String| inputs.insert(key, value);
    add("rota".into(), version());
    for stage in &matrix.stages {
        let file = &stage.load.file;
        add(format!("workload {file}"), matrix::hash_of(Path::new(file))?);
    }
    for policy in &matrix.policies {
        add(format!("policy {}", policy.label), policy.hash.clone());
    }
    match &args.object.btf {
        Some(btf) => add("--btf".into(), matrix::hash_of(btf)?),
        None => add("--kernel".into(), args.object.kernel.clone()),
    };
    if let Some(ops) = &args.object.ops {
        add("--ops".into(), ops.clone());
    }
    let machine = &args.machine;
    let or_default = |value: Option<String>| value.unwrap_or_else(|| "the default".into());
    let ns = |time: Option<u64>| or_default(time.map(|ns| format!("{ns}ns")));
    if let Some(name) = &machine.machine {
        let text = crate::machine::find(name)?.to_toml();
        add("--machine".into(), hex(Sha256::new_with_prefix(text)));
    }
    add("--topology".into(), or_default(machine.topology.clone()));
    add("--duration".into(), ns(machine.duration));
    add("--warmup".into(), ns(machine.warmup));
    add("--hz".into(), or_default(machine.hz.map(|hz| hz.to_string())));
    let nohz_full = machine.nohz_full.as_ref().map(|list| list.as_str().to_owned());
    add("--nohz-full".into(), or_default(nohz_full));
    add("--ideal".into(), machine.ideal.to_string());
    add("--no-autogroup".into(), args.no_autogroup.to_string());
    add("--shuffle-ties".into(), machine.shuffle_ties.to_string());
    if let Some(stage) = matrix.stages.first() {
        add("overheads".into(), format!("{:?}", stage.config.costs));
    }
    add("--budget".into(), machine.budget.to_string());
    add("--budget-per-second".into(), machine.budget_per_second.to_string());
    Ok(inputs)
}

/// The version, and which build of it this is: another one may simulate something else.
fn version() -> String {
    let built = std::env::current_exe().and_then(std::fs::metadata).map(|exe| {
        let modified = exe.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        let mut hash = Sha256::new();
        hash.update(format!("{} {:?}", exe.len(), modified));
        hex(hash)[..8].to_owned()
    });
    format!("{} build {}", env!("CARGO_PKG_VERSION"), built.unwrap_or_default())
}
