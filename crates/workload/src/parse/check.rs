// SPDX-License-Identifier: MIT OR Apache-2.0
//! What only a whole task can get wrong: settings that do not suit each other from phase to
//! phase, and loops that never use time.

use super::members::Object;
use crate::error::WorkloadError;
use crate::model::{Event, Phase, Policy, Program, Settings};

/// Follows the settings through all phases, twice: the second round starts with what the
/// last phase left.
pub(super) fn settings(
    task: &Object<'_>,
    begin: &Settings,
    program: &Program,
    places: &[Object<'_>],
) -> Result<(), WorkloadError> {
    suit(task, begin)?;
    let mut now = begin.clone();
    for _ in 0..2 {
        for (phase, place) in program.phases.iter().zip(places) {
            phase.change.apply(&mut now, &begin.cpus);
            suit(place, &now)?;
        }
    }
    Ok(())
}

fn suit(place: &Object<'_>, settings: &Settings) -> Result<(), WorkloadError> {
    let (range, class) = match settings.policy {
        Policy::Other | Policy::Batch | Policy::Idle => (-20..=19, "a nice value from -20 to 19"),
        Policy::Rr | Policy::Fifo => (1..=99, "a real-time priority from 1 to 99"),
        Policy::Deadline => (0..=0, "no priority (or 0)"),
    };
    let Settings { policy, priority, group, .. } = settings;
    if !range.contains(priority) {
        let message = format!("policy {policy} takes {class}, not {priority}");
        return Err(place.scope.error(place.line_of("priority"), message));
    }
    let fair = matches!(policy, Policy::Other | Policy::Batch | Policy::Idle);
    if let (Some(group), false) = (group, fair) {
        let message = format!("policy {policy} cannot be in a task group ({group:?})");
        return Err(place.scope.error(place.line_of("taskgroup"), message));
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
            return Err(place.scope.error(place.line, format!("{what} {advice}")));
        }
    }
    if program.loops.is_none() && !program.phases.iter().any(phase_uses_time) {
        return Err(task.scope.error(task.line, format!("this task {advice}")));
    }
    Ok(())
}

fn phase_uses_time(phase: &Phase) -> bool {
    phase.events.iter().any(|event| match event {
        Event::Run(span) | Event::Runtime(span) | Event::Sleep(span) => span.can_be_positive(),
        Event::Timer { period, .. } => period.can_be_positive(),
        // A yield takes time where the machine charges for it, a fork ends at its limit;
        // the runner watches both.
        Event::Yield | Event::Fork { .. } => true,
        // These can wait for another task, the others of their kind only wake.
        Event::Suspend | Event::SemWait { .. } | Event::Barrier { .. } => true,
        Event::Resume { .. } | Event::SemPost { .. } => false,
    })
}
