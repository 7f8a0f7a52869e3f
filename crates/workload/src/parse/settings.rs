// SPDX-License-Identifier: MIT OR Apache-2.0
//! Keys that tell the scheduler about a task: policy, priority, weight, CPUs, task group.

use std::sync::Arc;

use super::keys;
use super::members::{Object, Scope};
use super::span::MAX_US;
use super::Names;
use crate::error::WorkloadError;
use crate::json::{Member, Node, Pos, Value};
use crate::model::{Change, Policy};
use crate::work::{WorkClass, WorkKind};

/// The highest CPU number a file may name: the kernel's largest CPU count less one.
pub(super) const MAX_CPU: i64 = 8191;

/// The highest NUMA node: the kernel's largest count less one.
const MAX_NODE: i64 = 1023;

/// The largest working set: 1 TiB.
const MAX_SET_KIB: i64 = 1 << 30;

/// The longest path of a task group in bytes (`PATH_MAX`), and the most levels below the root that
/// the machine simulates.
const MAX_PATH: usize = 4096;
const MAX_LEVELS: usize = 15;

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
pub(super) fn read(object: &Object<'_>, names: &mut Names) -> Result<Change, WorkloadError> {
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
    // -1 is no clamp any more
    let clamp = |key: &str| {
        let value = integer(key, -1, 1024)?;
        Ok(value.map(|value| u16::try_from(value).ok()))
    };
    Ok(Change {
        policy: object.get("policy")?.map(|m| policy(scope, m)).transpose()?,
        priority: integer("priority", -20, 99)?.map(|p| p as i32),
        weight: integer("weight", 1, 10_000)?.map(|w| w as u32),
        share: integer("share", 1, i64::from(u32::MAX))?.map(|s| s as u64),
        cpus: object.get("cpus")?.map(|m| cpus(scope, m)).transpose()?,
        group: match object.get("taskgroup")? {
            Some(member) => names.groups.read(scope, member)?,
            None => None,
        },
        migrate_disable: object.get("migrate_disable")?.map(|m| scope.boolean(m)).transpose()?,
        core_cookie: object.get("core_cookie")?.map(|m| cookie(scope, m)).transpose()?,
        mem_nodes: object.get("nodes_membind")?.map(|m| mem_nodes(scope, m)).transpose()?,
        // The kernel takes 0 as asking for none, too.
        slice_ns: integer("dl-runtime", 0, MAX_US)?.map(|us| us as u64 * 1000),
        dl_period_ns: span_ns("dl-period")?.or(span_ns("period")?),
        dl_deadline_ns: span_ns("dl-deadline")?.or(span_ns("deadline")?),
        util_min: clamp("util_min")?,
        util_max: clamp("util_max")?,
        work: WorkKind {
            class: object.get("work_class")?.map(|m| work_class(scope, m)).transpose()?,
            working_set_kib: integer("working_set_kib", 0, MAX_SET_KIB)?.map(|kib| kib as u32),
            dram_share: object.get("dram_share")?.map(|m| dram_share(scope, m)).transpose()?,
        },
    })
}

fn work_class(scope: Scope<'_>, member: &Member) -> Result<WorkClass, WorkloadError> {
    let name = scope.string(member)?;
    let found = WorkClass::ALL.into_iter().find(|class| class.name() == name);
    let known = || WorkClass::ALL.map(WorkClass::name);
    found.ok_or_else(|| {
        scope.error(member.node.at, keys::unknown("work_class", name, known().into_iter()))
    })
}

/// A part of a task's time, in 1/1024.
fn dram_share(scope: Scope<'_>, member: &Member) -> Result<u32, WorkloadError> {
    let part = match member.node.value {
        Value::Int(part) => part as f64,
        Value::Float(part) => part,
        _ => f64::NAN,
    };
    if !(0.0..=1.0).contains(&part) {
        return Err(scope.mismatch(member, "a number from 0 to 1: part of its time"));
    }
    Ok((part * 1024.0).round() as u32)
}

/// The name of a core scheduling cookie; empty: none.
pub(super) fn cookie(scope: Scope<'_>, member: &Member) -> Result<Arc<str>, WorkloadError> {
    Ok(scope.string(member)?.into())
}

fn mem_nodes(scope: Scope<'_>, member: &Member) -> Result<Arc<[u32]>, WorkloadError> {
    let mut nodes = numbers(scope, member, "NUMA node", MAX_NODE)?;
    nodes.sort_unstable();
    nodes.dedup();
    Ok(nodes.into())
}

pub(super) fn cpus(scope: Scope<'_>, member: &Member) -> Result<Arc<[u32]>, WorkloadError> {
    let mut cpus = numbers(scope, member, "CPU", MAX_CPU)?;
    if cpus.is_empty() {
        let message = format!("{:?} is empty: the task could run nowhere", member.key);
        return Err(scope.error(member.at, message));
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
