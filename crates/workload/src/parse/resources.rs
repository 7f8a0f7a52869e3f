// SPDX-License-Identifier: MIT OR Apache-2.0
//! `resources`: kept by rt-app for old files. Resources come into being where events name them, so
//! the list is only checked.

use super::keys;
use super::members::{Object, Scope};
use crate::error::WorkloadError;
use crate::json::Member;

/// Types that rt-app knows here; the first is the default.
const TYPES: [&str; 8] = ["mutex", "wait", "signal", "broadcast", "sync", "sleep", "run", "timer"];

pub(super) fn check(scope: Scope<'_>, member: &Member) -> Result<(), WorkloadError> {
    for resource in Object::of(scope, "\"resources\"", &member.node)?.members {
        let object = Object::of(scope, &format!("resource {:?}", resource.key), &resource.node)?;
        // A target names the condition of a signal in files of the oldest versions.
        object.only(&["type", "target"])?;
        let Some(kind) = object.get("type")? else { continue };
        let name = scope.string(kind)?;
        if !TYPES.contains(&name) {
            let message = keys::unknown("type of resource", name, TYPES.into_iter());
            return Err(scope.error(kind.node.at, message));
        }
    }
    Ok(())
}
