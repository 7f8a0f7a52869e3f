// SPDX-License-Identifier: MIT OR Apache-2.0
//! trace-cmd's `trace.dat`, versions 6 and 7 (`man trace-cmd.dat.v6`, `trace-cmd.dat.v7`).
//!
//! Only the top buffer is read, not those of further instances.

mod chunks;
mod clock;
mod page;
mod sections;
mod version6;

use crate::bytes::Bytes;
use crate::error::Fault;
use crate::facts::{Header, MOST_CPUS};
use crate::input::Input;
use crate::order::Merge;
use crate::record::{comm, Record, Records, What};
use crate::tracepoint::TracingData;
use chunks::Compression;
use clock::Clock;
use page::CpuPages;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

/// Most bytes of a section that is not the records.
const MOST: u64 = 64 << 20;
/// Smallest and largest page of a ring buffer (`buffer_subbuf_size_kb`).
const PAGES: std::ops::RangeInclusive<u32> = 4096..=1 << 22;

/// A trace.dat that is read.
pub(crate) struct TraceDat {
    names: VecDeque<What>,
    merge: Merge<CpuPages>,
}

/// What must be known to read the records.
struct Layout {
    data: TracingData,
    compression: Compression,
    page_size: u32,
    clock: Clock,
    cpus: Vec<CpuPart>,
}

/// The records of a CPU.
#[derive(Clone, Copy, Debug)]
struct CpuPart {
    cpu: u32,
    from: u64,
    len: u64,
}

/// Opens a file.
pub(crate) fn open(mut input: Input, header: &mut Header) -> Result<TraceDat, Fault> {
    let start = input.start(64)?;
    let begin = TracingData::begin(&mut Bytes::new(&start, 0))?;
    if !PAGES.contains(&begin.page_size) || !begin.page_size.is_power_of_two() {
        let size = begin.page_size;
        return Err(Fault::byte(0, format!("pages of {size} bytes: expected 4096 or more")));
    }
    input.seek(0, "the header")?;
    let layout = match begin.version.as_str() {
        "6" => version6::read(&mut input, header)?,
        "7" => sections::read(&mut input, header)?,
        version => {
            return Err(Fault::byte(10, format!("version {version}: expected 6 or 7")));
        }
    };
    header.tool.get_or_insert_with(|| "trace-cmd".to_owned());
    let Layout { data, compression, page_size, clock, cpus } = layout;
    header.clock = Some(clock.name.clone());
    let names = data.names.lines().filter_map(name).collect();
    let (tracepoints, layout) = (Rc::new(data.tracepoints), data.page);
    let (input, clock) = (Rc::new(RefCell::new(input)), Rc::new(clock));
    let mut pages = Vec::new();
    for part in cpus {
        header.has_cpus(part.cpu.saturating_add(1)).map_err(Fault::file)?;
        let chunks = chunks::Chunks::new(Rc::clone(&input), compression, part.from, part.len)?;
        let (tracepoints, clock) = (Rc::clone(&tracepoints), Rc::clone(&clock));
        pages.push(CpuPages::new(part.cpu, chunks, page_size, layout, tracepoints, clock));
    }
    Ok(TraceDat { names, merge: Merge::new(pages) })
}

/// `123 name`
fn name(line: &str) -> Option<What> {
    let (pid, name) = line.trim_start().split_once(' ')?;
    Some(What::Name { pid: pid.parse().ok()?, comm: comm(name.as_bytes()) })
}

impl Records for TraceDat {
    fn next(&mut self) -> Result<Option<Record>, Fault> {
        match self.names.pop_front() {
            Some(what) => Ok(Some(Record { time_ns: 0, cpu: 0, what })),
            None => self.merge.next(),
        }
    }
}

/// Takes what an option of the file says.
fn option(id: u16, body: &[u8], header: &mut Header, clock: &mut Clock) -> Result<(), String> {
    let text = || {
        let end = body.iter().position(|byte| *byte == 0).unwrap_or(body.len());
        String::from_utf8_lossy(&body[..end]).trim().to_owned()
    };
    match id {
        2 => lost(&text(), header),
        4 => clock.choose(&text()),
        5 => uname(&text(), header),
        7 => clock.shift(&text())?,
        8 => {
            let count = body.get(..4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
            let count = count.ok_or("number of CPUs: expected 4 bytes")?;
            header.has_cpus(count)?;
        }
        9 => header.tool = Some(format!("trace-cmd {}", text())),
        14 => clock.scale(body)?,
        _ => {}
    }
    Ok(())
}

/// `Linux host 6.18.0 #1 SMP ... x86_64`: sysname, nodename, release, version, machine.
fn uname(text: &str, header: &mut Header) {
    let mut words = text.split_whitespace().skip(1);
    header.host = words.next().map(str::to_owned);
    header.kernel = words.next().map(str::to_owned);
    header.arch = words.last().map(str::to_owned);
}

/// `CPU: 3`, then lines as `overrun: 12`.
fn lost(text: &str, header: &mut Header) {
    let number = |name: &str| {
        let line = text.lines().find_map(|line| line.trim().strip_prefix(name));
        line.and_then(|number| number.trim().parse::<u64>().ok())
    };
    let Some(cpu) = number("CPU:").and_then(|cpu| u32::try_from(cpu).ok()) else { return };
    let names = ["overrun:", "commit overrun:", "dropped events:"];
    let lost = names.iter().filter_map(|name| number(name)).fold(0, u64::saturating_add);
    if lost > 0 && cpu < MOST_CPUS {
        header.lost.insert(cpu, lost);
    }
}
