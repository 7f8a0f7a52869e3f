// SPDX-License-Identifier: MIT OR Apache-2.0
//! `thread_of`: which instances lead the process of which others.

use std::collections::HashMap;

use super::members::Scope;
use super::{keys, Draft};
use crate::error::WorkloadError;
use crate::model::Leaders;

/// Fills in `leaders` of every definition that names one.
pub(super) fn resolve(
    file: Scope<'_>,
    drafts: &mut [Draft],
    names: &HashMap<String, u32>,
    firsts: &[u32],
) -> Result<(), WorkloadError> {
    for index in 0..drafts.len() {
        let Some((leader, at)) = drafts[index].thread_of.clone() else {
            continue;
        };
        let found = find(&leader, drafts, names, firsts);
        let task = &drafts[index].definition.name;
        let scope = file.task(task);
        let Some((definition, leaders)) = found else {
            let known = drafts.iter().map(|d| &*d.definition.name);
            return Err(scope.error(at, keys::unknown("task", &leader, known)));
        };
        let trouble = if definition == index {
            Some("a task cannot be a thread of itself".to_owned())
        } else if drafts[definition].thread_of.is_some() {
            Some(format!("{leader:?} is a thread itself: name the task that leads the process"))
        } else if drafts[definition].definition.kthread {
            Some(format!("{leader:?} is a kernel thread, which leads no process"))
        } else if matches!(leaders, Leaders::Fork { .. }) && drafts[index].instances > 0 {
            Some(format!(
                "{leader:?} is only forked: a thread of it must be, too (\"instance\": 0)"
            ))
        } else {
            None
        };
        if let Some(message) = trouble {
            return Err(scope.error(at, message));
        }
        drafts[index].definition.leaders = leaders;
    }
    Ok(())
}

/// The instances a name stands for: those of a task, or the single one `<task>-<index>`.
fn find(
    name: &str,
    drafts: &[Draft],
    names: &HashMap<String, u32>,
    firsts: &[u32],
) -> Option<(usize, Leaders)> {
    if let Some(definition) = names.get(name) {
        let definition = *definition as usize;
        let leaders = match drafts[definition].instances {
            0 => Leaders::Fork { definition: definition as u32 },
            count => Leaders::Initial { first: firsts[definition], count },
        };
        return Some((definition, leaders));
    }
    let (task, number) = name.rsplit_once('-')?;
    let definition = *names.get(task)? as usize;
    // Written again, so that "a-01" is no other name of "a-1".
    let first = number.parse::<u32>().ok().filter(|index| index.to_string() == number)?;
    let begin = firsts[definition];
    let is_one = (begin..begin + drafts[definition].instances).contains(&first);
    is_one.then_some((definition, Leaders::Initial { first, count: 1 }))
}
