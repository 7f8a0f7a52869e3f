// SPDX-License-Identifier: MIT OR Apache-2.0
//! A manifest's values for one machine and one object.

use crate::document::Each;
use crate::error::ManifestError;
use crate::facts::CpuFacts;
use crate::model::{Assign, Changes, Manifest, MapEntry, RunRule, StepRule, Timing};
use crate::scope::{Object, Scope};
use std::collections::BTreeSet;

/// More values than any loader sets.
const MOST: usize = 1 << 20;

/// What to do to an object before its scheduler is attached, in this order, and while it runs.
///
/// Values are text as in `--set name=value`: the object's own BTF gives them a type. Numbers of
/// CPUs in braces, `{0-3,8}`, are a set of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Setup {
    /// Arrays that are alone in their data section, and their new number of elements.
    pub resize: Vec<(String, u32)>,
    /// Maps and their new `max_entries`.
    pub max_entries: Vec<(String, u32)>,
    /// Global variables by path: `slice_ns`, `pair_cpu[3]`, `cfg.limit`.
    pub set: Vec<(String, String)>,
    /// Members of the `struct_ops` variable: `flags`, `timeout_ms`.
    pub ops: Vec<(String, String)>,
    /// Flags that are added to those of the `struct_ops` variable.
    pub add_flags: u64,
    /// Programs that are loaded, or not.
    pub programs: Vec<(String, bool)>,
    /// Maps of maps to fill: every slot gets a map of its own like the inner prototype.
    pub inner_maps: Vec<String>,
    /// Map contents.
    pub entries: Vec<Entry>,
    /// What is done once before the scheduler is attached, in order.
    pub steps: Vec<Step>,
    /// Programs that run while the scheduler does.
    pub timed: Vec<Timed>,
}

/// One element of a map. Paths are empty for a scalar key or value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Map by name.
    pub map: String,
    /// Members of the key.
    pub key: Vec<(String, String)>,
    /// Members of the value; several if each CPU has its own, in order of CPUs.
    pub values: Vec<Vec<(String, String)>>,
}

/// A value that may be known only when a step before has been done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// A value.
    Text(String),
    /// What a step kept under this name.
    Kept(String),
}

/// One thing to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// A program of section `syscall` runs; it must return 0.
    Run(Run),
    /// A value is written to the arena.
    Write {
        /// The address, by the name under which it was kept.
        at: String,
        /// Type of the value there: a struct, union or typedef of the object.
        of_type: String,
        /// Its members; others stay as they are.
        value: Vec<(String, String)>,
    },
}

/// One run of a program.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Run {
    /// Program by function name.
    pub program: String,
    /// Members of the program's argument, which are zero where not named.
    pub ctx: Vec<(String, Value)>,
    /// Names, and members of the argument whose values, when the program has returned, are kept
    /// under them.
    pub keep: Vec<(String, String)>,
    /// The CPU that it runs on; the first if none is said.
    pub cpu: Option<u32>,
}

/// A program that runs while the scheduler does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timed {
    /// When.
    pub timing: Timing,
    /// What.
    pub run: Run,
}

impl Manifest {
    /// Works out every value.
    pub fn expand(&self, facts: &CpuFacts, object: &dyn Object) -> Result<Setup, ManifestError> {
        let kept: BTreeSet<String> = self.kept().cloned().collect();
        let at = Scope { manifest: self, facts, object, kept: &kept, bound: Default::default() };
        for rule in &self.require {
            if at.number(&rule.that)? == 0 {
                return Err(at.error(&rule.that, rule.otherwise.clone()));
            }
        }
        let mut setup = Setup {
            resize: at.counts(&self.resize)?,
            max_entries: at.counts(&self.max_entries)?,
            inner_maps: self.inner_maps.clone(),
            ..Setup::default()
        };
        for changes in &self.changes {
            if at.holds(changes.when.as_ref())? {
                at.change(changes, &mut setup)?;
            }
        }
        for entry in &self.entries {
            for at in at.each(entry.each) {
                if at.holds(entry.when.as_ref())? {
                    at.entries(entry, &mut setup)?;
                }
            }
        }
        for rule in &self.runs {
            for at in at.each(rule.each) {
                if at.holds(rule.when.as_ref())? {
                    at.run(rule, &mut setup)?;
                }
            }
        }
        Ok(setup)
    }

    /// Names of what steps keep.
    fn kept(&self) -> impl Iterator<Item = &String> {
        let steps = self.runs.iter().flat_map(|rule| &rule.steps);
        steps
            .flat_map(|step| match step {
                StepRule::Program { keep, .. } => keep.as_slice(),
                StepRule::Write { .. } => &[],
            })
            .map(|(name, _)| name)
    }
}

impl Scope<'_> {
    fn change(&self, changes: &Changes, setup: &mut Setup) -> Result<(), ManifestError> {
        let has = |path: &str| self.object.has_variable(path);
        setup.set.extend(self.pairs(&changes.set, &has)?);
        for assign in &changes.ops {
            if assign.path == "add_flags" {
                let flags = self.number(assign)?;
                setup.add_flags |= u64::try_from(flags)
                    .map_err(|_| self.error(assign, format!("add_flags: {flags} are no flags")))?;
            } else if !assign.optional || self.object.has_member(&assign.path) {
                setup.ops.push((assign.path.clone(), self.text(assign)?));
            }
        }
        for assign in &changes.programs {
            if !assign.optional || self.object.has_program(&assign.path) {
                setup.programs.push((assign.path.clone(), self.number(assign)? != 0));
            }
        }
        Ok(())
    }

    /// An element of a map, or of a list one for each of it, with keys that count up.
    fn entries(&self, entry: &MapEntry, setup: &mut Setup) -> Result<(), ManifestError> {
        let list = match &entry.value[..] {
            [value] if value.path.is_empty() => self.list(value)?,
            _ => None,
        };
        let Some(list) = list else {
            setup.entries.push(self.entry(entry)?);
            return Ok(());
        };
        let first = match &entry.key[..] {
            [key] if key.path.is_empty() => self.number(key)?,
            _ => return Err(self.error(&entry.value[0], "a list needs a number as key".into())),
        };
        let scalar = |number: i128| vec![(String::new(), number.to_string())];
        setup.entries.extend((first..).zip(list).map(|(key, value)| Entry {
            map: entry.map.clone(),
            key: scalar(key),
            values: vec![scalar(value.into())],
        }));
        Ok(())
    }

    fn entry(&self, entry: &MapEntry) -> Result<Entry, ManifestError> {
        let any = |_: &str| true;
        let places = match entry.per_cpu {
            true => self.each(Some(Each::Cpu)),
            false => vec![*self],
        };
        let values = places.iter().map(|at| at.pairs(&entry.value, &any));
        Ok(Entry {
            map: entry.map.clone(),
            key: self.pairs(&entry.key, &any)?,
            values: values.collect::<Result<_, _>>()?,
        })
    }

    fn run(&self, rule: &RunRule, setup: &mut Setup) -> Result<(), ManifestError> {
        let cpu = match &rule.cpu {
            None => None,
            Some(assign) => {
                let number = self.number(assign)?;
                let cpu = self.facts.member(Each::Cpu, number);
                let last = i64::from(self.facts.nr_cpus()) - 1;
                let what = || format!("cpu: {number}: the machine has CPUs 0 to {last}");
                Some(cpu.ok_or_else(|| self.error(assign, what()))?)
            }
        };
        for step in &rule.steps {
            let step = self.step(step, cpu)?;
            match (rule.timing, step) {
                (None, step) => setup.steps.push(step),
                (Some(timing), Step::Run(run)) if run.keep.is_empty() => {
                    setup.timed.push(Timed { timing, run });
                }
                (Some(_), _) => {
                    let what = "[[run]]: keep and write are for programs that run before the \
                                scheduler is attached, without at and every";
                    let (file, what) = (self.manifest.file.clone(), what.to_owned());
                    return Err(ManifestError { file, line: None, what });
                }
            }
        }
        Ok(())
    }

    fn step(&self, step: &StepRule, cpu: Option<u32>) -> Result<Step, ManifestError> {
        Ok(match step {
            StepRule::Program { program, ctx, keep } => Step::Run(Run {
                program: program.clone(),
                ctx: self.arguments(ctx)?,
                keep: keep.clone(),
                cpu,
            }),
            StepRule::Write { at, of_type, value } => Step::Write {
                at: at.clone(),
                of_type: of_type.clone(),
                value: self.pairs(value, &|_| true)?,
            },
        })
    }

    /// Members of a program's argument.
    fn arguments(&self, ctx: &[Assign]) -> Result<Vec<(String, Value)>, ManifestError> {
        let known = ctx.iter().filter(|part| self.kept_name(part).is_none());
        let known = self.pairs(&known.cloned().collect::<Vec<_>>(), &|_| true)?;
        let known = known.into_iter().map(|(path, text)| (path, Value::Text(text)));
        let kept = ctx
            .iter()
            .filter_map(|part| Some((part.path.clone(), Value::Kept(self.kept_name(part)?))));
        Ok(known.chain(kept).collect())
    }

    fn counts(&self, list: &[Assign]) -> Result<Vec<(String, u32)>, ManifestError> {
        list.iter()
            .map(|assign| {
                let number = self.number(assign)?;
                let count = u32::try_from(number).ok().filter(|n| *n > 0).ok_or_else(|| {
                    let what =
                        format!("{}: {number} is not a size: expected 1 to 2^32-1", assign.path);
                    self.error(assign, what)
                })?;
                Ok((assign.path.clone(), count))
            })
            .collect()
    }

    /// Paths and values, once for each CPU, core, cache or node that a path has as its index.
    fn pairs(
        &self,
        list: &[Assign],
        exists: &dyn Fn(&str) -> bool,
    ) -> Result<Vec<(String, String)>, ManifestError> {
        let mut out = Vec::new();
        // A path that names one of them wins over one that stands for all.
        let stands_for_all = |path: &str| index_of(path).is_some() || range_of(path).is_some();
        let (all, one) = list.iter().partition::<Vec<_>, _>(|a| stands_for_all(&a.path));
        for assign in all.into_iter().chain(one) {
            self.spread(assign, assign.path.clone(), exists, &mut out)?;
        }
        Ok(out)
    }

    fn spread(
        &self,
        assign: &Assign,
        path: String,
        exists: &dyn Fn(&str) -> bool,
        out: &mut Vec<(String, String)>,
    ) -> Result<(), ManifestError> {
        if let Some((before, range, after)) = range_of(&path) {
            for index in range {
                self.spread(assign, format!("{before}[{index}]{after}"), exists, out)?;
            }
            return Ok(());
        }
        let Some(each) = index_of(&path) else {
            if out.len() >= MOST {
                return Err(self.error(assign, format!("{path}: more than {MOST} values")));
            }
            let put = |path: &str| !assign.optional || exists(path);
            match self.list(assign)? {
                Some(list) => {
                    let (array, first) = start_of(&path);
                    let paths = (first..).map(|at| format!("{array}[{at}]")).zip(list);
                    let paths = paths.filter(|(path, _)| put(path));
                    out.extend(paths.map(|(path, number)| (path, number.to_string())));
                }
                None if put(&path) => out.push((path, self.text(assign)?)),
                None => {}
            }
            return Ok(());
        };
        for member in self.facts.members(each) {
            let index = format!("[{}]", each.name());
            let path = path.replace(&index, &format!("[{member}]"));
            self.with(each, member).spread(assign, path, exists, out)?;
        }
        Ok(())
    }
}

/// The array of a path, and the element at which a list begins: `ids[128..]`, or the first.
fn start_of(path: &str) -> (&str, u64) {
    let start = path.strip_suffix("..]").and_then(|path| path.rsplit_once('['));
    let start = start.and_then(|(array, first)| Some((array, first.parse().ok()?)));
    start.unwrap_or((path, 0))
}

/// Several elements of an array, `maps[0..32].ids`: what is before, which, what is after.
fn range_of(path: &str) -> Option<(&str, std::ops::Range<u32>, &str)> {
    path.match_indices('[').find_map(|(at, _)| {
        let (range, after) = path[at + 1..].split_once(']')?;
        let (first, end) = range.split_once("..")?;
        Some((&path[..at], first.parse().ok()?..end.parse().ok()?, after))
    })
}

/// What an index of a path stands for, such as `[cpu]`.
fn index_of(path: &str) -> Option<Each> {
    Each::ALL.into_iter().find(|each| path.contains(&format!("[{}]", each.name())))
}
