// SPDX-License-Identifier: MIT OR Apache-2.0
//! The task groups (cgroups) that tasks and phases name, and what their files hold.

use std::collections::HashMap;
use std::mem::discriminant;
use std::sync::Arc;

use super::cgroup_files;
use super::members::{Object, Scope};
use super::settings::plain_path;
use crate::error::WorkloadError;
use crate::events::CgroupAction;
use crate::json::{Member, Value};
use crate::model::Group;

/// How many task groups a file may name, those that others are in included.
const MAX_GROUPS: usize = 100_000;

/// The task groups named so far.
#[derive(Default)]
pub(super) struct Groups {
    known: Vec<Named>,
    /// Path without the first "/" to index among them.
    index: HashMap<String, usize>,
}

/// A task group, and the files that its `taskgroup` keys give values to.
struct Named {
    path: Arc<str>,
    files: Vec<CgroupAction>,
}

impl Groups {
    /// The group a `taskgroup` key names: `None` where the text is empty (nothing changes),
    /// `Some(None)` for the root group.
    pub(super) fn read(
        &mut self,
        scope: Scope<'_>,
        member: &Member,
    ) -> Result<Option<Option<Arc<str>>>, WorkloadError> {
        let (path, files) = match &member.node.value {
            Value::String(path) if path.is_empty() => return Ok(None),
            Value::String(path) => (path.as_str(), Vec::new()),
            Value::Object(_) => group_object(scope, member)?,
            _ => {
                let wanted = "a path or {\"path\": …, \"cpu.weight\": …}";
                return Err(scope.mismatch(member, wanted));
            }
        };
        let at = member.node.at;
        let Some(relative) = plain_path(scope, at, path)? else {
            if let Some(file) = files.first() {
                let (key, _) = key_and_value(file);
                let message = format!("the root task group \"/\" takes no {key:?}");
                return Err(scope.error(at, message));
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
        for file in files {
            entry
                .add(file)
                .map_err(|what| scope.error(at, format!("task group {path:?} {what}")))?;
        }
        entry.check().map_err(|what| scope.error(at, format!("task group {path:?} {what}")))?;
        Ok(Some(Some(entry.path.clone())))
    }

    fn entry(&mut self, relative: &str) -> &mut Named {
        let next = self.known.len();
        let index = match self.index.get(relative) {
            Some(index) => *index,
            None => {
                self.index.insert(relative.to_owned(), next);
                let path = format!("/{relative}").into();
                self.known.push(Named { path, files: Vec::new() });
                next
            }
        };
        &mut self.known[index]
    }

    /// The group of a path without the first "/".
    pub(super) fn find(&self, relative: &str) -> Option<Arc<str>> {
        self.index.get(relative).map(|index| Arc::clone(&self.known[*index].path))
    }

    /// Their paths.
    pub(super) fn paths(&self) -> impl Iterator<Item = &str> + Clone {
        self.known.iter().map(|named| &*named.path)
    }

    /// All groups, parents before children.
    pub(super) fn into_list(self) -> Vec<Group> {
        self.known.into_iter().map(Named::into_group).collect()
    }
}

impl Named {
    /// A value of a file, which every `taskgroup` key that has it gives alike.
    fn add(&mut self, file: CgroupAction) -> Result<(), String> {
        let same = |old: &&CgroupAction| discriminant(*old) == discriminant(&file);
        match self.files.iter().find(same) {
            Some(old) if *old == file => {}
            Some(old) => {
                let (key, new) = key_and_value(&file);
                let (_, old) = key_and_value(old);
                return Err(format!("has {key:?} {new} here and {old} before"));
            }
            None => self.files.push(file),
        }
        Ok(())
    }

    /// `tg_set_bandwidth()`, `sched_group_set_shares()`: values that do not go together.
    fn check(&self) -> Result<(), String> {
        let burst_us = self.files.iter().find_map(|file| match file {
            CgroupAction::Burst(us) => Some(*us),
            _ => None,
        });
        let quota_us = self.files.iter().find_map(|file| match file {
            CgroupAction::Max { quota_us, .. } => *quota_us,
            _ => None,
        });
        match (quota_us, burst_us) {
            (Some(quota), Some(burst)) if burst > quota || burst + quota > cgroup_files::MAX_US => {
                Err(format!("cannot have a \"cpu.max.burst\" of {burst} with a quota of {quota}"))
            }
            _ => Ok(()),
        }
    }

    fn into_group(self) -> Group {
        let weight = |file: &CgroupAction| match file {
            CgroupAction::Weight(weight) => Some(*weight),
            _ => None,
        };
        let cpu_weight = self.files.iter().find_map(weight).unwrap_or(100);
        let mut files = self.files;
        files.retain(|file| weight(file).is_none());
        Group { path: self.path.to_string(), cpu_weight, files }
    }
}

fn key_and_value(file: &CgroupAction) -> (String, String) {
    let text = file.to_string();
    text.split_once(' ').map_or((text.clone(), String::new()), |(k, v)| (k.into(), v.into()))
}

fn group_object<'a>(
    scope: Scope<'a>,
    member: &'a Member,
) -> Result<(&'a str, Vec<CgroupAction>), WorkloadError> {
    let object = Object::of(scope, "\"taskgroup\"", &member.node)?;
    let mut keys = vec!["path"];
    keys.extend(cgroup_files::FILES);
    object.only(&keys)?;
    let Some(path) = object.get("path")? else {
        return Err(scope.error(object.at, "\"taskgroup\" needs a \"path\""));
    };
    let mut files = Vec::new();
    for key in cgroup_files::FILES {
        if let Some(member) = object.get(key)? {
            files.push(cgroup_files::read(scope, member)?);
        }
    }
    Ok((scope.string(path)?, files))
}
