// SPDX-License-Identifier: MIT OR Apache-2.0
//! `perf.data`: what `perf sched record` and `perf record -e 'sched:*'` write, to a file or to a
//! pipe (tools/perf/Documentation/perf.data-file-format.txt).
//!
//! No crate is used: `linux-perf-data` allocates what a file asks for, says no place in its errors,
//! and holds a file without rounds in memory.

mod attributes;
mod features;
mod sample;

use crate::bytes::Bytes;
use crate::error::Fault;
use crate::facts::Header;
use crate::input::Input;
use crate::order::Rounds;
use crate::record::{comm, Record, Records, What};
use crate::tracepoint::{Tracepoints, TracingData};
use attributes::Attributes;

/// Most bytes of a feature or of tracing data.
const MOST: u64 = 64 << 20;
/// Attributes and their numbers.
const MOST_ATTRIBUTES: u64 = 4 << 20;

const TRACING_DATA: usize = 1;

/// Kinds of record (`include/uapi/linux/perf_event.h`, tools/lib/perf/include/perf/event.h).
mod kind {
    pub(super) const LOST: u32 = 2;
    pub(super) const COMM: u32 = 3;
    pub(super) const FORK: u32 = 7;
    pub(super) const SAMPLE: u32 = 9;
    pub(super) const LOST_SAMPLES: u32 = 13;
    pub(super) const HEADER_ATTR: u32 = 64;
    pub(super) const TRACING_DATA: u32 = 66;
    pub(super) const FINISHED_ROUND: u32 = 68;
    pub(super) const AUXTRACE: u32 = 71;
    pub(super) const HEADER_FEATURE: u32 = 80;
    pub(super) const COMPRESSED: u32 = 81;
    pub(super) const COMPRESSED2: u32 = 83;
}

/// A perf.data that is read.
pub(crate) struct PerfData {
    input: Input,
    /// Where the records end.
    end: u64,
    attributes: Attributes,
    tracepoints: Tracepoints,
    /// perf ran in the first namespace of pids: its own records number tasks as tracepoints do.
    same_numbers: bool,
    rounds: Rounds,
    /// Records up to here can go.
    until_ns: u64,
    ended: bool,
    body: Vec<u8>,
}

/// Opens a file.
pub(crate) fn open(mut input: Input, header: &mut Header) -> Result<PerfData, Fault> {
    let start = input.piece(104.min(input.len()), 104, "the header")?;
    let mut bytes = Bytes::new(&start, 0);
    begin(&mut bytes)?;
    bytes.u64("size of the header")?;
    let attribute_size = bytes.u64("size of an attribute")?;
    let attributes = section(&mut bytes, &input, "attributes")?;
    let data = section(&mut bytes, &input, "records")?;
    bytes.take(16, "event types")?;
    let mut flags = [0; 4];
    for word in &mut flags {
        *word = bytes.u64("flags of features")?;
    }
    if data.1 == 0 {
        return Err(Fault::byte(
            40,
            "records of 0 bytes: perf did not end the file, or saw nothing",
        ));
    }
    input.seek(attributes.0, "attributes")?;
    let list = input.piece(attributes.1, MOST_ATTRIBUTES, "attributes")?;
    let attributes = Attributes::read(&list, attributes.0, attribute_size, &mut input)?;
    let mut sections = Vec::new();
    let mut at = data.0 + data.1;
    for feature in (0..256).filter(|bit| flags[bit / 64] >> (bit % 64) & 1 == 1) {
        input.seek(at, "features")?;
        let place = input.piece(16, 16, "place of a feature")?;
        let mut place = Bytes::new(&place, at);
        sections.push((feature, section(&mut place, &input, "a feature")?));
        at += 16;
    }
    let mut tracepoints = None;
    for (feature, (from, len)) in sections {
        if feature != TRACING_DATA && !features::is_read(feature) {
            continue;
        }
        input.seek(from, "a feature")?;
        let body = input.piece(len, MOST, "a feature")?;
        let mut bytes = Bytes::new(&body, from);
        match feature {
            TRACING_DATA => tracepoints = Some(TracingData::read(&mut bytes)?.0.tracepoints),
            feature => features::read(feature, &mut bytes, header)?,
        }
    }
    let tracepoints = tracepoints.ok_or_else(no_tracepoints)?;
    input.seek(data.0, "records")?;
    let mut records = PerfData::new(input, data.0 + data.1, attributes, tracepoints);
    records.compare_numbers()?;
    records.input.seek(data.0, "records")?;
    Ok(records)
}

/// Opens what perf wrote to a pipe. All that describes the records comes before the first of them,
/// which is where the reader is left.
pub(crate) fn open_pipe(mut input: Input, header: &mut Header) -> Result<PerfData, Fault> {
    let start = input.piece(16.min(input.len()), 16, "the header")?;
    begin(&mut Bytes::new(&start, 0))?;
    let end = input.len();
    let mut data = PerfData::new(input, end, Attributes::default(), Tracepoints::default());
    let mut described = false;
    let mut features = header.clone();
    while let Some((place, kind)) = data.record()? {
        let mut body = Bytes::new(&data.body, place + 8);
        match kind {
            kind::HEADER_ATTR => data.attributes.add(&mut body)?,
            kind::HEADER_FEATURE => {
                let feature = body.u64("number of a feature")?;
                if let Some(feature) =
                    usize::try_from(feature).ok().filter(|f| features::is_read(*f))
                {
                    features::read(feature, &mut body, &mut features)?;
                }
            }
            kind::TRACING_DATA => {
                let len = u64::from(body.u32("size of the tracing data")?).next_multiple_of(8);
                let at = data.input.at();
                let text = data.input.piece(len, MOST, "tracing data")?;
                data.tracepoints = TracingData::read(&mut Bytes::new(&text, at))?.0.tracepoints;
                described = true;
            }
            kind::SAMPLE => break,
            _ => {}
        }
    }
    *header = features;
    if !described {
        return Err(no_tracepoints());
    }
    data.attributes.check()?;
    data.input.seek(16, "records")?;
    data.compare_numbers()?;
    data.input.seek(16, "records")?;
    Ok(data)
}

fn begin(bytes: &mut Bytes<'_>) -> Result<(), Fault> {
    if bytes.rest().starts_with(b"2ELIFREP") {
        return Err(bytes.fault("recorded on a big-endian machine: expected a little-endian one"));
    }
    bytes.expect(b"PERFILE2")
}

fn no_tracepoints() -> Fault {
    Fault::file("no tracing data: expected a trace of tracepoints, as of `perf sched record`")
}

/// Place and length of a part of the file.
fn section(bytes: &mut Bytes<'_>, input: &Input, what: &str) -> Result<(u64, u64), Fault> {
    let (from, len) = (bytes.u64(what)?, bytes.u64(what)?);
    match from.checked_add(len).filter(|end| *end <= input.len()) {
        Some(_) => Ok((from, len)),
        None => {
            let end = input.len();
            Err(bytes.fault(format!(
                "{what} from byte {from}, {len} bytes: the file ends at byte {end}"
            )))
        }
    }
}

impl PerfData {
    fn new(input: Input, end: u64, attributes: Attributes, tracepoints: Tracepoints) -> Self {
        let rounds = Rounds::default();
        Self {
            input,
            end,
            attributes,
            tracepoints,
            same_numbers: true,
            rounds,
            until_ns: 0,
            ended: false,
            body: Vec::new(),
        }
    }

    /// Reads the next record into `body`; its place and kind.
    fn record(&mut self) -> Result<Option<(u64, u32)>, Fault> {
        let place = self.input.at();
        if place >= self.end {
            return Ok(None);
        }
        self.input.read(8, "the header of a record", &mut self.body)?;
        let mut head = Bytes::new(&self.body, place);
        let kind = head.u32("kind")?;
        head.u16("misc")?;
        let size = head.u16("size")?;
        let Some(len) = size.checked_sub(8) else {
            return Err(Fault::byte(
                place,
                format!("a record of {size} bytes: expected 8 or more"),
            ));
        };
        self.input.read(u64::from(len), "a record", &mut self.body)?;
        Ok(Some((place, kind)))
    }

    /// Compares numbers of tasks in the first samples.
    fn compare_numbers(&mut self) -> Result<(), Fault> {
        let mut samples = 0;
        while samples < 1000 {
            let Some((place, kind)) = self.record()? else { break };
            let mut body = Bytes::new(&self.body, place + 8);
            match kind {
                kind::SAMPLE => {
                    let sample = self.attributes.sample(&mut body)?;
                    samples += 1;
                    let current = self.tracepoints.current(sample.raw);
                    if let (Some(tid), Some(current)) = (sample.tid, current) {
                        // A task that has ended has none in any namespace.
                        self.same_numbers &= tid == current || tid == u32::MAX;
                    }
                }
                kind => self.pass_data(kind, place)?,
            }
        }
        Ok(())
    }

    /// Passes data behind a record that is none of the record's size.
    fn pass_data(&mut self, kind: u32, place: u64) -> Result<(), Fault> {
        let mut body = Bytes::new(&self.body, place + 8);
        let len = match kind {
            kind::TRACING_DATA => {
                u64::from(body.u32("size of the tracing data")?).next_multiple_of(8)
            }
            kind::AUXTRACE => body.u64("size of the trace data")?,
            _ => return Ok(()),
        };
        let to = self.input.at().saturating_add(len);
        self.input.seek(to, "the end of the data")
    }

    /// Reads records until some can go.
    fn fill(&mut self) -> Result<(), Fault> {
        let Some((place, kind)) = self.record()? else {
            (self.ended, self.until_ns) = (true, u64::MAX);
            return Ok(());
        };
        let mut body = Bytes::new(&self.body, place + 8);
        match kind {
            kind::SAMPLE => {
                let sample = self.attributes.sample(&mut body)?;
                if let Some(what) = self.tracepoints.decode(sample.raw, place)? {
                    let (time_ns, cpu) = (sample.time_ns, sample.cpu);
                    self.rounds.push(Record { time_ns, cpu, what });
                }
            }
            kind::LOST | kind::LOST_SAMPLES => {
                let trailer = self.attributes.trailer(body.rest(), place)?;
                if kind == kind::LOST {
                    body.u64("number of an event")?;
                }
                let what = What::Lost { count: Some(body.u64("lost records")?) };
                self.rounds.push(Record { time_ns: trailer.time_ns, cpu: trailer.cpu, what });
            }
            kind::COMM if self.same_numbers => {
                let trailer = self.attributes.trailer(body.rest(), place)?;
                let (process, pid) = (body.u32("pid")?, body.u32("tid")?);
                let (time_ns, cpu) = (trailer.time_ns, trailer.cpu);
                let what = What::Name { pid, comm: comm(body.rest()) };
                self.rounds.push(Record { time_ns, cpu, what });
                let what = What::Process { pid, process, parent: None };
                self.rounds.push(Record { time_ns, cpu, what });
            }
            kind::FORK if self.same_numbers => {
                let (process, parent_process) = (body.u32("pid")?, body.u32("ppid")?);
                let (pid, parent) = (body.u32("tid")?, body.u32("ptid")?);
                let time_ns = body.u64("time")?;
                let parent = if pid == process { parent_process.max(parent) } else { parent };
                let what = What::Process { pid, process, parent: Some(parent) };
                self.rounds.push(Record { time_ns, cpu: 0, what });
            }
            kind::FINISHED_ROUND => self.until_ns = self.rounds.finish_round(),
            kind::COMPRESSED | kind::COMPRESSED2 => {
                return Err(Fault::byte(
                    place,
                    "compressed records (perf record -z): expected plain ones; \
                     perf inject -i FILE -o OUTPUT makes them of these",
                ));
            }
            kind => self.pass_data(kind, place)?,
        }
        Ok(())
    }
}

impl Records for PerfData {
    fn next(&mut self) -> Result<Option<Record>, Fault> {
        loop {
            if let Some(record) = self.rounds.pop(self.until_ns) {
                return Ok(Some(record));
            }
            if self.ended {
                return Ok(None);
            }
            self.fill()?;
        }
    }
}
