// SPDX-License-Identifier: MIT OR Apache-2.0
//! The policy that ships, in slices, in the ideal machine.

use super::scenario::Scenario;
use crate::error::Error;
use crate::rig::{linked, Length, Rig};
use crate::runs::{Run, Runs};
use rota_report::chart::{Areas, Band};
use rota_trace::{Event, EventKind, Sink, Tee};

/// Length of a slice in the paper's kernel [PBS §4].
pub(super) const QUANTUM_NS: u64 = 4_000_000;
/// Its figures show means of so much time [PBS §4, Figure 4].
const WINDOW_NS: u64 = 50_000_000;

/// What came of a scenario.
pub(super) struct Sliced {
    /// Completion of each task, in seconds; NaN: it did not end.
    pub(super) completions: Vec<f64>,
    runs: Vec<Run>,
    end_ns: u64,
}

/// PBS with an alpha, in slices of some length.
pub(super) fn run(scenario: &Scenario, alpha: f64, quantum_ns: u64) -> Result<Sliced, Error> {
    let (alpha, quantum) = (alpha.to_string(), quantum_ns.to_string());
    let set = [("alpha", &*alpha), ("quantum_ns", &*quantum), ("beta", "+inf")];
    run_under(scenario, "pbs", &set)
}

/// Any policy.
pub(super) fn run_under(
    scenario: &Scenario,
    policy: &str,
    set: &[(&str, &str)],
) -> Result<Sliced, Error> {
    // Time for the last slices.
    let end_ns = (scenario.end * 1e9) as u64 + 1_000_000_000;
    let (mut runs, mut ends) = (Runs::default(), Ends::new(scenario.count()));
    let mut sinks = Tee::new();
    sinks.push(&mut runs);
    sinks.push(&mut ends);
    let length = Length::of(end_ns);
    Rig::new(&linked(policy, set)?).run(&scenario.workload()?, length, &mut sinks)?;
    drop(sinks);
    Ok(Sliced { completions: ends.at, runs: runs.finish(end_ns), end_ns })
}

/// When each task ends, in the order in which they came.
struct Ends {
    pids: Vec<u32>,
    at: Vec<f64>,
}

impl Ends {
    fn new(tasks: usize) -> Self {
        Self { pids: Vec::new(), at: vec![f64::NAN; tasks] }
    }
}

impl Sink for Ends {
    fn event(&mut self, event: &Event) {
        match event.kind {
            EventKind::Fork { pid, .. } => self.pids.push(pid),
            EventKind::Exit { pid } => {
                if let Some(task) = self.pids.iter().position(|known| *known == pid) {
                    self.at[task] = event.time_ns as f64 / 1e9;
                }
            }
            _ => {}
        }
    }
}

impl Sliced {
    /// Times that somebody came onto the CPU after somebody else, between two times in seconds.
    pub(super) fn switches(&self, from: f64, to: f64) -> usize {
        let within = |run: &&Run| (from..to).contains(&(run.from_ns as f64 / 1e9));
        self.runs.iter().filter(within).count()
    }

    /// Shares in windows of 50 ms.
    pub(super) fn picture(&self, title: &str, end: f64) -> Areas {
        let windows = ((end * 1e9) as u64).min(self.end_ns) / WINDOW_NS;
        let mut shares = vec![vec![0.0; windows as usize]; self.completions.len()];
        for run in &self.runs {
            let mut from_ns = run.from_ns;
            while from_ns < run.to_ns {
                let window = from_ns / WINDOW_NS;
                let to_ns = run.to_ns.min((window + 1) * WINDOW_NS);
                if let Some(share) = shares[run.client].get_mut(window as usize) {
                    *share += (to_ns - from_ns) as f64 / WINDOW_NS as f64;
                }
                from_ns = to_ns;
            }
        }
        let edges = |window: u64| [window, window + 1].map(|at| (at * WINDOW_NS) as f64 / 1e9);
        let twice = |parts: Vec<f64>| parts.into_iter().flat_map(|part| [part, part]).collect();
        let bands = (1..).zip(shares);
        Areas {
            title: title.into(),
            description: "Share of the CPU that each task has in windows of 50 ms".into(),
            label: "time (s)".into(),
            whole: "share of the CPU".into(),
            at: (0..windows).flat_map(edges).collect(),
            bands: bands
                .map(|(task, parts)| Band { name: format!("task {task}"), parts: twice(parts) })
                .collect(),
        }
    }
}
