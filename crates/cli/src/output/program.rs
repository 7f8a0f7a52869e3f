// SPDX-License-Identifier: MIT OR Apache-2.0
//! The scheduler's own program: what it took of the machine, and how it ended.

use super::units::time;
use super::{Following, Run};
use rota_machine::run::ProgramExit;
use serde::Serialize;
use std::io::{self, Write};

/// Things named in the note about what a program did not get.
const MOST_UNPLAYED: usize = 6;

/// The program, in JSON.
#[derive(Debug, Serialize)]
pub(crate) struct ProgramJson<'a> {
    name: &'a str,
    path: &'a str,
    arguments: &'a [String],
    version: Option<&'a str>,
    sha256: &'a str,
    cost_ns: u64,
    cpu_ns: u64,
    turns: u64,
    exit: Option<EndJson>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    then: &'a [Following],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    ends: Vec<EndJson>,
    unplayed: &'a [String],
}

#[derive(Debug, Serialize)]
struct EndJson {
    at_ns: u64,
    status: i32,
}

impl<'a> ProgramJson<'a> {
    pub(crate) fn of(run: &Run<'a>) -> Option<Self> {
        let program = run.program?;
        let (cpu_ns, turns) = took(run);
        let exit = run.finished.outcome.program;
        Some(Self {
            name: &program.name,
            path: &program.path,
            arguments: &program.arguments,
            version: program.version.as_deref(),
            sha256: &program.sha256,
            cost_ns: program.cost_ns,
            cpu_ns,
            turns,
            exit: exit.map(|end| EndJson { at_ns: end.at_ns, status: end.status }),
            then: &program.then,
            ends: program
                .ends
                .iter()
                .map(|(at_ns, status)| EndJson { at_ns: *at_ns, status: *status })
                .collect(),
            unplayed: &program.unplayed,
        })
    }
}

/// CPU time, and how often it came onto a CPU.
fn took(run: &Run<'_>) -> (u64, u64) {
    run.finished.numbers.program().map_or((0, 0), |task| (task.cpu_ns, task.switches))
}

/// What it took, a line; and a note of what it did not get.
pub(crate) fn print(out: &mut dyn Write, run: &Run<'_>) -> io::Result<()> {
    let Some(program) = run.program else { return Ok(()) };
    let (cpu_ns, turns) = took(run);
    let name = &program.name;
    for ((at_ns, status), next) in program.ends.iter().zip(&program.then) {
        let at = time(*at_ns);
        writeln!(out, "program ended with status {status} at {at}; then came {}", next.name)?;
    }
    let s = if turns == 1 { "" } else { "s" };
    write!(out, "program {name}: {} of CPU time, {turns} turn{s}", time(cpu_ns))?;
    let run_ns = run.finished.outcome.end_ns;
    match run.finished.outcome.program {
        Some(ProgramExit { at_ns, status }) => match at_ns.checked_sub(run_ns) {
            // it learns of an ejection when it next looks
            Some(later @ 1..) => {
                writeln!(out, "; ended with status {status}, {} after the run", time(later))?
            }
            _ => writeln!(out, "; ended with status {status} at {}", time(at_ns))?,
        },
        None => writeln!(out)?,
    }
    if !program.unplayed.is_empty() {
        let named = program.unplayed.iter().take(MOST_UNPLAYED);
        let named = named.map(String::as_str).collect::<Vec<_>>().join(", ");
        let more = match program.unplayed.len().saturating_sub(MOST_UNPLAYED) {
            0 => String::new(),
            n => format!(" and {n} more (--json has all)"),
        };
        writeln!(out, "note: {name} asked for what is not simulated: {named}{more}")?;
    }
    Ok(())
}
