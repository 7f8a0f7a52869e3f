// SPDX-License-Identifier: MIT OR Apache-2.0
//! How samples are laid out, which each event's attributes say (`perf_event_open(2)`).

use crate::bytes::Bytes;
use crate::error::Fault;

/// Bits of `sample_type`.
const IP: u64 = 1 << 0;
const TID: u64 = 1 << 1;
const TIME: u64 = 1 << 2;
const ADDR: u64 = 1 << 3;
const READ: u64 = 1 << 4;
const CALLCHAIN: u64 = 1 << 5;
const ID: u64 = 1 << 6;
const CPU: u64 = 1 << 7;
const PERIOD: u64 = 1 << 8;
const STREAM_ID: u64 = 1 << 9;
const RAW: u64 = 1 << 10;
pub(super) const IDENTIFIER: u64 = 1 << 16;

/// What samples of an event hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) sample_type: u64,
    pub(super) read_format: u64,
    /// Other records end with the same facts.
    pub(super) sample_id_all: bool,
}

/// What is needed of a sample.
#[derive(Debug, Default)]
pub(super) struct Sample<'a> {
    pub(super) time_ns: u64,
    pub(super) cpu: u32,
    /// The thread that ran, as perf's own namespace numbers it.
    pub(super) tid: Option<u32>,
    pub(super) raw: &'a [u8],
}

impl Layout {
    /// What must be in a sample of a tracepoint.
    pub(super) fn check(&self) -> Result<(), String> {
        let missing = [(TIME, "time"), (CPU, "CPU"), (RAW, "raw data")]
            .into_iter()
            .filter(|(bit, _)| self.sample_type & bit == 0)
            .map(|(_, name)| name);
        let missing: Vec<&str> = missing.collect();
        if missing.is_empty() {
            return Ok(());
        }
        let missing = missing.join(", ");
        Err(format!("samples without {missing}: expected perf record -a -R -T, as perf sched does"))
    }

    fn has(&self, bit: u64) -> bool {
        self.sample_type & bit != 0
    }

    /// Reads a sample's body.
    pub(super) fn sample<'a>(&self, body: &mut Bytes<'a>) -> Result<Sample<'a>, Fault> {
        let mut sample = Sample::default();
        for (bit, what) in [(IDENTIFIER, "identifier"), (IP, "address")] {
            if self.has(bit) {
                body.u64(what)?;
            }
        }
        if self.has(TID) {
            body.u32("pid")?;
            sample.tid = Some(body.u32("tid")?);
        }
        if self.has(TIME) {
            sample.time_ns = body.u64("time")?;
        }
        for (bit, what) in [(ADDR, "address"), (ID, "identifier"), (STREAM_ID, "stream")] {
            if self.has(bit) {
                body.u64(what)?;
            }
        }
        if self.has(CPU) {
            sample.cpu = body.u32("CPU")?;
            body.u32("CPU")?;
        }
        if self.has(PERIOD) {
            body.u64("period")?;
        }
        if self.has(READ) {
            self.pass_counters(body)?;
        }
        if self.has(CALLCHAIN) {
            let frames = body.u64("length of a call chain")?;
            body.take(frames.saturating_mul(8), "a call chain")?;
        }
        if self.has(RAW) {
            let len = body.u32("length of raw data")?;
            sample.raw = body.take(u64::from(len), "raw data")?;
        }
        Ok(sample)
    }

    fn pass_counters(&self, body: &mut Bytes<'_>) -> Result<(), Fault> {
        // PERF_FORMAT_TOTAL_TIME_ENABLED, _RUNNING, _ID, _GROUP, _LOST
        let bits = |mask: u64| u64::from((self.read_format & mask).count_ones());
        let (times, each) = (bits(1 | 2), 1 + bits(4 | 16));
        let values = match self.read_format & 8 != 0 {
            true => body.u64("number of counters")?.saturating_mul(each),
            false => each,
        };
        body.take((values.saturating_add(times)).saturating_mul(8), "counters").map(drop)
    }

    /// Reads time and CPU from the end of a record that is no sample.
    pub(super) fn trailer(&self, body: &[u8], place: u64) -> Result<Sample<'static>, Fault> {
        let mut sample = Sample::default();
        if !self.sample_id_all {
            return Ok(sample);
        }
        let bits = [TID, TIME, ID, STREAM_ID, CPU, IDENTIFIER];
        let len = 8 * bits.iter().filter(|bit| self.has(**bit)).count();
        let Some(begin) = body.len().checked_sub(len) else {
            let found = body.len();
            return Err(Fault::byte(place, format!("a record with {found} bytes: expected {len}")));
        };
        let mut end = Bytes::new(&body[begin..], place);
        for bit in bits.into_iter().filter(|bit| self.has(*bit)) {
            match bit {
                TIME => sample.time_ns = end.u64("time")?,
                CPU => sample.cpu = end.u64("CPU")? as u32,
                _ => drop(end.u64("identifier")?),
            }
        }
        Ok(sample)
    }
}
