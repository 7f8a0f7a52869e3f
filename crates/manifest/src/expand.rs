// SPDX-License-Identifier: MIT OR Apache-2.0
//! A manifest's values for one machine.

use crate::error::ManifestError;
use crate::expr::{Expr, Names};
use crate::facts::CpuFacts;
use crate::model::{Assign, Given, Manifest};

/// What to do to an object before its scheduler is attached, in this order.
///
/// Values are text as in `--set name=value`: the object's own BTF gives them a type.
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
    /// Maps of maps to fill: every slot gets a map of its own like the inner prototype.
    pub inner_maps: Vec<String>,
    /// Map contents.
    pub entries: Vec<Entry>,
    /// Programs of section `syscall` to run once, in order; each must return 0.
    pub runs: Vec<Run>,
}

/// One element of a map. Paths are empty for a scalar key or value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Map by name.
    pub map: String,
    /// Members of the key.
    pub key: Vec<(String, String)>,
    /// Members of the value.
    pub value: Vec<(String, String)>,
}

/// One run of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// Program by function name.
    pub program: String,
    /// Members of the program's argument, which are zero where not named.
    pub ctx: Vec<(String, String)>,
}

/// The index that stands for every CPU, in a path and as the name in expressions.
const EACH: &str = "[cpu]";

impl Manifest {
    /// Works out every value. `constant` gives the value of a kernel enumerator such
    /// as `SCX_SLICE_DFL`.
    pub fn expand(
        &self,
        facts: &CpuFacts,
        constant: &dyn Fn(&str) -> Option<i128>,
    ) -> Result<Setup, ManifestError> {
        let at = Scope { manifest: self, facts, constant, cpu: None };
        for rule in &self.require {
            if at.number(&rule.that)? == 0 {
                return Err(at.error(&rule.that, rule.otherwise.clone()));
            }
        }
        let mut setup = Setup {
            resize: at.counts(&self.resize)?,
            max_entries: at.counts(&self.max_entries)?,
            set: at.pairs(&self.set)?,
            ops: at.pairs(&self.ops)?,
            inner_maps: self.inner_maps.clone(),
            ..Setup::default()
        };
        for entry in &self.entries {
            let (key, value) = (at.pairs(&entry.key)?, at.pairs(&entry.value)?);
            setup.entries.push(Entry { map: entry.map.clone(), key, value });
        }
        for rule in &self.runs {
            let cpus: Vec<Option<u32>> = match rule.each_cpu {
                true => (0..facts.nr_cpus()).map(Some).collect(),
                false => vec![None],
            };
            for cpu in cpus {
                let at = Scope { cpu, ..at };
                if rule.when.as_ref().map_or(Ok(1), |when| at.number(when))? != 0 {
                    let ctx = at.pairs(&rule.ctx)?;
                    setup.runs.push(Run { program: rule.program.clone(), ctx });
                }
            }
        }
        Ok(setup)
    }
}

#[derive(Clone, Copy)]
struct Scope<'a> {
    manifest: &'a Manifest,
    facts: &'a CpuFacts,
    constant: &'a dyn Fn(&str) -> Option<i128>,
    cpu: Option<u32>,
}

impl Scope<'_> {
    fn error(&self, assign: &Assign, what: String) -> ManifestError {
        ManifestError { file: self.manifest.file.clone(), line: Some(assign.line), what }
    }

    fn eval(&self, assign: &Assign, expr: &Expr) -> Result<i128, ManifestError> {
        expr.eval(self).map_err(|what| self.error(assign, format!("{}: {what}", assign.path)))
    }

    /// A value that the manifest itself needs as a number.
    fn number(&self, assign: &Assign) -> Result<i128, ManifestError> {
        match &assign.value {
            Given::Computed(expr) => self.eval(assign, expr),
            Given::Text(text) => match text.as_str() {
                "true" => Ok(1),
                "false" => Ok(0),
                _ => text.parse().map_err(|_| {
                    let what = format!(
                        "{}: expected a number or \"= expression\", found {text:?}",
                        assign.path
                    );
                    self.error(assign, what)
                }),
            },
        }
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

    fn pairs(&self, list: &[Assign]) -> Result<Vec<(String, String)>, ManifestError> {
        let mut out = Vec::new();
        // A path that names one CPU wins over one that stands for all.
        let (all, one) = list.iter().partition::<Vec<_>, _>(|a| a.path.contains(EACH));
        for assign in all.into_iter().chain(one) {
            if !assign.path.contains(EACH) {
                out.push((assign.path.clone(), self.text(assign)?));
                continue;
            }
            for cpu in 0..self.facts.nr_cpus() {
                let at = Self { cpu: Some(cpu), ..*self };
                out.push((assign.path.replace(EACH, &format!("[{cpu}]")), at.text(assign)?));
            }
        }
        Ok(out)
    }

    fn text(&self, assign: &Assign) -> Result<String, ManifestError> {
        match &assign.value {
            Given::Text(text) => Ok(text.clone()),
            Given::Computed(expr) => self.eval(assign, expr).map(|number| number.to_string()),
        }
    }
}

impl Names for Scope<'_> {
    fn name(&self, name: &str) -> Result<i128, String> {
        if name == "cpu" {
            let unset = "\"cpu\" has a value only under an index [cpu] or with each = \"cpu\"";
            return self.cpu.map(Into::into).ok_or(unset.to_string());
        }
        self.facts.named(name).or_else(|| (self.constant)(name)).ok_or_else(|| {
            format!(
                "unknown name {name}: expected nr_cpus, nr_cores, nr_llcs, nr_nodes, smt, cpu or a kernel constant"
            )
        })
    }

    fn call(&self, function: &str, argument: i128) -> Result<i128, String> {
        let known = "expected core(), llc(), node() or sibling()";
        let value = self.facts.of_cpu(function, argument);
        let value = value.ok_or_else(|| format!("unknown function {function}: {known}"))?;
        value.ok_or_else(|| {
            format!(
                "{function}({argument}): the machine has CPUs 0 to {}",
                i64::from(self.facts.nr_cpus()) - 1
            )
        })
    }
}
