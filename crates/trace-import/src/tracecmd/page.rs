// SPDX-License-Identifier: MIT OR Apache-2.0
//! Pages of the kernel's ring buffer (kernel/trace/ring_buffer.c, `struct buffer_data_page`).

use super::chunks::Chunks;
use super::clock::Clock;
use crate::bytes::Bytes;
use crate::error::Fault;
use crate::order::CpuRecords;
use crate::record::{Record, What};
use crate::tracepoint::{PageLayout, Tracepoints};
use std::rc::Rc;

/// `RB_MISSED_EVENTS` and `RB_MISSED_STORED`
const MISSED: u64 = 1 << 31;
const MISSED_STORED: u64 = 1 << 30;
/// `BUF_PAGE_SIZE` fits into these bits of the length.
const LENGTH: u64 = (1 << 27) - 1;
/// `enum ring_buffer_type`
const PADDING: u32 = 29;
const TIME_EXTEND: u32 = 30;
const TIME_STAMP: u32 = 31;
/// Bits of a time delta (`TS_SHIFT`), and those of the page's time that a time stamp lacks
/// (`TS_MSB`).
const DELTA: u32 = 27;
const HIGH: u64 = 0xf8 << 56;

/// The records of one CPU.
pub(super) struct CpuPages {
    cpu: u32,
    chunks: Chunks,
    size: u32,
    layout: PageLayout,
    tracepoints: Rc<Tracepoints>,
    clock: Rc<Clock>,
    page: Vec<u8>,
    place: u64,
    /// Of the next record, and where the records end.
    at: usize,
    end: usize,
    time: u64,
}

impl CpuPages {
    pub(super) fn new(
        cpu: u32,
        chunks: Chunks,
        size: u32,
        layout: PageLayout,
        tracepoints: Rc<Tracepoints>,
        clock: Rc<Clock>,
    ) -> Self {
        let (page, place, at, end, time) = (Vec::new(), 0, 0, 0, 0);
        Self { cpu, chunks, size, layout, tracepoints, clock, page, place, at, end, time }
    }

    /// Reads the next page; a record of losses, if it begins with some. `None`: that was all.
    fn next_page(&mut self) -> Result<Option<Option<Record>>, Fault> {
        let Some(place) = self.chunks.page(self.size, &mut self.page)? else { return Ok(None) };
        let mut head = Bytes::new(&self.page, place);
        self.place = place;
        self.time = head.u64("time of a page")?;
        let commit = match self.layout.commit {
            4 => u64::from(head.u32("length of a page")?),
            _ => head.u64("length of a page")?,
        };
        let len = commit & LENGTH;
        self.at = self.layout.data;
        self.end = self.at + len as usize;
        if self.end > self.page.len() {
            let size = self.page.len() - self.at.min(self.page.len());
            let found = format!("records of {len} bytes in a page: expected at most {size}");
            return Err(Fault::byte(place, found));
        }
        if commit & MISSED == 0 {
            return Ok(Some(None));
        }
        let count = match commit & MISSED_STORED != 0 {
            true => self.page.get(self.end..).and_then(|rest| rest.first_chunk::<8>()),
            false => None,
        };
        let what = What::Lost { count: count.map(|count| u64::from_le_bytes(*count)) };
        let time_ns = self.clock.ns(self.time);
        Ok(Some(Some(Record { time_ns, cpu: self.cpu, what })))
    }

    /// The next entry of the page, if it is a record; passes anything else.
    fn entry(&mut self) -> Result<Option<Record>, Fault> {
        let place = self.place + self.at as u64;
        let mut bytes = Bytes::new(&self.page[self.at..self.end], place);
        let head = bytes.u32("an entry")?;
        let (kind, delta) = (head & 31, u64::from(head >> 5));
        let len = match kind {
            PADDING if delta == 0 => {
                self.at = self.end;
                return Ok(None);
            }
            PADDING => u64::from(bytes.u32("length of padding")?).saturating_sub(4),
            TIME_EXTEND => {
                let extend = u64::from(bytes.u32("a time")?) << DELTA;
                self.time = self.time.wrapping_add(extend + delta);
                self.at += 8;
                return Ok(None);
            }
            TIME_STAMP => {
                let low = u64::from(bytes.u32("a time")?) << DELTA | delta;
                self.time = low | self.time & HIGH;
                self.at += 8;
                return Ok(None);
            }
            0 => {
                let len = u64::from(bytes.u32("length of a record")?);
                let Some(len) = len.checked_sub(4) else {
                    return Err(Fault::byte(place, format!("a record of {len} bytes: expected 4")));
                };
                len.next_multiple_of(4)
            }
            words => u64::from(words) * 4,
        };
        let raw = bytes.take(len, "a record")?;
        self.at = self.end - bytes.rest().len();
        self.time = self.time.wrapping_add(delta);
        if kind == PADDING {
            return Ok(None);
        }
        let Some(what) = self.tracepoints.decode(raw, place)? else { return Ok(None) };
        Ok(Some(Record { time_ns: self.clock.ns(self.time), cpu: self.cpu, what }))
    }
}

impl CpuRecords for CpuPages {
    fn next(&mut self) -> Result<Option<Record>, Fault> {
        loop {
            if self.at >= self.end {
                match self.next_page()? {
                    Some(Some(lost)) => return Ok(Some(lost)),
                    Some(None) => continue,
                    None => return Ok(None),
                }
            }
            if let Some(record) = self.entry()? {
                return Ok(Some(record));
            }
        }
    }
}
