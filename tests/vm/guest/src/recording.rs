// SPDX-License-Identifier: MIT OR Apache-2.0
//! Plays a workload in a process of its own, and records what the scheduler does with it.

use crate::quiet::keep_quiet;
use crate::sysfs::online_cpus;
use anyhow::{bail, Context, Result};
use rota_guest::cores::Cores;
use rota_guest::recorded::Recorded;
use rota_guest::step::Play;
use rota_kernel::events::{RecordOptions, Recorder, Scope};
use rota_kernel::Fair;
use rota_measure::Summary;
use rota_play::{Filtered, Played, Tape};
use rota_trace::{CsvSink, EventKind, Sink};
use serde_json::{to_value, Value};
use std::collections::{BTreeSet, HashMap};
use std::process::{Command, Stdio};

/// The step `play`: what was recorded, and what spoils it. `program` has the threads of the
/// scheduler's own program, if it has one that takes part.
pub(crate) fn play(
    step: &Play,
    program: Option<&BTreeSet<u32>>,
) -> Result<(Value, Option<String>)> {
    let time = format!("{}ns", step.time.duration().as_nanos());
    let class = match (step.fair, step.partial) {
        (true, _) => "--fair",
        (_, true) => "--mixed",
        _ => "--partial",
    };
    let words = [&step.workload, class, "--duration", &time];
    let mut recorded = record(&words, step.traced, step.core, program)?;
    recorded.fair = Some(Fair::read()?);
    let problem = (recorded.lost > step.plugs)
        .then(|| format!("{} records were lost or do not fit each other", recorded.lost));
    Ok((to_value(recorded)?, problem))
}

/// Runs `rota-guest play` with these arguments. The records stay in the buffer until it is
/// over: reading them meanwhile would take CPU time from the workload.
pub(crate) fn record(
    play: &[&str],
    traced: bool,
    core: Option<u32>,
    program: Option<&BTreeSet<u32>>,
) -> Result<Recorded> {
    keep_quiet()?;
    let options = RecordOptions { scope: Scope::System, ..RecordOptions::default() };
    let mut recorder = Recorder::start(&options)?;
    let origin_ns = recorder.begin_ns();
    let output = Command::new("/proc/self/exe")
        .arg("play")
        .args(play)
        .stdin(Stdio::null())
        .output()
        .context("cannot start the player")?;
    let mut tape = Tape::default();
    recorder.poll(&mut tape)?;
    let (facts, _) = recorder.finish(&mut tape)?;
    if !output.status.success() {
        bail!("the player failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    let played: Played = serde_json::from_slice(&output.stdout).context("what the player said")?;
    let nobody = BTreeSet::new();
    let filtered = Filtered::new(&played, origin_ns, &tape.0, program.unwrap_or(&nobody));
    let cpus = online_cpus()? as u32;
    let mut summary = Summary::new(cpus);
    let mut first_ns = vec![0; cpus as usize];
    let mut picks = vec![Vec::new(); cpus as usize];
    let index: HashMap<u32, u32> =
        played.tasks.iter().zip(0u32..).map(|(task, index)| (task.tid, index)).collect();
    let mut trace = traced.then(|| CsvSink::new(Vec::new()));
    let mut cores = core.map(|core| Cores::new(cpus, core));
    for event in &filtered.events {
        summary.event(event);
        if let Some(cores) = &mut cores {
            cores.event(event);
        }
        if let Some(trace) = &mut trace {
            trace.event(event);
        }
        if let (Some(cpu), EventKind::Pick { pid, .. }) = (event.cpu, &event.kind) {
            picks[cpu as usize].push(index[pid]);
            let first = &mut first_ns[cpu as usize];
            *first = if *first == 0 { event.time_ns } else { *first };
        }
    }
    Ok(Recorded {
        report: to_value(summary.finish(played.duration_ns))?,
        picks,
        first_ns,
        interruptions: filtered.interruptions,
        tick_ns: filtered.tick_ns,
        crossing_ns: filtered.crossing_ns,
        start_ns: filtered.start_ns,
        fork_ns: played.fork_ns,
        program_ns: program.map(|_| filtered.program_ns),
        fair: None,
        left: None,
        doubled: cores.map(|cores| cores.doubled(played.duration_ns)),
        trace: trace.map(|trace| anyhow::Ok(String::from_utf8(trace.finish()?)?)).transpose()?,
        lost: facts.counts.lost.total() + facts.counts.repaired + facts.counts.late,
    })
}
