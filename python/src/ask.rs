// SPDX-License-Identifier: MIT OR Apache-2.0
//! From keyword arguments to what is asked for: texts, read as the command line reads its options.

use pyo3::prelude::*;
use rota_session::{nearest, values, Ask, Error, Load, Session, Tell};
use rota_sim::Engine;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// What a workload is called that has no file.
const BUILT: &str = "workload";

/// Names of the keyword arguments.
const KEYS: [&str; 21] = [
    "autogroup",
    "btf",
    "budget",
    "budget_per_second",
    "cpus",
    "duration",
    "engine",
    "hz",
    "ideal",
    "idle_entry",
    "include",
    "kernel",
    "machine",
    "manifest",
    "nohz_full",
    "ops",
    "partial",
    "seed",
    "shuffle_ties",
    "topology",
    "warmup",
];

/// A file's path, or the text of a workload.
#[derive(Clone, Debug, FromPyObject)]
pub(crate) enum Workload {
    /// A path.
    #[pyo3(transparent)]
    File(String),
    /// JSON.
    #[pyo3(transparent)]
    Text((String,)),
}

impl Workload {
    /// Reads it, and tells its warnings.
    pub(crate) fn load(&self, session: &Session) -> Result<Load, Error> {
        match self {
            Self::File(path) => session.load(Path::new(path)),
            Self::Text((text,)) => {
                let load = Load::parse(BUILT.into(), text, Path::new(""))?;
                session.warn_of(&load);
                Ok(load)
            }
        }
    }
}

/// A policy and its settings.
#[derive(Clone, Debug, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct PolicyAsk {
    /// What the results call it.
    pub(crate) label: Option<String>,
    pub(crate) policy: String,
    pub(crate) set: Vec<(String, String)>,
    pub(crate) manifest: Option<String>,
}

/// What is asked for with these keyword arguments.
pub(crate) fn ask(policy: &PolicyAsk, options: &[(String, String)]) -> Result<Ask, Error> {
    let mut ask = Ask { policy: policy.policy.clone(), set: policy.set.clone(), ..Ask::default() };
    ask.manifest = policy.manifest.as_ref().map(PathBuf::from);
    for (key, text) in options {
        set(&mut ask, key, text)?;
    }
    Ok(ask)
}

fn set(ask: &mut Ask, key: &str, text: &str) -> Result<(), Error> {
    let machine = &mut ask.machine;
    let refused = |why: String| Error::input(format!("{key} {text}: {why}"));
    match key {
        "autogroup" => ask.no_autogroup = !flag(text).map_err(refused)?,
        "btf" => ask.btf = Some(text.into()),
        "budget" => machine.budget = values::instructions(text).map_err(refused)?,
        "budget_per_second" => {
            machine.budget_per_second = values::instructions(text).map_err(refused)?;
        }
        "cpus" => ask.cpus = Some(values::cpus(text).map_err(refused)?),
        "duration" => machine.duration = Some(values::duration(text).map_err(refused)?),
        "engine" => machine.engine = engine(text).map_err(refused)?,
        "hz" => machine.hz = Some(values::hz(text).map_err(refused)?),
        "ideal" => machine.ideal = flag(text).map_err(refused)?,
        "idle_entry" => machine.idle_entry = Some(values::duration(text).map_err(refused)?),
        "include" => ask.include.push(text.into()),
        "kernel" => ask.kernel = text.into(),
        "machine" => machine.machine = Some(text.into()),
        "manifest" => ask.manifest = Some(text.into()),
        "nohz_full" => machine.nohz_full = Some(values::cpu_list(text).map_err(refused)?),
        "ops" => ask.ops = Some(text.into()),
        "partial" => ask.partial = flag(text).map_err(refused)?,
        "seed" => machine.seed = values::seed(text).map_err(refused)?,
        "shuffle_ties" => machine.shuffle_ties = flag(text).map_err(refused)?,
        "topology" => machine.topology = Some(text.into()),
        "warmup" => machine.warmup = Some(values::duration(text).map_err(refused)?),
        _ => {
            let hint = nearest::hint(key, &KEYS);
            let known = KEYS.join(", ");
            return Err(Error::input(format!(
                "{key}: there is no such argument, expected one of {known}{hint}"
            )));
        }
    }
    Ok(())
}

fn flag(text: &str) -> Result<bool, String> {
    match text {
        "True" => Ok(true),
        "False" => Ok(false),
        _ => Err("expected True or False".into()),
    }
}

fn engine(text: &str) -> Result<Engine, String> {
    match text {
        "auto" => Ok(Engine::Auto),
        "interpreter" => Ok(Engine::Interpreter),
        "compiled" => Ok(Engine::Compiled),
        _ => Err("expected auto, interpreter or compiled".into()),
    }
}

/// A session that gathers what it tells.
pub(crate) fn session() -> (Session, Told) {
    let (tell, told) = told();
    (Session::new(tell), told)
}

/// What gathers lines, each once, and the lines.
pub(crate) fn told() -> (Tell, Told) {
    let told = Told::default();
    let lines = Arc::clone(&told.0);
    let keep = move |line: &str| {
        let mut lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
        if !lines.iter().any(|known| known == line) {
            lines.push(line.to_owned());
        }
    };
    (Box::new(keep), told)
}

/// Lines of notes and warnings.
#[derive(Debug, Default)]
pub(crate) struct Told(Arc<Mutex<Vec<String>>>);

impl Told {
    /// What was told so far.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
