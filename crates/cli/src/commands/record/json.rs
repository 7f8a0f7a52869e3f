// SPDX-License-Identifier: MIT OR Apache-2.0
//! The JSON of `rota record`, schema `rota.record/1`.

use super::plain::Works;
use super::ring::Ringed;
use super::Recording;
use crate::output::computer::Computer;
use crate::replay::printed::Workload;
use rota_kernel::events::PickSource;
use rota_measure::{CpuNumbers, TaskNumbers, Totals};
use serde::Serialize;

/// `rota record --json`.
#[derive(Debug, Serialize)]
pub(crate) struct Record<'a> {
    schema: &'static str,
    scheduler: Option<&'a str>,
    machine: Computer<'a>,
    target: Target,
    duration_ns: u64,
    exit: Option<Exit<'a>>,
    tasks: &'a [TaskNumbers],
    totals: &'a Totals,
    callbacks: Vec<Callback<'a>>,
    recording: Recorded<'a>,
    cpus: &'a [CpuNumbers],
    #[serde(skip_serializing_if = "Option::is_none")]
    last: Option<Last>,
    #[serde(skip_serializing_if = "Option::is_none")]
    workload: Option<Workload<'a>>,
}

#[derive(Debug, Serialize)]
struct Target {
    pid: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cgroup: Option<String>,
    command: Option<Vec<String>>,
    kernel_threads: bool,
}

#[derive(Debug, Serialize)]
struct Exit<'a> {
    kind: u32,
    code: i64,
    reason: &'a str,
}

#[derive(Debug, Serialize)]
struct Callback<'a> {
    op: &'a str,
    calls: u64,
    ns: u64,
}

#[derive(Debug, Serialize)]
struct Recorded<'a> {
    records: u64,
    lost: u64,
    lost_per_cpu: &'a [u64],
    late: u64,
    repaired: u64,
    picks: &'static str,
    dispatches: bool,
    recorder_cpu_ns: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    plain: Option<Works>,
}

/// Which part was kept.
#[derive(Debug, Serialize)]
struct Last {
    asked_ns: u64,
    /// In time since the recording began.
    from_ns: u64,
    overflowed: bool,
    condition: Option<Condition>,
}

#[derive(Debug, Serialize)]
struct Condition {
    text: String,
    met: bool,
    value_ns: Option<u64>,
    count: u64,
    longest: Option<Longest>,
}

#[derive(Debug, Serialize)]
struct Longest {
    pid: u32,
    name: String,
    wait_ns: u64,
}

impl Last {
    fn new(ringed: &Ringed) -> Self {
        let condition = ringed.condition.as_ref().map(|of| Condition {
            text: of.condition.to_string(),
            met: of.met,
            value_ns: of.seen.as_ref().map(|seen| seen.value_ns),
            count: of.seen.as_ref().map_or(0, |seen| seen.count),
            longest: of.seen.as_ref().and_then(|seen| seen.longest.clone()).map(|of| Longest {
                pid: of.pid,
                name: of.name,
                wait_ns: of.ns,
            }),
        });
        let (asked_ns, kept) = (ringed.asked_ns, ringed.kept);
        Self { asked_ns, from_ns: kept.from_ns, overflowed: kept.overflowed, condition }
    }
}

impl<'a> Record<'a> {
    pub(crate) fn new(run: &'a Recording<'_>) -> Self {
        let (facts, target) = (&run.ended.facts, run.target);
        let words = target.command.iter().map(|word| word.to_string_lossy().into_owned());
        let cgroup = target.cgroup.as_ref().map(|path| path.display().to_string());
        let callbacks = run.calls.callbacks.iter();
        Self {
            schema: "rota.record/1",
            scheduler: facts.scheduler.as_deref(),
            machine: Computer { cpus: facts.cpus, kernel: Some(&facts.kernel) },
            target: Target {
                pid: target.pid,
                cgroup,
                command: (!target.command.is_empty()).then(|| words.collect()),
                kernel_threads: target.is_whole() && !target.no_kernel_threads,
            },
            duration_ns: facts.duration_ns,
            exit: run.calls.exit.as_ref().map(|(kind, code, reason)| Exit {
                kind: *kind,
                code: *code,
                reason,
            }),
            tasks: &run.numbers.tasks,
            totals: &run.numbers.totals,
            callbacks: callbacks.map(|(op, c)| Callback { op, calls: c.calls, ns: c.ns }).collect(),
            recording: Recorded {
                records: facts.counts.records,
                lost: facts.counts.lost.total(),
                lost_per_cpu: &facts.counts.lost.per_cpu,
                late: facts.counts.late,
                repaired: facts.counts.repaired,
                picks: match facts.picks {
                    PickSource::Hook => "hook",
                    PickSource::Switches => "switches",
                },
                dispatches: facts.dispatches,
                recorder_cpu_ns: facts.counts.recorder_cpu_ns,
                plain: run.works,
            },
            cpus: &run.numbers.cpus,
            last: run.ringed.as_ref().map(Last::new),
            workload: run.workload.as_ref().map(Workload::new),
        }
    }
}
