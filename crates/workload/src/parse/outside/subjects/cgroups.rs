// SPDX-License-Identifier: MIT OR Apache-2.0
//! Events about cgroups.

use std::sync::Arc;

use crate::error::WorkloadError;
use crate::events::{Action, CgroupAction};
use crate::json::{Member, Value};
use crate::parse::keys;
use crate::parse::members::{Object, Scope};
use crate::parse::outside::Known;
use crate::parse::settings;

/// Limits of `cpu.max` in microseconds (`min_bw_quota_period_us`, `max_bw_quota_period_us`).
const MIN_US: u64 = 1_000;
const MAX_PERIOD_US: u64 = 1_000_000;
/// `max_bw_runtime_us`.
const MAX_US: u64 = (1 << 44) / 1000;

/// What happens to a cgroup.
pub(super) fn read(
    object: &Object<'_>,
    named: &Member,
    action: &Member,
    known: &Known<'_>,
) -> Result<Action, WorkloadError> {
    let scope = object.scope;
    let path = match action.key.as_str() {
        "create" => new_path(scope, named)?,
        _ => path(object, named, known)?,
    };
    let Some(path) = path else {
        let message = format!("the root cgroup \"/\" takes no {:?}", action.key);
        return Err(scope.error(named.node.at, message));
    };
    let is_true = || match action.node.value {
        Value::Bool(true) => Ok(()),
        _ => Err(scope.mismatch(action, "true")),
    };
    let action = match action.key.as_str() {
        "cpu.weight" => CgroupAction::Weight(scope.integer(action, 1..=10_000)? as u32),
        "cpu.max" => max(scope, action)?,
        "cpu.max.burst" => CgroupAction::Burst(scope.integer(action, 0..=MAX_US as i64)? as u64),
        "cpu.idle" => CgroupAction::Idle(scope.integer(action, 0..=1)? == 1),
        "create" => is_true().map(|()| CgroupAction::Create)?,
        _ => is_true().map(|()| CgroupAction::Destroy)?,
    };
    Ok(Action::Cgroup(path, action))
}

/// `max`, `max 100000`, `50000` or `50000 100000`, as the file takes it.
fn max(scope: Scope<'_>, member: &Member) -> Result<CgroupAction, WorkloadError> {
    let wanted = || {
        let text = format!(
            "a quota and a period in microseconds as \"50000 100000\": the quota \"max\" or from \
             {MIN_US} to {MAX_US}, the period (which can be left out) from {MIN_US} to \
             {MAX_PERIOD_US}"
        );
        scope.mismatch(member, text)
    };
    let Value::String(text) = &member.node.value else { return Err(wanted()) };
    let mut words = text.split_ascii_whitespace();
    let number = |word: &str, most: u64| {
        let us = word.parse::<u64>().ok().filter(|us| (MIN_US..=most).contains(us));
        us.ok_or_else(wanted)
    };
    let quota_us = match words.next() {
        Some("max") => None,
        Some(word) => Some(number(word, MAX_US)?),
        None => return Err(wanted()),
    };
    let period_us = words.next().map(|word| number(word, MAX_PERIOD_US)).transpose()?;
    match words.next() {
        Some(_) => Err(wanted()),
        None => Ok(CgroupAction::Max { quota_us, period_us }),
    }
}

/// A cgroup that is to be made.
fn new_path(scope: Scope<'_>, member: &Member) -> Result<Option<Arc<str>>, WorkloadError> {
    let relative = settings::plain_path(scope, member.node.at, scope.string(member)?)?;
    Ok(relative.map(|relative| format!("/{relative}").into()))
}

/// A cgroup that the file has, or that an event makes; `None`: the root.
pub(super) fn path(
    object: &Object<'_>,
    member: &Member,
    known: &Known<'_>,
) -> Result<Option<Arc<str>>, WorkloadError> {
    let scope = object.scope;
    let text = scope.string(member)?;
    let at = member.node.at;
    let Some(relative) = settings::plain_path(scope, at, text)? else { return Ok(None) };
    if let Some(path) = known.groups.find(relative) {
        return Ok(Some(path));
    }
    let path = format!("/{relative}");
    if known.made.iter().any(|made| *made == path || made.starts_with(&format!("{path}/"))) {
        return Ok(Some(path.into()));
    }
    let made = known.made.iter().map(String::as_str);
    let paths = known.groups.paths().chain(made).chain(["/"]);
    Err(scope.error(at, keys::unknown("cgroup", text, paths)))
}
