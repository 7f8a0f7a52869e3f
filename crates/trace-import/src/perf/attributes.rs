// SPDX-License-Identifier: MIT OR Apache-2.0
//! Attributes of a trace's events: which sample belongs to which, and how it is laid out.

use super::sample::{Layout, Sample, IDENTIFIER};
use crate::bytes::Bytes;
use crate::error::Fault;
use crate::input::Input;
use rustc_hash::FxHashMap;

/// `PERF_TYPE_TRACEPOINT`
const TRACEPOINT: u32 = 2;
/// Bit of `sample_id_all` among the flags of `struct perf_event_attr`.
const SAMPLE_ID_ALL: u64 = 1 << 18;
/// The first version of `struct perf_event_attr`.
const SMALLEST: u32 = 64;
/// Most bytes of the numbers of one event.
const MOST_NUMBERS: u64 = 4 << 20;

/// Layouts, by the numbers that samples begin with where there are several.
#[derive(Debug, Default)]
pub(super) struct Attributes {
    layouts: Vec<(Layout, bool)>,
    by_number: FxHashMap<u64, usize>,
    same: bool,
}

impl Attributes {
    /// Reads the attributes of a file: each with the place of its numbers.
    pub(super) fn read(
        list: &[u8],
        place: u64,
        size: u64,
        input: &mut Input,
    ) -> Result<Self, Fault> {
        let mut attributes = Self::default();
        let mut list = Bytes::new(list, place);
        if size < u64::from(SMALLEST) + 16 {
            return Err(list.fault(format!("attributes of {size} bytes: expected 80 or more")));
        }
        while !list.is_empty() {
            let fault = list;
            let mut one = Bytes::new(list.take(size, "an attribute")?, place);
            let layout = layout(&mut one)?;
            let numbers = one.rest();
            let mut numbers = Bytes::new(&numbers[numbers.len().saturating_sub(16)..], place);
            let (from, len) = (numbers.u64("numbers")?, numbers.u64("numbers")?);
            if from.checked_add(len).is_none_or(|end| end > input.len()) {
                return Err(
                    fault.fault(format!("numbers from byte {from}, {len} bytes: no such place"))
                );
            }
            input.seek(from, "numbers of an event")?;
            let numbers = input.piece(len, MOST_NUMBERS, "numbers of an event")?;
            attributes.push(layout, &mut Bytes::new(&numbers, from))?;
        }
        attributes.check()?;
        Ok(attributes)
    }

    /// Takes the attributes of one event, with its numbers behind them.
    pub(super) fn add(&mut self, body: &mut Bytes<'_>) -> Result<(), Fault> {
        let size = body.rest().get(4..8).map_or(SMALLEST, |size| {
            u32::from_le_bytes([size[0], size[1], size[2], size[3]]).max(SMALLEST)
        });
        let mut one = Bytes::new(body.take(u64::from(size), "an attribute")?, 0);
        let layout = layout(&mut one)?;
        self.push(layout, body)
    }

    fn push(&mut self, layout: (Layout, bool), numbers: &mut Bytes<'_>) -> Result<(), Fault> {
        while numbers.rest().len() >= 8 {
            self.by_number.insert(numbers.u64("number")?, self.layouts.len());
        }
        self.layouts.push(layout);
        Ok(())
    }

    /// Whether samples can be told apart.
    pub(super) fn check(&mut self) -> Result<(), Fault> {
        let Some(((first, _), rest)) = self.layouts.split_first() else {
            return Err(Fault::file("no events: expected a trace of tracepoints"));
        };
        self.same = rest.iter().all(|(layout, _)| layout == first);
        if !self.same {
            let plain = self.layouts.iter().find(|(l, _)| l.sample_type & IDENTIFIER == 0);
            if plain.is_some() {
                return Err(Fault::file(
                    "events of several kinds, whose samples cannot be told apart",
                ));
            }
        }
        let tracepoints = self.layouts.iter().filter(|(_, tracepoint)| *tracepoint);
        tracepoints
            .map(|(layout, _)| layout.check())
            .collect::<Result<Vec<()>, _>>()
            .map_err(Fault::file)?;
        match self.layouts.iter().any(|(_, tracepoint)| *tracepoint) {
            true => Ok(()),
            false => Err(Fault::file(
                "no tracepoints: expected some of sched, as of `perf sched record`",
            )),
        }
    }

    /// Reads a sample. Of an event that is no tracepoint, the raw data is empty.
    pub(super) fn sample<'a>(&self, body: &mut Bytes<'a>) -> Result<Sample<'a>, Fault> {
        let index = match self.same {
            true => 0,
            false => {
                let number = { *body }.u64("identifier")?;
                *self.by_number.get(&number).ok_or_else(|| {
                    body.fault(format!(
                        "a sample of event {number}: expected one of the attributes"
                    ))
                })?
            }
        };
        self.layouts[index].0.sample(body)
    }

    /// Time and CPU of another record.
    pub(super) fn trailer(&self, body: &[u8], place: u64) -> Result<Sample<'static>, Fault> {
        self.layouts[0].0.trailer(body, place)
    }
}

/// Reads `struct perf_event_attr` as far as it is needed; whether it is a tracepoint's.
fn layout(attribute: &mut Bytes<'_>) -> Result<(Layout, bool), Fault> {
    let tracepoint = attribute.u32("type of an event")? == TRACEPOINT;
    attribute.take(20, "an attribute")?;
    let sample_type = attribute.u64("sample_type")?;
    let read_format = attribute.u64("read_format")?;
    let sample_id_all = attribute.u64("flags of an event")? & SAMPLE_ID_ALL != 0;
    Ok((Layout { sample_type, read_format, sample_id_all }, tracepoint))
}
