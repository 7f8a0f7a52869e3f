// SPDX-License-Identifier: MIT OR Apache-2.0
//! The result as a table and as JSON.

use crate::measure::{Plan, Row};
use comfy_table::{presets, CellAlignment, Table};
use serde::Serialize;
use std::fs;

/// The computer that was measured.
#[derive(Clone, Debug, Serialize)]
pub struct Computer {
    /// Model name of the CPU.
    pub cpu: String,
    /// CPUs that are online.
    pub cpus: usize,
    /// Release of the kernel.
    pub kernel: String,
    /// It runs as somebody's guest, where others can take time away.
    pub virtual_machine: bool,
    /// How indirect branches are guarded, which helpers and stand-ins pay for.
    pub spectre_v2: String,
    /// Runnable tasks, mean over the last minute, when measuring began.
    pub load_average: f64,
}

impl Computer {
    /// Looks at this one.
    pub fn this() -> Self {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let cpuinfo = read("/proc/cpuinfo");
        let value = |key: &str| {
            let line = cpuinfo.lines().find(|line| line.starts_with(key));
            line.and_then(|line| line.split_once(':')).map(|(_, value)| value.trim().to_owned())
        };
        let load = read("/proc/loadavg");
        Self {
            cpu: value("model name").unwrap_or_else(|| "unknown".into()),
            cpus: std::thread::available_parallelism().map_or(1, usize::from),
            kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
            virtual_machine: value("flags")
                .is_some_and(|f| f.split(' ').any(|f| f == "hypervisor")),
            spectre_v2: read("/sys/devices/system/cpu/vulnerabilities/spectre_v2")
                .trim()
                .to_owned(),
            load_average: load.split(' ').next().and_then(|n| n.parse().ok()).unwrap_or(0.0),
        }
    }
}

/// Everything that was measured.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    schema: &'static str,
    computer: Computer,
    baseline: Option<String>,
    repetitions: usize,
    decisions: u64,
    rows: Vec<Row>,
    failures: Vec<String>,
}

impl Report {
    /// Puts it together.
    pub fn new(
        computer: Computer,
        baseline: Option<String>,
        plan: Plan,
        rows: Vec<Row>,
        failures: Vec<String>,
    ) -> Self {
        let (repetitions, decisions) = (plan.repetitions, plan.decisions);
        let schema = "rota.decision-cost/1";
        Self { schema, computer, baseline, repetitions, decisions, rows, failures }
    }

    /// For programs: one line.
    pub fn json(&self) -> serde_json::Result<String> {
        serde_json::to_string(self)
    }

    /// For people.
    pub fn text(&self) -> String {
        let c = &self.computer;
        let guest = if c.virtual_machine { ", virtual machine" } else { "" };
        let mut text = format!(
            "{}, {} CPUs, Linux {}{guest}, load {:.1}\n{} turns of {} decisions or more each\n\n",
            c.cpu, c.cpus, c.kernel, c.load_average, self.repetitions, self.decisions
        );
        for line in self.table().lines() {
            text.push_str(line.trim_end());
            text.push('\n');
        }
        if let Some(factor) = self.disagreement().filter(|factor| *factor > 1.05) {
            text.push_str(&format!(
                "note: from outside, decisions took up to {factor:.2} times as long at best\n"
            ));
        }
        for failure in &self.failures {
            text.push_str(&format!("not measured: {failure}\n"));
        }
        text
    }

    /// The largest factor between the least times seen from outside and inside.
    pub fn disagreement(&self) -> Option<f64> {
        self.rows.iter().map(|r| r.outside_min_ns / r.ns.min).max_by(f64::total_cmp)
    }

    fn table(&self) -> Table {
        let mut table = Table::new();
        table.load_preset(presets::NOTHING);
        let of_baseline = match &self.baseline {
            Some(name) => format!("x {name}"),
            None => "ratio".into(),
        };
        let header =
            ["policy", "tasks", "ns/decision", "min", "p95", &of_baseline, "insns", "ns/insn"];
        table.set_header(header);
        let number = |value: Option<f64>, digits: usize| {
            value.map_or_else(|| "-".to_owned(), |v| format!("{v:.digits$}"))
        };
        for row in &self.rows {
            table.add_row(vec![
                row.policy.clone(),
                row.tasks.to_string(),
                number(Some(row.ns.median), 1),
                number(Some(row.ns.min), 1),
                number(Some(row.ns.p95), 1),
                number(row.ratio, 2),
                number(row.instructions, 1),
                number(row.instructions.filter(|n| *n > 0.0).map(|n| row.ns.median / n), 3),
            ]);
        }
        for (at, column) in table.column_iter_mut().enumerate() {
            column.set_padding((0, 2));
            if at > 0 {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        table
    }
}
