// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a recording was, and what its workload does when it is played.

use super::compared::Compared;
use super::kind::Pair;
use crate::output::table;
use crate::output::units::time;
use rota_replay::Waits;
use serde::Serialize;
use std::io::{self, Write};

/// The workload that was made of the recording.
#[derive(Debug, Serialize)]
pub(crate) struct Workload<'a> {
    waits: WaitsJson,
    #[serde(flatten)]
    compared: &'a Compared,
}

/// How many sleeps ended by what.
#[derive(Debug, Serialize)]
struct WaitsJson {
    tasks: u64,
    streams: u64,
    locks: u64,
    full: u64,
    timers: u64,
    absolute: u64,
    services: u64,
    arrivals: u64,
    unknown: u64,
}

impl<'a> Workload<'a> {
    pub(crate) fn new((waits, compared): &'a (Waits, Compared)) -> Self {
        let Waits { tasks, streams, full, locks, timers, ticks, services, arrivals, unknown } =
            *waits;
        let waits = WaitsJson {
            tasks,
            streams,
            full,
            locks,
            timers,
            absolute: ticks,
            services,
            arrivals,
            unknown,
        };
        Self { waits, compared }
    }
}

/// Kinds of tasks that have a row.
const MOST_KINDS: usize = 8;

/// Prints the table and the grade.
pub(crate) fn print(out: &mut dyn Write, waits: &Waits, compared: &Compared) -> io::Result<()> {
    writeln!(out, "workload, recorded / replayed by {}:", compared.scheduler)?;
    let rows = compared.kinds.iter().take(MOST_KINDS).map(|kind| {
        let latency = |pair: Option<Pair>| pair.map_or_else(|| "-".to_owned(), both);
        vec![
            kind.name.clone(),
            kind.tasks.to_string(),
            both(kind.cpu),
            both(kind.run_delay),
            latency(kind.p50),
            latency(kind.p99),
        ]
    });
    let header = ["tasks of", "count", "CPU time", "run delay", "p50 wakeup", "p99 wakeup"];
    for line in table::lines(&header, 1, rows.collect()) {
        writeln!(out, "{line}")?;
    }
    if let Some(left) = compared.kinds.len().checked_sub(MOST_KINDS).filter(|left| *left > 0) {
        writeln!(out, "{left} more kinds of tasks have less CPU time")?;
    }
    if let Some(pair) = compared.completion {
        writeln!(out, "all done after {}", both(pair))?;
    }
    // How many, by what, and some of them in particular.
    let sleeps = [
        (waits.tasks, "by another task", waits.full, "as a pipe or socket was full"),
        (waits.locks, "by a task that had a lock of the kernel", 0, ""),
        (waits.timers, "by a timer", waits.ticks, "at a set time"),
        (waits.services, "by a device that was asked", 0, ""),
        (waits.arrivals, "by what arrived", 0, ""),
        (waits.unknown, "by what is not known", 0, ""),
    ];
    let sleeps = sleeps.iter().filter(|(count, ..)| *count > 0);
    let sleeps = sleeps.map(|(count, by, some, what)| match some {
        0 => format!("{count} {by}"),
        some => format!("{count} {by} ({some} {what})"),
    });
    let sleeps: Vec<String> = sleeps.collect();
    if !sleeps.is_empty() {
        let streams = match waits.streams {
            0 => String::new(),
            count => format!("; {count} of them follow from what pipes and connections carry"),
        };
        writeln!(out, "sleeps ended: {}{streams}", sleeps.join(", "))?;
    }
    let grade = &compared.grade;
    match grade.reasons.is_empty() {
        true => writeln!(out, "grade: {}", grade.grade),
        false => writeln!(out, "grade: {}: {}", grade.grade, grade.reasons.join("; ")),
    }
}

fn both(pair: Pair) -> String {
    format!("{} / {}", time(pair.recorded_ns), time(pair.replayed_ns))
}
