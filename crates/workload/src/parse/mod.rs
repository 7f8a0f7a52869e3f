// SPDX-License-Identifier: MIT OR Apache-2.0
//! From the text of a workload file to a checked [`Workload`].

use std::collections::HashMap;

use crate::error::WorkloadError;
use crate::json;
use crate::model::{Definition, Policy, Task, TaskIx, Workload};

mod check;
mod events;
mod global;
mod keys;
mod meetings;
mod members;
mod settings;
mod span;
mod task;
mod threads;

use members::{Object, Scope};
use settings::Groups;

/// How many instances a file may start.
const MAX_INSTANCES: u64 = 100_000;

/// Names that events and tasks refer to, gathered over the whole file.
struct Names {
    /// Task name to index among the definitions.
    tasks: HashMap<String, u32>,
    groups: Groups,
    shared_timers: events::Timers,
    meetings: meetings::Meetings,
    default_policy: Policy,
}

/// Reads a workload file; `file_name` is only used in messages.
pub fn parse(file_name: &str, text: &str) -> Result<Workload, WorkloadError> {
    let scope = Scope::file(file_name);
    let root = json::parse(text).map_err(|e| scope.error(e.line, e.message))?;
    let root = Object::of(scope, "the file", &root)?;
    root.only(&["tasks", "global", "resources"])?;
    let global = global::read(&root)?;
    if let Some(resources) = root.get("resources")? {
        // Kept by rt-app for old files: resources come into being where events name them.
        Object::of(scope, "\"resources\"", &resources.node)?;
    }
    let Some(tasks) = root.get("tasks")? else {
        return Err(scope.error(root.line, "\"tasks\" is missing: it holds what is to run"));
    };
    let tasks = Object::of(scope, "\"tasks\"", &tasks.node)?;
    let mut names = Names {
        tasks: task::names(&tasks)?,
        groups: Groups::default(),
        shared_timers: events::Timers::default(),
        meetings: meetings::Meetings::default(),
        default_policy: global.default_policy,
    };
    let mut definitions = Vec::with_capacity(tasks.members.len());
    for member in tasks.members {
        definitions.push(task::read(scope, member, &mut names)?);
    }
    let firsts = first_instances(&tasks, &definitions)?;
    let barriers = names.meetings.barriers()?;
    threads::resolve(scope, &mut definitions, &names.tasks, &firsts)?;
    let initial = expand(&definitions, &firsts);
    Ok(Workload {
        duration_ns: global.duration_ns,
        tasks: initial,
        groups: names.groups.into_list(),
        definitions: definitions.into_iter().map(|d| d.definition).collect(),
        timers: names.shared_timers.kinds,
        semaphores: names.meetings.semaphores.into_list(),
        barriers,
    })
}

/// A definition and what is only needed until the file is read.
struct Draft {
    definition: Definition,
    instances: u32,
    /// Task or instance named by `thread_of`, with its line.
    thread_of: Option<(String, u32)>,
}

/// Index of the first instance of each task: indices count over the whole file.
fn first_instances(tasks: &Object<'_>, drafts: &[Draft]) -> Result<Vec<u32>, WorkloadError> {
    let mut next = 0u64;
    let mut firsts = Vec::with_capacity(drafts.len());
    for (draft, member) in drafts.iter().zip(tasks.members) {
        firsts.push(next as u32);
        next += u64::from(draft.instances);
        if next > MAX_INSTANCES {
            let scope = tasks.scope.task(&member.key);
            let message = format!("the file starts more than {MAX_INSTANCES} instances");
            return Err(scope.error(member.line, message));
        }
    }
    if next == 0 {
        let message = "nothing starts: every task has \"instance\": 0 or there is no task";
        return Err(tasks.scope.error(tasks.line, message));
    }
    Ok(firsts)
}

fn expand(drafts: &[Draft], firsts: &[u32]) -> Vec<Task> {
    let mut tasks = Vec::new();
    for ((number, draft), first) in (0u32..).zip(drafts).zip(firsts) {
        let definition = &draft.definition;
        for k in 0..draft.instances {
            tasks.push(Task {
                name: format!("{}-{}", definition.name, first + k),
                settings: definition.settings.clone(),
                thread_of: definition.leader(k),
                definition: number,
            });
        }
    }
    tasks
}

/// The instances of a task as indices.
fn instances(draft: &Draft, first: u32) -> impl Iterator<Item = TaskIx> {
    (first..first + draft.instances).map(TaskIx)
}

#[cfg(test)]
mod tests;
