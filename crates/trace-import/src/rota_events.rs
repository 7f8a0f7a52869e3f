// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rota's own events, as CSV or Parquet: they need no conversion.

use crate::error::Fault;
use crate::facts::{Counts, Facts, Header, TaskFacts, MOST_CPUS};
use crate::format::Format;
use crate::input::Input;
use rota_trace::{CsvEvents, Event, EventKind, ParquetEvents, Sink};
use std::collections::BTreeMap;

/// A file that is read.
pub(crate) struct RotaEvents {
    format: Format,
    events: Box<dyn Iterator<Item = Result<Event, Fault>>>,
}

/// Opens a file of CSV.
pub(crate) fn open_csv(input: Input) -> RotaEvents {
    let events = CsvEvents::new(input.into_reader());
    let events = events.map(|event| event.map_err(|error| Fault::line(error.line, error.what)));
    RotaEvents { format: Format::RotaCsv, events: Box::new(events) }
}

/// Opens a Parquet file.
pub(crate) fn open_parquet(input: Input) -> Result<RotaEvents, Fault> {
    let fault = |error: rota_trace::ParquetEventsError| Fault::file(error.to_string());
    let events = ParquetEvents::new(input.into_chunks()).map_err(fault)?;
    let events = events.map(move |event| event.map_err(fault));
    Ok(RotaEvents { format: Format::RotaParquet, events: Box::new(events) })
}

impl RotaEvents {
    /// Gives all events to a sink.
    pub(crate) fn read(self, header: Header, sink: &mut dyn Sink) -> Result<Facts, Fault> {
        let mut facts = Facts {
            format: self.format,
            header,
            cpus: 0,
            cpus_seen: std::iter::empty().collect(),
            begin_ns: 0,
            duration_ns: 0,
            counts: Counts::default(),
            events: 0,
            lost: BTreeMap::new(),
            late: 0,
            repaired: 0,
            unexplained: 0,
            tasks: BTreeMap::new(),
            missing: Vec::new(),
        };
        let mut seen = vec![false; MOST_CPUS as usize];
        for event in self.events {
            let event = event?;
            if event.time_ns < facts.duration_ns {
                let (time, before) = (event.time_ns, facts.duration_ns);
                return Err(Fault::file(format!(
                    "an event at {time} ns: expected none before {before} ns, as events are in order"
                )));
            }
            if let Some(cpu) = event.cpu {
                let slot = seen.get_mut(cpu as usize).ok_or_else(|| {
                    Fault::file(format!("an event of CPU {cpu}: expected fewer than {MOST_CPUS}"))
                })?;
                *slot = true;
            }
            facts.duration_ns = event.time_ns;
            facts.events += 1;
            count(&mut facts, &event);
            sink.event(&event);
            if sink.has_enough() {
                break;
            }
        }
        facts.cpus_seen = (0..).zip(&seen).filter(|(_, seen)| **seen).map(|(cpu, _)| cpu).collect();
        facts.cpus = facts.cpus_seen.iter().last().map_or(0, |last| last + 1);
        match (facts.cpus, facts.counts.switches) {
            (0, _) => Err(Fault::file("no event on a CPU: expected some")),
            (_, 0) => Err(Fault::file("no switch_in: expected a trace of the scheduler")),
            _ => Ok(facts),
        }
    }
}

/// Counts events as the records that they come from.
fn count(facts: &mut Facts, event: &Event) {
    let counts = &mut facts.counts;
    match &event.kind {
        EventKind::SwitchIn { .. } => counts.switches += 1,
        EventKind::Wakeup { .. } => counts.wakeups += 1,
        EventKind::Migrate { .. } => counts.migrations += 1,
        EventKind::Exit { .. } => counts.exits += 1,
        EventKind::Fork { pid, parent } => {
            counts.forks += 1;
            facts.tasks.entry(*pid).or_default().parent = Some(*parent);
        }
        EventKind::Task { pid, name, .. } => {
            let task: &mut TaskFacts = facts.tasks.entry(*pid).or_default();
            task.name.clone_from(name);
            task.kernel_thread = name.starts_with('[') && name.ends_with(']');
        }
        _ => {}
    }
}
