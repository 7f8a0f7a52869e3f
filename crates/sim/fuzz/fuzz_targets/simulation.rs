// SPDX-License-Identifier: MIT OR Apache-2.0
//! What `rota sim` does with a policy and a workload once it has read both.

use rota_machine::config::Config;
use rota_machine::run::Outcome;
use rota_sim::{Policy, SimError, Simulation, Watchers};
use rota_trace::{CsvSink, PerfettoSink, Sink};
use rota_workload::Workload;
use std::io::sink;
use std::sync::Arc;

/// Runs it, with metrics and two kinds of traces.
pub fn run(policy: &Policy, config: Config, workload: &Arc<Workload>) -> Result<Outcome, SimError> {
    let (mut csv, mut perfetto) = (CsvSink::new(sink()), PerfettoSink::new(sink()));
    let sinks: Vec<&mut dyn Sink> = vec![&mut csv, &mut perfetto];
    let watchers = Watchers { sinks, ..Watchers::default() };
    let measured = Simulation::new(policy, workload, config).measure(watchers)?;
    csv.finish().expect("nothing is written");
    perfetto.finish(measured.outcome.end_ns).expect("nothing is written");
    Ok(measured.outcome)
}
