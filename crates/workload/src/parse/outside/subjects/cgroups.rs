// SPDX-License-Identifier: MIT OR Apache-2.0
//! Events about cgroups.

use std::sync::Arc;

use crate::error::WorkloadError;
use crate::events::{Action, CgroupAction};
use crate::json::{Member, Value};
use crate::parse::cgroup_files;
use crate::parse::keys;
use crate::parse::members::{Object, Scope};
use crate::parse::outside::Known;
use crate::parse::settings;

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
        "create" => is_true().map(|()| CgroupAction::Create)?,
        "destroy" => is_true().map(|()| CgroupAction::Destroy)?,
        "scheduler" => CgroupAction::Scheduler(super::loads(scope, action)?),
        _ => cgroup_files::read(scope, action)?,
    };
    Ok(Action::Cgroup(path, action))
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
