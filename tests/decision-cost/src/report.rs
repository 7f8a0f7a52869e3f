// SPDX-License-Identifier: MIT OR Apache-2.0
//! The result as a table and as JSON.

use crate::calls::CallCost;
use crate::measure::{Plan, Row};
use comfy_table::{presets, CellAlignment, Table};
use serde::Serialize;
use std::fs;

/// Where a note says that the clocks inside and outside disagree.
const DISAGREEMENT: f64 = 1.05;

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
    /// How indirect branches are guarded, which calls through pointers pay for.
    pub spectre_v2: String,
    /// How returns are guarded, which every call pays for.
    pub spec_rstack_overflow: String,
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
        let guard = |name: &str| {
            read(&format!("/sys/devices/system/cpu/vulnerabilities/{name}")).trim().to_owned()
        };
        let load = read("/proc/loadavg");
        Self {
            cpu: value("model name").unwrap_or_else(|| "unknown".into()),
            cpus: std::thread::available_parallelism().map_or(1, usize::from),
            kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
            virtual_machine: value("flags")
                .is_some_and(|f| f.split(' ').any(|f| f == "hypervisor")),
            spectre_v2: guard("spectre_v2"),
            spec_rstack_overflow: guard("spec_rstack_overflow"),
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
    calls: Vec<CallCost>,
    failures: Vec<String>,
}

impl Report {
    /// Puts it together.
    pub fn new(
        computer: Computer,
        baseline: Option<String>,
        plan: Plan,
        rows: Vec<Row>,
        calls: Vec<CallCost>,
        failures: Vec<String>,
    ) -> Self {
        let (repetitions, decisions) = (plan.repetitions, plan.decisions);
        let schema = "rota.decision-cost/1";
        Self { schema, computer, baseline, repetitions, decisions, rows, calls, failures }
    }

    /// Whether something could not be measured.
    pub fn is_incomplete(&self) -> bool {
        !self.failures.is_empty()
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
        push(&mut text, &self.policies());
        if !self.calls.is_empty() {
            text.push('\n');
            push(&mut text, &self.kernel_calls());
        }
        if let Some(factor) = self.disagreement().filter(|factor| *factor > DISAGREEMENT) {
            text.push_str(&format!(
                "note: seen from outside, decisions took up to {factor:.2} times as long at best\n"
            ));
        }
        for failure in &self.failures {
            text.push_str(&format!("not measured: {failure}\n"));
        }
        text
    }

    /// The largest factor between the times seen from outside and inside.
    pub fn disagreement(&self) -> Option<f64> {
        self.rows.iter().map(|r| r.outside_over_inside).max_by(f64::total_cmp)
    }

    fn policies(&self) -> Table {
        let of_baseline = match &self.baseline {
            Some(name) => format!("x {name}"),
            None => "ratio".into(),
        };
        let header =
            ["policy", "tasks", "ns/decision", "min", "p95", &of_baseline, "insns", "ns/insn"];
        let rows = self.rows.iter().map(|row| {
            vec![
                row.policy.clone(),
                row.tasks.to_string(),
                number(Some(row.ns.median), 1),
                number(Some(row.ns.min), 1),
                number(Some(row.ns.p95), 1),
                number(row.ratio, 2),
                number(row.instructions, 1),
                number(per_instruction(row.ns.median, row.instructions), 2),
            ]
        });
        table(&header, rows)
    }

    fn kernel_calls(&self) -> Table {
        let rows = self.calls.iter().map(|call| {
            vec![
                call.name.to_owned(),
                number(Some(call.ns), 1),
                number(call.instructions, 1),
                number(per_instruction(call.ns, call.instructions), 2),
            ]
        });
        table(&["call", "ns", "insns", "ns/insn"], rows)
    }
}

fn per_instruction(ns: f64, instructions: Option<f64>) -> Option<f64> {
    instructions.filter(|n| *n > 0.0).map(|n| ns / n)
}

fn number(value: Option<f64>, digits: usize) -> String {
    value.map_or_else(|| "-".to_owned(), |v| format!("{v:.digits$}"))
}

/// A name on the left, numbers on the right.
fn table(header: &[&str], rows: impl Iterator<Item = Vec<String>>) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    table.set_header(header);
    table.add_rows(rows);
    for (at, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        if at > 0 {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

fn push(text: &mut String, table: &Table) {
    for line in table.lines() {
        text.push_str(line.trim_end());
        text.push('\n');
    }
}
