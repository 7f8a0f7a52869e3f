// SPDX-License-Identifier: MIT OR Apache-2.0
//! One task of the file: its own keys, its phases, its events.

use std::collections::HashMap;
use std::sync::Arc;

use super::events::{self, Own, Timers};
use super::keys::{self, Kind};
use super::members::{Object, Scope};
use super::{check, settings, span, Draft, Names, MAX_INSTANCES};
use crate::error::WorkloadError;
use crate::json::{Member, Value};
use crate::model::{Change, Definition, Phase, Program, Settings};
use crate::random::Span;

/// The names of all tasks, before any is read: events may name later ones.
pub(super) fn names(tasks: &Object<'_>) -> Result<HashMap<String, u32>, WorkloadError> {
    let mut names = HashMap::new();
    for (index, member) in (0u32..).zip(tasks.members) {
        let Member { key, line, .. } = member;
        if key.is_empty() || key.contains(char::is_control) {
            let message = format!("{key:?} is no name for a task");
            return Err(tasks.scope.error(*line, message));
        }
        if names.insert(key.clone(), index).is_some() {
            let message = "another task has this name already";
            return Err(tasks.scope.task(key).error(*line, message));
        }
    }
    Ok(names)
}

pub(super) fn read<'a>(
    file: Scope<'a>,
    member: &'a Member,
    names: &mut Names,
) -> Result<Draft, WorkloadError> {
    let scope = file.task(&member.key);
    let object = Object::of(scope, "a task", &member.node)?;
    check_keys(&object)?;
    let own = settings::read(&object, &mut names.groups)?;
    let mut begin = Settings {
        policy: names.default_policy,
        priority: names.default_policy.default_priority(),
        weight: None,
        share: None,
        cpus: None,
        group: None,
        slice_ns: None,
    };
    own.apply(&mut begin, &None);
    let instances = match object.get("instance")? {
        Some(count) => scope.integer(count, 0..=MAX_INSTANCES as i64)? as u32,
        None => 1,
    };
    let mut shared = Own { timers: Timers::default(), instances };
    let (program, places) = match object.get("phases")? {
        Some(phases) => phased(&object, phases, names, &mut shared)?,
        None => {
            // The events stand in the task itself: one phase, whose loop is the task's.
            let given = object.get("loop")?;
            let phase = Phase {
                loops: given.map_or(Ok(Some(1)), |m| loops(scope, m, 1))?,
                change: Change::default(),
                events: events::read(&object, names, &mut shared)?,
            };
            let program = Program { loops: given.map(|_| 1), phases: vec![phase] };
            (program, vec![object])
        }
    };
    check::settings(&object, &begin, &program, &places)?;
    check::uses_time(&object, &program, &places)?;
    let task_cpus = begin.cpus.clone();
    if let Some(first) = program.phases.first() {
        // Task and first phase take effect at once, so the task starts with both.
        first.change.apply(&mut begin, &task_cpus);
    }
    let duration = |key: &str| object.get(key)?.map(|m| span::read(scope, m)).transpose();
    let thread_of = match object.get("thread_of")? {
        Some(leader) => Some((scope.string(leader)?.to_owned(), leader.node.line)),
        None => None,
    };
    let definition = Definition {
        name: member.key.clone(),
        settings: begin,
        task_cpus,
        delay: duration("delay")?.unwrap_or(Span::Fixed(0)),
        arrive: duration("arrive")?,
        leaders: Vec::new(),
        own_timers: shared.timers.kinds,
        program: Arc::new(program),
    };
    Ok(Draft { definition, instances, thread_of })
}

fn phased<'a>(
    task: &Object<'a>,
    member: &'a Member,
    names: &mut Names,
    own: &mut Own,
) -> Result<(Program, Vec<Object<'a>>), WorkloadError> {
    if let Some(event) = task.members.iter().find(|m| matches!(keys::kind(&m.key), Kind::Event(_)))
    {
        let message = format!(
            "event {:?} stands beside \"phases\" and would never run: move it into a phase",
            event.key
        );
        return Err(task.scope.error(event.line, message));
    }
    let object = Object::of(task.scope, "\"phases\"", &member.node)?;
    if object.members.is_empty() {
        return Err(task.scope.error(object.line, "\"phases\" is empty"));
    }
    let mut phases = Vec::with_capacity(object.members.len());
    let mut places = Vec::with_capacity(object.members.len());
    for member in object.members {
        let scope = task.scope.phase(&member.key);
        let place = Object::of(scope, "a phase", &member.node)?;
        check_keys(&place)?;
        phases.push(Phase {
            loops: place.get("loop")?.map_or(Ok(Some(1)), |m| loops(scope, m, 1))?,
            change: settings::read(&place, &mut names.groups)?,
            events: events::read(&place, names, own)?,
        });
        places.push(place);
    }
    let given = task.get("loop")?;
    let loops = given.map_or(Ok(None), |m| loops(task.scope, m, 0))?;
    Ok((Program { loops, phases }, places))
}

/// A number of rounds; -1 is for ever. A phase cannot have 0: rt-app repeats it for ever then.
fn loops(scope: Scope<'_>, member: &Member, min: u64) -> Result<Option<u64>, WorkloadError> {
    match member.node.value {
        Value::Int(-1) => Ok(None),
        Value::Int(n) if n >= min as i64 => Ok(Some(n as u64)),
        _ => {
            let wanted = format!("-1 (for ever) or a whole number from {min} up");
            Err(scope.mismatch(member, wanted))
        }
    }
}

fn check_keys(object: &Object<'_>) -> Result<(), WorkloadError> {
    let in_phase = object.scope.in_phase();
    for Member { key, line, .. } in object.members {
        let message = match keys::kind(key) {
            Kind::Setting if in_phase && keys::TASK_ONLY.contains(&key.as_str()) => {
                format!("{key:?} belongs to the task, not to a phase")
            }
            Kind::Setting | Kind::Event(_) => continue,
            Kind::NotYet => {
                format!("{key:?} is not supported yet: this version does not simulate it")
            }
            Kind::Unknown => keys::unknown("key", key, keys::all(in_phase)),
        };
        return Err(object.scope.error(*line, message));
    }
    Ok(())
}
