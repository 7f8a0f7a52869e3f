// SPDX-License-Identifier: MIT OR Apache-2.0
//! What tracefs says of its ring buffer and its tracepoints: the begin of a `trace.dat` of
//! version 6, sections of one of version 7, and the `tracing_data` of a `perf.data`
//! (`man trace-cmd.dat.v6`; tools/perf/util/trace-event-info.c).

use super::Tracepoints;
use crate::bytes::Bytes;
use crate::error::Fault;

/// What is known before the first record.
#[derive(Debug, Default)]
pub(crate) struct TracingData {
    pub(crate) tracepoints: Tracepoints,
    /// Offset of a ring buffer page's data, and bytes of its length.
    pub(crate) page: PageLayout,
    /// Names of tasks (`saved_cmdlines`), a line each.
    pub(crate) names: String,
}

/// Where things are in a page of the ring buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PageLayout {
    /// Bytes of the word that has the length.
    pub(crate) commit: usize,
    /// Where the records begin.
    pub(crate) data: usize,
}

impl Default for PageLayout {
    fn default() -> Self {
        Self { commit: 8, data: 16 }
    }
}

/// The version, byte order and page size that such data begins with.
#[derive(Debug)]
pub(crate) struct Begin {
    pub(crate) version: String,
    pub(crate) page_size: u32,
}

impl TracingData {
    /// Reads all of it, as version 6 has it; perf leaves out the names up to its version 0.5.
    pub(crate) fn read(bytes: &mut Bytes<'_>) -> Result<(Self, Begin), Fault> {
        let begin = Self::begin(bytes)?;
        let mut data = Self::default();
        data.header(bytes)?;
        data.ftrace_events(bytes)?;
        data.events(bytes)?;
        let symbols = u64::from(bytes.u32("size of kallsyms")?);
        bytes.take(symbols, "kallsyms")?;
        let formats = u64::from(bytes.u32("size of printk formats")?);
        bytes.take(formats, "printk formats")?;
        if begin.version != "0.5" {
            data.names(bytes)?;
        }
        Ok((data, begin))
    }

    /// Reads the begin, up to the page size.
    pub(crate) fn begin(bytes: &mut Bytes<'_>) -> Result<Begin, Fault> {
        bytes.expect(b"\x17\x08\x44tracing")?;
        let version = bytes.text("version of the format")?;
        if bytes.u8("byte order")? != 0 {
            return Err(
                bytes.fault("recorded on a big-endian machine: expected a little-endian one")
            );
        }
        bytes.u8("size of a long")?;
        let page_size = bytes.u32("page size")?;
        Ok(Begin { version, page_size })
    }

    /// Reads `header_page` and `header_event`.
    pub(crate) fn header(&mut self, bytes: &mut Bytes<'_>) -> Result<(), Fault> {
        bytes.expect(b"header_page\0")?;
        let text = sized(bytes, "header_page")?;
        self.page = page_layout(&text).map_err(|what| bytes.fault(what))?;
        bytes.expect(b"header_event\0")?;
        sized(bytes, "header_event").map(drop)
    }

    /// Passes formats of ftrace's own events.
    pub(crate) fn ftrace_events(&mut self, bytes: &mut Bytes<'_>) -> Result<(), Fault> {
        for _ in 0..bytes.u32("number of ftrace events")? {
            sized(bytes, "format of an ftrace event")?;
        }
        Ok(())
    }

    /// Reads formats of tracepoints.
    pub(crate) fn events(&mut self, bytes: &mut Bytes<'_>) -> Result<(), Fault> {
        for _ in 0..bytes.u32("number of event systems")? {
            let system = bytes.text("name of an event system")?;
            for _ in 0..bytes.u32("number of events")? {
                let text = sized(bytes, "format of an event")?;
                self.tracepoints.add(&system, &text).map_err(|what| bytes.fault(what))?;
            }
        }
        Ok(())
    }

    /// Reads `saved_cmdlines`.
    pub(crate) fn names(&mut self, bytes: &mut Bytes<'_>) -> Result<(), Fault> {
        self.names = sized(bytes, "saved_cmdlines")?;
        Ok(())
    }
}

/// A text behind its length.
fn sized(bytes: &mut Bytes<'_>, what: &str) -> Result<String, Fault> {
    let len = bytes.u64(what)?;
    bytes.take(len, what).map(|text| String::from_utf8_lossy(text).into_owned())
}

fn page_layout(text: &str) -> Result<PageLayout, String> {
    let field = |name: &str, what: &str| -> Result<usize, String> {
        let line = text.lines().find(|line| line.contains(&format!(" {name};")));
        let part =
            line.and_then(|line| line.split(what).nth(1)).and_then(|part| part.split(';').next());
        let number = part.and_then(|number| number.parse().ok());
        number.ok_or_else(|| format!("header_page: expected {what} of field {name}"))
    };
    let layout = PageLayout { commit: field("commit", "size:")?, data: field("data", "offset:")? };
    match layout {
        PageLayout { commit: 4, data: 12 } | PageLayout { commit: 8, data: 16 } => Ok(layout),
        PageLayout { commit, data } => Err(format!(
            "header_page: commit of {commit} bytes, data from {data}: expected 4 and 12 or 8 and 16"
        )),
    }
}
