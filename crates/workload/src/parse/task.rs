// SPDX-License-Identifier: MIT OR Apache-2.0
//! One task of the file: its own keys, its phases, its events.

use std::collections::HashMap;
use std::sync::Arc;

use super::events::time::Timers;
use super::events::{self, Own};
use super::keys::{self, Kind};
use super::members::{Object, Scope};
use super::sockets::TaskSockets;
use super::{check, settings, span, Draft, Names, MAX_INSTANCES};
use crate::error::WorkloadError;
use crate::json::{Member, Value};
use crate::model::{Change, Definition, Leaders, Phase, Policy, Program, Settings};
use crate::random::Span;
use crate::work::WorkKind;

/// The longest name of a task in bytes: each instance has it.
const MAX_NAME: usize = 255;

/// How many timers all instances of a task may have.
const MAX_OWN_TIMERS: u64 = 10_000_000;

/// The names of all tasks, before any is read: events may name later ones.
pub(super) fn names(tasks: &Object<'_>) -> Result<HashMap<String, u32>, WorkloadError> {
    let mut names = HashMap::new();
    for (index, member) in (0u32..).zip(tasks.members) {
        let Member { key, at, .. } = member;
        if key.is_empty() || key.contains(char::is_control) {
            let message = format!("{key:?} is not a valid name for a task");
            return Err(tasks.scope.error(*at, message));
        }
        if key.len() > MAX_NAME {
            let message = format!(
                "a name for a task that is {} bytes long: at most {MAX_NAME} are possible",
                key.len()
            );
            return Err(tasks.scope.error(*at, message));
        }
        if names.insert(key.clone(), index).is_some() {
            let message = "another task has this name already";
            return Err(tasks.scope.task(key).error(*at, message));
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
    let own = settings::read(&object, names)?;
    let mut begin = Settings {
        policy: names.default_policy,
        priority: names.default_policy.default_priority(),
        weight: None,
        share: None,
        cpus: None,
        group: None,
        migrate_disable: false,
        core_cookie: None,
        mem_nodes: None,
        slice_ns: None,
        dl_period_ns: None,
        dl_deadline_ns: None,
        util_min: None,
        util_max: None,
        work: WorkKind::default(),
    };
    own.apply(&mut begin, &None);
    if begin.policy == Policy::Deadline && begin.slice_ns.is_none() {
        begin.slice_ns = old_budget(&object)?;
    }
    let instances = match object.get("instance")? {
        Some(count) => scope.integer(count, 0..=MAX_INSTANCES as i64)? as u32,
        None => 1,
    };
    let sockets = TaskSockets::default();
    let mut shared = Own { timers: Timers::default(), instances, sockets };
    let (program, places) = match object.get("phases")? {
        Some(phases) => phased(&object, phases, &begin, names, &mut shared)?,
        None => {
            // The events stand in the task itself: one phase, whose loop is the task's.
            let given = object.get("loop")?;
            let phase = Phase {
                loops: given.map_or(Ok(Some(1)), |m| loops(scope, m, names))?,
                change: Change::default(),
                events: events::read(&object, names, &mut shared)?,
            };
            let program = Program { loops: given.map(|_| 1), phases: vec![phase] };
            (program, vec![object])
        }
    };
    let timers = u64::from(instances) * shared.timers.kinds.len() as u64;
    if timers > MAX_OWN_TIMERS {
        let message = format!(
            "{instances} instances with {} timers each are {timers} timers: at most \
             {MAX_OWN_TIMERS} are possible",
            shared.timers.kinds.len()
        );
        return Err(scope.error(object.place_of("instance"), message));
    }
    names.sockets.add(shared.sockets)?;
    check::settings(&object, &begin, &program, &places)?;
    check::uses_time(&object, &program, &places)?;
    let task_cpus = begin.cpus.clone();
    if let Some(first) = program.phases.first() {
        // Task and first phase take effect at once, so the task starts with both.
        first.change.apply(&mut begin, &task_cpus);
    }
    let duration = |key: &str| object.get(key)?.map(|m| span::read(scope, m)).transpose();
    let thread_of = match object.get("thread_of")? {
        Some(leader) => Some((scope.string(leader)?.to_owned(), leader.node.at)),
        None => None,
    };
    let number = |key: &str, range: std::ops::RangeInclusive<i64>| match object.get(key)? {
        Some(member) if thread_of.is_some() => {
            let message = format!("a thread's {key:?} is that of its process: leave it out");
            Err(scope.error(member.at, message))
        }
        Some(member) => Ok(Some(scope.integer(member, range)? as u32)),
        None => Ok(None),
    };
    let kthread = match object.get("kthread")? {
        Some(member) => scope.boolean(member)?,
        None => false,
    };
    if kthread {
        check::kernel_thread(&object, task_cpus.as_deref(), &places)?;
    }
    let definition = Definition {
        name: member.key.as_str().into(),
        settings: begin,
        task_cpus,
        delay: duration("delay")?.unwrap_or(Span::Fixed(0)),
        arrive: duration("arrive")?,
        uid: number("uid", 0..=i64::from(u32::MAX) - 1)?,
        session: number("session", 1..=i64::from(i32::MAX))?,
        kthread,
        leaders: Leaders::default(),
        own_timers: shared.timers.kinds,
        program: Arc::new(program),
    };
    Ok(Draft { definition, instances, thread_of })
}

/// `runtime` on a deadline task is its budget too, as in rt-app's old grammar.
fn old_budget(object: &Object<'_>) -> Result<Option<u64>, WorkloadError> {
    Ok(object.get("runtime")?.and_then(|member| match member.node.value {
        Value::Int(us) if (1..=span::MAX_US).contains(&us) => Some(us as u64 * 1000),
        _ => None,
    }))
}

fn phased<'a>(
    task: &Object<'a>,
    member: &'a Member,
    begin: &Settings,
    names: &mut Names,
    own: &mut Own,
) -> Result<(Program, Vec<Object<'a>>), WorkloadError> {
    let is_event = |m: &&Member| matches!(keys::kind(&m.key), Kind::Event(_));
    let deadline = begin.policy == Policy::Deadline;
    let stray = |m: &&Member| is_event(m) && !(deadline && m.key == "runtime");
    if let Some(event) = task.members.iter().find(stray) {
        let message = format!(
            "event {:?} is next to \"phases\" and would never run: move it into a phase",
            event.key
        );
        return Err(task.scope.error(event.at, message));
    }
    let object = Object::of(task.scope, "\"phases\"", &member.node)?;
    if object.members.is_empty() {
        return Err(task.scope.error(object.at, "\"phases\" is empty"));
    }
    let mut phases = Vec::with_capacity(object.members.len());
    let mut places = Vec::with_capacity(object.members.len());
    for member in object.members {
        let scope = task.scope.phase(&member.key);
        let place = Object::of(scope, "a phase", &member.node)?;
        check_keys(&place)?;
        phases.push(Phase {
            loops: place.get("loop")?.map_or(Ok(Some(1)), |m| loops(scope, m, names))?,
            change: settings::read(&place, names)?,
            events: events::read(&place, names, own)?,
        });
        places.push(place);
    }
    let given = task.get("loop")?;
    let loops = given.map_or(Ok(None), |m| task_loops(task.scope, m))?;
    Ok((Program { loops, phases }, places))
}

/// Rounds of a phase; -1 is for ever, and so is 0, as rt-app counts after a round.
fn loops(
    scope: Scope<'_>,
    member: &Member,
    names: &mut Names,
) -> Result<Option<u64>, WorkloadError> {
    let loops = task_loops(scope, member)?;
    if loops == Some(0) {
        let message = "\"loop\" 0 repeats for ever, as in rt-app; write -1 if that is meant";
        names.warnings.push(scope.error(member.node.at, message));
        return Ok(None);
    }
    Ok(loops)
}

/// Rounds of a task; -1 is for ever, 0 none.
fn task_loops(scope: Scope<'_>, member: &Member) -> Result<Option<u64>, WorkloadError> {
    match member.node.value {
        Value::Int(-1) => Ok(None),
        Value::Int(n) if n >= 0 => Ok(Some(n as u64)),
        _ => Err(scope.mismatch(member, "-1 (for ever) or a whole number from 0 up")),
    }
}

fn check_keys(object: &Object<'_>) -> Result<(), WorkloadError> {
    let in_phase = object.scope.in_phase();
    for Member { key, at, .. } in object.members {
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
        return Err(object.scope.error(*at, message));
    }
    Ok(())
}
