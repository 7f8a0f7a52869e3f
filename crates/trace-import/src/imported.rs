// SPDX-License-Identifier: MIT OR Apache-2.0
//! A trace of any format, from its file to its events.

use crate::convert::Converter;
use crate::error::{Fault, ImportError};
use crate::facts::{Facts, Header};
use crate::format::{self, Format, ENOUGH};
use crate::input::{Input, Source};
use crate::missing::Missing;
use crate::record::Records;
use crate::rota_events::{self, RotaEvents};
use crate::{perf, perfetto, text, tracecmd};
use rota_trace::Sink;
use std::fs::File;
use std::path::Path;

/// A trace whose header was read.
pub struct Imported {
    name: String,
    format: Format,
    header: Header,
    content: Content,
}

enum Content {
    Records(Box<dyn Records>),
    Events(RotaEvents),
}

/// Opens a file. It must be one that can be read from any place: no pipe.
///
/// # Errors
///
/// If it is no trace of a known [`Format`], or its header is wrong.
pub fn open(path: &Path) -> Result<Imported, ImportError> {
    let name = path.display().to_string();
    match File::open(path) {
        Ok(file) => open_source(&name, Box::new(file)),
        Err(error) => Err(Fault::from(error).of(&name)),
    }
}

/// Opens what messages call by a name.
///
/// # Errors
///
/// As [`open`].
pub fn open_source(name: &str, source: Box<dyn Source>) -> Result<Imported, ImportError> {
    begin(name, source).map_err(|fault| fault.of(name))
}

fn begin(name: &str, source: Box<dyn Source>) -> Result<Imported, Fault> {
    let mut input = Input::new(source)?;
    let start = input.start(ENOUGH as u64)?;
    let format = format::detect(&start);
    let format = format.ok_or_else(|| Fault::file(format::advice(&start)))?;
    input.seek(0, "the begin")?;
    let mut header = Header::default();
    let records: Box<dyn Records> = match format {
        Format::PerfData => Box::new(perf::open(input, &mut header)?),
        Format::PerfPipe => Box::new(perf::open_pipe(input, &mut header)?),
        Format::TraceDat => Box::new(tracecmd::open(input, &mut header)?),
        Format::FtraceText => Box::new(text::open(input, &mut header)?),
        Format::Perfetto => Box::new(perfetto::open(input, &mut header)?),
        Format::RotaCsv => {
            let content = Content::Events(rota_events::open_csv(input));
            return Ok(Imported { name: name.to_owned(), format, header, content });
        }
        Format::RotaParquet => {
            let content = Content::Events(rota_events::open_parquet(input)?);
            return Ok(Imported { name: name.to_owned(), format, header, content });
        }
    };
    Ok(Imported { name: name.to_owned(), format, header, content: Content::Records(records) })
}

impl Imported {
    /// The format.
    pub fn format(&self) -> Format {
        self.format
    }

    /// What the trace says of itself. Losses that it tells at its end are in [`Facts::header`] only.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Gives all events to a sink, in the order of their times, which begin at 0.
    ///
    /// # Errors
    ///
    /// If the file is wrong; the events before that were given.
    pub fn read(self, sink: &mut dyn Sink) -> Result<Facts, ImportError> {
        let Imported { name, format, mut header, content } = self;
        let mut records = match content {
            Content::Records(records) => records,
            Content::Events(events) => {
                return events.read(header, sink).map_err(|fault| fault.of(&name));
            }
        };
        let mut converter = Converter::new(header.cpus);
        let mut next = || records.next().map_err(|fault| fault.of(&name));
        while let Some(record) = next()? {
            converter.convert(record, sink).map_err(|fault| fault.of(&name))?;
            if sink.has_enough() {
                break;
            }
        }
        records.finish(&mut header);
        if converter.counts.switches == 0 {
            let what = "no record of sched_switch: expected a trace of the scheduler";
            return Err(Fault::file(what).of(&name));
        }
        Ok(facts(format, header, converter))
    }
}

fn facts(format: Format, header: Header, converter: Converter) -> Facts {
    let (begin_ns, duration_ns) = converter.span();
    let seen = converter.seen.iter().zip(0..).filter(|(seen, _)| **seen).map(|(_, cpu)| cpu);
    let mut tasks = converter.facts;
    // Others had no event.
    tasks.retain(|_, task| !task.name.is_empty());
    let mut facts = Facts {
        format,
        cpus: header.cpus.unwrap_or(converter.seen.len() as u32),
        cpus_seen: seen.collect(),
        begin_ns,
        duration_ns,
        counts: converter.counts,
        events: converter.events,
        lost: converter.lost,
        late: converter.late,
        repaired: converter.repaired,
        unexplained: converter.unexplained,
        missing: Vec::new(),
        tasks,
        header,
    };
    facts.missing = missing(&facts, converter.hides_interrupts, converter.knows_prio);
    facts
}

/// What is missing, the worst first.
fn missing(facts: &Facts, hides_interrupts: bool, knows_prio: bool) -> Vec<Missing> {
    let counts = &facts.counts;
    let mut missing = Vec::new();
    let mut lost = facts.lost.clone();
    for (cpu, records) in &facts.header.lost {
        let of_cpu = lost.entry(*cpu).or_default();
        of_cpu.records = of_cpu.records.max(*records);
    }
    if !lost.is_empty() {
        let records = lost.values().map(|lost| lost.records).fold(0, u64::saturating_add);
        missing.push(Missing::Lost { cpus: lost.len() as u64, records });
    }
    if facts.repaired > 0 {
        missing.push(Missing::Switches(facts.repaired));
    }
    if facts.late > 0 {
        missing.push(Missing::Order(facts.late));
    }
    match (counts.wakings > 0, counts.wakeups > 0) {
        (false, false) => missing.push(Missing::Wakeups),
        (false, true) => missing.push(Missing::Waking),
        (true, false) => missing.push(Missing::Wakeup),
        (true, true) => {}
    }
    if hides_interrupts {
        missing.push(Missing::Interrupts);
    }
    if counts.forks == 0 {
        missing.push(Missing::Forks);
    }
    if counts.exits == 0 {
        missing.push(Missing::Exits);
    }
    let unnamed =
        facts.tasks.iter().filter(|(pid, task)| task.name == format!("pid {pid}")).count();
    if unnamed > 0 {
        missing.push(Missing::Names(unnamed as u64));
    }
    if !knows_prio {
        missing.push(Missing::Priorities);
    }
    let deadline =
        facts.tasks.values().filter(|task| task.prio.is_some_and(|prio| prio < 0)).count();
    if deadline > 0 {
        missing.push(Missing::Budgets(deadline as u64));
    }
    missing
}
