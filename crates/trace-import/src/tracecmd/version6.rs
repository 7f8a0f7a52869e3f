// SPDX-License-Identifier: MIT OR Apache-2.0
//! Version 6: one header, then the records.

use super::chunks::Compression;
use super::clock::Clock;
use super::{option, CpuPart, Layout, MOST};
use crate::bytes::Bytes;
use crate::error::Fault;
use crate::facts::Header;
use crate::input::Input;
use crate::tracepoint::TracingData;

/// Number of the option.
const TRACE_CLOCK: u16 = 4;

/// Reads the header.
pub(super) fn read(input: &mut Input, header: &mut Header) -> Result<Layout, Fault> {
    let bytes = input.start(MOST)?;
    let mut bytes = Bytes::new(&bytes, 0);
    let (data, begin) = TracingData::read(&mut bytes)?;
    let count = bytes.u32("number of CPUs")?;
    header.has_cpus(count).map_err(|what| bytes.fault(what))?;
    // An option says that the clock's name is behind the places of the records.
    let (mut clock, mut clock_follows) = (Clock::default(), false);
    if bytes.rest().starts_with(b"options  \0") {
        bytes.take(10, "options")?;
        loop {
            let id = bytes.u16("number of an option")?;
            if id == 0 {
                break;
            }
            let len = bytes.u32("size of an option")?;
            let body = bytes.take(u64::from(len), "an option")?;
            clock_follows |= id == TRACE_CLOCK;
            option(id, body, header, &mut clock).map_err(|what| bytes.fault(what))?;
        }
    }
    if bytes.rest().starts_with(b"latency  \0") {
        return Err(bytes.fault("a latency trace as text: expected records"));
    }
    bytes.expect(b"flyrecord\0")?;
    let mut parts = Vec::new();
    for cpu in 0..count {
        let (from, len) = (bytes.u64("place of records")?, bytes.u64("size of records")?);
        parts.push(CpuPart { cpu, from, len });
    }
    if clock_follows {
        let len = bytes.u64("size of the clock's name")?;
        let text = bytes.take(len, "the clock's name")?;
        clock.choose(&String::from_utf8_lossy(text));
    }
    clock.check().map_err(Fault::file)?;
    let (compression, page_size) = (Compression::None, begin.page_size);
    Ok(Layout { data, compression, page_size, clock, cpus: parts })
}
