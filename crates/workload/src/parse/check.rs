// SPDX-License-Identifier: MIT OR Apache-2.0
//! What only a whole task can get wrong: settings that do not suit each other from phase to
//! phase, and loops that never use time.

use super::members::Object;
use crate::error::WorkloadError;
use crate::event::Event;
use crate::model::{Phase, Policy, Program, Settings};

/// Follows the settings through all phases, twice if they are repeated: the second round starts
/// with what the last phase left.
pub(super) fn settings(
    task: &Object<'_>,
    begin: &Settings,
    program: &Program,
    places: &[Object<'_>],
) -> Result<(), WorkloadError> {
    suit(task, begin)?;
    let mut now = begin.clone();
    let rounds = if program.loops == Some(1) { 1 } else { 2 };
    for _ in 0..rounds {
        for (phase, place) in program.phases.iter().zip(places) {
            phase.change.apply(&mut now, &begin.cpus);
            suit(place, &now)?;
        }
    }
    Ok(())
}

/// What a thread of the kernel cannot have or do. With one CPU from the start it is bound to it
/// (`kthread_bind()`).
pub(super) fn kernel_thread(
    task: &Object<'_>,
    cpus: Option<&[u32]>,
    places: &[Object<'_>],
) -> Result<(), WorkloadError> {
    let refuse = |place: &Object<'_>, key: &str, what: &str| {
        Err(place
            .scope
            .error(place.place_of(key), format!("a kernel thread {what}: leave out {key:?}")))
    };
    for (key, what) in [
        ("thread_of", "is a process of its own"),
        ("uid", "belongs to no user but 0"),
        ("session", "is in no session"),
    ] {
        if task.get(key)?.is_some() {
            return refuse(task, key, what);
        }
    }
    let is_bound = cpus.is_some_and(|cpus| cpus.len() == 1);
    for place in places.iter().chain([task]) {
        if place.get("taskgroup")?.is_some() {
            return refuse(place, "taskgroup", "stays in the root group");
        }
        let is_phase = place.at != task.at;
        if is_phase && is_bound && place.get("cpus")?.is_some() {
            return refuse(place, "cpus", "with one CPU is bound to it");
        }
        if let Some(fork) = place
            .members
            .iter()
            .find(|m| ["fork", "vfork"].iter().any(|word| m.key.starts_with(word)))
        {
            return refuse(place, &fork.key, "forks no tasks");
        }
    }
    Ok(())
}

fn suit(place: &Object<'_>, settings: &Settings) -> Result<(), WorkloadError> {
    let (range, class) = match settings.policy {
        Policy::Other | Policy::Batch | Policy::Idle | Policy::Ext => {
            (-20..=19, "a nice value from -20 to 19")
        }
        Policy::Rr | Policy::Fifo => (1..=99, "a real-time priority from 1 to 99"),
        Policy::Deadline => (0..=0, "no priority (or 0)"),
    };
    let Settings { policy, priority, group, .. } = settings;
    if !range.contains(priority) {
        let message = format!("policy {policy} takes {class}, not {priority}");
        return Err(place.scope.error(place.place_of("priority"), message));
    }
    if *policy == Policy::Deadline {
        deadline(place, settings)?;
    }
    if let (Some(least), Some(most)) = (settings.util_min, settings.util_max) {
        // uclamp_validate()
        if least > most {
            let message = format!("a util_min of {least} is more than the util_max of {most}");
            let later = if place.get("util_max")?.is_some() { "util_max" } else { "util_min" };
            return Err(place.scope.error(place.place_of(later), message));
        }
    }
    let fair = matches!(policy, Policy::Other | Policy::Batch | Policy::Idle | Policy::Ext);
    if let (Some(group), false) = (group, fair) {
        let message = format!("policy {policy} cannot be in a task group ({group:?})");
        return Err(place.scope.error(place.place_of("taskgroup"), message));
    }
    Ok(())
}

/// What the kernel asks of a deadline task (`__checkparam_dl()`).
fn deadline(place: &Object<'_>, settings: &Settings) -> Result<(), WorkloadError> {
    let Some(runtime) = settings.slice_ns else {
        let message = "policy SCHED_DEADLINE needs a \"dl-runtime\" above 0";
        return Err(place.scope.error(place.place_of("policy"), message));
    };
    let period = settings.dl_period_ns.unwrap_or(runtime);
    let deadline = settings.dl_deadline_ns.unwrap_or(period);
    if runtime > deadline || deadline > period {
        let message = format!(
            "policy SCHED_DEADLINE needs dl-runtime <= dl-deadline <= dl-period, not {} us, {} us \
             and {} us",
            runtime / 1000,
            deadline / 1000,
            period / 1000
        );
        return Err(place.scope.error(place.place_of("dl-runtime"), message));
    }
    Ok(())
}

/// Refuses loops for ever in which nothing can use time or depend on another task.
pub(super) fn uses_time(
    task: &Object<'_>,
    program: &Program,
    places: &[Object<'_>],
) -> Result<(), WorkloadError> {
    let advice = "would loop for ever without using any time: give it a run, sleep or timer \
                  longer than 0, or a finite \"loop\"";
    for (phase, place) in program.phases.iter().zip(places) {
        if phase.loops.is_none() && !phase_uses_time(phase) {
            let what = if place.scope.in_phase() { "this phase" } else { "this task" };
            return Err(place.scope.error(place.at, format!("{what} {advice}")));
        }
    }
    if program.loops.is_none() && !program.phases.iter().any(phase_uses_time) {
        return Err(task.scope.error(task.at, format!("this task {advice}")));
    }
    Ok(())
}

fn phase_uses_time(phase: &Phase) -> bool {
    phase.events.iter().any(Event::can_take_time)
}
