// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an event is about, and what happens to it.

use super::{Known, COMMON};
use crate::error::WorkloadError;
use crate::events::{Action, Signal, TaskSetting, Tasks};
use crate::json::Member;
use crate::model::TaskIx;
use crate::parse::keys;
use crate::parse::members::{Object, Scope};
use crate::parse::settings;

mod cgroups;
mod cpus;
mod object;

type Read = fn(&Object<'_>, &Member, &Member, &Known<'_>) -> Result<Action, WorkloadError>;

/// A key that says what an event is about.
struct Subject {
    key: &'static str,
    /// Keys of what can happen to it: an event has one of them.
    actions: &'static [&'static str],
    /// Keys that go with them.
    others: &'static [&'static str],
    /// From the event, the subject and the action.
    read: Read,
}

const SUBJECTS: &[Subject] = &[
    Subject {
        key: "task",
        actions: &["cpus", "nice", "weight", "core_cookie", "move", "signal"],
        others: &[],
        read: task,
    },
    Subject {
        key: "cgroup",
        actions: &[
            "cpu.weight",
            "cpu.max",
            "cpu.max.burst",
            "cpu.idle",
            "cpuset.cpus",
            "create",
            "destroy",
            "scheduler",
        ],
        others: &[],
        read: cgroups::read,
    },
    Subject { key: "variable", actions: &["value"], others: &[], read: object::variable },
    Subject { key: "map", actions: &["value"], others: &["key"], read: object::map },
    Subject { key: "program", actions: &["cpu"], others: &["ctx"], read: object::program },
    Subject { key: "cpu", actions: cpus::ACTIONS, others: &[], read: cpus::read },
    Subject { key: "scheduler", actions: &[], others: &[], read: scheduler },
];

/// Reads the action of an event.
pub(super) fn read(object: &Object<'_>, known: &Known<'_>) -> Result<Action, WorkloadError> {
    let scope = object.scope;
    let keys = || SUBJECTS.iter().map(|subject| subject.key);
    let mut found: Vec<(&Subject, &Member)> = Vec::new();
    for subject in SUBJECTS {
        if let Some(member) = object.get(subject.key)? {
            let has = |s: &Subject| [s.actions, s.others].concat().contains(&subject.key);
            if !found.iter().any(|(earlier, _)| has(earlier)) {
                found.push((subject, member));
            }
        }
    }
    let (subject, named) = match found[..] {
        [one] => one,
        [] => {
            let actions = SUBJECTS.iter().flat_map(|subject| subject.actions.iter().copied());
            let all: Vec<&str> = COMMON.into_iter().chain(keys()).chain(actions).collect();
            object.only(&all)?;
            let keys: Vec<String> = keys().map(|key| format!("{key:?}")).collect();
            let message = format!("an event needs what it is about: {}", keys.join(", "));
            return Err(scope.error(object.at, message));
        }
        [(first, _), (second, member), ..] => {
            let message =
                format!("an event is about one thing: it has {:?} and {:?}", first.key, second.key);
            return Err(scope.error(member.at, message));
        }
    };
    let subject_key = [subject.key];
    let all: Vec<&str> = (COMMON.iter().chain(&subject_key))
        .chain(subject.actions)
        .chain(subject.others)
        .copied()
        .collect();
    object.only(&all)?;
    let mut actions = Vec::new();
    for key in subject.actions {
        actions.extend(object.get(key)?);
    }
    match actions[..] {
        [action] => (subject.read)(object, named, action, known),
        [] if subject.actions.is_empty() => (subject.read)(object, named, named, known),
        [] => {
            let keys: Vec<String> = subject.actions.iter().map(|key| format!("{key:?}")).collect();
            let message =
                format!("an event about a {:?} needs one of {}", subject.key, keys.join(", "));
            Err(scope.error(object.at, message))
        }
        [first, second, ..] => {
            let message = format!(
                "an event does one thing: write {:?} and {:?} as two events",
                first.key, second.key
            );
            Err(scope.error(second.at, message))
        }
    }
}

fn task(
    object: &Object<'_>,
    named: &Member,
    action: &Member,
    known: &Known<'_>,
) -> Result<Action, WorkloadError> {
    let scope = object.scope;
    let tasks = tasks(object, named, known)?;
    let setting = match action.key.as_str() {
        "cpus" => TaskSetting::Cpus(settings::cpus(scope, action)?),
        "nice" => TaskSetting::Nice(scope.integer(action, -20..=19)? as i32),
        "weight" => TaskSetting::Weight(scope.integer(action, 1..=10_000)? as u32),
        "core_cookie" => TaskSetting::CoreCookie(settings::cookie(scope, action)?),
        "signal" => return Ok(Action::Signal(tasks, signal(object, action, known)?)),
        _ => TaskSetting::Cgroup(cgroups::path(object, action, known)?),
    };
    Ok(Action::Set(tasks, setting))
}

/// The task of a name, or one instance of it.
fn tasks(object: &Object<'_>, named: &Member, known: &Known<'_>) -> Result<Tasks, WorkloadError> {
    let scope = object.scope;
    let name = scope.string(named)?;
    if known.tasks.contains_key(name) {
        return Ok(Tasks { name: name.into(), one: None });
    }
    let instances = || (0u32..).zip(known.instances);
    if let Some((at, _)) = instances().find(|(_, task)| task.name == name) {
        return Ok(Tasks { name: name.into(), one: Some(TaskIx(at)) });
    }
    let mut names: Vec<&str> = known.tasks.keys().map(String::as_str).collect();
    names.sort_unstable();
    let of_instances = known.instances.iter().take(100).map(|task| task.name.as_str());
    let all: Vec<&str> = names.into_iter().chain(of_instances).collect();
    Err(scope.error(named.node.at, keys::unknown("task", name, all.into_iter())))
}

fn signal(
    object: &Object<'_>,
    action: &Member,
    known: &Known<'_>,
) -> Result<Signal, WorkloadError> {
    let scope = object.scope;
    let name = scope.string(action)?;
    let Some(signal) = Signal::ALL.into_iter().find(|signal| signal.name() == name) else {
        let names = Signal::ALL.into_iter().map(Signal::name);
        return Err(scope.error(action.node.at, keys::unknown("signal", name, names)));
    };
    if signal == Signal::Kill && known.lends {
        let message =
            "SIGKILL is not supported yet with \"pi_enabled\" and mutexes: what a killed \
                       task borrows and lends would stay";
        return Err(scope.error(action.node.at, message));
    }
    Ok(signal)
}

/// It has no further key: what happens is its value.
fn scheduler(
    object: &Object<'_>,
    named: &Member,
    _: &Member,
    _: &Known<'_>,
) -> Result<Action, WorkloadError> {
    Ok(Action::Load(loads(object.scope, named)?))
}

/// Whether a scheduler is loaded, or unloaded.
fn loads(scope: Scope<'_>, named: &Member) -> Result<bool, WorkloadError> {
    match scope.string(named)? {
        "load" => Ok(true),
        "unload" => Ok(false),
        other => {
            let known = ["load", "unload"].into_iter();
            let message = keys::unknown("action of a scheduler", other, known);
            Err(scope.error(named.node.at, message))
        }
    }
}
