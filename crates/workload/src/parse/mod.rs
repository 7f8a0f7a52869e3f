// SPDX-License-Identifier: MIT OR Apache-2.0
//! From the text of a workload file to a checked [`Workload`].

use std::collections::{BTreeMap, HashMap};

use crate::error::WorkloadError;
use crate::event::{Event, TaskEvent};
use crate::json;
use crate::machine_key::MachineKey;
use crate::model::{Definition, Policy, Task, Workload};

mod arrivals;
mod cgroup_files;
mod check;
mod customers;
mod events;
mod global;
mod groups;
mod keys;
mod members;
mod outside;
mod resources;
mod settings;
mod sockets;
mod span;
mod streams;
mod task;
mod threads;

pub(crate) use keys::event_word;

use events::locks::Locks;
use events::meetings::Meetings;
use events::memory::Memory;
use events::time::Timers;
use global::RtApp;
use groups::Groups;
use members::{Object, Scope};
use sockets::Sockets;
use streams::Streams;

/// How many instances a file may start.
const MAX_INSTANCES: u64 = 100_000;

/// Names that events and tasks refer to, gathered over the whole file.
struct Names {
    /// Task name to index among the definitions.
    tasks: HashMap<String, u32>,
    groups: Groups,
    shared_timers: Timers,
    meetings: Meetings,
    locks: Locks,
    memory: Memory,
    warnings: Vec<WorkloadError>,
    sockets: Sockets,
    streams: Streams,
    default_policy: Policy,
    /// With rt-app 1.0: names of `suspend` and `resume` that no task has, with their indices.
    resumes: Option<BTreeMap<String, u32>>,
}

/// Gives the text of a file that a workload names, or says why not.
pub type Files<'a> = &'a dyn Fn(&str) -> Result<String, String>;

/// Reads a workload file that names no others; `file_name` is only used in messages.
pub fn parse(file_name: &str, text: &str) -> Result<Workload, WorkloadError> {
    parse_with(file_name, text, &|_| Err("no other files can be read here".to_owned()))
}

/// Reads a workload file and the lists of arrivals that it names.
pub fn parse_with(
    file_name: &str,
    text: &str,
    files: Files<'_>,
) -> Result<Workload, WorkloadError> {
    let scope = Scope::file(file_name);
    let root = json::parse(text).map_err(|e| scope.error(e.at, e.message))?;
    let root = Object::of(scope, "the file", &root)?;
    root.only(&keys::FILE)?;
    if let Some(schema) = root.get("$schema")? {
        scope.string(schema)?;
    }
    let global = global::read(&root)?;
    if let Some(resources) = root.get("resources")? {
        resources::check(scope, resources)?;
    }
    let machine = root.get("machine")?.map(|member| {
        let key = MachineKey::of(&member.node);
        key.ok_or_else(|| {
            scope.mismatch(member, "the name of a machine, or an object that describes one")
        })
    });
    let machine = machine.transpose()?;
    let Some(tasks) = root.get("tasks")? else {
        return Err(scope.error(root.at, "\"tasks\" is missing: it holds what is to run"));
    };
    let tasks = Object::of(scope, "\"tasks\"", &tasks.node)?;
    let mut sockets = Sockets::read(&root)?;
    let customers = customers::read(&root, &mut sockets, files)?;
    let mut names = Names {
        tasks: task::names(&tasks)?,
        groups: Groups::default(),
        shared_timers: Timers::default(),
        meetings: Meetings::default(),
        locks: Locks::default(),
        memory: global.memory,
        warnings: global.warnings,
        sockets,
        streams: Streams::read(&root)?,
        default_policy: global.default_policy,
        resumes: (global.rt_app == RtApp::V1_0).then(BTreeMap::new),
    };
    let mut definitions = Vec::with_capacity(tasks.members.len());
    for member in tasks.members {
        definitions.push(task::read(scope, member, &mut names)?);
    }
    let firsts = first_instances(&tasks, &definitions)?;
    let forks = |e: &Event| matches!(e, Event::Task(TaskEvent::Fork { .. }));
    let forks = definitions.iter().any(|d| d.definition.events().any(forks));
    let barriers = names.meetings.barriers(forks, &mut names.warnings)?;
    threads::resolve(scope, &mut definitions, &names.tasks, &firsts)?;
    let initial = expand(&definitions, &firsts);
    let known = outside::Known {
        tasks: &names.tasks,
        instances: &initial,
        groups: &names.groups,
        lends: global.pi_enabled && !names.locks.mutexes.is_empty(),
        made: Vec::new(),
    };
    let outside = outside::read(&root, known)?;
    let others = names.resumes.as_ref().map_or(0, BTreeMap::len);
    Ok(Workload {
        duration_ns: global.duration_ns,
        ends_with_tasks: global.ends_with_tasks,
        machine,
        tasks: initial,
        groups: names.groups.into_list(),
        definitions: definitions.into_iter().map(|d| d.definition).collect(),
        timers: names.shared_timers.kinds,
        semaphores: names.meetings.semaphores.into_list(),
        barriers,
        mutexes: names.locks.mutexes.into_list(),
        conditions: names.locks.conditions.into_list(),
        pi_enabled: global.pi_enabled,
        resume_names: (tasks.members.len() + others) as u32,
        warnings: names.warnings,
        requests: names.sockets.finish(customers)?,
        streams: names.streams.list,
        flows: names.streams.flows,
        outside,
    })
}

/// A definition and what is only needed until the file is read.
struct Draft {
    definition: Definition,
    instances: u32,
    /// Task or instance named by `thread_of`, with its place.
    thread_of: Option<(String, json::Pos)>,
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
            return Err(scope.error(member.at, message));
        }
    }
    if next == 0 {
        let message = "nothing starts: every task has \"instance\": 0 or there is no task";
        return Err(tasks.scope.error(tasks.at, message));
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

#[cfg(test)]
mod tests;

#[cfg(test)]
mod requests_tests;

#[cfg(test)]
mod mistakes_tests;

#[cfg(test)]
mod schema_tests;
