// SPDX-License-Identifier: MIT OR Apache-2.0
//! Version 7: sections, which options tell the places of.

use super::chunks::Compression;
use super::clock::Clock;
use super::{option, CpuPart, Layout, MOST};
use crate::bytes::Bytes;
use crate::error::Fault;
use crate::facts::{Header, MOST_CPUS};
use crate::input::Input;
use crate::tracepoint::TracingData;

/// Numbers of options, each the number of a section, too, from 16 on.
const DONE: u16 = 0;
const BUFFER: u16 = 3;
const HEADER_INFO: u16 = 16;
const EVENT_FORMATS: u16 = 18;
const NAMES: u16 = 21;
const BUFFER_TEXT: u16 = 22;
/// Bit of a section's flags.
const COMPRESSED: u16 = 1;
/// Most sections of options, each of which names the next.
const MOST_OPTIONS: usize = 1000;

/// Reads all that is not records.
pub(super) fn read(input: &mut Input, header: &mut Header) -> Result<Layout, Fault> {
    let start = input.start(4096)?;
    let mut bytes = Bytes::new(&start, 0);
    let begin = TracingData::begin(&mut bytes)?;
    let name = bytes.text("name of the compression")?;
    bytes.text("version of the compression")?;
    let compression = Compression::named(&name).map_err(|what| bytes.fault(what))?;
    let mut file = File { input, compression };
    let (mut clock, mut data) = (Clock::default(), TracingData::default());
    let (mut buffer, mut has_text) = (None, false);
    let mut next = bytes.u64("place of the options")?;
    for _ in 0..MOST_OPTIONS {
        if next == 0 {
            break;
        }
        let section = file.section(next, DONE)?;
        let mut options = Bytes::new(&section, next);
        next = 0;
        while !options.is_empty() {
            let id = options.u16("number of an option")?;
            let len = options.u32("size of an option")?;
            let text = options.take(u64::from(len), "an option")?;
            let mut body = Bytes::new(text, next);
            match id {
                DONE => {
                    next = body.u64("place of the next options")?;
                    break;
                }
                BUFFER => {
                    let found = read_buffer(&mut body)?;
                    // The top buffer has no name.
                    if found.name.is_empty() && buffer.is_none() {
                        buffer = Some(found);
                    }
                }
                BUFFER_TEXT => has_text = true,
                HEADER_INFO | EVENT_FORMATS | NAMES => {
                    let place = body.u64("place of a section")?;
                    let section = file.section(place, id)?;
                    let mut section = Bytes::new(&section, place);
                    match id {
                        HEADER_INFO => data.header(&mut section)?,
                        EVENT_FORMATS => data.events(&mut section)?,
                        _ => data.names(&mut section)?,
                    }
                }
                id => option(id, text, header, &mut clock).map_err(|what| options.fault(what))?,
            }
        }
    }
    let Some(buffer) = buffer else {
        return Err(Fault::file(match has_text {
            true => "a latency trace as text: expected records",
            false => "no records of the top buffer",
        }));
    };
    clock.choose(&buffer.clock);
    clock.check().map_err(Fault::file)?;
    let page_size = buffer.page_size;
    if !super::PAGES.contains(&page_size) || begin.page_size == 0 {
        return Err(Fault::file(format!("pages of {page_size} bytes: expected 4096 or more")));
    }
    let compression = match file.compressed_at(buffer.place)? {
        true => compression,
        false => Compression::None,
    };
    Ok(Layout { data, compression, page_size, clock, cpus: buffer.cpus })
}

struct Buffer {
    place: u64,
    name: String,
    clock: String,
    page_size: u32,
    cpus: Vec<CpuPart>,
}

fn read_buffer(body: &mut Bytes<'_>) -> Result<Buffer, Fault> {
    let place = body.u64("place of a buffer")?;
    let (name, clock) = (body.text("name of a buffer")?, body.text("clock of a buffer")?);
    let (page_size, count) = (body.u32("page size")?, body.u32("number of CPUs")?);
    if count > MOST_CPUS {
        return Err(body.fault(format!("{count} CPUs: expected at most {MOST_CPUS}")));
    }
    let mut cpus = Vec::new();
    for _ in 0..count {
        let cpu = body.u32("CPU")?;
        let (from, len) = (body.u64("place of records")?, body.u64("size of records")?);
        cpus.push(CpuPart { cpu, from, len });
    }
    Ok(Buffer { place, name, clock, page_size, cpus })
}

struct File<'a> {
    input: &'a mut Input,
    compression: Compression,
}

impl File<'_> {
    /// Number, flags and size of the section at a place; the reader stands behind them.
    fn head(&mut self, place: u64) -> Result<(u16, u16, u64), Fault> {
        self.input.seek(place, "a section")?;
        let head = self.input.piece(16, 16, "the header of a section")?;
        let mut head = Bytes::new(&head, place);
        let (id, flags) = (head.u16("number")?, head.u16("flags")?);
        head.u32("description")?;
        Ok((id, flags, head.u64("size")?))
    }

    fn compressed_at(&mut self, place: u64) -> Result<bool, Fault> {
        Ok(self.head(place)?.1 & COMPRESSED != 0)
    }

    /// The bytes of a section, which must have this number.
    fn section(&mut self, place: u64, expected: u16) -> Result<Vec<u8>, Fault> {
        let (id, flags, len) = self.head(place)?;
        if id != expected {
            return Err(Fault::byte(place, format!("section {id}: expected {expected}")));
        }
        if flags & COMPRESSED == 0 {
            return self.input.piece(len, MOST, "a section");
        }
        let sizes = self.input.piece(8, 8, "sizes of a section")?;
        let mut sizes = Bytes::new(&sizes, place);
        let (packed, plain) = (u64::from(sizes.u32("size")?), u64::from(sizes.u32("size")?));
        if plain > MOST {
            return Err(Fault::byte(place, format!("a section of {plain} bytes: expected {MOST}")));
        }
        let bytes = self.input.piece(packed, MOST, "a section")?;
        self.compression.decompress(&bytes, plain, place)
    }
}
