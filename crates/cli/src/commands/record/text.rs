// SPDX-License-Identifier: MIT OR Apache-2.0
//! The text of `rota record`: as that of `rota sim`, with what a kernel can tell.

use super::ring::{Outcome, Ringed};
use super::{Recording, TargetArgs};
use crate::output::plain::plain;
use crate::output::summary::{self, MOST_ROWS};
use crate::output::units::{duration, time};
use crate::replay::printed;
use rota_kernel::events::{Facts, PickSource};
use rota_watch::{Longest, Seen};
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
    ringed(out, run)?;
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
    match (target.pid, &target.cgroup, target.command.first()) {
        (Some(pid), ..) => format!("process {pid}"),
        (None, Some(path), _) => format!("cgroup {}", path.display()),
        (None, None, Some(command)) => command.to_string_lossy().into_owned(),
        (None, None, None) => "all tasks".into(),
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

/// What a condition was about, and how much was kept.
fn ringed(out: &mut dyn Write, run: &Recording<'_>) -> io::Result<()> {
    let Some(Ringed { asked_ns, kept, condition }) = &run.ringed else { return Ok(()) };
    if let Some(Outcome { condition, met, seen }) = condition {
        let verdict = if *met { "met" } else { "not met" };
        match seen {
            None => writeln!(out, "{condition}: {verdict}, and no such wait in the last second")?,
            Some(Seen { count, value_ns, longest, .. }) => {
                write!(out, "{condition}: {verdict}: {} in the last second", time(*value_ns))?;
                write!(out, " ({count} waits")?;
                if let Some(Longest { ns, pid, name }) = longest {
                    write!(out, ", the longest {} by {}-{pid}", time(*ns), plain(name))?;
                }
                writeln!(out, ")")?;
            }
        }
    }
    if kept.overflowed {
        let length = duration(run.ended.facts.duration_ns / 1_000_000 * 1_000_000);
        let asked = duration(*asked_ns);
        writeln!(
            out,
            "note: only {length} of {asked} were kept: more events than memory for them"
        )?;
    }
    Ok(())
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
    if facts.counts.repaired > 0 {
        let n = facts.counts.repaired;
        writeln!(out, "note: {n} switches were missing, and were inserted before the next ones")?;
    }
    if !run.target.is_whole() {
        writeln!(out, "note: idle is all time in which none of these tasks ran")?;
    }
    if let Some(works) = &run.works {
        let (plain, recorded) = (time(works.plain_work_ns), time(works.recorded_work_ns));
        writeln!(out, "note: the command worked {plain} in plain runs, {recorded} in this one")?;
    }
    writeln!(out, "note: the recorder itself used {}", time(facts.counts.recorder_cpu_ns))
}
