// SPDX-License-Identifier: MIT OR Apache-2.0
//! The shares in tables and pictures.

use super::jobs::{Entry, ENTRIES};
use super::numbers::{Fluid, Measured, TASKS, WINDOW_NS};
use crate::statement::{self, Statement};
use rota_report::chart::{Areas, Band};

/// For the page, and for the terminal.
pub fn markdown(kernel: &str, fluid: &Fluid, all: &[Measured], statements: &[Statement]) -> String {
    let mut text = format!("{kernel}.\n\n{}\n", statement::markdown(statements));
    text += "| scheduler | task 1 (s) | task 2 (s) | task 3 (s) | task 4 (s) | context switches | \
             from the fluid (%) | furthest (ms) |\n|---|--:|--:|--:|--:|--:|--:|--:|\n";
    let ends = |ends: Vec<f64>| {
        ends.into_iter().map(|end| format!("{end:.2}")).collect::<Vec<_>>().join(" | ")
    };
    text += &format!("| the fluid model, alpha 2 | {} | – | 0 | 0 |\n", ends(fluid.ends()));
    for (entry, measured) in ENTRIES.iter().zip(all) {
        let of_fluid = |task, window| fluid.share(task, window);
        text += &format!(
            "| {} | {} | {} | {:.1} | {:.0} |\n",
            entry.name,
            ends(measured.ends()),
            measured.all_switches(),
            100.0 * measured.distance(of_fluid),
            1e3 * measured.furthest(of_fluid),
        );
    }
    text
}

/// Shares over time, an SVG.
pub fn picture(entry: &Entry, measured: &Measured) -> String {
    let windows = measured.windows();
    let at = |window: usize| (window as u64 * WINDOW_NS) as f64 / 1e9;
    let band = |task: usize| {
        let share = |window| [measured.share(task, window); 2];
        Band { name: format!("task {}", task + 1), parts: (0..windows).flat_map(share).collect() }
    };
    Areas {
        title: format!("{}, in a kernel", entry.name),
        description: format!(
            "Share of the CPU that each of four tasks has in windows of 50 ms under {}, as they \
             measured it",
            entry.name
        ),
        label: "time (s)".into(),
        whole: "share of the CPU".into(),
        at: (0..windows).flat_map(|window| [at(window), at(window + 1)]).collect(),
        bands: (0..TASKS.len()).map(band).collect(),
    }
    .render()
}
