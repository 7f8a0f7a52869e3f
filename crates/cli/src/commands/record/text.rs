// SPDX-License-Identifier: MIT OR Apache-2.0
//! The text of `rota record`: as that of `rota sim`, with what a kernel can tell.

use super::{Recording, TargetArgs};
use crate::output::summary::{self, MOST_ROWS};
use crate::output::units::{duration, time};
use crate::replay::printed;
use rota_kernel::events::{Facts, PickSource};
use std::io::{self, Write};

/// How the kernel's own scheduler is called.
pub(crate) const DEFAULT_SCHEDULER: &str = "default scheduler";

/// Prints a recording.
pub(crate) fn print(out: &mut dyn Write, run: &Recording<'_>, all_tasks: bool) -> io::Result<()> {
    let facts = &run.ended.facts;
    let scheduler = facts.scheduler.as_deref().unwrap_or(DEFAULT_SCHEDULER);
    let (subject, cpus) = (subject(run.target), cpus(facts.cpus));
    let length = duration(facts.duration_ns / 1_000_000 * 1_000_000);
    writeln!(out, "{scheduler}, {subject}: {cpus}, Linux {}, {length}\n", facts.kernel)?;
    let folded = !all_tasks && run.numbers.tasks.len() > MOST_ROWS;
    let lines = match folded {
        true => summary::groups(&run.groups),
        false => summary::tasks(run.numbers.tasks.iter()),
    };
    lines.iter().try_for_each(|line| writeln!(out, "{line}"))?;
    if folded {
        let count = run.numbers.tasks.len();
        writeln!(out, "\n{count} tasks; those of one name are added up (--all-tasks: no)")?;
    }
    writeln!(out)?;
    let capacity_ns = f64::from(facts.cpus) * facts.duration_ns as f64;
    writeln!(out, "{}", summary::totals_line(&run.numbers.totals, capacity_ns))?;
    let wasted = summary::wasted_line(&run.numbers.totals, capacity_ns);
    wasted.map_or(Ok(()), |line| writeln!(out, "{line}"))?;
    callbacks(out, run)?;
    notes(out, run)?;
    if let Some((waits, compared)) = &run.workload {
        writeln!(out)?;
        printed::print(out, waits, compared)?;
    }
    match &run.calls.exit {
        Some((_, _, reason)) => writeln!(out, "\nEXIT: {reason}"),
        None => Ok(()),
    }
}

/// What was recorded, in a few words.
pub(crate) fn about(target: &TargetArgs, facts: &Facts) -> String {
    let scheduler = facts.scheduler.as_deref().unwrap_or(DEFAULT_SCHEDULER);
    let length = duration(facts.duration_ns / 1_000_000 * 1_000_000);
    format!("{}, {length} under the {scheduler} of Linux {}", subject(target), facts.kernel)
}

/// Who is recorded.
pub(crate) fn subject(target: &TargetArgs) -> String {
    match (target.pid, target.command.first()) {
        (Some(pid), _) => format!("process {pid}"),
        (None, Some(command)) => command.to_string_lossy().into_owned(),
        (None, None) => "all tasks".into(),
    }
}

/// `4 CPUs`.
pub(crate) fn cpus(cpus: u32) -> String {
    match cpus {
        1 => "1 CPU".into(),
        n => format!("{n} CPUs"),
    }
}

fn callbacks(out: &mut dyn Write, run: &Recording<'_>) -> io::Result<()> {
    let calls = &run.calls.callbacks;
    if calls.is_empty() {
        return Ok(());
    }
    let each = calls
        .iter()
        .map(|(name, c)| format!("{name} {} of {}", c.calls, time(c.ns / c.calls.max(1))));
    writeln!(out, "callbacks, calls and mean time: {}", each.collect::<Vec<_>>().join(", "))
}

fn notes(out: &mut dyn Write, run: &Recording<'_>) -> io::Result<()> {
    let facts = &run.ended.facts;
    summary::waiting_note(out, &run.numbers.totals)?;
    if facts.scheduler.is_some() && facts.picks == PickSource::Switches {
        writeln!(
            out,
            "note: another slice of the same task counts as no decision: this kernel hides it"
        )?;
    }
    if facts.scheduler.is_some() && run.target.ops && !facts.dispatches {
        writeln!(out, "note: insertions into queues are missing: this kernel hides them")?;
    }
    if facts.repaired > 0 {
        let n = facts.repaired;
        writeln!(out, "note: {n} switches were missing, and were inserted before the next ones")?;
    }
    let whole = run.target.pid.is_none() && run.target.command.is_empty();
    if !whole {
        writeln!(out, "note: idle is all time in which none of these tasks ran")?;
    }
    writeln!(out, "note: the recorder itself used {}", time(facts.recorder_cpu_ns))
}
