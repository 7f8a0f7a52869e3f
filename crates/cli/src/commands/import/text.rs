// SPDX-License-Identifier: MIT OR Apache-2.0
//! The text of `rota import`: as that of `rota record`, with what the trace lacks.

use super::{Import, ImportArgs};
use crate::output::summary::{self, MOST_ROWS};
use crate::output::units::duration;
use crate::replay::printed;
use rota_trace_import::Facts;
use std::io::{self, Write};

/// Prints a trace.
pub(super) fn print(out: &mut dyn Write, import: &Import<'_>, args: &ImportArgs) -> io::Result<()> {
    let (facts, numbers) = (&import.facts, &import.numbers);
    let header = &facts.header;
    let length = duration(facts.duration_ns / 1000 * 1000);
    let cpus = match facts.cpus {
        1 => "1 CPU".to_owned(),
        cpus => format!("{cpus} CPUs"),
    };
    let kernel = header.kernel.as_ref().map_or(String::new(), |kernel| format!(", Linux {kernel}"));
    let (file, format) = (import.file.display(), facts.format.name());
    writeln!(out, "{file}: a {format}, {cpus}{kernel}, {length}")?;
    let made = [header.tool.clone(), header.host.as_ref().map(|host| format!("on {host}"))];
    let mut made: Vec<String> = made.into_iter().flatten().collect();
    made.extend(header.clock.as_ref().map(|clock| format!("clock {clock}")));
    if !made.is_empty() {
        writeln!(out, "recorded by {}", made.join(", "))?;
    }
    writeln!(
        out,
        "{} records of the scheduler, {} events, {} tasks\n",
        facts.counts.total(),
        facts.events,
        facts.tasks.len()
    )?;
    let folded = !args.all_tasks && numbers.tasks.len() > MOST_ROWS;
    let lines = match folded {
        true => summary::groups(&import.groups),
        false => summary::tasks(numbers.tasks.iter()),
    };
    lines.iter().try_for_each(|line| writeln!(out, "{line}"))?;
    if folded {
        let count = numbers.tasks.len();
        writeln!(out, "\n{count} tasks; those of one name are added up (--all-tasks: no)")?;
    }
    writeln!(out)?;
    let capacity_ns = f64::from(facts.cpus) * facts.duration_ns as f64;
    writeln!(out, "{}", summary::totals_line(&numbers.totals, capacity_ns))?;
    let wasted = summary::wasted_line(&numbers.totals, capacity_ns);
    wasted.map_or(Ok(()), |line| writeln!(out, "{line}"))?;
    summary::waiting_note(out, &numbers.totals)?;
    facts
        .missing
        .iter()
        .try_for_each(|missing| writeln!(out, "note: {missing}: {}", missing.consequence()))?;
    let Some((waits, compared)) = &import.workload else { return Ok(()) };
    writeln!(out)?;
    if let Some(end_ns) = import.compared_ns {
        let length = duration(end_ns / 1_000_000 * 1_000_000);
        writeln!(out, "the trace is long: only its first {length} are compared")?;
    }
    printed::print(out, waits, compared)?;
    if args.policy.is_none() && !compared.grade.is_good() {
        writeln!(
            out,
            "note: a trace does not say which scheduler was recorded: --policy NAME if it was not \
             Linux's own"
        )?;
    }
    Ok(())
}

/// What was recorded, in a few words.
pub(super) fn about(args: &ImportArgs, facts: &Facts) -> String {
    let kernel = facts.header.kernel.as_ref();
    let kernel = kernel.map_or(String::new(), |kernel| format!(" of Linux {kernel}"));
    let length = duration(facts.duration_ns / 1000 * 1000);
    format!("{}, a {}{kernel}, {length}", args.file.display(), facts.format.name())
}
