// SPDX-License-Identifier: MIT OR Apache-2.0
//! Typed access to JSON members, with errors that say where.

use std::fmt::Display;
use std::ops::RangeInclusive;

use super::keys;
use crate::error::WorkloadError;
use crate::json::{Member, Node, Pos, Value};

/// Where in a file something stands.
#[derive(Clone, Copy)]
pub(super) struct Scope<'a> {
    file: &'a str,
    task: Option<&'a str>,
    phase: Option<&'a str>,
}

impl<'a> Scope<'a> {
    pub(super) fn file(file: &'a str) -> Self {
        Scope { file, task: None, phase: None }
    }

    pub(super) fn task(self, task: &'a str) -> Self {
        Scope { task: Some(task), ..self }
    }

    pub(super) fn phase(self, phase: &'a str) -> Self {
        Scope { phase: Some(phase), ..self }
    }

    pub(super) fn task_name(self) -> Option<&'a str> {
        self.task
    }

    pub(super) fn in_phase(self) -> bool {
        self.phase.is_some()
    }

    pub(super) fn error(self, at: Pos, message: impl Into<String>) -> WorkloadError {
        WorkloadError {
            file: self.file.to_owned(),
            line: at.line,
            column: at.column,
            task: self.task.map(str::to_owned),
            phase: self.phase.map(str::to_owned),
            message: message.into(),
        }
    }

    /// As messages name a place.
    pub(super) fn place(self, at: Pos) -> String {
        format!("{}:{}:{}", self.file, at.line, at.column)
    }

    pub(super) fn boolean(self, member: &Member) -> Result<bool, WorkloadError> {
        match member.node.value {
            Value::Bool(b) => Ok(b),
            _ => Err(self.mismatch(member, "true or false")),
        }
    }

    /// The member has a value other than what was wanted.
    pub(super) fn mismatch(self, member: &Member, wanted: impl Display) -> WorkloadError {
        let Member { key, node, .. } = member;
        self.error(node.at, format!("{key:?} must be {wanted}, not {}", node.value))
    }

    pub(super) fn integer(
        self,
        member: &Member,
        range: RangeInclusive<i64>,
    ) -> Result<i64, WorkloadError> {
        match member.node.value {
            Value::Int(i) if range.contains(&i) => Ok(i),
            _ => {
                let (min, max) = range.into_inner();
                Err(self.mismatch(member, format_args!("a whole number from {min} to {max}")))
            }
        }
    }

    pub(super) fn string(self, member: &'a Member) -> Result<&'a str, WorkloadError> {
        match &member.node.value {
            Value::String(text) => Ok(text),
            _ => Err(self.mismatch(member, "a string")),
        }
    }
}

/// An object and where it stands.
#[derive(Clone, Copy)]
pub(super) struct Object<'a> {
    pub(super) scope: Scope<'a>,
    pub(super) at: Pos,
    pub(super) members: &'a [Member],
}

impl<'a> Object<'a> {
    /// The node as an object; `what` names it in the error if it is something else.
    pub(super) fn of(scope: Scope<'a>, what: &str, node: &'a Node) -> Result<Self, WorkloadError> {
        match &node.value {
            Value::Object(members) => Ok(Object { scope, at: node.at, members }),
            other => {
                let message = format!("{what} must be an object {{…}}, not {other}");
                Err(scope.error(node.at, message))
            }
        }
    }

    /// The member with this key. Keys that are no events may stand only once.
    pub(super) fn get(&self, key: &str) -> Result<Option<&'a Member>, WorkloadError> {
        let mut found = self.members.iter().filter(|m| m.key == key);
        let first = found.next();
        match found.next() {
            Some(again) => Err(self.scope.error(again.at, format!("{key:?} is listed twice here"))),
            None => Ok(first),
        }
    }

    /// The member with this key, which must be there.
    pub(super) fn required(&self, key: &str) -> Result<&'a Member, WorkloadError> {
        let missing = || self.scope.error(self.at, format!("{key:?} is missing here"));
        self.get(key)?.ok_or_else(missing)
    }

    /// Where a key stands, or the object where it has none.
    pub(super) fn place_of(&self, key: &str) -> Pos {
        let member = self.members.iter().find(|m| m.key == key);
        member.map_or(self.at, |m| m.at)
    }

    /// Refuses members other than these.
    pub(super) fn only(&self, known: &[&str]) -> Result<(), WorkloadError> {
        self.only_or(known, &[])
    }

    /// The same; of those that are passed over no message speaks.
    pub(super) fn only_or(
        &self,
        known: &[&str],
        passed_over: &[&str],
    ) -> Result<(), WorkloadError> {
        let is_known = |key: &str| known.contains(&key) || passed_over.contains(&key);
        match self.members.iter().find(|m| !is_known(&m.key)) {
            Some(member) => {
                let message = keys::unknown("key", &member.key, known.iter().copied());
                Err(self.scope.error(member.at, message))
            }
            None => Ok(()),
        }
    }
}
