// SPDX-License-Identifier: MIT OR Apache-2.0
//! Events about the scheduler's object. What it has is known when it is loaded.

use crate::error::WorkloadError;
use crate::events::{Action, ObjectAction};
use crate::json::{Member, Node, Value};
use crate::parse::members::{Object, Scope};
use crate::parse::outside::Known;
use crate::parse::settings;

type Parts = Vec<(String, String)>;

pub(super) fn variable(
    object: &Object<'_>,
    named: &Member,
    action: &Member,
    _: &Known<'_>,
) -> Result<Action, WorkloadError> {
    let scope = object.scope;
    let path = scope.string(named)?.to_owned();
    let Some(value) = scalar(&action.node) else {
        let wanted = "a number, a text or a boolean; a part of a struct is named as \"conf.limit\"";
        return Err(scope.mismatch(action, wanted));
    };
    Ok(Action::Object(ObjectAction::Variable { path, value }))
}

pub(super) fn map(
    object: &Object<'_>,
    named: &Member,
    action: &Member,
    _: &Known<'_>,
) -> Result<Action, WorkloadError> {
    let scope = object.scope;
    let map = scope.string(named)?.to_owned();
    let key = parts(scope, object.required("key")?)?;
    let value = parts(scope, action)?;
    Ok(Action::Object(ObjectAction::Map { map, key, value }))
}

pub(super) fn program(
    object: &Object<'_>,
    named: &Member,
    action: &Member,
    _: &Known<'_>,
) -> Result<Action, WorkloadError> {
    let scope = object.scope;
    let program = scope.string(named)?.to_owned();
    let cpu = scope.integer(action, 0..=settings::MAX_CPU)? as u32;
    let ctx = object.get("ctx")?.map_or(Ok(Parts::new()), |member| parts(scope, member))?;
    Ok(Action::Object(ObjectAction::Program { program, cpu, ctx }))
}

/// A value as text.
fn scalar(node: &Node) -> Option<String> {
    match &node.value {
        Value::Int(number) => Some(number.to_string()),
        Value::Bool(value) => Some(value.to_string()),
        Value::String(text) => Some(text.clone()),
        _ => None,
    }
}

/// A value, or the members of a struct with their paths.
fn parts(scope: Scope<'_>, member: &Member) -> Result<Parts, WorkloadError> {
    let mut found = Parts::new();
    if collect(&member.node, "", &mut found) {
        return Ok(found);
    }
    Err(scope.mismatch(member, "a number, a text, a boolean or an object of those"))
}

fn collect(node: &Node, path: &str, found: &mut Parts) -> bool {
    if let Value::Object(members) = &node.value {
        return members.iter().all(|member| {
            let dot = if path.is_empty() { "" } else { "." };
            collect(&member.node, &format!("{path}{dot}{}", member.key), found)
        });
    }
    match scalar(node) {
        Some(value) => {
            found.push((path.to_owned(), value));
            true
        }
        None => false,
    }
}
