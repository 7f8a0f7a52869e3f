// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tasks that waited for another task when the run ended: where a workload got stuck, if it did,
//! and who waited for each other.

use super::Run;
use serde::Serialize;

/// Tasks named in the note before it only counts.
const MOST_NAMES: usize = 6;

/// One such task.
#[derive(Debug, Serialize)]
pub(crate) struct Blocked {
    /// Its name.
    pub(crate) task: String,
    /// What it waited for: `suspended`, `semaphore "s"`, `barrier "b"`.
    pub(crate) on: String,
}

/// A task of a deadlock, which waits for the next one, the last for the first.
#[derive(Debug, Serialize)]
pub(crate) struct Link {
    /// Its name.
    pub(crate) task: String,
    /// Mutexes it holds that others of the circle wait for.
    pub(crate) holds: Vec<String>,
    /// What it waits for, as in [`Blocked::on`].
    pub(crate) on: String,
}

/// The deadlocks of a run.
pub(crate) fn deadlocks(run: &Run<'_>) -> Vec<Vec<Link>> {
    let link = |link: &rota_workload::Link| Link {
        task: link.task.clone(),
        holds: link.holds.clone(),
        on: link.awaits.to_string(),
    };
    let deadlocks = run.finished.outcome.deadlocks.iter();
    deadlocks.map(|deadlock| deadlock.0.iter().map(link).collect()).collect()
}

/// The tasks of a run, in the order in which they came into being.
pub(crate) fn tasks(run: &Run<'_>) -> Vec<Blocked> {
    let blocked = run.finished.outcome.blocked.iter();
    blocked.map(|(task, on)| Blocked { task: task.clone(), on: on.to_string() }).collect()
}

/// One line about them; `None`: nobody waited.
pub(crate) fn note(run: &Run<'_>) -> Option<String> {
    let blocked = tasks(run);
    if blocked.is_empty() {
        return None;
    }
    let named = blocked.iter().take(MOST_NAMES);
    let named: Vec<String> = named.map(|b| format!("{} ({})", b.task, b.on)).collect();
    let more = match blocked.len().saturating_sub(MOST_NAMES) {
        0 => String::new(),
        n => format!(" and {n} more (--json has all)"),
    };
    Some(format!("waited for another task at the end: {}{more}", named.join(", ")))
}
