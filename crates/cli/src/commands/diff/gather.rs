// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is compared of a run, and how it is read from a trace: decisions, and numbers.

use crate::decision::{Decision, Decisions};
use crate::error::Error;
use rota_measure::catalogue::{self, Run};
use rota_measure::{Requests, Results, Summary};
use rota_trace::{Event, EventKind, Sink, Tee};
use rota_trace_import::open;
use std::path::Path;

/// What is known of a run.
pub(super) struct Gathered {
    /// The trace; or the policy, workload and seed.
    pub(super) name: String,
    pub(super) decisions: Decisions,
    pub(super) cpus: u32,
    pub(super) duration_ns: u64,
    pub(super) measures: Vec<Option<f64>>,
}

impl Gathered {
    pub(super) fn read(path: &Path) -> Result<Self, Error> {
        let trace = open(path)?;
        let mut summary = Summary::new(trace.header().cpus.unwrap_or(1));
        let (mut requests, mut picks) = (Requests::default(), Picks::default());
        let facts = {
            let mut sinks = Tee::new();
            sinks.push(&mut summary);
            sinks.push(&mut requests);
            sinks.push(&mut picks);
            trace.read(&mut sinks)?
        };
        let Results { numbers, .. } = summary.finish_all(facts.duration_ns);
        let requests = requests.finish(facts.duration_ns);
        let run = Run { numbers: &numbers, requests: &requests, cpus: facts.cpus };
        Ok(Self {
            name: path.display().to_string(),
            decisions: picks.0,
            cpus: facts.cpus,
            duration_ns: facts.duration_ns,
            measures: catalogue::measures().iter().map(|measure| measure.of(run)).collect(),
        })
    }
}

/// Takes decisions and names out of the events.
#[derive(Default)]
pub(super) struct Picks(pub(super) Decisions);

impl Sink for Picks {
    fn event(&mut self, event: &Event) {
        match &event.kind {
            EventKind::Task { pid, name, .. } => {
                self.0.names.entry(*pid).or_insert_with(|| name.clone());
            }
            EventKind::Pick { pid, slice_ns } => {
                let Some(cpu) = event.cpu else { return };
                let (pid, slice_ns) = (*pid, *slice_ns);
                let decision = Decision { time_ns: event.time_ns, pid, slice_ns };
                self.0.of_cpu.entry(cpu).or_default().push(decision);
            }
            _ => {}
        }
    }
}
