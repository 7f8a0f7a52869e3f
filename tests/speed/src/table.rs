// SPDX-License-Identifier: MIT OR Apache-2.0
//! Results as a table, or as lines of JSON as soon as they are there.

use crate::grid::Cell;
use crate::history::Line;
use crate::measure::Measured;
use comfy_table::{presets, CellAlignment, Table};

pub(crate) enum Output {
    Json,
    Table { table: Table, compares: bool },
}

impl Output {
    pub(crate) fn new(json: bool, builds: usize) -> Self {
        if json {
            return Self::Json;
        }
        let mut table = Table::new();
        table.load_preset(presets::NOTHING);
        let mut header = vec!["policy", "CPUs", "tasks", "engine", "build"];
        header.extend(["ns/decision", "ns/insn", "insns/decision", "simulated/real"]);
        header.push(if builds > 1 { "to the first (least, most)" } else { "before" });
        table.set_header(header);
        for column in table.column_iter_mut().skip(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        Self::Table { table, compares: builds > 1 }
    }

    pub(crate) fn row(&mut self, cell: &Cell, measured: &[Measured], before: Option<&Measured>) {
        match self {
            Self::Json => {
                for measured in measured {
                    let line = Line::new(cell, measured);
                    println!("{}", serde_json::to_string(&line).unwrap_or_default());
                }
            }
            Self::Table { table, compares } => {
                for (nr, of) in measured.iter().enumerate() {
                    let last = match (*compares, nr) {
                        (true, 0) => String::new(),
                        (true, _) => ratio(of.to(&measured[0])),
                        (false, _) => before.map_or_else(String::new, |before| {
                            format!("{:.0}", before.median_ns())
                        }),
                    };
                    table.add_row(columns(cell, of, last));
                }
            }
        }
    }

    pub(crate) fn end(&self) {
        if let Self::Table { table, compares } = self {
            println!("{}", table.trim_fmt());
            if *compares {
                println!("\n~ not all turns agree which is faster");
            }
        }
    }
}

fn columns(cell: &Cell, measured: &Measured, last: String) -> Vec<String> {
    let per_instruction = measured.ns_per_instruction;
    vec![
        cell.policy.clone(),
        cell.cpus.to_string(),
        cell.tasks.to_string(),
        cell.engine.to_string(),
        measured.build.clone(),
        format!("{:.0}", measured.median_ns()),
        per_instruction.map_or_else(|| "-".into(), |ns| format!("{ns:.2}")),
        format!("{:.0}", measured.instructions_per_decision),
        three_digits(measured.simulated_per_real),
        last,
    ]
}

fn three_digits(value: f64) -> String {
    match value {
        _ if value >= 100.0 => format!("{value:.0}"),
        _ if value >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// A ratio with its range, marked if the range has 1 in it.
fn ratio([median, least, most]: [f64; 3]) -> String {
    let doubt = if least <= 1.0 && most >= 1.0 { "~" } else { "" };
    format!("{median:.2}x{doubt} ({least:.2}, {most:.2})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_is_in_doubt_where_turns_disagree() {
        assert_eq!(ratio([0.5, 0.4, 0.6]), "0.50x (0.40, 0.60)");
        assert_eq!(ratio([0.9, 0.8, 1.1]), "0.90x~ (0.80, 1.10)");
    }
}
