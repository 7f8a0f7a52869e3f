// SPDX-License-Identifier: MIT OR Apache-2.0
//! The text of `rota compare`: one row per policy.

use super::units::{index_or_dash, mean_or_dash, percent, time_or_dash};
use super::{summary, table, Run};
use std::io::{self, Write};

const HEADER: [&str; 10] = [
    "policy",
    "Jain",
    "wakeup p50",
    "p99",
    "max",
    "worst delay",
    "switches",
    "migrations",
    "idle",
    "insns/decision",
];

/// Prints runs of one workload on one machine.
pub(crate) fn print(out: &mut dyn Write, runs: &[Run<'_>]) -> io::Result<()> {
    if let Some(first) = runs.first() {
        writeln!(out, "{}: {}\n", first.load.file, summary::machine(first.config))?;
    }
    let lines = table::lines(&HEADER, 1, runs.iter().map(row).collect());
    lines.iter().try_for_each(|line| writeln!(out, "{line}"))
}

fn row(run: &Run<'_>) -> Vec<String> {
    let report = &run.finished.report;
    let (totals, wakeups) = (&report.totals, &report.totals.wakeup_latency_ns);
    let capacity_ns = run.config.topology.cpus() as f64 * run.finished.outcome.end_ns as f64;
    let idle = if capacity_ns > 0.0 { totals.idle_ns as f64 / capacity_ns } else { 0.0 };
    let migrations: u64 = report.tasks.iter().map(|t| t.migrations).sum();
    let ejected = run.finished.outcome.exit.kind.is_error();
    vec![
        format!("{}{}", run.policy, if ejected { " (ejected)" } else { "" }),
        index_or_dash(totals.jain),
        time_or_dash(wakeups.p50),
        time_or_dash(wakeups.p99),
        time_or_dash(wakeups.max),
        time_or_dash(report.tasks.iter().map(|t| t.run_delay_ns).max()),
        totals.context_switches.to_string(),
        migrations.to_string(),
        percent(idle),
        mean_or_dash(totals.instructions_per_decision.mean),
    ]
}
