// SPDX-License-Identifier: MIT OR Apache-2.0
//! The packets of a file, those within compressed ones, too.

use crate::error::Fault;
use crate::input::Input;
use prost::encoding::{decode_key, decode_varint, WireType};
use std::collections::VecDeque;
use std::io::Read;
use std::rc::Rc;

/// Most bytes of a packet, and of what is compressed in one.
const MOST: u64 = 64 << 20;
/// Compressed packets that are kept decompressed.
const KEPT: usize = 8;

/// Fields of a packet (`TracePacket`).
pub(super) mod field {
    pub(in super::super) const FTRACE: u32 = 1;
    pub(super) const ZLIB: u32 = 50;
    pub(super) const ZSTD: u32 = 133;
}

/// Where a packet is: its own bytes in the file, and, if it is in a compressed one, the part of that
/// one's packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) at: u64,
    len: u32,
    inside: Option<(u32, u32)>,
}

/// Takes packets, each with its place.
pub(super) trait Visit {
    fn packet(&mut self, packet: &[u8], place: Place) -> Result<(), Fault>;
}

/// The packets of a file.
pub(super) struct Packets {
    input: Input,
    /// Those decompressed last, by their place.
    kept: VecDeque<(u64, Rc<[u8]>)>,
}

impl Packets {
    pub(super) fn new(input: Input) -> Self {
        Self { input, kept: VecDeque::new() }
    }

    /// Gives all packets of the file.
    pub(super) fn all(&mut self, visit: &mut dyn Visit) -> Result<(), Fault> {
        self.input.seek(0, "the begin")?;
        let mut body = Vec::new();
        while self.input.at() < self.input.len() {
            let at = self.input.at();
            if self.input.piece(1, 1, "a packet")? != [0x0a] {
                return Err(Fault::byte(at, "no packet: expected a byte 0x0a"));
            }
            let len = self.varint()?;
            if len > MOST {
                return Err(Fault::byte(at, format!("a packet of {len} bytes: expected {MOST}")));
            }
            let begin = self.input.at();
            self.input.read(len, "a packet", &mut body)?;
            let place = Place { at: begin, len: len as u32, inside: None };
            let Some(plain) = decompressed(&body, begin)? else {
                visit.packet(&body, place)?;
                continue;
            };
            for (from, len) in inner(&plain, begin)? {
                let packet = &plain[from as usize..(from + len) as usize];
                visit.packet(packet, Place { inside: Some((from, len)), ..place })?;
            }
        }
        Ok(())
    }

    fn varint(&mut self) -> Result<u64, Fault> {
        let at = self.input.at();
        let mut bytes = Vec::new();
        loop {
            bytes.extend(self.input.piece(1, 1, "the length of a packet")?);
            let more = bytes.last().is_some_and(|byte| byte & 0x80 != 0);
            if !more || bytes.len() == 10 {
                let fault = |_| Fault::byte(at, "the length of a packet: expected a number");
                return decode_varint(&mut bytes.as_slice()).map_err(fault);
            }
        }
    }

    /// The packet at a place.
    pub(super) fn at(&mut self, place: Place, into: &mut Vec<u8>) -> Result<(), Fault> {
        let Some((from, len)) = place.inside else {
            self.input.seek(place.at, "a packet")?;
            return self.input.read(u64::from(place.len), "a packet", into);
        };
        let plain = self.plain(place)?;
        let packet = plain.get(from as usize..(from + len) as usize);
        let packet = packet.ok_or_else(|| Fault::byte(place.at, "the file has changed"))?;
        into.clear();
        into.extend_from_slice(packet);
        Ok(())
    }

    fn plain(&mut self, place: Place) -> Result<Rc<[u8]>, Fault> {
        if let Some((_, plain)) = self.kept.iter().find(|(at, _)| *at == place.at) {
            return Ok(Rc::clone(plain));
        }
        self.input.seek(place.at, "a packet")?;
        let mut body = Vec::new();
        self.input.read(u64::from(place.len), "a packet", &mut body)?;
        let plain: Rc<[u8]> = decompressed(&body, place.at)?.unwrap_or_default().into();
        if self.kept.len() == KEPT {
            self.kept.pop_front();
        }
        self.kept.push_back((place.at, Rc::clone(&plain)));
        Ok(plain)
    }
}

/// Number and bytes of each field that has a length; other fields are passed.
pub(super) fn fields<'a>(
    message: &'a [u8],
    mut visit: impl FnMut(u32, &'a [u8]),
) -> Result<(), String> {
    let mut left = message;
    while !left.is_empty() {
        let (number, kind) = decode_key(&mut left).map_err(|error| error.to_string())?;
        let len = match kind {
            WireType::Varint => {
                decode_varint(&mut left).map_err(|error| error.to_string())?;
                0
            }
            WireType::SixtyFourBit => 8,
            WireType::ThirtyTwoBit => 4,
            WireType::LengthDelimited => {
                decode_varint(&mut left).map_err(|error| error.to_string())?
            }
            WireType::StartGroup | WireType::EndGroup => {
                return Err(format!("field {number} is a group: expected none"));
            }
        };
        let len = usize::try_from(len).ok().filter(|len| *len <= left.len());
        let len = len.ok_or_else(|| format!("field {number} is longer than its message"))?;
        let (body, rest) = left.split_at(len);
        left = rest;
        if kind == WireType::LengthDelimited {
            visit(number, body);
        }
    }
    Ok(())
}

/// The packets that a packet has compressed; `None`: none.
fn decompressed(packet: &[u8], at: u64) -> Result<Option<Vec<u8>>, Fault> {
    let mut found = None;
    let wrong = |what: String| Fault::byte(at, format!("a packet: {what}"));
    fields(packet, |number, body| {
        if matches!(number, field::ZLIB | field::ZSTD) {
            found = Some((number, body));
        }
    })
    .map_err(wrong)?;
    let Some((number, body)) = found else { return Ok(None) };
    let mut plain = Vec::new();
    let read = match number {
        field::ZLIB => flate2::read::ZlibDecoder::new(body).take(MOST + 1).read_to_end(&mut plain),
        _ => {
            let mut body = body;
            let decoder = ruzstd::decoding::StreamingDecoder::new(&mut body);
            let decoder = decoder.map_err(|error| wrong(error.to_string()))?;
            decoder.take(MOST + 1).read_to_end(&mut plain)
        }
    };
    read.map_err(|error| wrong(format!("compressed packets: {error}")))?;
    match plain.len() as u64 <= MOST {
        true => Ok(Some(plain)),
        false => Err(wrong(format!("compressed packets of more than {MOST} bytes"))),
    }
}

/// Places of packets in those that were compressed.
fn inner(plain: &[u8], at: u64) -> Result<Vec<(u32, u32)>, Fault> {
    let mut places = Vec::new();
    let begin = plain.as_ptr() as usize;
    fields(plain, |number, body| {
        if number == 1 {
            places.push(((body.as_ptr() as usize - begin) as u32, body.len() as u32));
        }
    })
    .map_err(|what| Fault::byte(at, format!("compressed packets: {what}")))?;
    Ok(places)
}
