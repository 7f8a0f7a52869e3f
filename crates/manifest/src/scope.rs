// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a value of a manifest becomes where it stands.

use crate::document::Each;
use crate::error::ManifestError;
use crate::expr::{Expr, Names};
use crate::facts::CpuFacts;
use crate::model::{Assign, Given, Manifest};
use std::collections::BTreeSet;

/// What a manifest may ask of the object that it is for, and of its kernel.
pub trait Object {
    /// Value of a kernel enumerator such as `SCX_SLICE_DFL`.
    fn constant(&self, name: &str) -> Option<i128>;
    /// Whether the kernel has a function.
    fn has_function(&self, name: &str) -> bool;
    /// Bytes of a type of the object: a struct, union or typedef.
    fn size_of(&self, name: &str) -> Option<u32>;
    /// Whether the object has a global variable, or a member or element of one.
    fn has_variable(&self, path: &str) -> bool;
    /// Whether the kernel's ops table has a member.
    fn has_member(&self, name: &str) -> bool;
    /// Whether the object has a program.
    fn has_program(&self, name: &str) -> bool;
}

/// Where a value stands: for which CPU, core, cache and node.
#[derive(Clone, Copy)]
pub(crate) struct Scope<'a> {
    pub(crate) manifest: &'a Manifest,
    pub(crate) facts: &'a CpuFacts,
    pub(crate) object: &'a dyn Object,
    pub(crate) kept: &'a BTreeSet<String>,
    pub(crate) bound: [Option<u32>; Each::ALL.len()],
}

impl Scope<'_> {
    /// Once for each of them; as it is without any.
    pub(crate) fn each(self, each: Option<Each>) -> Vec<Self> {
        let Some(each) = each else { return vec![self] };
        self.facts.members(each).into_iter().map(|member| self.with(each, member)).collect()
    }

    pub(crate) fn with(mut self, each: Each, member: u32) -> Self {
        self.bound[each as usize] = Some(member);
        self
    }

    pub(crate) fn error(&self, assign: &Assign, what: String) -> ManifestError {
        ManifestError { file: self.manifest.file.clone(), line: Some(assign.line), what }
    }

    fn eval(&self, assign: &Assign, expr: &Expr) -> Result<i128, ManifestError> {
        expr.eval(self).map_err(|what| self.error(assign, format!("{}: {what}", assign.path)))
    }

    /// A value that the manifest itself needs as a number.
    pub(crate) fn number(&self, assign: &Assign) -> Result<i128, ManifestError> {
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

    /// Whether a condition holds; one that is not there does.
    pub(crate) fn holds(&self, when: Option<&Assign>) -> Result<bool, ManifestError> {
        when.map_or(Ok(true), |when| Ok(self.number(when)? != 0))
    }

    pub(crate) fn text(&self, assign: &Assign) -> Result<String, ManifestError> {
        if let Some(name) = self.kept_name(assign) {
            let what = format!("{}: {name} is known to later steps only", assign.path);
            return Err(self.error(assign, what));
        }
        match &assign.value {
            Given::Text(text) => Ok(text.clone()),
            Given::Computed(expr) => Ok(match self.mask(assign, expr)? {
                Some(cpus) => set_of(&cpus),
                None => self.eval(assign, expr)?.to_string(),
            }),
        }
    }

    /// The name of a value that a step before keeps.
    pub(crate) fn kept_name(&self, assign: &Assign) -> Option<String> {
        match &assign.value {
            Given::Computed(Expr::Name(name)) if self.kept.contains(name) => Some(name.clone()),
            _ => None,
        }
    }

    /// The numbers of a value that is a list of them.
    pub(crate) fn list(&self, assign: &Assign) -> Result<Option<Vec<u32>>, ManifestError> {
        match &assign.value {
            Given::Computed(expr) => self.list_of(assign, expr),
            Given::Text(_) => Ok(None),
        }
    }

    fn list_of(&self, assign: &Assign, expr: &Expr) -> Result<Option<Vec<u32>>, ManifestError> {
        match expr {
            Expr::Name(name) => Ok(self.facts.list(name)),
            Expr::If(test, yes, no) => {
                let taken = if self.eval(assign, test)? != 0 { yes } else { no };
                self.list_of(assign, taken)
            }
            Expr::Call(function, argument) if LISTS.contains(&function.as_str()) => {
                let number = self.eval(assign, argument)?;
                let of = if function == "near_cpus" { Each::Cpu } else { Each::Llc };
                let name = of.name();
                let what = || format!("{}: the machine has no {name} {number}", assign.path);
                let member = self.facts.member(of, number);
                let member = member.ok_or_else(|| self.error(assign, what()))?;
                Ok(match of {
                    Each::Cpu => Some(self.facts.near_cpus(member)),
                    _ => self.facts.other_llcs(function, member),
                })
            }
            _ => Ok(None),
        }
    }

    /// The CPUs of a value that is a set of them.
    fn mask(&self, assign: &Assign, expr: &Expr) -> Result<Option<Vec<u32>>, ManifestError> {
        let (each, argument) = match expr {
            Expr::Name(name) if name == "all_cpus" => {
                return Ok(Some(self.facts.members(Each::Cpu)));
            }
            Expr::If(test, yes, no) => {
                let taken = if self.eval(assign, test)? != 0 { yes } else { no };
                return self.mask(assign, taken);
            }
            Expr::Call(function, argument) => match masked(function) {
                Some(each) => (each, argument),
                None => return Ok(None),
            },
            _ => return Ok(None),
        };
        let number = self.eval(assign, argument)?;
        match self.facts.member(each, number) {
            Some(group) => Ok(Some(self.facts.cpus_of(each, group))),
            None => {
                let name = each.name();
                let what = format!("{}: the machine has no {name} {number}", assign.path);
                Err(self.error(assign, what))
            }
        }
    }
}

/// Functions whose values are lists.
const LISTS: [&str; 4] = ["near_llcs", "far_llcs", "other_llcs", "near_cpus"];

/// What `llc_mask()` and its like are sets of.
fn masked(function: &str) -> Option<Each> {
    Each::ALL.into_iter().find(|each| function.strip_suffix("_mask") == Some(each.name()))
}

/// `{0-3,8}`
fn set_of(cpus: &[u32]) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for cpu in cpus {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == *cpu => *last = *cpu,
            _ => ranges.push((*cpu, *cpu)),
        }
    }
    let shown = ranges.iter().map(|(first, last)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    });
    format!("{{{}}}", shown.collect::<Vec<_>>().join(","))
}

impl Names for Scope<'_> {
    fn name(&self, name: &str) -> Result<i128, String> {
        if let Some(each) = Each::ALL.into_iter().find(|each| each.name() == name) {
            return self.bound[each as usize].map(Into::into).ok_or_else(|| {
                format!(
                    "\"{name}\" has a value only under an index [{name}] or with each = \"{name}\""
                )
            });
        }
        if name == "all_cpus" || self.facts.list(name).is_some() || self.kept.contains(name) {
            return Err(format!("{name} stands alone: no operator takes it"));
        }
        self.facts.named(name).or_else(|| self.object.constant(name)).ok_or_else(|| {
            format!(
                "unknown name {name}: expected nr_cpus, nr_cores, nr_llcs, nr_nodes, smt, cpu, core, \
                 llc, node or a kernel constant"
            )
        })
    }

    fn call(&self, function: &str, argument: i128) -> Result<i128, String> {
        if masked(function).is_some() || LISTS.contains(&function) {
            return Err(format!("{function}() stands alone: no operator takes it"));
        }
        let value = self.facts.called(function, argument).ok_or_else(|| {
            format!(
                "unknown function {function}: expected core(), llc(), node(), sibling(), has(), \
                     opt(), sizeof(), llc_mask() or another of docs/third-party.md"
            )
        })?;
        value.ok_or_else(|| {
            let what = match function.split_once('_') {
                Some((group, _)) => group,
                None => "CPU",
            };
            let last = i64::from(self.facts.nr_cpus()) - 1;
            match what {
                "CPU" => format!("{function}({argument}): the machine has CPUs 0 to {last}"),
                group => format!("{function}({argument}): the machine has no {group} {argument}"),
            }
        })
    }

    fn of(&self, function: &str, name: &str) -> Result<i128, String> {
        match function {
            "has" => {
                let constant = self.object.constant(name).is_some();
                Ok((constant || self.object.has_function(name)).into())
            }
            "opt" => Ok(self.object.constant(name).unwrap_or(0)),
            _ => self
                .object
                .size_of(name)
                .map(Into::into)
                .ok_or_else(|| format!("sizeof({name}): the object has no such type")),
        }
    }
}
