// SPDX-License-Identifier: MIT OR Apache-2.0
//! The JSON of `rota import`, schema `rota.import/1`.

use super::Import;
use crate::output::computer::Computer;
use crate::replay::printed::Workload;
use rota_measure::{CpuNumbers, TaskNumbers, Totals};
use rota_trace_import::{Counts, Header};
use serde::Serialize;
use std::collections::BTreeMap;

/// `rota import --json`.
#[derive(Debug, Serialize)]
pub(super) struct Trace<'a> {
    schema: &'static str,
    file: String,
    format: &'static str,
    machine: Recorded<'a>,
    tool: Option<&'a str>,
    command: Option<&'a str>,
    clock: Option<&'a str>,
    begin_ns: u64,
    duration_ns: u64,
    tasks: &'a [TaskNumbers],
    totals: &'a Totals,
    trace: Read,
    missing: Vec<Missing>,
    cpus: &'a [CpuNumbers],
    #[serde(skip_serializing_if = "Option::is_none")]
    workload: Option<Workload<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    compared_ns: Option<u64>,
}

/// The recorded computer, as far as the trace tells.
#[derive(Debug, Serialize)]
struct Recorded<'a> {
    #[serde(flatten)]
    computer: Computer<'a>,
    cpus_seen: &'a str,
    host: Option<&'a str>,
    arch: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct Read {
    records: BTreeMap<&'static str, u64>,
    events: u64,
    lost_per_cpu: BTreeMap<u32, u64>,
    late: u64,
    repaired: u64,
    unexplained: u64,
}

#[derive(Debug, Serialize)]
struct Missing {
    what: &'static str,
    text: String,
    consequence: &'static str,
}

impl<'a> Trace<'a> {
    pub(super) fn new(import: &'a Import<'_>) -> Self {
        let facts = &import.facts;
        let Header { clock, host, kernel, arch, tool, command, .. } = &facts.header;
        let missing = facts.missing.iter().map(|missing| Missing {
            what: missing.key(),
            text: missing.to_string(),
            consequence: missing.consequence(),
        });
        // Losses that have no number count as one record.
        let mut lost: BTreeMap<u32, u64> =
            facts.lost.iter().map(|(cpu, lost)| (*cpu, lost.records.max(lost.gaps))).collect();
        for (cpu, records) in &facts.header.lost {
            let of_cpu = lost.entry(*cpu).or_default();
            *of_cpu = (*of_cpu).max(*records);
        }
        Self {
            schema: "rota.import/1",
            file: import.file.display().to_string(),
            format: facts.format.name(),
            machine: Recorded {
                computer: Computer { cpus: facts.cpus, kernel: kernel.as_deref() },
                cpus_seen: facts.cpus_seen.as_str(),
                host: host.as_deref(),
                arch: arch.as_deref(),
            },
            tool: tool.as_deref(),
            command: command.as_deref(),
            clock: clock.as_deref(),
            begin_ns: facts.begin_ns,
            duration_ns: facts.duration_ns,
            tasks: &import.numbers.tasks,
            totals: &import.numbers.totals,
            trace: Read {
                records: records(&facts.counts),
                events: facts.events,
                lost_per_cpu: lost,
                late: facts.late,
                repaired: facts.repaired,
                unexplained: facts.unexplained,
            },
            missing: missing.collect(),
            cpus: &import.numbers.cpus,
            workload: import.workload.as_ref().map(Workload::new),
            compared_ns: import.compared_ns,
        }
    }
}

fn records(counts: &Counts) -> BTreeMap<&'static str, u64> {
    BTreeMap::from([
        ("sched_switch", counts.switches),
        ("sched_waking", counts.wakings),
        ("sched_wakeup", counts.wakeups),
        ("sched_wakeup_new", counts.new_wakeups),
        ("sched_process_fork", counts.forks),
        ("sched_process_exit", counts.exits),
        ("sched_migrate_task", counts.migrations),
    ])
}
