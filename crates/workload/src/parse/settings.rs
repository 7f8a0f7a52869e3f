// SPDX-License-Identifier: MIT OR Apache-2.0
//! Keys that tell the scheduler about a task: policy, priority, weight, CPUs, task group.

use std::collections::HashMap;
use std::sync::Arc;

use super::keys;
use super::members::{Object, Scope};
use super::span::MAX_US;
use crate::error::WorkloadError;
use crate::json::{Member, Node, Pos, Value};
use crate::model::{Change, Group, Policy};

/// The highest CPU number a file may name: the kernel's largest CPU count less one.
pub(super) const MAX_CPU: i64 = 8191;

/// The highest NUMA node: the kernel's largest count less one.
const MAX_NODE: i64 = 1023;

/// The longest path of a task group in bytes (`PATH_MAX`), and the most levels below the root that
/// the machine simulates.
const MAX_PATH: usize = 4096;
const MAX_LEVELS: usize = 15;

/// How many task groups a file may name, those that others are in included.
const MAX_GROUPS: usize = 100_000;

const POLICIES: [Policy; 7] = [
    Policy::Other,
    Policy::Batch,
    Policy::Idle,
    Policy::Rr,
    Policy::Fifo,
    Policy::Deadline,
    Policy::Ext,
];

/// The name of a policy.
pub(super) fn policy(scope: Scope<'_>, member: &Member) -> Result<Policy, WorkloadError> {
    let name = scope.string(member)?;
    match POLICIES.iter().find(|known| known.to_string() == name) {
        Some(policy) => Ok(*policy),
        None => {
            let known = POLICIES.map(|known| known.to_string());
            let known = known.iter().map(String::as_str);
            Err(scope.error(member.node.at, keys::unknown("policy", name, known)))
        }
    }
}

/// The settings a task or phase names. Whether a priority suits its policy is for `check`,
/// as the policy may come from an earlier phase.
pub(super) fn read(object: &Object<'_>, groups: &mut Groups) -> Result<Change, WorkloadError> {
    let scope = object.scope;
    let integer = |key: &str, min: i64, max: i64| {
        let member = object.get(key)?;
        member.map(|m| scope.integer(m, min..=max)).transpose()
    };
    let span_ns = |key: &str| {
        // 0 is rt-app's default and asks for nothing.
        let us = integer(key, 0, MAX_US)?.filter(|us| *us > 0);
        Ok(us.map(|us| us as u64 * 1000))
    };
    // Frequencies and the memory of NUMA nodes have no model: checked, and without effect.
    integer("util_min", -1, 1024)?;
    integer("util_max", -1, 1024)?;
    object.get("nodes_membind")?.map(|m| numbers(scope, m, "NUMA node", MAX_NODE)).transpose()?;
    Ok(Change {
        policy: object.get("policy")?.map(|m| policy(scope, m)).transpose()?,
        priority: integer("priority", -20, 99)?.map(|p| p as i32),
        weight: integer("weight", 1, 10_000)?.map(|w| w as u32),
        share: integer("share", 1, i64::from(u32::MAX))?.map(|s| s as u64),
        cpus: object.get("cpus")?.map(|m| cpus(scope, m)).transpose()?,
        group: match object.get("taskgroup")? {
            Some(member) => groups.read(scope, member)?,
            None => None,
        },
        slice_ns: span_ns("dl-runtime")?,
        dl_period_ns: span_ns("dl-period")?.or(span_ns("period")?),
        dl_deadline_ns: span_ns("dl-deadline")?.or(span_ns("deadline")?),
    })
}

pub(super) fn cpus(scope: Scope<'_>, member: &Member) -> Result<Arc<[u32]>, WorkloadError> {
    let mut cpus = numbers(scope, member, "CPU", MAX_CPU)?;
    if cpus.is_empty() {
        return Err(scope.error(member.at, "\"cpus\" is empty: the task could run nowhere"));
    }
    cpus.sort_unstable();
    cpus.dedup();
    Ok(cpus.into())
}

/// An array of the numbers of something.
fn numbers(
    scope: Scope<'_>,
    member: &Member,
    what: &str,
    most: i64,
) -> Result<Vec<u32>, WorkloadError> {
    let wanted = format!("an array of {what} numbers from 0 to {most}");
    let Value::Array(items) = &member.node.value else {
        return Err(scope.mismatch(member, wanted));
    };
    let number = |item: &Node| match item.value {
        Value::Int(number) if (0..=most).contains(&number) => Ok(number as u32),
        ref other => {
            let message = format!("{:?} must be {wanted}; {other} is none", member.key);
            Err(scope.error(item.at, message))
        }
    };
    items.iter().map(number).collect()
}

/// The path of a task group without the first and the last "/"; `None`: the root.
pub(super) fn plain_path<'a>(
    scope: Scope<'_>,
    at: Pos,
    path: &'a str,
) -> Result<Option<&'a str>, WorkloadError> {
    let Some(relative) = path.strip_prefix('/') else {
        let message = format!("task group {path:?} must begin with \"/\"");
        return Err(scope.error(at, message));
    };
    let relative = relative.strip_suffix('/').unwrap_or(relative);
    if relative.is_empty() {
        return Ok(None);
    }
    let bad = |part: &str| matches!(part, "" | "." | "..") || part.contains(char::is_control);
    if relative.split('/').any(bad) {
        let message = format!("task group {path:?} is not a plain absolute path");
        return Err(scope.error(at, message));
    }
    let levels = relative.split('/').count();
    if path.len() > MAX_PATH || levels > MAX_LEVELS {
        let message = format!(
            "a task group {} bytes long and {levels} levels deep: at most {MAX_PATH} bytes and \
             {MAX_LEVELS} levels are possible",
            path.len()
        );
        return Err(scope.error(at, message));
    }
    Ok(Some(relative))
}

/// The task groups named so far.
#[derive(Default)]
pub(super) struct Groups {
    /// Path and, where the file gives one, CPU weight.
    known: Vec<(Arc<str>, Option<u32>)>,
    /// Path without the first "/" to index among them.
    index: HashMap<String, usize>,
}

impl Groups {
    /// The group a `taskgroup` key names: `None` where the text is empty (nothing changes),
    /// `Some(None)` for the root group.
    fn read(
        &mut self,
        scope: Scope<'_>,
        member: &Member,
    ) -> Result<Option<Option<Arc<str>>>, WorkloadError> {
        let (path, weight) = match &member.node.value {
            Value::String(path) if path.is_empty() => return Ok(None),
            Value::String(path) => (path.as_str(), None),
            Value::Object(_) => group_object(scope, member)?,
            _ => {
                let wanted = "a path or {\"path\": …, \"cpu.weight\": …}";
                return Err(scope.mismatch(member, wanted));
            }
        };
        let at = member.node.at;
        let Some(relative) = plain_path(scope, at, path)? else {
            if weight.is_some() {
                return Err(scope.error(at, "the root task group \"/\" has no weight"));
            }
            return Ok(Some(None));
        };
        for (end, _) in relative.match_indices('/') {
            self.entry(&relative[..end]);
        }
        self.entry(relative);
        if self.known.len() > MAX_GROUPS {
            let message = format!("the file names more than {MAX_GROUPS} task groups");
            return Err(scope.error(at, message));
        }
        let entry = self.entry(relative);
        match (&entry.1, weight) {
            (Some(old), Some(new)) if *old != new => {
                let message =
                    format!("task group {path:?} has \"cpu.weight\" {new} here and {old} before");
                return Err(scope.error(at, message));
            }
            (None, Some(_)) => entry.1 = weight,
            _ => {}
        }
        Ok(Some(Some(entry.0.clone())))
    }

    fn entry(&mut self, relative: &str) -> &mut (Arc<str>, Option<u32>) {
        let next = self.known.len();
        let index = match self.index.get(relative) {
            Some(index) => *index,
            None => {
                self.index.insert(relative.to_owned(), next);
                self.known.push((format!("/{relative}").into(), None));
                next
            }
        };
        &mut self.known[index]
    }

    /// The group of a path without the first "/".
    pub(super) fn find(&self, relative: &str) -> Option<Arc<str>> {
        self.index.get(relative).map(|index| Arc::clone(&self.known[*index].0))
    }

    /// Their paths.
    pub(super) fn paths(&self) -> impl Iterator<Item = &str> + Clone {
        self.known.iter().map(|(path, _)| &**path)
    }

    /// All groups, parents before children.
    pub(super) fn into_list(self) -> Vec<Group> {
        let group = |(path, weight): (Arc<str>, Option<u32>)| Group {
            path: path.to_string(),
            cpu_weight: weight.unwrap_or(100),
        };
        self.known.into_iter().map(group).collect()
    }
}

fn group_object<'a>(
    scope: Scope<'a>,
    member: &'a Member,
) -> Result<(&'a str, Option<u32>), WorkloadError> {
    let object = Object::of(scope, "\"taskgroup\"", &member.node)?;
    if let Some(limit) = object.get("cpu.max")? {
        let message = "\"cpu.max\" is not supported yet: this version does not simulate \
                       bandwidth limits";
        return Err(scope.error(limit.at, message));
    }
    object.only(&["path", "cpu.weight"])?;
    let Some(path) = object.get("path")? else {
        return Err(scope.error(object.at, "\"taskgroup\" needs a \"path\""));
    };
    let weight = object.get("cpu.weight")?;
    let weight = weight.map(|m| scope.integer(m, 1..=10_000)).transpose()?;
    Ok((scope.string(path)?, weight.map(|w| w as u32)))
}
