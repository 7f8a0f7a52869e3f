// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which tool wrote a trace, told from its first bytes.

use crate::text;

/// The formats that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `perf.data`, a file.
    PerfData,
    /// `perf.data` as perf writes it to a pipe.
    PerfPipe,
    /// trace-cmd's `trace.dat`.
    TraceDat,
    /// Text: `/sys/kernel/tracing/trace`, `trace-cmd report`, `perf script`.
    FtraceText,
    /// Perfetto's `.pftrace`.
    Perfetto,
    /// `rota record --trace FILE.csv`.
    RotaCsv,
    /// `rota record --trace FILE.parquet`.
    RotaParquet,
}

impl Format {
    /// What messages call it.
    pub fn name(self) -> &'static str {
        match self {
            Format::PerfData => "perf.data trace",
            Format::PerfPipe => "perf.data trace (from a pipe)",
            Format::TraceDat => "trace-cmd trace",
            Format::FtraceText => "trace as text (ftrace)",
            Format::Perfetto => "Perfetto trace",
            Format::RotaCsv => "trace of Rota (CSV)",
            Format::RotaParquet => "trace of Rota (Parquet)",
        }
    }
}

/// So much of the begin of a file is enough to know its format.
pub const ENOUGH: usize = 1 << 16;

/// The first line of a CSV file of Rota.
pub(crate) const CSV_HEAD: &[u8] = b"time_ns,cpu,event,pid,task,detail";

/// The format of a file that begins with these bytes ([`ENOUGH`] of them, or all); `None`: it is no
/// trace.
pub fn detect(start: &[u8]) -> Option<Format> {
    if start.starts_with(b"PERFILE2") || start.starts_with(b"2ELIFREP") {
        // The header of a pipe has its size and no more.
        let piped = start.get(8..16).is_some_and(|size| size == 16u64.to_le_bytes());
        return Some(if piped { Format::PerfPipe } else { Format::PerfData });
    }
    if start.starts_with(b"\x17\x08\x44tracing") {
        return Some(Format::TraceDat);
    }
    if start.starts_with(b"PAR1") {
        return Some(Format::RotaParquet);
    }
    if start.starts_with(CSV_HEAD) {
        return Some(Format::RotaCsv);
    }
    if is_perfetto(start) {
        return Some(Format::Perfetto);
    }
    text::looks_like_trace(start).then_some(Format::FtraceText)
}

/// What can be done about a file of another format.
pub(crate) fn advice(start: &[u8]) -> &'static str {
    if start.starts_with(&[0x1f, 0x8b]) {
        return "compressed by gzip: expected a trace (gzip -d makes one of it)";
    }
    if start.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
        return "compressed by zstd: expected a trace (zstd -d makes one of it)";
    }
    if start.starts_with(&[0xfd, b'7', b'z', b'X', b'Z']) {
        return "compressed by xz: expected a trace (xz -d makes one of it)";
    }
    if start.starts_with(&[0xc1, 0x1f, 0xfc, 0xc1])
        || start.starts_with(&0x75d1_1d57u32.to_le_bytes())
    {
        return "a CTF stream (LTTng): that format is not read";
    }
    "no trace: expected perf.data, trace.dat, ftrace text, a Perfetto trace, or a trace of Rota as \
     CSV or Parquet"
}

/// A list of packets: each is a field 1 with a length, and begins with a field itself.
fn is_perfetto(start: &[u8]) -> bool {
    let mut left = start;
    let mut packets = 0;
    while !left.is_empty() {
        let Some((&0x0a, rest)) = left.split_first() else { return false };
        let mut rest = rest;
        let Ok(len) = prost::decode_length_delimiter(&mut rest) else {
            return packets > 0 && left.len() < 12;
        };
        let mut body = &rest[..len.min(rest.len())];
        if len > 0 && !body.is_empty() && prost::encoding::decode_key(&mut body).is_err() {
            return false;
        }
        packets += 1;
        left = rest.get(len..).unwrap_or_default();
        if len > rest.len() {
            // The rest of the packet is behind what is looked at.
            return packets > 0 || start.len() >= ENOUGH;
        }
    }
    packets > 0
}
